"""recall's arguments, stated and checked once for Python, the command line, MCP and HTTP.

`RecallOptions` are the keyword arguments of every Python method that asks: recall and explain, now and in the past,
why_changed, bisect, ranks, and a file of questions. `RecallArguments` are the same as texts and numbers, with the
filters named one by one: the command line, MCP and HTTP take their arguments, bounds and help texts from its fields.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypedDict, TypeVar

import msgspec
from msgspec import Meta

from recollect.engine import validate
from recollect.engine.context_arguments import ContextArguments
from recollect.engine.moments import Time, parse_time
from recollect.events.errors import InvalidInput, UnknownArgument
from recollect.events.facts import Context, Filters, Question

if TYPE_CHECKING:
    from recollect.query.formula import Formula

K_DEFAULT = 10
ANY_TIME = "any"
_ENTRIES_MAX = 10_000
_FILTERS = ("project", "tags", "kinds", "since", "until", "valid_at")
_TIME_FIELDS = {"since", "until", "valid_at"}
_LIST_FIELDS = {"kinds", "tags", "entities", "sources", "exclude", "files"}

K = Annotated[int, Meta(description="How many memories at most.", ge=1, le=validate.K_MAX)]
OwnK = Annotated[
    int,
    Meta(
        description="How many memories at most; 10, or as many as the recall that is asked again.",
        ge=1,
        le=validate.K_MAX,
    ),
]
At = Annotated[str | None, Meta(description="As of a seq (@120), a time, or '2 days ago'; records nothing.")]
Track = Annotated[bool, Meta(description="Whether the hits count as accessed.")]
Record = Annotated[bool, Meta(description="False writes nothing at all; the answer then has no id.")]


class RecallOptions(TypedDict, total=False):
    """What may be said beside the question.

    Only memories that hold at the question's clock answer (valid_from, valid_to); `valid_at` names another time, or
    "any". `without` asks as if these memories had never been told, and records nothing. `basis` is a seq
    that the answer must know of: a replica that is behind waits for it, and refuses rather than answer older. `track`
    counts the hits as accessed; `record=False` writes nothing at all; `wait=False` answers by words alone, and says so,
    while a model is still loading. Where nothing is recorded, `track` and `record` mean nothing.
    """

    k: int
    formula: str | Path | Formula | None
    session: str | None
    context: Context | Mapping[str, object] | None
    filters: Filters | Mapping[str, object] | None
    now: Time | None
    valid_at: Time | None
    without: str | Iterable[str] | None
    basis: int | str | None
    track: bool
    record: bool
    wait: bool


class RecallArguments(msgspec.Struct, frozen=True, kw_only=True):
    """What may be said beside the question where only texts and numbers can be."""

    k: OwnK | None = None
    now: Annotated[str | None, Meta(description="The clock to rank with.")] = None
    formula: Annotated[
        str | None,
        Meta(description="The name of a ranking formula, or name@digest of one that is in the log."),
    ] = None
    session: Annotated[str | None, Meta(description="The conversation that asks.")] = None
    basis: Annotated[
        str | None,
        Meta(description="Answer only with the event at this seq (@120) known; wait for it if need be."),
    ] = None
    project: Annotated[str | None, Meta(description="Only memories of this project.")] = None
    tags: Annotated[tuple[str, ...], Meta(description="Only memories with one of these tags.")] = ()
    kinds: Annotated[tuple[str, ...], Meta(description="Only memories of these kinds.")] = ()
    since: Annotated[str | None, Meta(description="Only memories from this time on.")] = None
    until: Annotated[str | None, Meta(description="Only memories up to this time.")] = None
    valid_at: Annotated[
        str | None,
        Meta(
            description="Only what held at this time (valid_from, valid_to), or 'any'; unless told, the clock."
        ),
    ] = None
    context: Annotated[
        ContextArguments | None,
        Meta(
            description="What surrounds the question: profile, surface, weights, tags, entities, files, project, depth, "
            "since, until."
        ),
    ] = None
    without: Annotated[
        tuple[str, ...],
        Meta(description="Ids of memories: as if they had never been told; records nothing."),
    ] = ()

    @property
    def filters(self) -> dict[str, object]:
        """The given filters; `session` names the asker and filters nothing."""
        return {name: value for name in _FILTERS if (value := getattr(self, name))}

    def options(self) -> RecallOptions:
        """These arguments as `RecallOptions`."""
        context = self.context.given() if self.context else None
        options: RecallOptions = {
            "formula": self.formula or None, "session": self.session, "filters": self.filters, "now": self.now,
            "basis": self.basis, **({} if self.k is None else {"k": self.k}),
        }  # fmt: skip
        if context:
            options["context"] = context
        if self.without:
            options["without"] = self.without
        return options


class BetweenArguments(RecallArguments, frozen=True, kw_only=True):
    """A question that is asked at two moments, `since` and `until`; the dates of memories have names of their own."""

    since: Annotated[str, Meta(description="The earlier moment: '@120', 'r12', a time, 'last tuesday'.")]
    until: Annotated[str | None, Meta(description="The later moment; now if left out.")] = None
    told_since: Annotated[str | None, Meta(description="Only memories from this time on.")] = None
    told_until: Annotated[str | None, Meta(description="Only memories up to this time.")] = None

    @property
    def filters(self) -> dict[str, object]:
        dates = {"since": self.told_since, "until": self.told_until}
        given = {name: getattr(self, name) for name in _FILTERS} | dates
        return {name: value for name, value in given.items() if value}


def question_of(query: str, options: RecallOptions, *, now: int) -> Question:
    """The question as data, checked and without a vector. An empty text finds nothing by words."""
    refuse_unknown(options, RecallOptions.__annotations__)
    given = options.get("now")
    moment = now if given is None else parse_time(given, now=now, what="now")
    filters, valid_now = _scope(options, now=moment)
    return Question(
        text=validate.query(query),
        now=moment,
        k=validate.whole(options.get("k", K_DEFAULT), "k", low=1, high=validate.K_MAX),
        session=validate.optional_identifier(options.get("session"), "session"),
        context=parsed(Context, options.get("context"), now=moment),
        filters=filters,
        valid_now=valid_now,
    )


def _scope(options: RecallOptions, *, now: int) -> tuple[Filters, bool]:
    """The filters, and whether validity is asked about at the question's clock: unless a time, or any, is named."""
    given, when = options.get("filters"), options.get("valid_at")
    filters = parsed(Filters, given, now=now)
    named = given.get("valid_at") if isinstance(given, Mapping) else filters.valid_at
    if when is None:
        return filters, named is None
    if named is not None:
        raise InvalidInput("valid_at is given twice, by itself and among the filters; give it once")
    valid_at = None if when == ANY_TIME else parse_time(when, now=now, what="valid_at")
    return msgspec.structs.replace(filters, valid_at=valid_at), False


