"""Writes the golden samples that do not exist yet: one per type and current version; old ones are never touched.

    python tests/events/golden_samples.py

Each line of `tests/golden/events/facts.jsonl` holds a type, a version, the payload as it was stored (hex) and
the fact it must decode to for ever. When a version is raised, its predecessor's line stays.
"""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import msgspec

from recollect.events.envelope import encode, type_name
from recollect.events.facts import AnyFact, Fact
from recollect.events.upcasts import VERSIONS

FOLDER = Path(__file__).parents[1] / "golden" / "events"
FACTS = FOLDER / "facts.jsonl"


class Sample(msgspec.Struct, frozen=True):
    type: str
    version: int
    payload: str
    fact: dict[str, object]


def samples() -> list[Sample]:
    lines = FACTS.read_text().splitlines() if FACTS.exists() else []
    return [msgspec.json.decode(line, type=Sample) for line in lines]


def plain(fact: AnyFact) -> dict[str, object]:
    """The fact as JSON shows it."""
    shown = msgspec.json.decode(msgspec.json.encode(fact))
    assert isinstance(shown, dict)
    return shown


def sample_value(type_: object, name: str) -> object:
    """A value of this type that is not its default, the same every time."""
    kind = msgspec.inspect.type_info(type_)
    if isinstance(kind, msgspec.inspect.UnionType):
        absent = (msgspec.inspect.NoneType, msgspec.inspect.CustomType)
        kind = next(choice for choice in kind.types if not isinstance(choice, absent))
    return value_of(kind, name)


def value_of(kind: msgspec.inspect.Type, name: str) -> object:
    simple: dict[type[msgspec.inspect.Type], object] = {
        msgspec.inspect.StrType: f"{name} ✓",
        msgspec.inspect.IntType: 1_700_000_000_000_000 + len(name),
        msgspec.inspect.FloatType: 0.1 + len(name),
        msgspec.inspect.BoolType: True,
        msgspec.inspect.BytesType: bytes(range(8)) + name.encode(),
    }
    if type(kind) in simple:
        return simple[type(kind)]
    match kind:
        case msgspec.inspect.LiteralType(values=values):
            return values[-1]
        case msgspec.inspect.VarTupleType(item_type=item):
            return [value_of(item, name), value_of(item, name + "2")]
        case msgspec.inspect.TupleType(item_types=items):
            return [value_of(item, f"{name}{n}") for n, item in enumerate(items)]
        case msgspec.inspect.DictType(value_type=value):
            return {name: value_of(value, name)}
        case msgspec.inspect.StructType(cls=cls):
            return struct_value(cls)
    raise AssertionError(f"no sample value for {kind}")


def struct_value(cls: type[msgspec.Struct]) -> dict[str, object]:
    return {field.encode_name: sample_value(field.type, field.name) for field in msgspec.structs.fields(cls)}


def sample_fact(cls: type[Fact]) -> AnyFact:
    fact: AnyFact = msgspec.convert(struct_value(cls), cls)
    return fact


def add_missing() -> list[str]:
    known = {(sample.type, sample.version) for sample in samples()}
    added = []
    with FACTS.open("ab") as file:
        for cls in get_args(AnyFact):
            type_ = type_name(cls)
            if (type_, VERSIONS[type_]) not in known:
                fact = sample_fact(cls)
                sample = Sample(type_, VERSIONS[type_], encode(fact).hex(), plain(fact))
                file.write(msgspec.json.encode(sample) + b"\n")
                added.append(f"{type_} {VERSIONS[type_]}")
    return added


if __name__ == "__main__":
    print("\n".join(add_missing()) or "nothing is missing")  # noqa: T201
