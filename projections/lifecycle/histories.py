"""The histories that make up a memory's lifecycle, kept apart by how often they change.

An access writes 56 bytes of usage, not the whole state; most memories never get a record in the others.
"""

from __future__ import annotations

import numpy as np

from recollect.events.facts import Ingested, Verdict
from recollect.projections.columns import Column, IntArray, Interner, State, state_array, state_bytes
from recollect.projections.lifecycle.affinity import Affinity
from recollect.projections.lifecycle.condition import Condition, Visibility
from recollect.projections.lifecycle.ratings import Ratings
from recollect.projections.lifecycle.strength import Downscales
from recollect.projections.lifecycle.traits import Traits
from recollect.projections.lifecycle.usage import Feedback, Usage


class Histories:
    """All of them, over the same memories and the same numbered strings."""

    def __init__(self) -> None:
        self.strings = Interner()
        self.born: Column[np.int64] = Column(np.int64)
        self.traits = Traits(self.strings)
        self.usage = Usage()
        self.affinity = Affinity(self.usage.history, self.traits)
        self.feedback = Feedback()
        self.ratings = Ratings()
        self.condition = Condition()
        self.visibility = Visibility()
        self.downscales = Downscales()

    def births(self, seqs: IntArray, facts: list[Ingested]) -> None:
        """Memories that are all new, one event each."""
        self.born.extend(seqs)
        self.usage.born_in.extend(self.traits.births(seqs, facts))

    def ingested(self, memory: int, seq: int, fact: Ingested) -> None:
        if memory == len(self.born):
            self.born.append(seq)
            self.usage.born(self.traits.born(memory, seq, fact))
        else:
            assert memory < len(self.born), "memories are numbered in order of birth"
            self.traits.ingested(memory, seq, fact)
            self.visibility.ingested(memory, seq)

    def rated(self, memory: int, seq: int, verdict: Verdict) -> None:
        self.feedback.rated(memory, seq, verdict)
        self.ratings.rated(self.traits.kind(memory), seq, verdict)

    def seqs_of(self, memory: int) -> list[int]:
        """The seqs of all records of a memory, ascending."""
        groups = (self.traits, self.usage, self.feedback, self.condition, self.visibility)
        return sorted({g.history.seq(node) for g in groups for node in g.history.chain(memory)})

    def dump(self) -> State:
        return {
            "strings": self.strings.dump(),
            "born": self.born.array,
            **self.traits.dump(),
            **self.usage.dump(),
            **self.feedback.dump(),
            **self.ratings.dump(),
            **self.condition.dump(),
            **self.visibility.dump(),
            **self.downscales.dump("strength"),
        }

    def load(self, state: State) -> None:
        self.strings = Interner.load(state_bytes(state, "strings"))
        self.born.load(state_array(state, "born"))
        self.traits.load(state, self.strings)
        self.usage.load(state)
        self.affinity = Affinity(self.usage.history, self.traits)
        self.feedback.load(state)
        self.ratings.load(state)
        self.condition.load(state)
        self.visibility.load(state)
        self.downscales.load("strength", state)
