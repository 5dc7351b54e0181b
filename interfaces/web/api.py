"""The JSON API: what can be asked. Nothing here writes, but recalls that are posted, which are recorded."""

from __future__ import annotations

from pathlib import Path

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
from recollect.engine.show_memory import show_memory
from recollect.engine.show_recall import RecallCheck, ShownRecall, check, show_recall, verdicts
from recollect.engine.stale import Stale
from recollect.interfaces.python.memory import Memory
from recollect.query import formula as formulas
from recollect.query.explanation import Explanation
from recollect.query.formula import Formula
from recollect.replay.changes.why_changed import Change
from recollect.replay.compare.comparison import Comparison
from recollect.replay.verify import VerifyReport
from recollect.web.endpoint import Endpoints
from recollect.web.forms import (
    Ask,
    AskAbout,
    AskAndRecord,
    AskNow,
    Changed,
    Event,
    Formulas,
    MemoPage,
    Named,
    NamedAt,
    Nothing,
    RecallIds,
    RecallsPage,
    Scope,
    ServerStatus,
    Serving,
    Sides,
    Timeline,
    TimelinePage,
)

ENDPOINTS = Endpoints()

_WINDOW = 1_024


def formula_of(memory: Memory, name: str | None) -> Formula | None:
    """A formula by name: never a file of the machine that serves."""
    return formula_named(memory.store, name, files=False) if name else None


def _id(given: Named, request: Request) -> str:
    path: str = request.path_params["id"]
    return path if given.id is None else given.id


def _options(memory: Memory, ask: AskNow | Changed) -> RecallOptions:
    return ask.options() | {"formula": formula_of(memory, ask.formula), "wait": False}


@ENDPOINTS.add("GET", "/api/status", "the store's health and sizes")
def status(memory: Memory, _: Nothing, request: Request) -> ServerStatus:
    serving: Serving = request.app.state.serving
    store = memory.status()
    own = {
        "path": store.store if "://" in store.store else str(Path(store.store).absolute()),
        "read_only": serving.read_only,
        "dream_every": serving.dream_every,
        "run": serving.run,
        "degraded": store.degraded + serving.problems,
    }
    return ServerStatus(**{**msgspec.structs.asdict(store), **own})


# --- questions -------------------------------------------------------------------------------------


@ENDPOINTS.add("GET", "/api/recall", "rank, now or as of `at`; records nothing")
def recall(memory: Memory, ask: Ask, _: Request) -> Answer:
    source = memory if ask.at is None else memory.at(ask.at)
    return source.recall(ask.q, **_options(memory, ask) | {"record": False})


@ENDPOINTS.add("POST", "/api/recall", "rank and record; the answer has an id", writes=True)
def recall_recorded(memory: Memory, ask: AskAndRecord, _: Request) -> Answer:
    return memory.recall(ask.q, **_options(memory, ask) | {"track": ask.track})


@ENDPOINTS.add("GET", "/api/explain", "why a memory would rank where it does, recorded or not")
def explain(memory: Memory, ask: AskAbout, _: Request) -> Explanation:
    source = memory if ask.at is None else memory.at(ask.at)
    return source.explain(ask.q, ask.id, **_options(memory, ask))


@ENDPOINTS.add("GET", "/api/why/{recall}/{id:path}", "why a memory ranked where it did in a recorded recall")
def why(memory: Memory, given: Named, request: Request) -> Explanation:
    return memory.why(request.path_params["recall"], _id(given, request))


@ENDPOINTS.add("GET", "/api/why-not/{recall}/{id:path}", "where a memory was lost in a recorded recall")
def why_not(memory: Memory, given: Named, request: Request) -> Explanation:
    return memory.why_not(request.path_params["recall"], _id(given, request))


@ENDPOINTS.add("GET", "/api/why-changed", "why rank and score differ between two moments", lane="long")
def why_changed(memory: Memory, ask: Changed, _: Request) -> Change:
    return memory.why_changed(ask.q, ask.id, ask.since, ask.until, **_options(memory, ask))


def sides_of(memory: Memory, sides: Sides) -> tuple[Formula | str | None, Formula | str | None]:
    a, b = (side if side == "recorded" else formula_of(memory, side) for side in (sides.a, sides.b))
    return a, b


@ENDPOINTS.add("GET", "/api/compare", "recorded questions under two formulas", lane="long")
def compare(memory: Memory, sides: Sides, _: Request) -> Comparison:
    a, b = sides_of(memory, sides)
    return memory.compare(a, b, k=sides.k, last=sides.last)


@ENDPOINTS.add(
    "GET", "/api/impact/{id:path}", "the recorded answers that held a memory, and without it", lane="long"
)
def impact(memory: Memory, given: Named, request: Request) -> Impact:
    return memory.impact(_id(given, request))


