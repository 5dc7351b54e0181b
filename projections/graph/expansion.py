"""One step of a walk through the graph: from the memories reached so far to the best new ones."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import numpy as np

from recollect.projections.columns import BoolArray, IntArray
from recollect.projections.graph.edges import EdgeTable

Admit = Callable[[IntArray], BoolArray]


class Reached(msgspec.Struct, frozen=True, kw_only=True):
    """A memory that was reached: in how many hops, over which last edge, and from where.

    `path_weight` is the product of the weights on the way.
    """

    memory: int
    hop: int
    via: int
    kind: str
    weight: float
    path_weight: float


def best_steps(
    table: EdgeTable, edges: IntArray, of: IntArray, *, way: dict[int, float], hop: int, admit: Admit | None
) -> list[Reached]:
    """The best of these edges to each memory that was not reached yet: heaviest path first, then lower number.

    `of` says from which end each edge is walked; `way` has the weight of the path to each reached memory.
    """
    best: dict[int, Reached] = {}
    for via, (a, b, kind, weight, _) in zip(of.tolist(), table.records[edges].tolist(), strict=True):
        memory = b if via == a else a
        if memory in way:
            continue
        step = Reached(
            memory=memory,
            hop=hop,
            via=via,
            kind=table.kinds.values[kind],
            weight=weight,
            path_weight=way[via] * weight,
        )
        if memory not in best or _order(step) < _order(best[memory]):
            best[memory] = step
    return sorted(_admitted(best, admit), key=lambda step: (-step.path_weight, step.memory))


def _order(step: Reached) -> tuple[float, str, int]:
    return -step.path_weight, step.kind, step.via


def _admitted(best: dict[int, Reached], admit: Admit | None) -> list[Reached]:
    if admit is None or not best:
        return list(best.values())
    admitted = admit(np.array(list(best), dtype=np.int64))
    return [step for step, may in zip(best.values(), admitted.tolist(), strict=True) if may]
