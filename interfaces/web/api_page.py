"""The JSON API behind the page's pictures: the log over time, rankings as bars, lines of ranks, formulas that are tried.

A formula that is tried comes as the text of its TOML: it is checked, ranks this one question or the recorded ones, and
is kept nowhere. It is never a path.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta
from starlette.requests import Request

from recollect.dream.report import DreamReport
from recollect.engine.bars import RankedBars, recorded_bars
from recollect.engine.bump import LINES_MAX, POINTS_MAX, Bump
from recollect.engine.formula_lookup import formula_named
from recollect.engine.recall_options import RecallOptions
from recollect.engine.river import BUCKETS_MAX, LogTimes, River, river
from recollect.events.errors import InvalidInput
from recollect.interfaces.python.async_memory import AsyncMemory
from recollect.interfaces.python.memory import Memory
from recollect.query import formula as formulas
from recollect.query.flat_formula import flat_toml
from recollect.query.formula import Formula, InvalidFormula
from recollect.replay.changes.bisect import Bisection
from recollect.replay.compare.comparison import Comparison
from recollect.web.api import Endpoint
from recollect.web.forms import Ask, Nothing
from recollect.web.requests import body, parameters

TEXT_MAX = 100_000


class Span(msgspec.Struct, frozen=True, kw_only=True):
    since: str | None = None
    until: str | None = None
    buckets: Annotated[int, Meta(ge=1, le=BUCKETS_MAX)] = 300


class AskBars(Ask, frozen=True, kw_only=True):
    """A question, or a recorded `recall`, whose filters, session and clock come along; `text` is a formula to try."""

    q: str = ""
    recall: str | None = None
    text: Annotated[str, Meta(max_length=TEXT_MAX)] | None = None
    losers: Annotated[int, Meta(ge=0, le=50)] = 5


class AskLines(Ask, frozen=True, kw_only=True):
    q: str = ""
    recall: str | None = None
    ids: Annotated[tuple[str, ...], Meta(max_length=LINES_MAX)] = ()
    from_: Annotated[int, Meta(ge=0)] = msgspec.field(name="from", default=0)
    to: Annotated[int, Meta(ge=0)] | None = None
    points: Annotated[int, Meta(ge=2, le=POINTS_MAX)] = 24


class AskWhen(Ask, frozen=True, kw_only=True):
    """Which event took a memory out of the first places, or brought it there."""

    q: str = ""
    recall: str | None = None
    id: str
    top: Annotated[int, Meta(ge=1)] = 3
    from_: str | None = msgspec.field(name="from", default=None)
    to: str | None = None


class Tried(msgspec.Struct, frozen=True, kw_only=True):
    """A formula to try on recorded traffic, beside what was recorded."""

    text: Annotated[str, Meta(max_length=TEXT_MAX)]
    last: Annotated[int, Meta(ge=1, le=1_000)] = 100
    k: Annotated[int, Meta(ge=1, le=100)] = 10


class FormulaText(msgspec.Struct, frozen=True, kw_only=True):
    """A formula as a file would say it (`toml`) and as the log keeps it (`text`), and its numbers that can be moved:
    stage (from 1), name, value."""

    name: str
    label: str
    toml: str
    text: str
    numbers: tuple[tuple[int, str, float], ...]


class Adopted(msgspec.Struct, frozen=True, kw_only=True):
    formula: str


class Dreaming(msgspec.Struct, frozen=True, kw_only=True):
    phases: tuple[str, ...] = ()


def tried(text: str) -> Formula:
    """The formula of a text from outside, TOML or as the log keeps it (JSON): no file is read for it."""
    if not text.lstrip().startswith("{"):
        return formulas.parse(text, origin="this formula")
    try:
        formula = formulas.from_canonical(text)
    except msgspec.DecodeError as error:
        raise InvalidInput(f"the formula is neither TOML nor JSON: {error}") from None
    if problem := formulas.problem_with(formula):
        raise InvalidFormula(repr(formula.name), problem)
    return formula


def _formula(memory: Memory, name: str | None, text: str | None) -> Formula | None:
    if text is not None:
        return tried(text)
    return formula_named(memory.store, name, files=False) if name else None


def _question(memory: Memory, ask: AskBars | AskLines | AskWhen) -> tuple[str, RecallOptions]:
    """The question with its options; a recorded recall brings its own, but for a formula that is given beside it."""
    given: RecallOptions = ask.options() | {"formula": _formula(memory, ask.formula, None)}
    if ask.recall is None:
        if not ask.q:
            raise InvalidInput("give a question (q) or the id of a recorded recall (recall)")
        return ask.q, given
    return ask.recall, {"formula": given["formula"]}


# --- the log over time -----------------------------------------------------------------------------


async def over_time(memory: AsyncMemory, request: Request) -> River:
    span = parameters(request, Span)
    times: LogTimes = request.app.state.times

    def work(inner: Memory) -> River:
        return river(inner.store, times, since=span.since, until=span.until, buckets=span.buckets)

    return await memory.run(work, lane="reads")


# --- rankings --------------------------------------------------------------------------------------


async def bars(memory: AsyncMemory, request: Request) -> RankedBars:
    ask = parameters(request, AskBars)
    return await memory.run(lambda inner: _bars(inner, ask), lane="reads")


async def bars_tried(memory: AsyncMemory, request: Request) -> RankedBars:
    ask = await body(request, AskBars)
    return await memory.run(lambda inner: _bars(inner, ask), lane="reads")


def _bars(memory: Memory, ask: AskBars) -> RankedBars:
    formula = _formula(memory, ask.formula, ask.text)
    if ask.recall is not None:
        return recorded_bars(memory.store, ask.recall, formula=formula, at=ask.at, losers=ask.losers)
    query, options = _question(memory, ask)
    source = memory if ask.at is None else memory.at(ask.at)
    return source.bars(query, losers=ask.losers, **options | {"formula": formula, "wait": False})


async def lines(memory: AsyncMemory, request: Request) -> Bump:
    ask = parameters(request, AskLines)

    def work(inner: Memory) -> Bump:
        query, options = _question(inner, ask)
        head = inner.store.catch_up()
        until = head if ask.to is None else min(ask.to, head)
        return inner.bump(query, ask.ids, ask.from_, until, ask.points, **options)

    return await memory.run(work, lane="reads")


async def bisect(memory: AsyncMemory, request: Request) -> Bisection:
    ask = parameters(request, AskWhen)

    def work(inner: Memory) -> Bisection:
        query, options = _question(inner, ask)
        return inner.bisect(query, ask.id, ask.from_, ask.to, until_rank=ask.top, **options)

    return await memory.run(work, lane="long")


# --- formulas --------------------------------------------------------------------------------------


async def formula_text(memory: AsyncMemory, request: Request) -> FormulaText:
    parameters(request, Nothing)
    name = request.path_params["name"]
    return await memory.run(lambda inner: _shown(formula_named(inner.store, name, files=False)), lane="reads")


async def formula_checked(memory: AsyncMemory, request: Request) -> FormulaText:
    given = await body(request, Tried)
    return await memory.run(lambda _: _shown(tried(given.text)), lane="reads")


def _shown(formula: Formula) -> FormulaText:
    return FormulaText(
        name=formula.name,
        label=formula.label,
        toml=flat_toml(formula),
        text=formula.text,
        numbers=tuple(_numbers(formula)),
    )


def _numbers(formula: Formula) -> list[tuple[int, str, float]]:
    """The numbers of a formula's stages that move a score: weights, amounts, shares, scales."""
    found: list[tuple[int, str, float]] = []
    for number, stage in enumerate(formula.stages, 1):
        for name, value in msgspec.structs.asdict(stage).items():
            if isinstance(value, float):
                found.append((number, name, value))
            elif isinstance(value, dict):
                found += [
                    (number, f"{name}.{key}", one) for key, one in value.items() if isinstance(one, float)
                ]
    return found