@ENDPOINTS.add(
    "GET", "/api/stale", "answers from memories that no longer held, and who was told", lane="long"
)
def stale(memory: Memory, _: Nothing, __: Request) -> Stale:
    return memory.stale()


@ENDPOINTS.add("GET", "/api/formulas", "the formulas that may be named, and the one in force")
def formula_list(memory: Memory, _: Nothing, __: Request) -> Formulas:
    view = memory.store.view()
    labels = sorted(one.label for one in formulas.readable(dict(view.adoptions.formulas)))
    in_force = formulas.formula_in_force(view.adoptions, view.seq).label
    return Formulas(built_in=tuple(formulas.names()), in_log=tuple(labels), in_force=in_force)


# --- memories and the log --------------------------------------------------------------------------


@ENDPOINTS.add("GET", "/api/memories", "the memories that would answer, now or as of `at`, newest first")
def memories(memory: Memory, scope: Scope, _: Request) -> MemoPage:
    given = {"project": scope.project, "session": scope.session, "tags": scope.tags, "kinds": scope.kinds}
    found = memory.memories({name: value for name, value in given.items() if value}, at=scope.at)
    if scope.offset is not None:  # how earlier clients ask for pages
        page = found[scope.offset : scope.offset + scope.limit]
        return MemoPage(memories=tuple(page), total=len(found), before=None)
    end = len(found) if scope.before is None else min(len(found), scope.before)
    begin = max(0, end - scope.limit)
    return MemoPage(memories=tuple(found[begin:end][::-1]), total=len(found), before=begin or None)


@ENDPOINTS.add("GET", "/api/memories/{id:path}/history", "every event that touched a memory")
def history(memory: Memory, given: Named, request: Request) -> list[Happening]:
    return memory.history(_id(given, request))


@ENDPOINTS.add("GET", "/api/memories/{id:path}", "a memory's content and whole state, now or as of `at`")
def get(memory: Memory, given: NamedAt, request: Request) -> Memo:
    return memory.get(_id(given, request), at=given.at)


@ENDPOINTS.add("GET", "/api/recalls", "recorded recalls, newest first, filtered")
def recalls(memory: Memory, page: RecallsPage, _: Request) -> Recalls:
    return memory.recalls(**msgspec.structs.asdict(page))


@ENDPOINTS.add("GET", "/api/recalls/{recall}", "one recall: question, hits as recorded, replayed or not")
def recall_shown(memory: Memory, _: Nothing, request: Request) -> ShownRecall:
    return show_recall(memory.store, request.path_params["recall"])


@ENDPOINTS.add(
    "GET", "/api/show/{name:path}", "everything about a recall, a memory, an event, a dream or a formula"
)
def shown(memory: Memory, given: Named, request: Request) -> Shown:
    if given.id is not None:
        return show_memory(memory.store, given.id)
    return memory.show(request.path_params["name"])


@ENDPOINTS.add(
    "GET", "/api/verify", "every recorded recall ranked again and compared bit for bit", lane="long"
)
def verify(memory: Memory, _: Nothing, __: Request) -> VerifyReport:
    return memory.verify()


@ENDPOINTS.add("GET", "/api/verify/{recall}", "one recorded recall ranked again and compared")
def verify_one(memory: Memory, _: Nothing, request: Request) -> RecallCheck:
    return check(memory.store, request.path_params["recall"])


@ENDPOINTS.add("GET", "/api/verdicts", "recorded recalls, each ranked again and compared, or why not")
def verdicts_of(memory: Memory, given: RecallIds, _: Request) -> list[RecallCheck]:
    return verdicts(memory.store, given.recalls)


@ENDPOINTS.add("GET", "/api/timeline", "the log in words, newest first")
def timeline(memory: Memory, page: Timeline, _: Request) -> TimelinePage:
    # The log is read backwards, and only as far as it must be.
    store = memory.store
    selection = streaming.select(
        store, memory=page.memory, session=page.session, type=page.type, since=page.since, until=page.until
    )
    head = store.catch_up()
    first, last = selection.span(store.log, head)
    upto = max(0, min(last, last if page.before is None else page.before - 1))
    found: list[Happening] = []
    while upto > first and len(found) <= page.limit:
        after = max(first, upto - _WINDOW)
        window = [r for r in store.log.read(after, upto) if selection.matches(r)]
        found += [happening_of(recorded) for recorded in reversed(window)]
        upto = after
    shown = tuple(found[: page.limit])
    return TimelinePage(events=shown, head=head, before=shown[-1].seq if len(found) > page.limit else None)


@ENDPOINTS.add("GET", "/api/events/{seq:int}", "one position of the log: its time and what happened")
def event(memory: Memory, _: Nothing, request: Request) -> Event:
    seq = request.path_params["seq"]
    view = memory.store.view(seq)
    what = happening_of(memory.store.event(seq)) if seq else None
    return Event(seq=seq, at=what.at if what else iso(view.time), event=what)
