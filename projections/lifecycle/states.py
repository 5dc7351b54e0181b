"""Many states of many memories at once: the lifecycle of each memory at a seq of its own.

What `LifecycleColumns` gives for one seq, this gives for pairs of a memory and a seq, in the same columns with
the same values. Tables of history are made of it.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from recollect.projections.columns import FloatArray, Int32Array, IntArray, distinct, state_array
from recollect.projections.lifecycle.columns import LifecycleColumns
from recollect.projections.lifecycle.condition import STRENGTH
from recollect.projections.lifecycle.histories import Histories


class States(LifecycleColumns):
    """The lifecycle of memories[i] at seqs[i], or with the traits that it had at trait_seqs[i].

    What is counted over all memories of a kind is that of one seq: `common`, or else the last of the seqs.
    """

    def __init__(
        self, histories: Histories, memories: IntArray, seqs: IntArray, *, trait_seqs: IntArray | None = None,
        common: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__(histories, memories, int(seqs.max(initial=0)) if common is None else common)
        self.seqs = seqs
        self._trait_seqs = seqs if trait_seqs is None else trait_seqs

    @cached_property
    def _trait_nodes(self) -> Int32Array:
        return self._histories.traits.history.at_each(self.memories, self._trait_seqs)

    @cached_property
    def _usage_nodes(self) -> Int32Array:
        return self._histories.usage.history.at_each(self.memories, self.seqs)

    @cached_property
    def _feedback_nodes(self) -> Int32Array:
        return self._histories.feedback.history.at_each(self.memories, self.seqs)

    @cached_property
    def _condition_nodes(self) -> Int32Array:
        return self._histories.condition.history.at_each(self.memories, self.seqs)

    @cached_property
    def _visibility_nodes(self) -> Int32Array:
        return self._histories.visibility.history.at_each(self.memories, self.seqs)

    @cached_property
    def strength(self) -> FloatArray:
        """Grouped by how many downscales had happened: within a group the seq makes no difference."""
        base: FloatArray = self._condition("strength", STRENGTH)
        downscales, flips = self._histories.downscales, self._histories.traits.flips
        tagged, strengths = self.importance_tag >= 0, base.copy()
        bounds = state_array(downscales.dump(""), ".downscales")["seq"]
        groups = np.searchsorted(bounds, self.seqs, side="right")
        for count in distinct(groups[groups > 0]).tolist():
            here = groups == count
            strengths[here] = downscales.strengths(
                base[here], self.strength_seq[here], tagged[here], int(bounds[count - 1])
            )
        for place, memory in enumerate(self.memories.tolist() if flips and len(bounds) else ()):
            if memory in flips:
                strengths[place] = downscales.strength(
                    float(base[place]), int(self.strength_seq[place]), bool(tagged[place]), flips[memory],
                    int(self.seqs[place]),
                )  # fmt: skip
        return strengths


def changes(histories: Histories, after: int, upto: int) -> tuple[IntArray, IntArray]:
    """Which memories' own records changed at which seqs with after < seq <= upto: by memory, then by seq."""
    groups = (
        histories.traits,
        histories.usage,
        histories.feedback,
        histories.condition,
        histories.visibility,
    )
    tables = [group.history.table.array for group in groups]
    tails = [table[_first_after(table["seq"], after) : _first_after(table["seq"], upto)] for table in tables]
    owners = np.concatenate([tail["owner"] for tail in tails]).astype(np.int64)
    seqs = np.concatenate([tail["seq"] for tail in tails])
    order = np.lexsort((seqs, owners))
    owners, seqs = owners[order], seqs[order]
    fresh = np.ones(len(owners), dtype=np.bool_)
    fresh[1:] = (owners[1:] != owners[:-1]) | (seqs[1:] != seqs[:-1])
    return owners[fresh], seqs[fresh]


def _first_after(seqs: IntArray, seq: int) -> int:
    return int(np.searchsorted(seqs, seq, side="right"))
