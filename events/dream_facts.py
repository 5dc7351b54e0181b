"""What a dream writes: when it began, what each phase changed, when it ended. The facts themselves are in `facts`."""

from __future__ import annotations

from typing import Literal

import msgspec

from recollect.events.fact import Fact, MemoryId, Micros

Status = Literal["staged", "consolidated", "archived"]
PairDecision = Literal["keep_apart", "merge_candidate", "link", "duplicate", "contradiction"]


class DreamBegan(Fact, frozen=True, kw_only=True, tag="dream.began"):
    """A dream read the view at `basis` with this clock and these settings (TOML)."""

    dream: str
    basis: int
    now: Micros
    settings: str = ""
    undoes: str | None = None


class StrengthChange(msgspec.Struct, frozen=True, kw_only=True):
    id: MemoryId
    before: float
    after: float


class Pairing(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A new memory next to one of its closest old ones, and what was decided.

    A duplicate or a contradiction is only a proposal. `answers` is how many of the last recorded answers would change
    if it were accepted.
    """

    new: MemoryId
    old: MemoryId
    similarity: float
    decision: PairDecision
    answers: int = 0


class Consolidated(Fact, frozen=True, kw_only=True, tag="dream.consolidated"):
    """Strengths that replay raised, and the interleaved pairs."""

    dream: str
    changes: tuple[StrengthChange, ...]
    pairs: tuple[Pairing, ...] = ()


class Downscaled(Fact, frozen=True, kw_only=True, tag="dream.downscaled"):
    """Every strength was multiplied by `factor` (tagged memories by `tagged_factor`), not below `floor`.

    `undoes` names the seq of an earlier Downscaled that no longer counts from here on.
    """

    dream: str
    factor: float = 1.0
    tagged_factor: float = 1.0
    floor: float = 0.0
    undoes: int | None = None


class StabilityChange(msgspec.Struct, frozen=True, kw_only=True):
    id: MemoryId
    before: float
    after: float


class Stabilized(Fact, frozen=True, kw_only=True, tag="dream.stabilized"):
    """Stabilities after spaced recalls and failures."""

    dream: str
    changes: tuple[StabilityChange, ...]


class Pruning(msgspec.Struct, frozen=True, kw_only=True):
    id: MemoryId
    reason: str
    numbers: dict[str, float] = {}


class Pruned(Fact, frozen=True, kw_only=True, tag="dream.pruned"):
    """Memories that the dream forgot softly, each with its reason and numbers."""

    dream: str
    items: tuple[Pruning, ...]


class Placement(msgspec.Struct, frozen=True, kw_only=True):
    id: MemoryId
    status_before: Status
    status: Status
    depth_before: int
    depth: int
    restabilized: bool = False


class Placed(Fact, frozen=True, kw_only=True, tag="dream.placed"):
    """Status and depth by activity; what was recalled since the last dream is restabilised."""

    dream: str
    changes: tuple[Placement, ...]


class Promotion(msgspec.Struct, frozen=True, kw_only=True):
    id: MemoryId
    layer_before: str
    layer: str
    depth_before: int
    depth: int


class Promoted(Fact, frozen=True, kw_only=True, tag="dream.promoted"):
    """Memories that moved to another canonical layer."""

    dream: str
    changes: tuple[Promotion, ...]


class DreamEnded(Fact, frozen=True, kw_only=True, tag="dream.ended"):
    """The dream's own report: counts and what it did to recorded questions."""

    dream: str
    counts: dict[str, int] = {}
    metrics: dict[str, float] = {}
