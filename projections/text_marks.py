"""text marks: what a text shows besides its words: whether it asks, and the label that it begins with.

Reads      the rows that `documents` gives birth to, each with its text or the row it repeats
State      per row whether its text holds a question mark, and the number of its label (-1: none)
Invariant  a row's marks are a function of its text alone

A text has a label if it begins with a short name and a colon: "Ann: I adopted a puppy", "Decision: keep it".
The name has at most 40 characters and four words, no sign but hyphens, full stops and apostrophes, and begins neither
with a digit nor with a sign; white space follows the colon. Only ASCII is told apart by kind, so that no Unicode
version decides. Words are the lexical index's; the marks are what its analyzers leave out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from recollect.projections.columns import (
    BoolArray,
    Column,
    Int32Array,
    IntArray,
    Interner,
    Saved,
    State,
)
from recollect.projections.documents import NewRow

_FIRST = r"[^\x00-@\[-`{-\x7f]"
_INSIDE = r"[^\x00-\x1f!-&(-,/:-@\[-`{-\x7f]"
_LABEL = re.compile(rf"({_FIRST}{_INSIDE}{{0,39}}?)(?::(?=[ \t\r\n])|\uff1a)[ \t\r\n]*")
_WORDS_MAX = 4
_REACH = 42
_QUESTION_MARKS = ("?", "\uff1f", "\u061f")


def label_of(text: str) -> str | None:
    """The label of a text, as it is written; None without one."""
    head = text[:_REACH]
    if ":" not in head and "\uff1a" not in head:
        return None
    found = _LABEL.match(text)
    return found[1].rstrip(" ") if found is not None and found[1].count(" ") < _WORDS_MAX else None


def asks(text: str) -> bool:
    """Whether the text holds a question mark."""
    return any(mark in text for mark in _QUESTION_MARKS)


class TextMarks:
    name = "text_marks"
    version = 1

    def __init__(self) -> None:
        self.labels = Interner()
        self._asks: Column[np.bool_] = Column(np.bool_)
        self._label: Column[np.int32] = Column(np.int32)

    def add(self, new: NewRow) -> None:
        """Add the marks of a new row."""
        assert new.row == len(self._asks), "rows come in order of birth, each once"
        if new.text is not None:
            self.add_many([new.text])
        elif new.text_of >= 0:
            self._asks.append(self._asks[new.text_of])
            self._label.append(self._label[new.text_of])
        else:
            self.add_many([""])

    def add_many(self, texts: Sequence[str]) -> None:
        """Add the marks of several new rows with these texts."""
        labels = [label_of(text) for text in texts]
        self._asks.extend(np.array([asks(text) for text in texts], dtype=np.bool_))
        number = self.labels.number
        self._label.extend(
            np.array([-1 if label is None else number(label) for label in labels], dtype=np.int32)
        )

    def asking(self, rows: Int32Array | IntArray) -> BoolArray:
        """Whether each row's text holds a question mark."""
        return self._asks.array[rows]

    def label_numbers(self, rows: Int32Array | IntArray) -> Int32Array:
        """The number in `labels` of each row's label; -1 for no label."""
        return self._label.array[rows]

    def dump(self) -> State:
        return {"labels": self.labels.dump(), "asks": self._asks.array, "label": self._label.array}

    def load(self, state: Saved) -> None:
        self.labels = Interner.load(state["labels"])
        self._asks.load(state["asks"])
        self._label.load(state["label"])
