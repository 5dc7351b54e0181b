"""The JSON API: what can be asked. Nothing here writes, but recalls that are posted, which are recorded.

`TABLE` is all of it; `recollect.web.app` makes routes of it and the documentation is checked against it. A handler
gets the open memory and the request and returns a Struct, which goes out as JSON.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import NamedTuple

import msgspec
from starlette.requests import Request

from recollect.engine import log_stream as streaming
from recollect.engine.answers import Answer, Happening, Memo
from recollect.engine.event_summaries import happening_of
from recollect.engine.formula_lookup import formula_named
from recollect.engine.impact import Impact
from recollect.engine.moments import iso
from recollect.engine.recall_options import RecallOptions
from recollect.engine.recalls import Recalls
from recollect.engine.show import Shown
from recollect.engine.show_recall import RecallCheck, ShownRecall, check, show_recall
from recollect.engine.stale import Stale
from recollect.interfaces.python.async_memory import AsyncMemory
from recollect.interfaces.python.memory import Memory
from recollect.query import formula as formulas
from recollect.query.explanation import Explanation
from recollect.query.formula import Formula
from recollect.replay.changes.why_changed import Change
from recollect.replay.compare.comparison import Comparison
from recollect.replay.verify import VerifyReport
from recollect.web import recorded
from recollect.web.forms import (
    Ask,
    AskAbout,
    AskAndRecord,
    AskNow,
    Changed,
    Event,
    Formulas,
    MemoPage,
    Moment,
    Nothing,
    RecallsPage,
    Scope,
    ServerStatus,
    Serving,
    Sides,
    Timeline,
)
from recollect.web.recorded import TimelinePage
from recollect.web.requests import body, parameters

Handler = Callable[[AsyncMemory, Request], Awaitable[object]]


class Endpoint(NamedTuple):
    method: str
    path: str
    handler: Handler
    says: str
    writes: bool = False
    status: int = 200
    takes: type[msgspec.Struct] | None = None


# --- questions -------------------------------------------------------------------------------------


def _formula(memory: Memory, name: str | None) -> Formula | None:
    """A formula by name: never a file of the machine that serves."""
    return formula_named(memory.store, name, files=False) if name else None


def _options(memory: Memory, ask: AskNow | Changed) -> RecallOptions:
    return ask.options() | {"formula": _formula(memory, ask.formula), "wait": False}


async def recall(memory: AsyncMemory, request: Request) -> Answer:
    ask = parameters(request, Ask)

    def work(inner: Memory) -> Answer:
        source = inner if ask.at is None else inner.at(ask.at)
        return source.recall(ask.q, **_options(inner, ask) | {"record": False})

    return await memory.run(work, lane="reads")


async def recall_recorded(memory: AsyncMemory, request: Request) -> Answer:
    ask = await body(request, AskAndRecord)

    def work(inner: Memory) -> Answer:
        return inner.recall(ask.q, **_options(inner, ask) | {"track": ask.track})

    return await memory.run(work, lane="reads")


async def explain(memory: AsyncMemory, request: Request) -> Explanation:
    ask = parameters(request, AskAbout)

    def work(inner: Memory) -> Explanation:
        source = inner if ask.at is None else inner.at(ask.at)
        return source.explain(ask.q, ask.id, **_options(inner, ask))

    return await memory.run(work, lane="reads")


async def why(memory: AsyncMemory, request: Request) -> Explanation:
    recall_id, memory_id = request.path_params["recall"], request.path_params["id"]

    return await memory.why(recall_id, memory_id)


async def why_changed(memory: AsyncMemory, request: Request) -> Change:
    ask = parameters(request, Changed)

    def work(inner: Memory) -> Change:
        return inner.why_changed(ask.q, ask.id, ask.since, ask.until, **_options(inner, ask))

    return await memory.run(work, lane="long")


def sides_of(memory: Memory, sides: Sides) -> tuple[Formula | str | None, Formula | str | None]:
    a, b = (side if side == "recorded" else _formula(memory, side) for side in (sides.a, sides.b))
    return a, b


async def compare(memory: AsyncMemory, request: Request) -> Comparison:
    sides = parameters(request, Sides)

    def work(inner: Memory) -> Comparison:
        a, b = sides_of(inner, sides)
        return inner.compare(a, b, k=sides.k, last=sides.last)

    return await memory.run(work, lane="long")


# --- memories and the log --------------------------------------------------------------------------


async def status(memory: AsyncMemory, request: Request) -> ServerStatus:
    parameters(request, Nothing)
    serving: Serving = request.app.state.serving
    store = await memory.status()
    own = {
        "read_only": serving.read_only,
        "dream_every": serving.dream_every,
        "degraded": store.degraded + serving.problems,
    }
    return ServerStatus(**{**msgspec.structs.asdict(store), **own})


async def impact(memory: AsyncMemory, request: Request) -> Impact:
    parameters(request, Nothing)
    return await memory.impact(request.path_params["id"])


async def stale(memory: AsyncMemory, request: Request) -> Stale:
    parameters(request, Nothing)
    return await memory.stale()


async def formula_list(memory: AsyncMemory, request: Request) -> Formulas:
    parameters(request, Nothing)
    in_force = (await memory.status()).formula
    adopted = memory.store.projections.adoptions.formulas.values()
    labels = sorted(formulas.from_canonical(text).label for text in list(adopted))
    return Formulas(built_in=tuple(formulas.names()), in_log=tuple(labels), in_force=in_force)


async def memories(memory: AsyncMemory, request: Request) -> MemoPage:
    scope = parameters(request, Scope)
    given = {"project": scope.project, "session": scope.session, "tags": scope.tags, "kinds": scope.kinds}
    found = await memory.memories({name: value for name, value in given.items() if value}, at=scope.at)
    return MemoPage(memories=tuple(found[scope.offset : scope.offset + scope.limit]), total=len(found))


async def get(memory: AsyncMemory, request: Request) -> Memo:
    return await memory.get(request.path_params["id"], at=parameters(request, Moment).at)


async def history(memory: AsyncMemory, request: Request) -> list[Happening]:
    return await memory.history(request.path_params["id"])


async def recalls(memory: AsyncMemory, request: Request) -> Recalls:
    return await memory.recalls(**msgspec.structs.asdict(parameters(request, RecallsPage)))


async def recall_shown(memory: AsyncMemory, request: Request) -> ShownRecall:
    parameters(request, Nothing)
    recall_id = request.path_params["recall"]
    return await memory.run(lambda inner: show_recall(inner.store, recall_id), lane="reads")


async def shown(memory: AsyncMemory, request: Request) -> Shown:
    parameters(request, Nothing)
    return await memory.show(request.path_params["name"])


async def verify(memory: AsyncMemory, request: Request) -> VerifyReport:
    parameters(request, Nothing)
    return await memory.verify()


async def verify_one(memory: AsyncMemory, request: Request) -> RecallCheck:
    recall_id = request.path_params["recall"]
    return await memory.run(lambda inner: check(inner.store, recall_id), lane="reads")


async def timeline(memory: AsyncMemory, request: Request) -> TimelinePage:
    page = parameters(request, Timeline)

    def work(inner: Memory) -> TimelinePage:
        selection = streaming.select(
            inner.store, memory=page.memory, session=page.session, type_=page.type, since=page.since, until=page.until
        )  # fmt: skip
        return recorded.timeline(inner, selection, before=page.before, limit=page.limit)

    return await memory.run(work, lane="reads")


async def event(memory: AsyncMemory, request: Request) -> Event:
    seq = request.path_params["seq"]

    def work(inner: Memory) -> Event:
        view = inner.store.view(seq)
        what = happening_of(inner.store.event(seq)) if seq else None
        return Event(seq=seq, at=what.at if what else iso(view.time), event=what)

    return await memory.run(work, lane="reads")


TABLE = (
    Endpoint("GET", "/api/status", status, "the store's health and sizes", takes=Nothing),
    Endpoint("GET", "/api/recall", recall, "rank, now or as of `at`; records nothing", takes=Ask),
    Endpoint(
        "POST",
        "/api/recall",
        recall_recorded,
        "rank and record; the answer has an id",
        writes=True,
        takes=AskAndRecord,
    ),
    Endpoint(
        "GET",
        "/api/explain",
        explain,
        "why a memory would rank where it does, recorded or not",
        takes=AskAbout,
    ),
    Endpoint(
        "GET", "/api/why/{recall}/{id:path}", why, "why a memory ranked where it did in a recorded recall"
    ),
    Endpoint("GET", "/api/why-not/{recall}/{id:path}", why, "where a memory was lost in a recorded recall"),
    Endpoint(
        "GET", "/api/why-changed", why_changed, "why rank and score differ between two moments", takes=Changed
    ),
    Endpoint("GET", "/api/compare", compare, "recorded questions under two formulas", takes=Sides),
    Endpoint(
        "GET",
        "/api/impact/{id:path}",
        impact,
        "the recorded answers that held a memory, and without it",
        takes=Nothing,
    ),
    Endpoint(
        "GET",
        "/api/stale",
        stale,
        "answers from memories that no longer held, and who was told",
        takes=Nothing,
    ),
    Endpoint(
        "GET",
        "/api/formulas",
        formula_list,
        "the formulas that may be named, and the one in force",
        takes=Nothing,
    ),
    Endpoint(
        "GET", "/api/memories", memories, "the memories that would answer, now or as of `at`", takes=Scope
    ),
    Endpoint("GET", "/api/memories/{id:path}/history", history, "every event that touched a memory"),
    Endpoint(
        "GET",
        "/api/memories/{id:path}",
        get,
        "a memory's content and whole state, now or as of `at`",
        takes=Moment,
    ),
    Endpoint("GET", "/api/recalls", recalls, "recorded recalls, newest first, filtered", takes=RecallsPage),
    Endpoint(
        "GET",
        "/api/recalls/{recall}",
        recall_shown,
        "one recall: question, hits as recorded, replayed or not",
        takes=Nothing,
    ),
    Endpoint(
        "GET",
        "/api/show/{name:path}",
        shown,
        "everything about a recall, a memory, an event, a dream or a formula",
        takes=Nothing,
    ),
    Endpoint(
        "GET",
        "/api/verify",
        verify,
        "every recorded recall ranked again and compared bit for bit",
        takes=Nothing,
    ),
    Endpoint("GET", "/api/verify/{recall}", verify_one, "one recorded recall ranked again and compared"),
    Endpoint("GET", "/api/timeline", timeline, "the log in words, newest first", takes=Timeline),
    Endpoint("GET", "/api/events/{seq:int}", event, "one position of the log: its time and what happened"),
)
