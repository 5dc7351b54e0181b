"""Who speaks, and to whom: labels that memories stand under, roles that importers tag, and who asks the question.

A turn of a conversation between people stands under its speaker's name ("Ann: I adopted a puppy"), a turn of a chat
with an assistant is tagged with its role; importers write both so. A question in the first person is asked by the one
whose turns are tagged `user`.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from recollect.projections.columns import BoolArray, FloatArray
from recollect.projections.lexical.analyzers import ANALYZERS
from recollect.query.sheet import RankContext, Sheet
from recollect.query.text.first_person import in_first_person

USER = "user"
ROLES = frozenset({USER, "assistant", "system", "tool"})
_STEMS, _WORDS = "english/2", "unicode61-cjk/2"


def asking(sheet: Sheet, ctx: RankContext) -> FloatArray:
    """1 where the memory stands under a label and its text holds a question mark, else 0: who asks seldom tells.

    Only turns between people are meant: who asks an assistant tells why.
    """
    marks = ctx.view.marks
    return (marks.asking(sheet.rows) & (marks.label_numbers(sheet.rows) >= 0)).astype(np.float64)


def under_label(sheet: Sheet, ctx: RankContext) -> FloatArray:
    """Where the question holds a word of the label that the memory stands under: 1 in a session, 1 − 1/n outside; else 0.

    n candidates stand under that label: outside a session, one that a single memory has is the beginning of a title,
    one that many share is what notes are about. Words are stems without English stop words; a label that has no other
    words ("Will:") is compared as it is written.
    """
    own = ctx.view.marks.label_numbers(sheet.rows)
    numbers, place_of = np.unique(own, return_inverse=True)
    counts = np.bincount(place_of[sheet.kept], minlength=len(numbers))
    names = ctx.view.marks.labels.values
    named = [number >= 0 and _names(ctx.question.text, names[number]) for number in numbers.tolist()]
    shared = np.where(named, 1.0 - 1.0 / np.maximum(counts, 1), 0.0)[place_of]
    spoken = np.array(named, dtype=np.float64)[place_of]
    return np.where(ctx.view.conversations.of(sheet.memories) >= 0, spoken, shared)


def by_asker(sheet: Sheet, ctx: RankContext) -> FloatArray:
    """1 where the question is in the first person and the memory is tagged `user`, else 0."""
    if not in_first_person(ctx.question.text):
        return np.zeros(len(sheet))
    return _tagged(sheet, ctx, frozenset({USER})).astype(np.float64)


def has_role(sheet: Sheet, ctx: RankContext) -> BoolArray:
    """Where the memory is a turn of a chat with an assistant: one of its tags is a role."""
    return _tagged(sheet, ctx, ROLES)


def _tagged(sheet: Sheet, ctx: RankContext, wanted: frozenset[str]) -> BoolArray:
    columns = ctx.lifecycle(sheet)
    sets, place_of = np.unique(columns.tags, return_inverse=True)
    held = [not wanted.isdisjoint(tags) for tags in columns.members(sets)]
    return np.array(held, dtype=np.bool_)[place_of]


@lru_cache(maxsize=4096)
def _names(question: str, label: str) -> bool:
    for analyzer in (_STEMS, _WORDS):
        if words := ANALYZERS[analyzer](label):
            return not set(words).isdisjoint(ANALYZERS[analyzer](question))
    return False
