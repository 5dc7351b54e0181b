"""How often the default answers nothing: never where there is an answer, nearly always where there can be none.

A question of one collection asked of another has no right answer there: a claim about proteins asked of two friends'
conversation, and the other way round.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from quality.data import Asked, Store
from quality.results import Floor

from recollect.query.formula import Formula
from recollect.query.ranking import rank

EVERY = 2  # of two unrelated questions one is asked: there are thousands


def floors(formula: Formula, locomo: Sequence[Store], scifact: Sequence[Store]) -> list[Floor]:
    turns = [asked for store in locomo for asked in store.asked]
    claims = [asked for store in scifact for asked in store.asked]
    return [
        _floor(
            "LoCoMo's questions, its own conversations", formula, [(s, s.asked) for s in locomo], related=True
        ),
        _floor("SciFact's claims, its own abstracts", formula, [(s, s.asked) for s in scifact], related=True),
        _floor("SciFact's claims, LoCoMo's conversations", formula, [(s, claims[::EVERY]) for s in locomo]),
        _floor("LoCoMo's questions, SciFact's abstracts", formula, [(s, turns[::EVERY]) for s in scifact]),
    ]


def _floor(
    what: str, formula: Formula, pairs: Iterable[tuple[Store, Sequence[Asked]]], *, related: bool = False
) -> Floor:
    silent = [not rank(a.question, store.view, formula).ids for store, asked in pairs for a in asked]
    return Floor(what=what, related=related, questions=len(silent), silent=sum(silent) / len(silent))
