"""`extends`: a formula that says only how it differs from another.

    extends = "reverie"
    [override.recency]
    tau_days = 10.0

`[override.LABEL]` changes the stage of that label: numbers, `enabled = false`, any key that a file may give it. A key
that holds a table is merged with what is there; any other is replaced. A table under a new label is a new stage, with
its `op` and the label that it stands `before` or `after`. `dials` replace those of the same name or come beside them.

What is extended is named, never read from a path: a built-in formula or one that the log holds. The result is whole
(`flat_formula`): the log keeps it, and its digest is that of the whole.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import PurePath

from recollect.query.flat_formula import Whole, flat_fields
from recollect.query.nearest import there_are
from recollect.query.stage_labels import plain_name
from recollect.query.stages.any_stage import OPS

Find = Callable[[str], Whole]
Fields = dict[str, object]


class NotExtended(ValueError):
    """What is wrong with an extension; the message says what and where."""


def extended(fields: Mapping[str, object], find: Find, *, origin: str) -> Fields:
    """The fields of the whole formula that an extension means."""
    named = fields["extends"]
    if not isinstance(named, str):
        raise NotExtended(f'has extends = {named!r}; name a formula, such as extends = "reverie"')
    if "stages" in fields:
        raise NotExtended("has both `extends` and `stages`; change stages with [override.LABEL]")
    base = find(named)
    _require_learned_from(fields.get("learned"), base)
    flat = flat_fields(base)
    stages = _stages(base, flat, fields.get("override", {}))
    own = {name: value for name, value in fields.items() if name not in ("extends", "override", "dials")}
    return {
        **flat,
        "name": _name(base, origin),
        "source": f"extends {base.label}",
        **own,
        "stages": stages,
        "dials": _dials(flat["dials"], fields.get("dials", [])),
    }


def _name(base: Whole, origin: str) -> str:
    """The name of a formula that states none: that of its file."""
    return PurePath(origin).stem if origin.endswith(".toml") else f"{base.name}-extended"


def _require_learned_from(learned: object, base: Whole) -> None:
    """Numbers that were learned for one text are not put into another."""
    said = learned.get("formula") if isinstance(learned, dict) else None
    if isinstance(said, str) and said.rpartition("@")[2] != base.digest:
        raise NotExtended(
            f"was learned from {said[: said.rfind('@') + 13]}, but what it extends is now {base.label}; tune again, or "
            f"leave out [learned] to take its numbers over"
        )


def _dials(of_base: object, own: object) -> object:
    if not isinstance(of_base, list) or not isinstance(own, list):
        return own
    names = {dial.get("name") for dial in own if isinstance(dial, dict)}
    return [dial for dial in of_base if dial["name"] not in names] + own


def _stages(base: Whole, flat: Fields, override: object) -> list[Fields]:
    stages = flat["stages"]
    assert isinstance(stages, list)
    if not isinstance(override, dict):
        raise NotExtended("has an `override` that is no table; write [override.LABEL]")
    also = {plain_name(stage): label for stage, label in zip(base.stages, base.labels, strict=True)}
    for label, table in override.items():
        if not isinstance(table, dict):
            raise NotExtended(f"has override.{label} = {table!r}; write a table, [override.{label}]")
        known = [str(stage["label"]) for stage in stages]
        meant = label if label in known else also.get(label, label)
        if meant in known:
            place = known.index(meant)
            stages[place] = _changed(stages[place], label, table)
        elif "op" in table:
            stages.insert(_place(label, table, known), _inserted(label, table))
        else:
            raise NotExtended(
                f"overrides {label!r}, which is the label of no stage of {base.name!r}; {there_are(label, known)}. "
                f"A new stage needs `op` and `before` or `after`"
            )
    return stages


def _place(label: str, table: Fields, known: list[str]) -> int:
    """Where a new stage stands."""
    sides = _sides(table)
    if len(sides) != 1:
        raise NotExtended(f"adds the stage {label!r}; say either `before` or `after` which label it stands")
    beside = table[sides[0]]
    if beside not in known:
        raise NotExtended(
            f"puts {label!r} {sides[0]} {beside!r}, which is the label of no stage; {there_are(beside, known)}"
        )
    return known.index(str(beside)) + (sides[0] == "after")


def _sides(table: Fields) -> list[str]:
    """Which of the two words say where a stage stands: some operations have numbers of these names."""
    return [side for side in ("before", "after") if isinstance(table.get(side), str)]


def _inserted(label: str, table: Fields) -> Fields:
    sides = _sides(table)
    return {"label": label, **{key: value for key, value in table.items() if key not in sides}}


def _changed(stage: Fields, label: str, table: Fields) -> Fields:
    """A stage with what an override says of it."""
    op = str(stage["op"])
    for side in _sides(table):
        raise NotExtended(
            f"overrides {label!r} with `{side}`, which is for new stages; {label!r} is one of the base"
        )
    if table.get("op", op) != op:
        raise NotExtended(
            f"makes {label!r} another operation; disable it and add a stage with a label of its own"
        )
    kept = stage
    if "factor" in table and table["factor"] != stage.get("factor"):
        kept = {key: value for key, value in stage.items() if key == "op" or key in _own(op) - {"parameters"}}
    return {**kept, **{key: _merged(kept.get(key), value) for key, value in table.items()}}


def _own(op: str) -> set[str]:
    return set(OPS[op].__struct_fields__)


def _merged(old: object, new: object) -> object:
    return {**old, **new} if isinstance(old, dict) and isinstance(new, dict) else new
