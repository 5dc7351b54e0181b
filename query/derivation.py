"""A derived memory stands below the sources it was derived from, unless the question is nearer to it.

A memory with an edge `derived_from` to an older one that is a candidate too comes after it in the order, however
high its score, except where the question has a vector and lies nearer to the derived memory than to that source.
A question in a source's own words is nearest to the source, so no summary outranks a source for the source's own
text. Stores without such edges are ranked as if this rule did not exist.
"""

from __future__ import annotations

import numpy as np

from recollect.events.grid import from_bytes
from recollect.projections.columns import Int32Array
from recollect.query.rank_context import RankContext
from recollect.query.sheet import Sheet

DERIVED_FROM = "derived_from"


def below_sources(order: list[int], sheet: Sheet, ctx: RankContext) -> list[int]:
    """The order with every derived memory right after the last of the sources that it yields to."""
    waiting = _yields(order, sheet, ctx)
    if not waiting:
        return order
    placed: list[int] = []
    held: list[int] = []
    done: set[int] = set()
    for place in order:
        if waiting.get(place, set()) <= done:
            placed.append(place)
            done.add(place)
        else:
            held.append(place)
            continue
        ready = [derived for derived in held if waiting[derived] <= done]
        while ready:
            placed += ready
            done.update(ready)
            held = [derived for derived in held if derived not in done]
            ready = [derived for derived in held if waiting[derived] <= done]
    assert not held, "an edge counts only to an older memory, so there is no circle"
    return placed


def _yields(order: list[int], sheet: Sheet, ctx: RankContext) -> dict[int, set[int]]:
    """For each derived candidate the sources among the candidates that it must stand below."""
    graph, seq = ctx.view.graph, ctx.view.seq
    if not order or not graph.knows(DERIVED_FROM):
        return {}
    edges = graph.neighbours(sheet.memories[order], seq, direction="out", kinds=(DERIVED_FROM,))
    ranked = set(order)
    found: dict[int, set[int]] = {}
    for derived, source in zip(edges.of.tolist(), edges.memory.tolist(), strict=True):
        below, above = sheet.place(derived), sheet.place(source)
        if source < derived and above in ranked and not _nearer(below, above, sheet, ctx):
            found.setdefault(below, set()).add(above)
    return found


def _nearer(derived: int, source: int, sheet: Sheet, ctx: RankContext) -> bool:
    """Whether the question's vector is nearer to the derived memory than to its source."""
    if ctx.question.vector is None:
        return False
    vectors, at = ctx.view.vectors, ctx.view.seq
    rows: Int32Array = sheet.rows[[derived, source]]
    if not vectors.comparable(rows, at=at).all():
        return False
    to_derived, to_source = vectors.cosines(from_bytes(ctx.question.vector), rows, at=at).tolist()
    return bool(np.greater(to_derived, to_source))
