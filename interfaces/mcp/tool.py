"""A tool: a function with its name, what it is for (the docstring), and the types of its arguments and its result.

The function gets an open `Memory`, the parsed arguments and a `Call`, and runs in a worker thread, on the lane of
`AsyncMemory` that it names. Annotations are what the protocol calls hints:

    reads        nothing is written (readOnlyHint)
    replaces     something that answered before no longer does, or answers otherwise (destructiveHint)
    repeatable   the same call again changes nothing more (idempotentHint)

`openWorldHint` is false for all: a tool touches the store and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from types import UnionType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args, get_type_hints

import msgspec

from recollect.engine import validate
from recollect.engine.lazy import LazyModule
from recollect.events.errors import InvalidInput

if TYPE_CHECKING:
    from recollect.engine import formula_lookup
    from recollect.interfaces.python.memory import Memory
    from recollect.query.formula import Formula
else:  # tools are listed before the engine is loaded
    formula_lookup = LazyModule("recollect.engine.formula_lookup")

A = TypeVar("A", bound=msgspec.Struct)
R = TypeVar("R", bound=msgspec.Struct)
Lane = Literal["writes", "reads", "long"]
Schema = dict[str, Any]

ALL_PROJECTS = "*"
"""The project name by which a recall asks all projects; no memory is kept under it."""


class Scope(msgspec.Struct, frozen=True, kw_only=True):
    """What a server was started with: its profile, and the project and session of calls that name none.

    `files`: whether a formula may be named by its path, as a program on this machine may and a caller over the
    network may not. `dream_every` is the interval of its dreams; `fill_vectors`: whether it gives memories the vectors
    that they lack.
    """

    profile: str = "default"
    project: str | None = None
    session: str | None = None
    files: bool = True
    dream_every: str | None = None
    fill_vectors: bool = True

    def __post_init__(self) -> None:
        validate.optional_identifier(self.project, "project")
        validate.optional_identifier(self.session, "session")
        if self.project == ALL_PROJECTS:
            raise InvalidInput("project '*' is not a project; leave it out to serve all projects")

    def project_of(self, named: str | None) -> str | None:
        """The project that a call means: the one that it names, or the server's. Models write "" for none."""
        return named if named and named.strip() else self.project

    def session_of(self, named: str | None) -> str | None:
        return named if named and named.strip() else self.session

    def formula(self, memory: Memory, given: str | None) -> str | Formula | None:
        """The formula that a caller names. A caller that may not name files gets a built-in or recorded formula, or an error."""
        if not given or self.files:
            return given or None
        return formula_lookup.formula_named(memory.store, given, files=False)


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """What a function may know of the call beside its arguments.

    `progress` takes what is done and the total.
    """

    scope: Scope = Scope()
    progress: Callable[[int, int], None] = lambda done, total: None  # noqa: ARG005 (no listener)


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    """`needs_model`: the call waits until the embedder is ready, since it stores a vector."""

    name: str
    title: str
    description: str
    arguments: type[msgspec.Struct]
    result: type[msgspec.Struct] | UnionType
    run: Callable[[Memory, Any, Call], Any]
    show: Callable[[Any], str]
    lane: Lane
    reads: bool
    replaces: bool
    repeatable: bool
    needs_model: Callable[[Any], bool]

    @property
    def input_schema(self) -> Schema:
        return _schema(self.arguments)

    @property
    def output_schema(self) -> Schema:
        return _schema(self.result)


class Tools(list[Tool]):
    """The tools of a module, in the order in which they are listed."""

    def add(
        self, title: str, show: Callable[[R], str], *, lane: Lane = "reads", reads: bool = False, replaces: bool = False,
        repeatable: bool = False, needs_model: Callable[[Any], bool] = lambda _: False,
    ) -> Callable[[Callable[[Memory, A, Call], R]], Callable[[Memory, A, Call], R]]:  # fmt: skip
        """Offer the decorated function as a tool; its docstring is what a model reads about it."""

        def decorate(run: Callable[[Memory, A, Call], R]) -> Callable[[Memory, A, Call], R]:
            # Memory is not imported here: tools are listed before the engine is loaded.
            hints = get_type_hints(run, localns={"Memory": object})
            arguments, result = list(hints.values())[1], hints["return"]
            description = " ".join((run.__doc__ or "").split())
            self.append(
                Tool(
                    name=run.__name__, title=title, description=description, arguments=arguments, result=result, run=run,
                    show=show, lane=lane, reads=reads, replaces=replaces, repeatable=repeatable, needs_model=needs_model,
                )
            )  # fmt: skip
            return run

        return decorate


def _schema(kind: type[msgspec.Struct] | UnionType) -> Schema:
    """A JSON Schema with an object at its root, as the protocol wants it; others stay in $defs."""
    if several := get_args(kind):
        roots, parts = msgspec.json.schema_components(several, ref_template="#/$defs/{name}")
        return {"type": "object", "anyOf": list(roots), "$defs": parts}
    (root,), parts = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    own = parts.pop(root["$ref"].rsplit("/", 1)[1])
    del own["title"]
    needed = own.get("required", ())
    parts_of = sorted(own["properties"].items(), key=lambda item: item[0] not in needed)
    own["properties"] = {name: _plain(part) for name, part in parts_of}
    return {**own, "$defs": parts} if parts else own


def _plain(part: Schema) -> Schema:
    """An optional argument without its null, which a model need not send: shorter to read."""
    if part.get("default", ...) is not None:
        return part
    (kind,) = (one for one in part["anyOf"] if one != {"type": "null"})
    return {**kind, **{name: value for name, value in part.items() if name not in {"anyOf", "default"}}}
