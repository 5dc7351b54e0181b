"""A second future of the projections: what a view would be after facts that are not written yet.

The copy owns everything that facts of a dream can change in place. The vectors, the words and the built shards
are shared with the original: they only ever grow at the end, and a grown array is an array of its own.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from recollect.events.envelope import Recorded, type_name
from recollect.events.facts import AnyFact, Micros
from recollect.events.upcasts import VERSIONS
from recollect.projections.view import Projections, View

_SHARED = ("vectors|", "lexical:")


class WhatIf:
    """The projections at their position, and on from there. Do not fold into the original while it is made."""

    def __init__(self, projections: Projections, now: Micros) -> None:
        self.now = now
        self._fork = Projections()
        state = projections.dump()
        own = {
            name: value.copy() if isinstance(value, np.ndarray) and not name.startswith(_SHARED) else value
            for name, value in state.items()
        }
        self._fork.load(own, position=projections.position)
        self._fork.vectors.shards = projections.vectors.shards

    def copy(self) -> WhatIf:
        """An independent copy of this future."""
        return WhatIf(self._fork, self.now)

    def apply(self, facts: Iterable[AnyFact]) -> None:
        """Fold facts as if they had been appended now."""
        for fact in facts:
            name = type_name(type(fact))
            seq = self._fork.position + 1
            self._fork.apply(Recorded(seq, self.now, b"", "", name, VERSIONS[name], b"", fact))

    def view(self, seq: int | None = None) -> View:
        """The view at a seq; by default after all that happened."""
        return self._fork.at(self._fork.position if seq is None else seq, self.now)
