"""The options of every command that ranks: one for each of recall's arguments, with its help."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

import click
import msgspec

from recollect.engine.context_arguments import context_of
from recollect.engine.moments import is_recall_id
from recollect.engine.recall_options import RecallArguments
from recollect.interfaces.cli.app import project_of
from recollect.interfaces.cli.commands import completed_by

Command = TypeVar("Command", bound=Callable[..., object])

QUESTION = "QUERY|RECALL"
_OPTIONS = {"k": ("-k",), "tags": ("--tag", "tags"), "kinds": ("--kind", "kinds")}
_BETWEEN = {"since": ("--told-since",), "until": ("--told-until",)}
_HELP = {
    "formula": "A built-in formula's name, name@digest of one in the log, or the path of a TOML file.",
    "context": "KEY=VALUE, may be repeated: profile, surface, weights.NAME, tags, entities, files, project, depth, since, "
    "until.",
}
_NOW_ONLY = ("basis", "without")


def recall_options(*, between: bool = False) -> Callable[[Command], Command]:
    """One option for each of recall's arguments, none with a default: what is not said may come from a recall.

    With `between` the command asks at several moments: its own --since and --until say from when to when, so the dates
    of memories are --told-since and --told-until.
    """
    names = {**_OPTIONS, **(_BETWEEN if between else {})}
    hints = get_type_hints(RecallArguments, include_extras=True)
    fields = [f for f in msgspec.structs.fields(RecallArguments) if not (between and f.name in _NOW_ONLY)]

    def decorate(command: Command) -> Command:
        for field in reversed(fields):
            kind, meta = _annotated(hints[field.name])
            command = click.option(
                *names.get(field.name, (f"--{field.name.replace('_', '-')}",)),
                type=int if kind is int else str,
                multiple=get_origin(kind) is tuple or field.name == "context",
                default=() if field.name == "context" else field.default,
                help=_HELP.get(field.name, meta.description),
                shell_complete=completed_by("formulas") if field.name == "formula" else None,
            )(command)
        return command

    return decorate


def _annotated(hint: Any) -> tuple[Any, msgspec.Meta]:
    """The type and the description, which stand inside where None may be given beside it."""
    kind, meta = get_args(hint)
    return (kind, meta) if isinstance(meta, msgspec.Meta) else get_args(kind)


def arguments_of(given: Mapping[str, Any], *, store: str, query: str) -> RecallArguments:
    """The options as recall's arguments. A text is asked in the configured project, a recall in its own."""
    named = {name.removeprefix("told_"): value for name, value in given.items()}
    if not is_recall_id(query):
        named["project"] = project_of(store, named["project"])
    return RecallArguments(**named | {"context": context_of(given["context"])})
