"""The numbers of a dream: one record, from `settings.toml` with a caller's changes.

Every number stands in that file with its source. A dream records the whole record as JSON in its first event,
so what it did can be understood without the file.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from recollect.events.errors import InvalidInput
from recollect.events.toml_file import read_toml

Count = Annotated[int, Meta(ge=0)]
Share = Annotated[float, Meta(ge=0.0, le=1.0)]
Positive = Annotated[float, Meta(gt=0.0, le=1e300)]
NonNegative = Annotated[float, Meta(ge=0.0, le=1e300)]
WhenStale = Literal["keep", "never", "prune", "prune if resolved", "archive"]


class _Table(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of the file: all of its names are needed, and no others are known."""


class ScanSettings(_Table, frozen=True, kw_only=True):
    min_age_hours: NonNegative
    half_life_hours: Positive
    access_floor: NonNegative
    top: Count
    peers_max: Count
    analyzer: str


class ConsolidateSettings(_Table, frozen=True, kw_only=True):
    max_strength_delta: Share
    strength_max: Share
    replay_recalled_max: Count
    neighbours: Count
    peer_similarity: Share
    pairs: Count
    link_similarity: Share
    merge_similarity: Share
    link_kind: str


class DownscaleSettings(_Table, frozen=True, kw_only=True):
    factor: Share
    tagged_factor: Share
    floor: Share


class StabilizeSettings(_Table, frozen=True, kw_only=True):
    stability_min: Positive
    stability_max: Positive


class PruneSettings(_Table, frozen=True, kw_only=True):
    never_accessed_days: NonNegative
    min_age_hours: NonNegative
    protect_importance: Share
    resolved_tags: tuple[str, ...]
    superseding_kind: str
    strength_floor: Share
    score_floor: NonNegative
    test_kinds: tuple[str, ...]
    test_tags: tuple[str, ...]


class PlaceSettings(_Table, frozen=True, kw_only=True):
    consolidate_accesses: Count
    archive_idle_days: NonNegative
    deepen_accesses: tuple[Count, Count]
    deepen_spread: tuple[Count, Count]
    shallow_idle_days: tuple[NonNegative, NonNegative]


class PromoteSettings(_Table, frozen=True, kw_only=True):
    session_spread: Count
    signal: NonNegative
    depth: Annotated[int, Meta(ge=1, le=3)]
    layer: str
    demote_signal: NonNegative
    demote_idle_days: NonNegative


class ClusterSettings(_Table, frozen=True, kw_only=True):
    memories_min: Annotated[int, Meta(ge=2)]
    clusters_max: Annotated[int, Meta(ge=1)]
    iterations: Annotated[int, Meta(ge=1)]
    changed_share: Share


class SummariseSettings(_Table, frozen=True, kw_only=True):
    sources_min: Annotated[int, Meta(ge=2)]
    sources_max: Annotated[int, Meta(ge=2)]
    groups_max: Count
    kind: str


class ProposeSettings(_Table, frozen=True, kw_only=True):
    pairs_max: Count
    looked_at_max: Count
    nearness_min: Share
    duplicate_cosine: Share
    values_max: Count


class MeasureSettings(_Table, frozen=True, kw_only=True):
    questions: Count
    k: Annotated[int, Meta(ge=1)]
    p: Annotated[float, Meta(gt=0.0, lt=1.0)]


class KindSettings(_Table, frozen=True, kw_only=True):
    """How fast a kind goes stale, what happens then, what its use is worth, how important it is to replay."""

    stale_after_days: Positive
    weight: NonNegative
    importance: NonNegative
    stale: WhenStale

    @property
    def decay_per_day(self) -> float:
        return 0.0 if self.stale == "never" else 1.0 / self.stale_after_days


class Settings(_Table, frozen=True, kw_only=True):
    scan: ScanSettings
    consolidate: ConsolidateSettings
    downscale: DownscaleSettings
    stabilize: StabilizeSettings
    prune: PruneSettings
    place: PlaceSettings
    promote: PromoteSettings
    cluster: ClusterSettings
    summarise: SummariseSettings
    propose: ProposeSettings
    measure: MeasureSettings
    kinds: dict[str, KindSettings]
    functions: Literal["portable/1"] = "portable/1"  # exp and log; records without it used the C library's

    def kind(self, name: str) -> KindSettings:
        """The numbers of a kind, ignoring case; those of `other` for one that is not listed."""
        return self.kinds.get(name.lower(), self.kinds["other"])

    @property
    def text(self) -> str:
        """The record as a dream keeps it."""
        return msgspec.json.encode(self).decode()


@cache
def _defaults() -> dict[str, object]:
    return tomllib.loads(resources.files("recollect.dream").joinpath("settings.toml").read_text("utf-8"))


def default_settings() -> Settings:
    return settings_from({})


def settings_from(changes: Mapping[str, object]) -> Settings:
    """The defaults with the named values changed, table by table."""
    try:
        settings = msgspec.convert(_merged(_defaults(), changes), Settings)
    except (msgspec.ValidationError, OverflowError) as error:
        raise InvalidInput(f"dream settings: {error}") from None
    except RecursionError:
        raise InvalidInput("dream settings: nested too deeply to be read") from None
    if settings.stabilize.stability_min > settings.stabilize.stability_max:
        raise InvalidInput("dream settings: stabilize.stability_min is above stabilize.stability_max")
    return settings


def load_settings(path: str | Path) -> Settings:
    """The defaults with the values of a TOML file."""
    try:
        changes = read_toml(path)
    except InvalidInput as error:
        raise InvalidInput(f"the settings file {path} {error}") from None
    return settings_from(changes)


def _merged(base: Mapping[str, object], changes: Mapping[str, object]) -> dict[str, object]:
    merged = dict(base)
    for name, value in changes.items():
        old = merged.get(name)
        both = isinstance(old, Mapping) and isinstance(value, Mapping)
        merged[name] = _merged(old, value) if both else value  # type: ignore[arg-type]
    return merged
