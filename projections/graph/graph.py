"""graph: how memories are connected at any position: edges (`edges`) and clusters (`clusters`).

Reads      Linked, Unlinked, Clustered
State      edges with the seqs they were added and removed at; one assignment to clusters after the other
Invariant  the answer for a seq is a pure function of the events up to that seq

Events about ids that do not exist change nothing. Whether a memory at the end of an edge may be shown is
decided elsewhere: `expand` takes that as `admit`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, assert_never

import msgspec
import numpy as np

from recollect.events import facts
from recollect.events.envelope import Recorded
from recollect.projections.columns import NEVER, FloatArray, Int32Array, IntArray, State
from recollect.projections.documents import Documents
from recollect.projections.graph.clusters import Clusters
from recollect.projections.graph.edges import Direction, EdgeTable
from recollect.projections.graph.expansion import Admit, Reached, best_steps


class Edge(msgspec.Struct, frozen=True, kw_only=True):
    """An edge from memory a to memory b; `added` is the seq that gave it this weight."""

    a: int
    b: int
    kind: str
    weight: float
    added: int

    def other(self, memory: int) -> int:
        """The end that is not `memory`."""
        return self.b if memory == self.a else self.a


class Neighbours(msgspec.Struct, frozen=True, kw_only=True):
    """Edges at some memories, as columns: `memory` is the other end of an edge found at `of`, `kind` the number of one
    of the kinds of edges."""

    of: IntArray
    memory: IntArray
    kind: Int32Array
    weight: FloatArray

    def __len__(self) -> int:
        return len(self.of)


class Graph:
    name = "graph"
    version = 1
    reads: ClassVar[frozenset[type]] = frozenset({facts.Linked, facts.Unlinked, facts.Clustered})

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        self.edges = EdgeTable()
        self.clusters = Clusters()

    # --- folding ---------------------------------------------------------------------------------

    def apply(self, recorded: Recorded) -> None:
        """Fold one event that the documents have folded already."""
        match recorded.fact:
            case facts.Linked(a=a, b=b, kind=kind, weight=weight):
                ends = self._documents.ids.find(a), self._documents.ids.find(b)
                if min(ends) >= 0:
                    self.edges.link(*ends, kind, weight, recorded.seq)
            case facts.Unlinked(a=a, b=b, kind=maybe_kind):
                self.edges.unlink(
                    self._documents.ids.find(a), self._documents.ids.find(b), maybe_kind, recorded.seq
                )
            case facts.Clustered() as clustered:
                self.clusters.assign(clustered, recorded.seq, self._documents.ids)
            case (
                facts.Ingested() | facts.Revised() | facts.Reembedded() | facts.Forgotten() | facts.Restored()
                | facts.Superseded() | facts.Erased() | facts.Accessed() | facts.Recalled() | facts.Rated()
                | facts.DreamBegan() | facts.Consolidated() | facts.Downscaled() | facts.Stabilized() | facts.Pruned()
                | facts.Placed() | facts.Promoted() | facts.DreamEnded() | facts.FormulaAdopted()
                | facts.EmbedderAdopted() | facts.ShardSealed() | facts.ShardRetired() | facts.Expected()
                | facts.ExpectationWithdrawn() | facts.Recovered() | facts.ClockCorrected() | facts.Attested()
                | facts.Unknown() | facts.Redacted()
            ):  # fmt: skip
                pass
            case _:
                assert_never(recorded.fact)

    # --- edges -----------------------------------------------------------------------------------

    def edges_of(
        self,
        memory: int,
        seq: int,
        *,
        direction: Direction = "both",
        kinds: Iterable[str] | None = None,
        min_weight: float = 0.0,
    ) -> list[Edge]:
        """The edges at one memory: heaviest first, then by kind, then by the numbers of their ends."""
        edges, _ = self._standing([memory], seq, direction, kinds, min_weight)
        names = self.edges.kinds.values
        found = [
            Edge(a=a, b=b, kind=names[kind], weight=weight, added=added)
            for a, b, kind, weight, added in self.edges.records[edges].tolist()
        ]
        return sorted(found, key=lambda edge: (-edge.weight, edge.kind, edge.a, edge.b))

    def history(self, memory: int) -> list[int]:
        """The seqs of all events that gave or took an edge of this memory, ascending."""
        edges, _ = self.edges.of([memory], "both")
        ended = self.edges.removed[edges]
        return sorted({*self.edges.records["added"][edges].tolist(), *ended[ended != NEVER].tolist()})

    def neighbours(
        self,
        memories: IntArray | Int32Array,
        seq: int,
        *,
        direction: Direction = "both",
        kinds: Iterable[str] | None = None,
        min_weight: float = 0.0,
    ) -> Neighbours:
        """The edges at these memories as columns, by memory in the order given, then by age."""
        edges, of = self._standing(memories.tolist(), seq, direction, kinds, min_weight)
        found = self.edges.records[edges]
        a, b = found["a"].astype(np.int64), found["b"].astype(np.int64)
        return Neighbours(of=of, memory=np.where(a == of, b, a), kind=found["kind"], weight=found["weight"])

    def degrees(self, memories: IntArray | Int32Array, seq: int) -> IntArray:
        """How many edges each of these memories has."""
        wanted = memories.tolist()
        _, of = self._standing(list(dict.fromkeys(wanted)), seq, "both", None, -np.inf)
        counts = np.bincount(of, minlength=max(wanted, default=-1) + 1)
        return counts[memories]

    def expand(
        self,
        seeds: Iterable[int],
        seq: int,
        hops: int,
        *,
        direction: Direction = "both",
        min_weight: float = 0.0,
        admit: Admit | None = None,
    ) -> list[Reached]:
        """The memories within `hops` edges of the seeds, without the seeds: breadth first.

        Each is given once, with the fewest hops and, among those, the heaviest way (then the kind's name,
        then the lower number it comes from). Nearest come first, then the heaviest way, then the lower
        number. A memory that `admit` refuses is neither reached nor passed through.
        """
        way = dict.fromkeys(map(int, seeds), 1.0)
        frontier, reached = sorted(way), list[Reached]()
        for hop in range(1, hops + 1):
            edges, of = self._standing(frontier, seq, direction, None, min_weight)
            found = best_steps(self.edges, edges, of, way=way, hop=hop, admit=admit)
            way.update((step.memory, step.path_weight) for step in found)
            reached += found
            frontier = [step.memory for step in found]
        return reached

    def _standing(
        self,
        memories: list[int],
        seq: int,
        direction: Direction,
        kinds: Iterable[str] | None,
        min_weight: float,
    ) -> tuple[IntArray, IntArray]:
        edges, of = self.edges.of(memories, direction)
        mask = self.edges.standing(
            edges, seq, kinds=None if kinds is None else tuple(kinds), min_weight=min_weight
        )
        return edges[mask], of[mask]

    # --- checkpoints -----------------------------------------------------------------------------

    def dump(self) -> State:
        return {**self.edges.dump(), **self.clusters.dump()}

    def load(self, state: State) -> None:
        self.edges.load(state)
        self.clusters.load(state)