async def formula_adopted(memory: AsyncMemory, request: Request) -> Adopted:
    given = await body(request, Tried)
    label = await memory.run(lambda inner: inner.adopt(tried(given.text)))
    return Adopted(formula=label)


async def traffic(memory: AsyncMemory, request: Request) -> Comparison:
    given = await body(request, Tried)

    def work(inner: Memory) -> Comparison:
        return inner.compare("recorded", tried(given.text), k=given.k, last=given.last)

    return await memory.run(work, lane="long")


# --- dreams ----------------------------------------------------------------------------------------


async def dream_preview(memory: AsyncMemory, request: Request) -> DreamReport:
    parameters(request, Nothing)
    return await memory.run(lambda inner: inner.dream(dry_run=True), lane="long")


async def dream_now(memory: AsyncMemory, request: Request) -> DreamReport:
    given = await body(request, Dreaming)
    return await memory.run(lambda inner: inner.dream(phases=given.phases or None), lane="long")


async def dream_undone(memory: AsyncMemory, request: Request) -> DreamReport:
    name = request.path_params["dream"]
    return await memory.run(lambda inner: inner.undream(name), lane="long")


TABLE = (
    Endpoint(
        "GET", "/api/river", over_time, "the log over time: events of each lane in equal spans", takes=Span
    ),
    Endpoint(
        "GET",
        "/api/bars",
        bars,
        "a ranking as bars: what each score is made of, and the next that lost",
        takes=AskBars,
    ),
    Endpoint(
        "POST",
        "/api/bars",
        bars_tried,
        "the same under a formula that is tried (`text`); records nothing",
        takes=AskBars,
    ),
    Endpoint("GET", "/api/ranks", lines, "how memories changed places between two events", takes=AskLines),
    Endpoint(
        "GET",
        "/api/bisect",
        bisect,
        "the event that moved a memory out of the first places, or into them",
        takes=AskWhen,
    ),
    Endpoint(
        "GET", "/api/formulas/{name}", formula_text, "a formula's text and the numbers in it", takes=Nothing
    ),
    Endpoint(
        "POST", "/api/formulas/check", formula_checked, "check a formula's text; keeps nothing", takes=Tried
    ),
    Endpoint(
        "POST",
        "/api/formulas/compare",
        traffic,
        "recorded answers beside those of a formula that is tried",
        takes=Tried,
    ),
    Endpoint(
        "POST", "/api/formulas/adopt", formula_adopted, "put a formula in force", writes=True, takes=Tried
    ),
    Endpoint(
        "GET",
        "/api/dreams/preview",
        dream_preview,
        "what a dream would change now; changes nothing",
        takes=Nothing,
    ),
    Endpoint("POST", "/api/dreams", dream_now, "dream", writes=True, takes=Dreaming),
    Endpoint("POST", "/api/dreams/{dream}/undo", dream_undone, "take a dream back", writes=True),
)
