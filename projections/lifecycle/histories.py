"""The histories that make up a memory's lifecycle, kept apart by how often they change.

An access writes 56 bytes of usage, not the whole state; most memories never get a record in the others.
"""

from __future__ import annotations

import numpy as np

from recollect.events.facts import Ingested, Verdict
from recollect.projections.columns import (
    Column,
    IntArray,
    Interner,
    Saved,
    State,
    Versions,
)
from recollect.projections.lifecycle.affinity import Affinity
from recollect.projections.lifecycle.condition import Condition, Visibility
from recollect.projections.lifecycle.strength import Downscales
from recollect.projections.lifecycle.traits import Traits
from recollect.projections.lifecycle.usage import Feedback, Usage


class Histories:
    """All of them, over the same memories and the same numbered strings; `ratings` are those of kinds."""

    def __init__(self) -> None:
        self.strings = Interner()
        self.born: Column[np.int64] = Column(np.int64)
        self.traits = Traits(self.strings)
        self.usage = Usage()
        self.affinity = Affinity(self.usage, self.traits)
        self.feedback = Feedback()
        self.ratings = Feedback()
        self.condition = Condition()
        self.visibility = Visibility()
        self.downscales = Downscales()
        self.of_memories: dict[str, Versions] = {
            "traits": self.traits,
            "usage": self.usage,
            "feedback": self.feedback,
            "condition": self.condition,
            "visibility": self.visibility,
        }

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
        histories = self.of_memories.values()
        return sorted({history.seq(node) for history in histories for node in history.chain(memory)})

    def changes(self, after: int, upto: int) -> tuple[IntArray, IntArray]:
        """Which memories' own records changed at which seqs with after < seq <= upto: by memory, then by seq."""
        tables = [history.table.array for history in self.of_memories.values()]
        tails = [
            table[slice(*np.searchsorted(table["seq"], (after, upto), side="right"))] for table in tables
        ]
        owners = np.concatenate([tail["owner"] for tail in tails]).astype(np.int64)
        seqs = np.concatenate([tail["seq"] for tail in tails])
        order = np.lexsort((seqs, owners))
        owners, seqs = owners[order], seqs[order]
        fresh = np.ones(len(owners), dtype=np.bool_)
        fresh[1:] = (owners[1:] != owners[:-1]) | (seqs[1:] != seqs[:-1])
        return owners[fresh], seqs[fresh]

    def dump(self) -> State:
        state: State = {"strings": self.strings.dump(), "born": self.born.array}
        for name, history in self.of_memories.items():
            state |= history.dump(name)
        return {**state, **self.ratings.dump("ratings"), **self.downscales.dump("strength")}

    def load(self, state: Saved) -> None:
        self.strings = self.traits.strings = Interner.load(state["strings"])
        self.born.load(state["born"])
        for name, history in self.of_memories.items():
            history.load(name, state)
        self.ratings.load("ratings", state)
        self.affinity = Affinity(self.usage, self.traits)
        self.downscales.load("strength", state)
