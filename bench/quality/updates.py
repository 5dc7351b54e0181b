"""Questions about what changed: whether the later message stands before the one that it replaced.

BEAM names twenty such questions with the old and the new message. The order is that of all candidates, not of the ten
that are returned; where one of the two is no candidate the other one wins.
"""

from __future__ import annotations

from collections.abc import Sequence

from quality.data import Store, superseded
from quality.results import Updates

from recollect.query.formula import Formula
from recollect.query.ranking import rank


def updates(formula: Formula, stores: Sequence[Store]) -> Updates:
    questions = {asked.id: (store, asked) for store in stores for asked in store.asked}
    first = later = 0
    pairs = [pair for pair in superseded() if pair[0] in questions]
    for name, old, new in pairs:
        store, asked = questions[name]
        ranking = rank(asked.question, store.view, formula)
        ids = store.view.documents.ids.values
        order = [ids[memory] for memory in ranking.sheet.memories[list(ranking.order)].tolist()]
        places = [
            min((order.index(i) for i in side if i in order), default=len(order)) for side in (new, old)
        ]
        first += places[0] < places[1]
        later += places[0] == 0
    return Updates(formula=formula.name, pairs=len(pairs), later_first=first, on_top=later)
