"""The options of every command that ranks: one for each of recall's arguments, with its help; and the same for any Struct."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_args, get_origin, get_type_hints

import click
import msgspec

from recollect.engine.context_arguments import context_of
from recollect.engine.recall_options import RecallArguments
from recollect.engine.validate import is_recall_id
from recollect.interfaces.cli.app import Command, project_of, with_options
from recollect.interfaces.cli.commands import completed_by

QUESTION = "QUERY|RECALL"
_OPTIONS = {"k": ("-k",), "tags": ("--tag", "tags"), "kinds": ("--kind", "kinds")}
_BETWEEN = {"since": ("--told-since",), "until": ("--told-until",)}
_HELP = {
    "formula": "A built-in formula's name, name@digest of one in the log, or the path of a TOML file.",
    "context": "KEY=VALUE, may be repeated: profile, surface, weights.NAME, tags, entities, files, project, depth, since, "
    "until.",
}
_NOW_ONLY = ("basis", "without")
_COMPLETED = {"formula": "formulas", "held": "memory_ids"}


def recall_options(*, between: bool = False) -> Callable[[Command], Command]:
    """One option for each of recall's arguments, without defaults: what is left out may come from a recorded recall.

    With `between` the command asks at several moments: its own --since and --until say from when to when, so the dates
    of memories are --told-since and --told-until.
    """
    names = {**_OPTIONS, **(_BETWEEN if between else {})}
    return struct_options(RecallArguments, names, _HELP, without=_NOW_ONLY if between else ())


def struct_options(
    arguments: type[msgspec.Struct],
    names: Mapping[str, tuple[str, ...]] = {},
    texts: Mapping[str, str] = {},
    without: Sequence[str] = (),
) -> Callable[[Command], Command]:
    """One option for each field of a Struct; `names` and `texts` say how it is called and explained here."""
    hints = get_type_hints(arguments, include_extras=True)

    def option(field: msgspec.structs.FieldInfo) -> Callable[[Command], Command]:
        kind, meta = _annotated(hints[field.name])
        return click.option(
            *names.get(field.name, (f"--{field.name.replace('_', '-')}",)),
            type={int: int, bool: bool}.get(kind, str),
            is_flag=kind is bool,
            multiple=get_origin(kind) is tuple or field.name == "context",
            default=() if field.name == "context" else field.default,
            help=texts.get(field.name, meta.description),
            metavar="ID" if field.name == "held" else None,
            shell_complete=completed_by(_COMPLETED[field.name]) if field.name in _COMPLETED else None,
        )

    fields = msgspec.structs.fields(arguments)
    return with_options(*(option(field) for field in fields if field.name not in without))


def _annotated(hint: Any) -> tuple[Any, msgspec.Meta]:
    """The type and the description of an argument, also where it may be None."""
    kind, meta = get_args(hint)
    return (kind, meta) if isinstance(meta, msgspec.Meta) else get_args(kind)


def arguments_of(given: Mapping[str, Any], *, store: str, query: str) -> RecallArguments:
    """The options as recall's arguments. A text is asked in the configured project, a recall in its own."""
    named = {name.removeprefix("told_"): value for name, value in given.items()}
    if not is_recall_id(query):
        named["project"] = project_of(store, named["project"])
    return RecallArguments(**named | {"context": context_of(given["context"])})
