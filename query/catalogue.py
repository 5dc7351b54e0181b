"""The catalogue of factors: the signature of a factor is its schema.

Positional parameters name the inputs it reads (see `inputs`); keyword-only parameters with a default are what
a formula may set, with their bounds; keyword-only parameters without one are dials (see `dials`). Adding a factor
is one function with its range (`factors.factor`) in the file of its subject. A factor's behaviour never changes
under its name: another behaviour is another version of it, `name/2` (see `versions`).
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from functools import cache
from typing import get_type_hints

import msgspec

from recollect.query.factors import clusters, importance, recency, text, usage
from recollect.query.factors.factor import FACTORS, RANGES, Parameter, Range
from recollect.query.versions import unversioned

SUBJECTS = (clusters, importance, recency, text, usage)  # importing them registers their factors


@cache
def _schema(name: str) -> type[msgspec.Struct]:
    function = FACTORS[name]
    hints = get_type_hints(getattr(function, "func", function), include_extras=True)
    fields = [
        (p.name, hints[p.name], p.default)
        for p in inspect.signature(function).parameters.values()
        if p.kind is p.KEYWORD_ONLY and p.default is not p.empty
    ]
    return msgspec.defstruct(unversioned(name), fields, frozen=True, kw_only=True, forbid_unknown_fields=True)


def parameters_of(name: str) -> dict[str, msgspec.structs.FieldInfo]:
    """The parameters of a factor by name, each with its bounds and its default."""
    return {field.name: field for field in msgspec.structs.fields(_schema(name))}


def complete(name: str, given: Mapping[str, Parameter]) -> dict[str, Parameter]:
    """The parameters of a factor with every default filled in; msgspec.ValidationError if one is wrong."""
    return msgspec.to_builtins(msgspec.convert(dict(given), _schema(name)))  # type: ignore[no-any-return]


def range_of(name: str, parameters: Mapping[str, Parameter]) -> Range:
    """The lowest and the highest value that a factor can have with these parameters (all of them given)."""
    stated = RANGES[name]
    return stated(**parameters) if callable(stated) else stated
