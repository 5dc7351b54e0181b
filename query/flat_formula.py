"""A formula as TOML with everything in it: `extends` and every default are resolved.

The flat text states each stage with its label, its numbers and the versions of what it names, so that it means the
same for ever; a file of it has the formula's own digest.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Protocol

import msgspec

from recollect.query.dials import Dial
from recollect.query.factors.factor import FACTORS
from recollect.query.free_numbers import FreeNumber
from recollect.query.stages.any_stage import AnyStage
from recollect.query.stages.stage import FactorStage, LexicalStage
from recollect.query.versions import LEXICAL, VARIANTS, written

_BARE = re.compile(r"[A-Za-z0-9_-]+\Z")


class Whole(Protocol):
    """A formula with everything that a flat file states."""

    @property
    def name(self) -> str: ...
    @property
    def source(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def sources_first(self) -> bool: ...
    @property
    def stages(self) -> tuple[AnyStage, ...]: ...
    @property
    def labels(self) -> tuple[str, ...]: ...
    @property
    def free(self) -> tuple[FreeNumber, ...]: ...
    @property
    def dials(self) -> tuple[Dial, ...]: ...
    @property
    def digest(self) -> str: ...
    @property
    def label(self) -> str: ...


def flat_fields(formula: Whole) -> dict[str, object]:
    """The fields of a file that says all of it."""
    stages = [as_written(stage, label) for stage, label in zip(formula.stages, formula.labels, strict=True)]
    for number in {free.stage for free in formula.free}:
        mine = [free for free in formula.free if free.stage == number]
        stages[number]["free"] = {free.name: [free.low, free.high] for free in mine}
    return {
        "name": formula.name,
        "source": formula.source,
        "description": formula.description,
        "order": "sources" if formula.sources_first else "score",
        "stages": stages,
        "dials": [_dial(msgspec.to_builtins(dial)) for dial in formula.dials],
    }


def as_written(stage: AnyStage, label: str) -> dict[str, object]:
    """A stage as a file writes it: a factor's parameters beside its keys, and no keys without effect."""
    fields: dict[str, object] = {"op": stage.__struct_config__.tag, "label": label}
    plain = msgspec.to_builtins(stage)
    for field in msgspec.structs.fields(type(stage)):
        if field.name in ("label", "parameters") or field.name not in plain:
            continue
        if not _is_left_out(field, plain[field.name]):
            fields[field.name] = _without_none(plain[field.name])
    if isinstance(stage, FactorStage):
        fields["factor"] = written(stage.factor, FACTORS)
        _put_parameters(fields, stage)
    if fields["op"] in LEXICAL and isinstance(stage, LexicalStage):
        fields["variant"] = written(stage.variant, VARIANTS)
    return fields


def _is_left_out(field: msgspec.structs.FieldInfo, value: object) -> bool:
    """Whether a key may be left out: no value, or a default that does nothing."""
    if value is None or (field.name == "enabled" and value is True):
        return True
    if value not in ("", [], {}, ()) or field.required:
        return False
    default = field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()
    return bool(msgspec.to_builtins(default) == value)


def _put_parameters(fields: dict[str, object], stage: FactorStage) -> None:
    """Parameters stand beside the stage's own keys, unless one has the name of such a key."""
    own = set(stage.__struct_fields__)
    nested = {name: value for name, value in stage.parameters.items() if name in own}
    fields.update((name, value) for name, value in stage.parameters.items() if name not in own)
    if nested:
        fields["parameters"] = nested


def _without_none(value: object) -> object:
    if isinstance(value, dict):
        return {key: _without_none(inner) for key, inner in value.items() if inner is not None}
    return value


def _dial(fields: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in fields.items() if value != ""}


# --- TOML ------------------------------------------------------------------------------------------


def flat_toml(formula: Whole) -> str:
    """The whole formula as TOML, a stage on each line."""
    fields = flat_fields(formula)
    lines = [f"{name} = {toml(fields[name])}" for name in ("name", "source", "description", "order")]
    lines += ["", "stages = ["]
    lines += [f"  {toml(stage)}," for stage in _listed(fields["stages"])]
    lines += ["]"]
    for dial in _listed(fields["dials"]):
        lines += [
            "",
            "[[dials]]",
            *(f"{name} = {toml(dial[name])}" for name in dial if name != "table"),
            "[dials.table]",
        ]
        lines += [f"{_key(row)} = {toml(numbers)}" for row, numbers in _table(dial["table"]).items()]
    return "\n".join(lines) + "\n"


def _listed(value: object) -> list[dict[str, object]]:
    assert isinstance(value, list)
    return value


def _table(value: object) -> dict[str, object]:
    assert isinstance(value, dict)
    return value


def toml(value: object) -> str:
    """A value on one line."""
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case str():
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case Mapping():
            inside = ", ".join(f"{_key(str(key))} = {toml(inner)}" for key, inner in value.items())
            return f"{{ {inside} }}" if inside else "{}"
        case list() | tuple():
            return f"[{', '.join(toml(inner) for inner in value)}]"
        case _:
            raise TypeError(f"TOML has no {type(value).__name__}")


def _key(name: str) -> str:
    return name if _BARE.match(name) else toml(name)
