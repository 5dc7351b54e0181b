"""The lifecycle of many memories at one position, as columns.

Every column is computed when it is first asked for, and only from the history that holds it. Columns of
strings hold numbers of `strings` (-1: none), `tags` and `entities` numbers of `sets`, `status` and
`visibility` places in `STATUSES` and `VISIBILITIES`. Times are µs; a time that is not given is `ALWAYS`,
`NEVER` or `NEVER_ACCESSED`. A memory that did not exist yet has the values of a new, empty one.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from recollect.projections.columns import NEVER, BoolArray, FloatArray, Int32Array, IntArray, Interner
from recollect.projections.lifecycle.condition import DEPTH, NO_LAYER, STABILITY, STRENGTH, VISIBLE
from recollect.projections.lifecycle.histories import Histories
from recollect.projections.lifecycle.traits import ALWAYS, NO_PRIORITY
from recollect.projections.lifecycle.usage import NEVER_ACCESSED, NO_RECALL
from recollect.projections.string_sets import StringSets

_IMPORTANCE = 0.5
_TRUST = 1.0


class LifecycleColumns:
    def __init__(self, histories: Histories, memories: IntArray | Int32Array, seq: int) -> None:
        self.memories = memories
        self.seq = seq
        self._histories = histories

    def __len__(self) -> int:
        return len(self.memories)

    @property
    def strings(self) -> Interner:
        return self._histories.strings

    @property
    def sets(self) -> StringSets:
        return self._histories.traits.sets

    def texts(self, numbers: Int32Array) -> list[str | None]:
        """The strings of a column of strings."""
        values = self._histories.strings.values
        return [values[number] if number >= 0 else None for number in numbers.tolist()]

    def members(self, numbers: Int32Array) -> list[tuple[str, ...]]:
        """The sets of a column of sets."""
        values = self._histories.traits.sets.values
        return [values[number] for number in numbers.tolist()]

    # --- traits ----------------------------------------------------------------------------------

    @cached_property
    def _trait_nodes(self) -> Int32Array:
        return self._histories.traits.history.at(self.memories, self.seq)

    def _trait(self, name: str, default: float) -> npt.NDArray[Any]:
        return self._histories.traits.history.read(self._trait_nodes, name, default)

    @cached_property
    def importance(self) -> FloatArray:
        return self._trait("importance", _IMPORTANCE)

    @cached_property
    def trust(self) -> FloatArray:
        return self._trait("trust", _TRUST)

    @cached_property
    def priority(self) -> IntArray:
        return self._trait("priority", NO_PRIORITY)

    @cached_property
    def created_at(self) -> IntArray:
        return self._trait("created_at", ALWAYS)

    @cached_property
    def updated_at(self) -> IntArray:
        return self._trait("updated_at", ALWAYS)

    @cached_property
    def valid_from(self) -> IntArray:
        return self._trait("valid_from", ALWAYS)

    @cached_property
    def valid_to(self) -> IntArray:
        return self._trait("valid_to", NEVER)

    @cached_property
    def expires_at(self) -> IntArray:
        return self._trait("expires_at", NEVER)

    @cached_property
    def event_dated(self) -> BoolArray:
        """Whether the memory has a date of its own beside that of its creation."""
        return np.not_equal(self.valid_from, ALWAYS)

    @cached_property
    def event_at(self) -> IntArray:
        """When the memory's content begins to hold (`valid_from`); its creation if that is not given."""
        return np.where(self.event_dated, self.valid_from, self.created_at)

    @cached_property
    def kind(self) -> Int32Array:
        return self._trait("kind", -1)

    @cached_property
    def tags(self) -> Int32Array:
        return self._trait("tags", 0)

    @cached_property
    def entities(self) -> Int32Array:
        return self._trait("entities", 0)

    @cached_property
    def project(self) -> Int32Array:
        return self._trait("project", -1)

    @cached_property
    def session(self) -> Int32Array:
        return self._trait("session", -1)

    @cached_property
    def source(self) -> Int32Array:
        return self._trait("source", -1)

    @cached_property
    def importance_tag(self) -> Int32Array:
        return self._trait("importance_tag", -1)

    @cached_property
    def key(self) -> Int32Array:
        return self._trait("key", -1)

    @cached_property
    def embedder(self) -> Int32Array:
        return self._trait("embedder", -1)

    @cached_property
    def revision_count(self) -> Int32Array:
        return self._trait("revision", 0)

    # --- usage and feedback ----------------------------------------------------------------------

    @cached_property
    def _usage_nodes(self) -> Int32Array:
        return self._histories.usage.history.at(self.memories, self.seq)

    def _usage(self, name: str, default: int) -> npt.NDArray[Any]:
        return self._histories.usage.history.read(self._usage_nodes, name, default)

    @cached_property
    def access_count(self) -> Int32Array:
        return self._usage("accesses", 0)

    @cached_property
    def used_count(self) -> Int32Array:
        return self._usage("used", 0)

    @cached_property
    def injected_count(self) -> Int32Array:
        return self._usage("injected", 0)

    @cached_property
    def returned_count(self) -> Int32Array:
        """Accesses that were neither used nor injected: returned by a recall."""
        return self.access_count - self.used_count - self.injected_count

    @cached_property
    def session_spread(self) -> Int32Array:
        """max(1, number of distinct sessions that created or accessed the memory)."""
        sessions: Int32Array = self._usage("sessions", 1)
        return np.maximum(sessions, np.int32(1))

    @cached_property
    def last_access_at(self) -> IntArray:
        return self._usage("last_access_at", NEVER_ACCESSED)

    @cached_property
    def touched_at(self) -> IntArray:
        """The last access, or the creation if the memory was never accessed."""
        return np.where(self.last_access_at == NEVER_ACCESSED, self.created_at, self.last_access_at)

    @cached_property
    def last_recall(self) -> IntArray:
        """The seq of the last recall that an access belonged to; -1 if no access named a recall."""
        return self._usage("last_recall", NO_RECALL)

    @cached_property
    def _feedback_nodes(self) -> Int32Array:
        return self._histories.feedback.history.at(self.memories, self.seq)

    def _feedback(self, name: str) -> Int32Array:
        return self._histories.feedback.history.read(self._feedback_nodes, name, 0)

    @cached_property
    def helpful_count(self) -> Int32Array:
        return self._feedback("helpful")

    @cached_property
    def unhelpful_count(self) -> Int32Array:
        return self._feedback("unhelpful")

    @cached_property
    def outdated_count(self) -> Int32Array:
        return self._feedback("outdated")

    @cached_property
    def feedback(self) -> Int32Array:
        """helpful - unhelpful - 2 * outdated."""
        return (
            self._feedback("helpful") - self._feedback("unhelpful") - np.int32(2) * self._feedback("outdated")
        )

    @cached_property
    def _verdicts_on_kind(self) -> tuple[FloatArray, FloatArray]:
        return self._histories.ratings.counts(self.kind, self.seq)

    @property
    def kind_helpful(self) -> FloatArray:
        """How often memories of the same kind were judged helpful."""
        return self._verdicts_on_kind[0]

    @property
    def kind_unhelpful(self) -> FloatArray:
        """How often memories of the same kind were judged anything else."""
        return self._verdicts_on_kind[1]

    # --- condition and visibility ----------------------------------------------------------------

    @cached_property
    def _condition_nodes(self) -> Int32Array:
        return self._histories.condition.history.at(self.memories, self.seq)

    def _condition(self, name: str, default: float) -> npt.NDArray[Any]:
        return self._histories.condition.history.read(self._condition_nodes, name, default)

    @cached_property
    def strength_seq(self) -> IntArray:
        """The seq at which the strength was last set; the memory's birth if it never was."""
        set_at: IntArray = self._condition("strength_seq", 0)
        return np.maximum(set_at, self._histories.born.array[self.memories])

    @cached_property
    def strength(self) -> FloatArray:
        """The last set strength and all downscales since: see `strength.py` for the definition."""
        return self._after_downscales(self._condition("strength", STRENGTH), self.strength_seq)

    def downscaled(self, strengths: FloatArray, since: int) -> FloatArray:
        """The strengths of these memories at `since` after the downscales from then to now."""
        return self._after_downscales(strengths, np.full(len(self), since, dtype=np.int64))

    def _after_downscales(self, base: FloatArray, since: IntArray) -> FloatArray:
        downscales, flips = self._histories.downscales, self._histories.traits.flips
        if not downscales.count(self.seq):
            return base
        tagged = self.importance_tag >= 0
        strengths = downscales.strengths(base, since, tagged, self.seq)
        for place, memory in enumerate(self.memories.tolist() if flips else ()):
            if memory in flips:
                strengths[place] = downscales.strength(
                    float(base[place]),
                    int(since[place]),
                    bool(tagged[place]),
                    flips[memory],
                    self.seq,
                )
        return strengths

    @cached_property
    def stability(self) -> FloatArray:
        return self._condition("stability", STABILITY)

    @cached_property
    def depth_score(self) -> Int32Array:
        return self._condition("depth_score", DEPTH)

    @cached_property
    def status(self) -> Int32Array:
        return self._condition("status", 0)

    @cached_property
    def layer(self) -> Int32Array:
        return self._condition("layer", NO_LAYER)

    @cached_property
    def _visibility_nodes(self) -> Int32Array:
        return self._histories.visibility.history.at(self.memories, self.seq)

    @cached_property
    def visibility(self) -> Int32Array:
        return self._histories.visibility.history.read(self._visibility_nodes, "visibility", VISIBLE)

    @cached_property
    def visibility_seq(self) -> IntArray:
        """The seq at which the memory was last hidden or restored; 0 if it never was."""
        return self._histories.visibility.history.read(self._visibility_nodes, "seq", 0)

    @cached_property
    def hidden_reason(self) -> Int32Array:
        return self._histories.visibility.history.read(self._visibility_nodes, "reason", -1)

    @cached_property
    def superseded_by(self) -> Int32Array:
        """The id, as the number of a string, of the memory that took the place of this one."""
        return self._histories.visibility.history.read(self._visibility_nodes, "superseded_by", -1)
