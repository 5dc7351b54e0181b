"""ratings: how the memories of each kind were rated, at any position.

Reads      Rated, with the kind that the memory had when it was judged
State      per kind (the number of its name) how many verdicts were `helpful` and how many were not
Invariant  the counts at a seq are those of the ratings up to that seq, whatever became of the memories since
"""

from __future__ import annotations

import numpy as np

from recollect.events.facts import Verdict
from recollect.projections.columns import FloatArray, Int32Array, State, Versions


class Ratings:
    def __init__(self) -> None:
        self.history = Versions([("helpful", "i"), ("unhelpful", "i")])

    def rated(self, kind: int, seq: int, verdict: Verdict) -> None:
        """Count one rating of a memory of this kind; every verdict but `helpful` counts against the kind."""
        node = self.history.latest(kind)
        helpful, unhelpful = self.history.values(node) if node >= 0 else (0, 0)
        praised = verdict == "helpful"
        self.history.append(kind, seq, helpful + praised, unhelpful + (not praised))

    def counts(self, kinds: Int32Array, seq: int) -> tuple[FloatArray, FloatArray]:
        """How many ratings of each of these kinds were `helpful` and how many were not, at `seq`."""
        nodes = self.history.at(np.maximum(kinds, 0), seq)
        nodes[kinds < 0] = -1
        return (
            self.history.read(nodes, "helpful", 0).astype(np.float64),
            self.history.read(nodes, "unhelpful", 0).astype(np.float64),
        )

    def dump(self) -> State:
        return self.history.dump("verdicts")

    def load(self, state: State) -> None:
        self.history.load("verdicts", state)