def refuse_unknown(given: Iterable[str], known: Iterable[str]) -> None:
    """Refuse unknown arguments: a misspelt one would be ignored."""
    unknown = sorted(set(given) - set(known))
    if unknown:
        raise UnknownArgument(f"unknown argument {unknown[0]!r}; there are {', '.join(known)}")


# --- filters and context ---------------------------------------------------------------------------

_Kind = TypeVar("_Kind", Filters, Context)


def parsed(kind: type[_Kind], given: _Kind | Mapping[str, object] | None, *, now: int) -> _Kind:
    """Filters or context from a mapping; unknown names and wrong values are refused."""
    if given is None:
        return kind()
    if isinstance(given, kind):
        return _bounded(given)
    if not isinstance(given, Mapping):
        raise InvalidInput(f"{kind.__name__.lower()} must be a mapping, not {given!r}")
    unknown = set(given) - set(kind.__struct_fields__)
    if unknown:
        known = ", ".join(kind.__struct_fields__)
        raise InvalidInput(f"unknown {kind.__name__.lower()} entry {sorted(unknown)[0]!r}; there are {known}")
    fields = {name: _field(name, value, now) for name, value in given.items() if value is not None}
    try:
        return _bounded(msgspec.convert(fields, kind))
    except (msgspec.ValidationError, OverflowError, RecursionError) as error:
        raise InvalidInput(f"{kind.__name__.lower()}: {error}") from None


def _bounded(given: _Kind) -> _Kind:
    """Refuse a text that is too long or not Unicode, a list that is too long, NaN and infinity."""
    for name in given.__struct_fields__:
        value, what = getattr(given, name), f"{type(given).__name__.lower()} entry {name!r}"
        entries = value if isinstance(value, (tuple, dict)) else (value,)
        if len(entries) > _ENTRIES_MAX:
            raise InvalidInput(f"{what} has {len(entries):,} values; at most {_ENTRIES_MAX:,} are taken")
        for entry in entries:
            if isinstance(entry, str):
                validate.text(entry, what)
            elif isinstance(entry, int) and not -(2**63) <= entry < 2**63:
                raise InvalidInput(f"{what} is {validate.shown(entry)}; it must be a number of 64 bits")
            elif isinstance(entry, float) and not math.isfinite(entry):
                raise InvalidInput(f"{what} is {entry}; it must be a finite number")
    return given


def _field(name: str, value: object, now: int) -> object:
    if name == "valid_at" and value == ANY_TIME:
        return None
    if name in _TIME_FIELDS and isinstance(value, (str, int, float, datetime)):
        return parse_time(value, now=now, what=name, edge="ends" if name == "until" else "begins")
    return [value] if name in _LIST_FIELDS and isinstance(value, str) else value
