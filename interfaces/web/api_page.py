"""The JSON API behind the page's pictures: the log over time, rankings as bars, lines of ranks, formulas that are tried.

A formula that is tried comes as the text of its TOML: it is checked, ranks this one question or the recorded ones, and
is kept nowhere. It is never a path.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta
from starlette.requests import Request

from recollect.dream.measure import AnswerChange
from recollect.dream.report import DreamReport
from recollect.engine.bars import RankedBars, ranked_bars, recorded_bars
from recollect.engine.bump import LINES_MAX, POINTS_MAX, Bump, bump
from recollect.engine.formula_lookup import formula_named
from recollect.engine.moments import to_datetime
from recollect.engine.recall_options import RecallOptions
from recollect.engine.river import BUCKETS_MAX, LogTimes, River, river
from recollect.engine.show_dream import PastDream, dream_effect, past_dreams
from recollect.events.errors import InvalidInput
from recollect.interfaces.python.memory import Memory
from recollect.query import formula as formulas
from recollect.query.flat_formula import flat_toml
from recollect.query.formula import Formula, InvalidFormula
from recollect.query.formula_reference import reference
from recollect.replay.changes.bisect import Bisection
from recollect.replay.compare.comparison import Comparison
from recollect.web.api import formula_of
from recollect.web.endpoint import Endpoints
from recollect.web.forms import Ask, Nothing

TEXT_MAX = 100_000
_MEANT = ("Operations", "Inputs", "Channels", "Factors")

ENDPOINTS = Endpoints()


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
    html: bool = False


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
    formula = formulas.from_canonical(text, "this formula")
    if problem := formulas.problem_with(formula):
        raise InvalidFormula(repr(formula.name), problem)
    return formula


def _question(memory: Memory, ask: AskBars | AskLines | AskWhen) -> tuple[str, RecallOptions]:
    """The question with its options; a recorded recall brings its own, but for a formula and a clock given beside it."""
    given: RecallOptions = ask.options() | {"formula": formula_of(memory, ask.formula)}
    if ask.recall is None:
        if not ask.q:
            raise InvalidInput("give a question (q) or the id of a recorded recall (recall)")
        return ask.q, given
    return ask.recall, {"formula": given["formula"], "now": given.get("now")}


# --- the log over time -----------------------------------------------------------------------------


@ENDPOINTS.add("GET", "/api/river", "the log over time: events of each lane in equal spans")
def over_time(memory: Memory, span: Span, request: Request) -> River:
    times: LogTimes = request.app.state.times
    return river(memory.store, times, since=span.since, until=span.until, buckets=span.buckets)


# --- rankings --------------------------------------------------------------------------------------


@ENDPOINTS.add("GET", "/api/bars", "a ranking as bars: what each score is made of, and the next that lost")
def bars(memory: Memory, ask: AskBars, _: Request) -> RankedBars:
    formula = formula_of(memory, ask.formula) if ask.text is None else tried(ask.text)
    if ask.recall is not None and ask.at is None and formula is None:
        return recorded_bars(memory.store, ask.recall, losers=ask.losers)
    query, options = _question(memory, ask)
    at = ask.at or ask.recall  # a recall is a moment too: its basis and its clock
    here = memory.here if at is None else memory.at(at).here
    if ask.recall is not None and ask.now is None:
        options["now"] = to_datetime(here.now)
    made = ranked_bars(here, query, options | {"formula": formula, "wait": False}, losers=ask.losers)
    return msgspec.structs.replace(made, recall=ask.recall)


@ENDPOINTS.add("POST", "/api/bars", "the same under a formula that is tried (`text`); records nothing")
def bars_tried(memory: Memory, ask: AskBars, request: Request) -> RankedBars:
    return bars(memory, ask, request)


@ENDPOINTS.add("GET", "/api/ranks", "how memories changed places between two events")
def lines(memory: Memory, ask: AskLines, _: Request) -> Bump:
    query, options = _question(memory, ask)
    head = memory.store.catch_up()
    until = head if ask.to is None else min(ask.to, head)
    return bump(memory.here, query, options, ask.ids, since=ask.from_, until=until, points=ask.points)


@ENDPOINTS.add(
    "GET", "/api/bisect", "the event that moved a memory out of the first places, or into them", lane="long"
)
def bisect(memory: Memory, ask: AskWhen, _: Request) -> Bisection:
    query, options = _question(memory, ask)
    return memory.bisect(query, ask.id, ask.from_, ask.to, until_rank=ask.top, **options)


# --- formulas --------------------------------------------------------------------------------------


@ENDPOINTS.add("GET", "/api/words", "what the operations, channels, factors and inputs of formulas mean")
def words(_: Memory, __: Nothing, ___: Request) -> dict[str, str]:
    meant = {
        entry.name: entry.meaning
        for section in reference()
        if section.title in _MEANT
        for entry in section.entries
    }
    return {name.partition("/")[0]: meaning for name, meaning in meant.items()} | meant


@ENDPOINTS.add("GET", "/api/formulas/{name}", "a formula's text and the numbers in it")
def formula_text(memory: Memory, _: Nothing, request: Request) -> FormulaText:
    return _shown(formula_named(memory.store, request.path_params["name"], files=False))


@ENDPOINTS.add("POST", "/api/formulas/check", "check a formula's text; keeps nothing")
def formula_checked(_: Memory, given: Tried, __: Request) -> FormulaText:
    return _shown(tried(given.text))


@ENDPOINTS.add(
    "POST", "/api/formulas/compare", "recorded answers beside those of a formula that is tried", lane="long"
)
def traffic(memory: Memory, given: Tried, _: Request) -> Comparison:
    return memory.compare("recorded", tried(given.text), k=given.k, last=given.last)


@ENDPOINTS.add("POST", "/api/formulas/adopt", "put a formula in force", lane="writes", writes=True)
def formula_adopted(memory: Memory, given: Tried, _: Request) -> Adopted:
    return Adopted(formula=memory.adopt(tried(given.text)))


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


# --- dreams ----------------------------------------------------------------------------------------


@ENDPOINTS.add(
    "GET", "/api/dreams", "past dreams, newest first: what each phase changed, and which were taken back"
)
def dreams(memory: Memory, _: Nothing, __: Request) -> tuple[PastDream, ...]:
    return past_dreams(memory.store)


@ENDPOINTS.add("GET", "/api/dreams/preview", "what a dream would change now; changes nothing", lane="long")
def dream_preview(memory: Memory, _: Nothing, __: Request) -> DreamReport:
    return memory.dream(dry_run=True)


@ENDPOINTS.add(
    "GET",
    "/api/dreams/{dream}/effect",
    "recorded questions whose answers a dream changed, before and after it",
    lane="long",
)
def dream_effects(memory: Memory, _: Nothing, request: Request) -> tuple[AnswerChange, ...]:
    return dream_effect(memory.store, request.path_params["dream"])


@ENDPOINTS.add("POST", "/api/dreams", "dream", lane="long", writes=True)
def dream_now(memory: Memory, given: Dreaming, _: Request) -> DreamReport:
    return memory.dream(phases=given.phases or None)


@ENDPOINTS.add("POST", "/api/dreams/{dream}/undo", "take a dream back", lane="long", writes=True)
def dream_undone(memory: Memory, _: Nothing, request: Request) -> DreamReport:
    return memory.undream(request.path_params["dream"])
