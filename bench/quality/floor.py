"""How often the default answers nothing: hardly ever where there is an answer, nearly always where there can be none.

A question of one kind of text has no right answer among another kind: a claim about proteins asked of two friends'
chat, and the other way round. BEAM's abstentions ask a chat for what was never said in it: they are about its subject,
so no floor can tell them from questions that have an answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from quality.data import Asked, Store
from quality.results import Floor

from recollect.query.formula import Formula
from recollect.query.ranking import rank

Collections = Mapping[str, Sequence[Store]]
STRANGERS = 60  # questions of another collection that are asked of each store, spread over all of them
STORES = 5


def floors(formula: Formula, collections: Collections) -> list[Floor]:
    own = [
        _floor(f"{name}, its own questions", formula, [(s, s.asked) for s in stores], related=True)
        for name, stores in collections.items()
    ]
    unsaid = [
        _floor(f"{name}, about its subject, never said", formula, [(s, s.unanswerable) for s in stores])
        for name, stores in collections.items()
        if any(store.unanswerable for store in stores)
    ]
    claims = _questions(collections["scifact"])
    strange = [
        _floor(f"{name}, asked SciFact's claims", formula, [(s, claims) for s in stores[:STORES]])
        for name, stores in collections.items()
        if name != "scifact"
    ]
    people = _questions(collections["locomo-dev"])
    abstracts = _floor(
        "scifact, asked LoCoMo's questions", formula, [(s, people) for s in collections["scifact"]]
    )
    return [*own, *unsaid, *strange, abstracts]


def _questions(stores: Sequence[Store]) -> list[Asked]:
    found = [asked for store in stores for asked in store.asked]
    return found[:: max(1, len(found) // STRANGERS)]


def _floor(
    what: str, formula: Formula, pairs: Sequence[tuple[Store, Sequence[Asked]]], *, related: bool = False
) -> Floor:
    silent = [not rank(a.question, store.view, formula).ids for store, asked in pairs for a in asked]
    return Floor(what=what, related=related, questions=len(silent), silent=sum(silent) / len(silent))
