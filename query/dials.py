"""Dials: numbers that a formula turns by what a question is like.

A dial picks one row of a table: by the profile or the surface that the caller names, or by a named classifier
of the question's text. Each row gives numbers by key; the value of a key is the product over all dials, 1
where none has it. Tables stand in the formula file, so they are seen, compared and versioned like the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal

import msgspec

from recollect.events.facts import Question
from recollect.projections.lexical.frozen_unicode import lower_14
from recollect.query.bounds import NonNegative
from recollect.query.text.intents import omega_intent, omega_preference, question_intent, recency_intent

Classifier = Callable[[str], str]

_FROZEN = "unicode61-cjk/2"

CLASSIFIERS: dict[str, Classifier] = {
    "recency-intent/1": recency_intent,
    "question-intent/1": question_intent,
    "omega-intent/1": omega_intent,
    "omega-preference/1": omega_preference,
    # The same rules over words that are the same on every Python.
    "recency-intent/2": partial(recency_intent, analyzer=_FROZEN),
    "question-intent/2": partial(question_intent, analyzer=_FROZEN),
    "omega-intent/2": partial(omega_intent, analyzer=_FROZEN),
    "omega-preference/2": partial(omega_preference, analyzer=_FROZEN),
}


class Dial(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`select` says what picks the row, in any letter case; an unknown choice picks `default`, and no such row means all 1."""

    name: str
    select: Literal["profile", "surface", "text"]
    table: dict[str, dict[str, NonNegative]]
    default: str = ""
    classifier: str = ""

    def choice(self, question: Question) -> str:
        match self.select:
            case "profile":
                wanted = question.context.profile or self.default
            case "surface":
                wanted = question.context.surface or self.default
            case "text":
                wanted = CLASSIFIERS[self.classifier](question.text)
        rows = {lower_14(row): row for row in reversed(self.table)}
        return wanted if wanted in self.table else rows.get(lower_14(wanted), self.default)
