"""Words of a formula file that nothing stands behind: keys, operations, choices and parameters, with the nearest known.

The types of the stages say which there are; this says it in words before they are converted.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import UnionType
from typing import Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from recollect.query import catalogue
from recollect.query.dials import Dial
from recollect.query.factors.factor import FACTORS
from recollect.query.nearest import there_are
from recollect.query.stages.any_stage import OPS
from recollect.query.stages.stage import FactorStage
from recollect.query.versions import LEXICAL, stated

# What stands at the top of a formula file, and what each key means.
KEYS = {
    "name": "what the formula is called; that of the file where it extends another",
    "source": "where it comes from",
    "description": "one line about it",
    "order": '"score" (unless told), or "sources": derived memories stand below their sources',
    "stages": "the stages in order",
    "dials": "numbers that are turned by profile, surface or the words of a question",
    "tables": "tables by kind that `look-up` stages name",
    "extends": "the name of a built-in formula or of one in the log, which this one changes",
    "override": "by label: what is changed in a stage of the extended formula, or a new stage before or after one",
    "learned": "what `recollect tune` learned the numbers from: formula, log position, chain",
}


def unknown_key(fields: Mapping[str, object]) -> str | None:
    """A key of the file that no formula has."""
    for key in fields:
        if key not in KEYS:
            return f"has {key!r}, which no formula has; {there_are(key, KEYS)}"
    return None


def unknown_word(stage: object) -> str | None:
    """An operation, key or choice of a stage that does not exist; None if its types may judge the rest."""
    if not isinstance(stage, dict) or not isinstance(stage.get("op"), str):
        return None
    op = stage["op"]
    if op not in OPS:
        return f"names the operation {op!r}; {there_are(op, OPS)}"
    kind = OPS[op]
    known = set(kind.__struct_fields__) | {"op"}
    if issubclass(kind, FactorStage):
        named = stated(stage, FACTORS)
        factor = named.get("factor") if isinstance(named, dict) else None
        if not isinstance(factor, str):
            return None
        if factor not in FACTORS:
            return f"names the factor {factor!r}; {there_are(factor, FACTORS, say='known factors are')}"
        known |= set(catalogue.parameters_of(factor))
    return _unknown_setting(stage, kind, known, op)


def unknown_word_of_dial(dial: object) -> str | None:
    """A key or choice of a dial that does not exist."""
    return (
        _unknown_setting(dial, Dial, set(Dial.__struct_fields__), "dial") if isinstance(dial, dict) else None
    )


def _unknown_setting(
    given: dict[str, object], kind: type[msgspec.Struct], known: set[str], op: str
) -> str | None:
    for key, value in given.items():
        if key not in known:
            return f"has {key!r}, which {op!r} has not; {there_are(key, known - {'op', 'parameters'})}"
        choices = _choices(kind).get(key)
        if choices and isinstance(value, str) and not _is_choice(value, choices, op, key):
            return f"has {key} = {value!r}; {there_are(value, choices)}"
    return None


def _is_choice(value: str, choices: tuple[str, ...], op: str, key: str) -> bool:
    return value in choices or (key == "variant" and op in LEXICAL and value.removesuffix("/1") in choices)


@cache
def _choices(kind: type[msgspec.Struct]) -> dict[str, tuple[str, ...]]:
    """The words that each key may have, where they are listed."""
    return {name: words for name, hint in get_type_hints(kind).items() if (words := choices_of(hint))}


def choices_of(hint: object) -> tuple[str, ...]:
    """The words that a type lists; none if it lists none."""
    if get_origin(hint) is Literal:
        return tuple(str(word) for word in get_args(hint))
    if get_origin(hint) in (Union, UnionType):
        return tuple(word for part in get_args(hint) for word in choices_of(part))
    return ()
