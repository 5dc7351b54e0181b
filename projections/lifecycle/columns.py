"""The lifecycle of many memories at one position, or of each at its own, as columns.

Every column is computed when it is first asked for, and only from the history that holds it. Columns of
strings hold numbers of `strings` (-1: none), `tags` and `entities` numbers of `sets`, `status` and
`visibility` places in `STATUSES` and `VISIBILITIES`. Times are µs; a time that is not given is `ALWAYS`,
`NEVER` or `NEVER_ACCESSED`. A memory that did not exist yet has the values of a new, empty one.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Generic, TypeVar, cast

import numpy as np
import numpy.typing as npt

from recollect.projections.columns import NEVER, BoolArray, FloatArray, Int32Array, IntArray, Interner
from recollect.projections.lifecycle.condition import DEPTH, NO_LAYER, STABILITY, STRENGTH, VISIBLE
from recollect.projections.lifecycle.histories import Histories
from recollect.projections.lifecycle.traits import ALWAYS, NO_PRIORITY
from recollect.projections.lifecycle.usage import NEVER_ACCESSED, NO_RECALL
from recollect.projections.string_sets import StringSets

Values = TypeVar("Values")


class RecordedColumn(Generic[Values]):
    """A column as a history has it, read once; the default for a memory without a record there."""

    def __init__(self, history: str, name: str, default: float) -> None:
        self.history, self.name, self.default = history, name, default

    def __set_name__(self, owner: type, attribute: str) -> None:
        self._attribute = attribute

    def __get__(self, columns: LifecycleColumns, owner: type) -> Values:
        values: Any = columns.read(self.history, self.name, self.default)
        vars(columns)[self._attribute] = values
        return cast("Values", values)


class LifecycleColumns:
    """The lifecycle of memories[i] at `seqs` or seqs[i], with the traits that it had at `trait_seqs` if they are given.

    What is counted over all memories of a kind is that of one seq: `common`, or else the last of the seqs.
    """

    def __init__(
        self,
        histories: Histories,
        memories: IntArray | Int32Array,
        seqs: int | IntArray,
        *,
        trait_seqs: IntArray | None = None,
        common: int | None = None,
    ) -> None:
        self.memories = memories
        self._histories = histories
        self._seqs = seqs
        self._trait_seqs = seqs if trait_seqs is None else trait_seqs
        self._last = int(seqs.max(initial=0)) if isinstance(seqs, np.ndarray) else seqs
        self.seq = self._last if common is None else common
        self._nodes: dict[str, Int32Array] = {}

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

    def read(self, history: str, name: str, default: float) -> npt.NDArray[Any]:
        """One value of the records of a history that were current; the columns below are made of it."""
        versions = self._histories.of_memories[history]
        nodes = self._nodes.get(history)
        if nodes is None:
            seqs = self._trait_seqs if history == "traits" else self._seqs
            nodes = self._nodes[history] = versions.at(self.memories, seqs)
        return versions.read(nodes, name, default)

    # --- traits ----------------------------------------------------------------------------------

    importance = RecordedColumn[FloatArray]("traits", "importance", 0.5)
    trust = RecordedColumn[FloatArray]("traits", "trust", 1.0)
    priority = RecordedColumn[IntArray]("traits", "priority", NO_PRIORITY)
    created_at = RecordedColumn[IntArray]("traits", "created_at", ALWAYS)
    updated_at = RecordedColumn[IntArray]("traits", "updated_at", ALWAYS)
    valid_from = RecordedColumn[IntArray]("traits", "valid_from", ALWAYS)
    valid_to = RecordedColumn[IntArray]("traits", "valid_to", NEVER)
    expires_at = RecordedColumn[IntArray]("traits", "expires_at", NEVER)
    kind = RecordedColumn[Int32Array]("traits", "kind", -1)
    tags = RecordedColumn[Int32Array]("traits", "tags", 0)
    entities = RecordedColumn[Int32Array]("traits", "entities", 0)
    project = RecordedColumn[Int32Array]("traits", "project", -1)
    session = RecordedColumn[Int32Array]("traits", "session", -1)
    source = RecordedColumn[Int32Array]("traits", "source", -1)
    importance_tag = RecordedColumn[Int32Array]("traits", "importance_tag", -1)
    key = RecordedColumn[Int32Array]("traits", "key", -1)
    embedder = RecordedColumn[Int32Array]("traits", "embedder", -1)
    revision_count = RecordedColumn[Int32Array]("traits", "revision", 0)

    @cached_property
    def event_dated(self) -> BoolArray:
        """Whether the memory has a date of its own beside that of its creation."""
        return np.not_equal(self.valid_from, ALWAYS)

    @cached_property
    def event_at(self) -> IntArray:
        """When the memory's content begins to hold (`valid_from`); its creation if that is not given."""
        return np.where(self.event_dated, self.valid_from, self.created_at)

    # --- usage and feedback ----------------------------------------------------------------------

    access_count = RecordedColumn[Int32Array]("usage", "accesses", 0)
    used_count = RecordedColumn[Int32Array]("usage", "used", 0)
    injected_count = RecordedColumn[Int32Array]("usage", "injected", 0)
    last_access_at = RecordedColumn[IntArray]("usage", "last_access_at", NEVER_ACCESSED)
    # The seq of the last recall that an access belonged to; -1 if no access named a recall.
    last_recall = RecordedColumn[IntArray]("usage", "last_recall", NO_RECALL)
    helpful_count = RecordedColumn[Int32Array]("feedback", "helpful", 0)
    unhelpful_count = RecordedColumn[Int32Array]("feedback", "unhelpful", 0)
    outdated_count = RecordedColumn[Int32Array]("feedback", "outdated", 0)

    @cached_property
    def returned_count(self) -> Int32Array:
        """Accesses that were neither used nor injected: returned by a recall."""
        return self.access_count - self.used_count - self.injected_count

    @cached_property
    def session_spread(self) -> Int32Array:
        """max(1, number of distinct sessions that created or accessed the memory)."""
        sessions: Int32Array = self.read("usage", "sessions", 1)
        return np.maximum(sessions, np.int32(1))

    @cached_property
    def touched_at(self) -> IntArray:
        """The last access, or the creation if the memory was never accessed."""
        return np.where(self.last_access_at == NEVER_ACCESSED, self.created_at, self.last_access_at)

    @cached_property
    def feedback(self) -> Int32Array:
        """helpful - unhelpful - 2 * outdated."""
        return self.helpful_count - self.unhelpful_count - np.int32(2) * self.outdated_count

    @cached_property
    def _ratings_of_kind(self) -> Int32Array:
        nodes = self._histories.ratings.at(np.maximum(self.kind, 0), self.seq)
        nodes[self.kind < 0] = -1
        return nodes

    @property
    def kind_helpful(self) -> FloatArray:
        """How often memories of the same kind were judged helpful."""
        return self._histories.ratings.read(self._ratings_of_kind, "helpful", 0).astype(np.float64)

    @property
    def kind_unhelpful(self) -> FloatArray:
        """How often memories of the same kind were judged anything else."""
        ratings, nodes = self._histories.ratings, self._ratings_of_kind
        others: Int32Array = ratings.read(nodes, "unhelpful", 0) + ratings.read(nodes, "outdated", 0)
        return others.astype(np.float64)

    # --- condition and visibility ----------------------------------------------------------------

    stability = RecordedColumn[FloatArray]("condition", "stability", STABILITY)
    depth_score = RecordedColumn[Int32Array]("condition", "depth_score", DEPTH)
    status = RecordedColumn[Int32Array]("condition", "status", 0)
    layer = RecordedColumn[Int32Array]("condition", "layer", NO_LAYER)
    visibility = RecordedColumn[Int32Array]("visibility", "visibility", VISIBLE)
    # The seq at which the memory was last hidden or restored; 0 if it never was.
    visibility_seq = RecordedColumn[IntArray]("visibility", "seq", 0)
    hidden_reason = RecordedColumn[Int32Array]("visibility", "reason", -1)
    # The id, as the number of a string, of the memory that took the place of this one.
    superseded_by = RecordedColumn[Int32Array]("visibility", "superseded_by", -1)

    @cached_property
    def strength_seq(self) -> IntArray:
        """The seq at which the strength was last set; the memory's birth if it never was."""
        set_at: IntArray = self.read("condition", "strength_seq", 0)
        return np.maximum(set_at, self._histories.born.array[self.memories])

    @cached_property
    def strength(self) -> FloatArray:
        """The last set strength and all downscales since: see `strength.py` for the definition."""
        return self._after_downscales(self.read("condition", "strength", STRENGTH), self.strength_seq)

    def downscaled(self, strengths: FloatArray, since: int) -> FloatArray:
        """The strengths of these memories at `since` after the downscales from then to now."""
        return self._after_downscales(strengths, np.full(len(self), since, dtype=np.int64))

    def _after_downscales(self, base: FloatArray, since: IntArray) -> FloatArray:
        downscales, flips = self._histories.downscales, self._histories.traits.flips
        if not downscales.count(self._last):
            return base
        tagged = self.importance_tag >= 0
        strengths = downscales.strengths(base, since, tagged, self._seqs)
        for place, memory in enumerate(self.memories.tolist() if flips else ()):
            if memory in flips:
                strengths[place] = downscales.strength(
                    float(base[place]),
                    int(since[place]),
                    bool(tagged[place]),
                    flips[memory],
                    int(self._seqs[place]) if isinstance(self._seqs, np.ndarray) else self._seqs,
                )
        return strengths
