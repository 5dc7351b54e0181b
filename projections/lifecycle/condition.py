"""condition: what dreams wrote about a memory, and whether it is visible.

`Condition` reads Consolidated, Stabilized, Placed and Promoted: the last set strength with the seq that set
it (global downscales come on top, see `strength`), stability, depth, status and layer. `Visibility` reads
what hides a memory or brings it back: the newest such event decides, but an erased memory stays erased until
its id is ingested anew.
"""

from __future__ import annotations

from typing import Literal, get_args

from recollect.events.facts import Status
from recollect.projections.columns import Versions

STRENGTH = 1.0
STABILITY = 1.0
DEPTH = 2
NO_LAYER = -1

STATUSES: tuple[Status, ...] = get_args(Status)
_STATUS_CODES = {status: code for code, status in enumerate(STATUSES)}

VisibilityName = Literal["visible", "forgotten", "superseded", "pruned", "erased"]
VISIBILITIES: tuple[VisibilityName, ...] = get_args(VisibilityName)
VISIBLE, FORGOTTEN, SUPERSEDED, PRUNED, ERASED = range(5)

_Record = tuple[float, int, float, int, int, int]


class Condition(Versions):
    def __init__(self) -> None:
        super().__init__(
            [
                ("strength", "d"),
                ("strength_seq", "q"),
                ("stability", "d"),
                ("depth_score", "i"),
                ("status", "i"),
                ("layer", "i"),
            ]
        )

    def strengthened(self, memory: int, seq: int, strength: float) -> None:
        _, _, *rest = self._newest(memory)
        self.append(memory, seq, strength, seq, *rest)

    def stabilized(self, memory: int, seq: int, stability: float) -> None:
        strength, strength_seq, _, *rest = self._newest(memory)
        self.append(memory, seq, strength, strength_seq, stability, *rest)

    def placed(self, memory: int, seq: int, *, status: Status, depth: int) -> None:
        *before, _, _, layer = self._newest(memory)
        self.append(memory, seq, *before, depth, _STATUS_CODES[status], layer)

    def promoted(self, memory: int, seq: int, *, layer: int, depth: int) -> None:
        *before, _, status, _ = self._newest(memory)
        self.append(memory, seq, *before, depth, status, layer)

    def _newest(self, memory: int) -> _Record:
        """The newest record; a strength that nothing set has the seq 0."""
        node = self.latest(memory)
        if node < 0:
            return STRENGTH, 0, STABILITY, DEPTH, 0, NO_LAYER
        strength, strength_seq, stability, depth, status, layer = self.values(node)
        return strength, strength_seq, stability, depth, status, layer


class Visibility(Versions):
    """Records only changes; a memory without a record is visible."""

    def __init__(self) -> None:
        super().__init__([("visibility", "i"), ("reason", "i"), ("superseded_by", "i")])

    def hidden(self, memory: int, seq: int, visibility: int, *, reason: int, by: int = -1) -> None:
        if self._now(memory) != ERASED:
            self.append(memory, seq, visibility, reason, by)

    def restored(self, memory: int, seq: int) -> None:
        if self._now(memory) not in (VISIBLE, ERASED):
            self.append(memory, seq, VISIBLE, -1, -1)

    def ingested(self, memory: int, seq: int) -> None:
        if self._now(memory) != VISIBLE:
            self.append(memory, seq, VISIBLE, -1, -1)

    def _now(self, memory: int) -> int:
        node = self.latest(memory)
        return VISIBLE if node < 0 else int(self.values(node)[0])
