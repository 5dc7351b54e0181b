"""Memories linked to candidates become candidates too, hop by hop, before there are any scores."""

from __future__ import annotations

import numpy as np

from recollect.projections.columns import BoolArray, Int32Array, IntArray
from recollect.projections.graph.graph import Direction, Neighbours
from recollect.query.rank_context import RankContext
from recollect.query.sheet import Sheet


def admit_linked(
    sheet: Sheet, ctx: RankContext, seeds: Int32Array, *, hops: int, reach: int, direction: Direction, min_weight: float
) -> None:  # fmt: skip
    """Breadth first from the seeds; at most `reach` memories that were no candidates come in.

    The first hop may land on a seed that another seed is linked to; later ones land only where no hop was
    before, so that no edge is walked back. Of too many new memories the heaviest linked come in, then the
    lower id. Writes `hop` and `edge.<kind>` = 1 for every kind of edge that a memory was landed on by.
    """
    frontier, seen = seeds, set(seeds.tolist())
    size = len(sheet) + reach
    for hop in range(1, hops + 1):
        found = ctx.view.graph.neighbours(frontier, ctx.view.seq, direction=direction, min_weight=min_weight)
        landing = found.memory != found.of
        if hop > 1:
            landing &= np.array([memory not in seen for memory in found.memory.tolist()], dtype=np.bool_)
        fresh = _admit(sheet, ctx, found, landing, room=size - len(sheet))
        _mark(sheet, ctx, found, landing, hop)
        frontier = np.array([memory for memory in fresh if memory not in seen], dtype=np.int32)
        seen.update(fresh)


def _admit(sheet: Sheet, ctx: RankContext, found: Neighbours, landing: BoolArray, *, room: int) -> list[int]:
    """Bring in what was landed on, as far as there is room; all memories landed on that are on the sheet."""
    heaviest: dict[int, float] = {}
    for memory, weight in zip(found.memory[landing].tolist(), found.weight[landing].tolist(), strict=True):
        heaviest[memory] = max(weight, heaviest.get(memory, weight))
    memories = np.array(list(heaviest), dtype=np.int32)
    able, rows = ctx.reachable(memories)
    ids = ctx.view.documents.ids.values
    new = [place for place, memory in enumerate(memories.tolist()) if able[place] and sheet.place(memory) < 0]
    new.sort(key=lambda place: (-heaviest[int(memories[place])], ids[memories[place]]))
    sheet.admit(memories[new[:room]], rows[new[:room]])
    return [memory for memory in heaviest if sheet.place(memory) >= 0]


def _mark(sheet: Sheet, ctx: RankContext, found: Neighbours, landing: BoolArray, hop: int) -> None:
    places = np.array([sheet.place(memory) for memory in found.memory.tolist()], dtype=np.int32)
    landed = landing & (places >= 0)
    for kind in _in_order(found.kind[landed]):
        here = places[landed & (found.kind == kind)]
        sheet.write(f"edge.{ctx.view.graph.kind_name(kind)}", here, np.ones(len(here)))
    first = places[landed][np.isnan(sheet.column("hop")[places[landed]])]
    sheet.write("hop", first, np.full(len(first), float(hop)))


def _in_order(kinds: Int32Array | IntArray) -> list[int]:
    return [int(kind) for kind in np.unique(kinds)]
