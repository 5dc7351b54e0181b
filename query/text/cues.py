"""Cues: words and phrases that say what a question is after, found as whole words.

A cue is split by the same analyzer as the question, so that case, accents and punctuation do not matter,
"who" is not found in "whole", and a Chinese or Japanese cue is found inside a run of characters.
"""

from __future__ import annotations

from functools import cache

from recollect.projections.lexical.analyzers import ANALYZERS

FIRST = "unicode61-cjk/1"  # what the classifiers of version 1 split by


class Cues:
    """A table of cues, written with semicolons between them; `found_in` says whether a text holds one.

    It is split on first use: most processes ask no question that needs it, and splitting takes 15 ms.
    """

    def __init__(self, table: str) -> None:
        self._table = table

    def found_in(self, text: str, analyzer: str = FIRST) -> bool:
        words, by_first = ANALYZERS[analyzer](text), _by_first(self._table, analyzer)
        return any(
            words[start : start + len(cue)] == cue
            for start, word in enumerate(words)
            for cue in by_first.get(word, ())
        )


@cache
def _by_first(table: str, analyzer: str) -> dict[str, list[list[str]]]:
    by_first: dict[str, list[list[str]]] = {}
    for cue in table.split(";"):
        words = ANALYZERS[analyzer](cue)
        assert words, f"the cue {cue!r} has no words"
        by_first.setdefault(words[0], []).append(words)
    return by_first
