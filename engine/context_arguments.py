"""What surrounds a question, as the command line, MCP and HTTP take it: texts and numbers with their help.

On the command line it is `--context KEY=VALUE`, once for each: `profile=decision`, `weights.semantic=0.7`,
`tags=auth,login`. Elsewhere it is an object of the same keys.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import msgspec
from msgspec import Meta

from recollect.events.errors import InvalidInput
from recollect.query.nearest import there_are

Hops = Annotated[int, Meta(ge=1)]
_WEIGHTS = "weights"
_LISTS = ("tags", "entities", "files")


class ContextArguments(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """What surrounds the question and may move the ranking; it restricts nothing."""

    profile: Annotated[
        str | None, Meta(description="What is looked for, where the formula has profiles.")
    ] = None
    surface: Annotated[
        str | None, Meta(description="Where the answer is shown, where the formula has surfaces.")
    ] = None
    weights: Annotated[
        dict[str, float], Meta(description="Weights instead of the formula's, if it allows.")
    ] = {}
    tags: Annotated[tuple[str, ...], Meta(description="Tags the asker cares about: personalisation.")] = ()
    entities: Annotated[tuple[str, ...], Meta(description="People and things the asker cares about.")] = ()
    files: Annotated[tuple[str, ...], Meta(description="Files that are open.")] = ()
    project: Annotated[str | None, Meta(description="The project the asker works on.")] = None
    depth: Annotated[
        Hops | None, Meta(description="How many hops along edges, if the formula takes any.")
    ] = None
    since: Annotated[str | None, Meta(description="The question is about the time from here on.")] = None
    until: Annotated[str | None, Meta(description="The question is about the time up to here.")] = None

    def given(self) -> dict[str, object] | None:
        """The given entries, as Python takes them; None without any."""
        said = {name: value for name in self.__struct_fields__ if (value := getattr(self, name))}
        return said or None


def context_of(pairs: Iterable[str]) -> ContextArguments:
    """A context from texts such as `profile=decision` and `weights.semantic=0.7`."""
    fields: dict[str, object] = {}
    weights: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        name, dot, inner = key.strip().partition(".")
        if not equals or name not in ContextArguments.__struct_fields__ or bool(dot) != (name == _WEIGHTS):
            known = [one if one != _WEIGHTS else "weights.NAME" for one in ContextArguments.__struct_fields__]
            raise InvalidInput(f"context {pair!r} is no KEY=VALUE that is known; {there_are(key, known)}")
        if name == _WEIGHTS:
            weights[inner] = value
        elif name in fields:
            raise InvalidInput(f"context has {name!r} twice; give it once, lists with commas")
        else:
            fields[name] = listed(value) if name in _LISTS else value
    try:
        return msgspec.convert(
            fields | ({_WEIGHTS: weights} if weights else {}), ContextArguments, strict=False
        )
    except msgspec.ValidationError as error:
        raise InvalidInput(f"context: {error}") from None


def listed(value: str) -> list[str]:
    """The parts of a text such as `auth, login`."""
    return [part.strip() for part in value.split(",") if part.strip()]
