"""The numbers of a stage, by name; and those that a formula leaves free for `tune` to choose.

`free = { words = [0.2, 0.8] }` beside a stage's other keys marks them, with the range to search. It decides no ranking,
so it is no part of the text or the digest. If a formula marks no numbers, every weight is free: what `weigh` and `fuse`
multiply by, what `boost` adds, the `scale` of `add`; each from 0 to twice the largest of its stage.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from recollect.query.nearest import there_are
from recollect.query.stages.any_stage import AnyStage
from recollect.query.stages.scoring import Add, Boost, Fuse, Weigh
from recollect.query.stages.stage import FactorStage

_TABLES = ("weights", "amounts", "parameters", "below", "any_of", "table")


class FreeNumber(msgspec.Struct, frozen=True, kw_only=True):
    """One number of one stage, counted from 0, and the range that it may have."""

    stage: int
    name: str
    low: float
    high: float


class Place(NamedTuple):
    """Where a number stands in a stage: a field, or a key of the table in that field."""

    field: str
    key: str | None
    value: float


def numbers_of(stage: AnyStage) -> dict[str, Place]:
    """The numbers of a stage under the names that a file gives them."""
    found: dict[str, Place] = {}
    for field in stage.__struct_fields__:
        value = getattr(stage, field)
        if isinstance(value, dict) and field in _TABLES:
            for key, inner in value.items():
                if _is_number(inner):
                    found.setdefault(key, Place(field, key, float(inner)))
        elif _is_number(value):
            found[field] = Place(field, None, float(value))
    if isinstance(stage, Fuse):
        found |= {name: Place("weights", name, weight) for name, weight in _weights(stage).items()}
    return found


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def marked(stage: AnyStage, number: int, given: object) -> tuple[FreeNumber, ...]:
    """What a stage's `free` says; msgspec.ValidationError says what is wrong with it."""
    try:
        ranges = msgspec.convert(given, dict[str, tuple[float, float]])
    except msgspec.ValidationError:
        raise msgspec.ValidationError(
            f"has free = {given!r}; write a range for each number, such as free = {{ words = [0.2, 0.8] }}"
        ) from None
    known = numbers_of(stage)
    for name, (low, high) in ranges.items():
        if name not in known:
            raise msgspec.ValidationError(
                f"leaves {name!r} free, which is no number of it; {there_are(name, known)}"
            )
        if not low < high:
            raise msgspec.ValidationError(f"leaves {name!r} free from {low:g} to {high:g}, which is no range")
        for end in (low, high):
            with_number(stage, name, end)
    return tuple(
        FreeNumber(stage=number, name=name, low=low, high=high) for name, (low, high) in ranges.items()
    )


def every_weight(stages: tuple[AnyStage, ...]) -> tuple[FreeNumber, ...]:
    """The weights of the stages that are enabled, each from 0 to twice the largest of its stage; one that is 0 stays."""
    found = []
    for number, stage in enumerate(stages):
        weights = {name: weight for name, weight in _weights(stage).items() if weight != 0.0}
        most = 2.0 * max(map(abs, weights.values()), default=0.0)
        for name, weight in weights.items() if stage.enabled else ():
            low, high = (0.0, most) if weight > 0.0 else (-most, 0.0)
            found.append(FreeNumber(stage=number, name=name, low=low, high=high))
    return tuple(found)


def _weights(stage: AnyStage) -> Mapping[str, float]:
    match stage:
        case Weigh(weights=weights):
            return weights
        case Fuse(channels=channels, weights=weights):
            return {channel: weights.get(channel, 1.0) for channel in channels}
        case Boost(amounts=amounts):
            return amounts
        case Add(scale=scale):
            return {"scale": scale}
        case _:
            return {}


def with_number(stage: AnyStage, name: str, value: float) -> AnyStage:
    """The stage with another number under this name, checked as one from a file is."""
    place = numbers_of(stage)[name]
    fields = msgspec.to_builtins(stage)
    whole = isinstance(_at(fields, place), int)
    number = round(value) if whole else value
    if place.key is None:
        fields[place.field] = number
    else:
        fields[place.field] = {**fields[place.field], place.key: number}
    if isinstance(stage, FactorStage):
        from recollect.query import catalogue  # noqa: PLC0415 (it imports every factor, which stages do not need)

        catalogue.complete(stage.factor, fields["parameters"])
    return msgspec.convert(fields, type(stage))


def _at(fields: dict[str, object], place: Place) -> object:
    table = fields[place.field]
    return table.get(place.key, place.value) if isinstance(table, dict) and place.key is not None else table
