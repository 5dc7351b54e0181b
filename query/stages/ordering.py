"""The order of a sheet's candidates: by score to 12 digits, or by what a tie-break stage set, then by id.

Whatever the scores, a derived memory stands below its sources (`recollect.query.derivation`).
"""

from __future__ import annotations

import numpy as np

from recollect.projections.rounding import round12_array
from recollect.query.derivation import below_sources
from recollect.query.portable_math import compared
from recollect.query.rank_context import RankContext
from recollect.query.sheet import Sheet


def best_first(sheet: Sheet, ctx: RankContext) -> list[int]:
    """The places of all candidates that are kept and scored, best first."""
    return below_sources(_by_score(sheet, ctx), sheet, ctx)


def _by_score(sheet: Sheet, ctx: RankContext) -> list[int]:
    ids = ctx.view.documents.ids.values
    places = np.flatnonzero(sheet.scored)
    names = [ids[memory] for memory in sheet.memories[places].tolist()]
    by_id = [
        place for _, place in sorted(zip(names, places.tolist(), strict=True), reverse=sheet.id_descending)
    ]
    if sheet.order:
        keys = {place: _keys(sheet, place) for place in by_id}
        return sorted(by_id, key=keys.__getitem__)
    scores = round12_array(sheet.score[by_id])
    order: list[int] = np.array(by_id, dtype=np.int64)[np.argsort(-scores, kind="stable")].tolist()
    return order


def _keys(sheet: Sheet, place: int) -> tuple[float, ...]:
    """The tie-break's columns; what has no value comes last."""
    values = ((float(key.values[place]), key.ascending) for key in sheet.order)
    return tuple(float("inf") if v != v else compared(v if up else -v) for v, up in values)  # noqa: PLR0124
