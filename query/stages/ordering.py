"""The order of a sheet's candidates: by score to 12 digits, or by what a tie-break stage set, then by id.

Whatever the scores, a derived memory stands below its sources (`recollect.query.derivation`).
"""

from __future__ import annotations

from recollect.projections.rounding import round12
from recollect.query.derivation import below_sources
from recollect.query.exact import compared
from recollect.query.scene import Scene
from recollect.query.sheet import Sheet


def best_first(sheet: Sheet, scene: Scene) -> list[int]:
    """The places of all candidates that are kept and scored, best first."""
    return below_sources(_by_score(sheet, scene), sheet, scene)


def _by_score(sheet: Sheet, scene: Scene) -> list[int]:
    ids = scene.view.documents.ids.values
    places = [int(place) for place in sheet.scored.nonzero()[0]]
    by_id = sorted(places, key=lambda place: ids[sheet.memories[place]], reverse=sheet.id_descending)
    if sheet.order:
        keys = {place: _keys(sheet, place) for place in places}
        return sorted(by_id, key=keys.__getitem__)
    scores = sheet.score.tolist()
    return sorted(by_id, key=lambda place: -round12(scores[place]))


def _keys(sheet: Sheet, place: int) -> tuple[float, ...]:
    """The tie-break's columns; what has no value comes last."""
    values = ((float(key.values[place]), key.ascending) for key in sheet.order)
    return tuple(float("inf") if v != v else compared(v if up else -v) for v, up in values)  # noqa: PLR0124
