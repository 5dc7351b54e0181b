"""Server-sent events: that the log grew, and the progress of long work.

A stream ends when its client is gone; that of the log's growth also where there are too many, as its clients ask again. Long work goes on to its end, as every request does that was begun.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import NamedTuple

import msgspec
from starlette.requests import Request

from recollect.engine.compare import render
from recollect.engine.store import Progress
from recollect.events.errors import RecollectError
from recollect.interfaces.common import compare_html
from recollect.interfaces.python.async_memory import AsyncMemory
from recollect.interfaces.python.memory import Memory
from recollect.web.api import sides_of
from recollect.web.api_page import Tried, tried
from recollect.web.forms import Nothing, Sides
from recollect.web.requests import body, error_of, parameters

_LOOK_S = 1.0
_SILENCE_S = 15.0


class Stream(NamedTuple):
    path: str
    events: Callable[[AsyncMemory, Request], AsyncIterator[str]]
    method: str = "GET"
    ends: bool = True


def event(name: str, value: object) -> str:
    return f"event: {name}\ndata: {msgspec.json.encode(value).decode()}\n\n"


def growth(memory: AsyncMemory, request: Request) -> AsyncIterator[str]:
    """Send `head` whenever the log grew, and a comment now and then so that proxies keep the connection open.

    `run` is another one after a restart, whatever the head is.
    """
    parameters(request, Nothing)
    return _heads(memory, request)


async def _heads(memory: AsyncMemory, request: Request) -> AsyncIterator[str]:
    head, silent = -1, 0.0
    while not await request.is_disconnected():
        found = await memory.run(lambda inner: inner.store.catch_up(), lane="reads")
        if found != head:
            head, silent = found, 0.0
            yield event("head", {"head": head, "run": request.app.state.serving.run})
        elif silent >= _SILENCE_S:
            silent = 0.0
            yield ": still here\n\n"
        await asyncio.sleep(_LOOK_S)
        silent += _LOOK_S


def verification(memory: AsyncMemory, request: Request) -> AsyncIterator[str]:
    """Verify with its progress, then the report."""
    parameters(request, Nothing)
    return _work(memory, lambda inner, progress: inner.verify(progress=progress))


def comparison(memory: AsyncMemory, request: Request) -> AsyncIterator[str]:
    """Compare with its progress, then the report."""
    given = parameters(request, Sides)

    def work(inner: Memory, progress: Progress) -> object:
        a, b = sides_of(inner, given)
        return inner.compare(a, b, k=given.k, last=given.last, progress=progress)

    return _work(memory, work)


async def comparison_tried(memory: AsyncMemory, request: Request) -> AsyncIterator[str]:
    """What was recorded beside a formula that is tried; with `html` the report is the page that `compare --html` writes."""
    try:
        given = await body(request, Tried)
        formula = tried(given.text)
    except RecollectError as error:
        yield event("failed", error_of(error))
        return

    def work(inner: Memory, progress: Progress) -> object:
        found = inner.compare("recorded", formula, k=given.k, last=given.last, progress=progress)
        return {"html": render(inner.store, found, compare_html.page)} if given.html else found

    async for line in _work(memory, work):
        yield line


async def _work(memory: AsyncMemory, work: Callable[[Memory, Progress], object]) -> AsyncIterator[str]:
    """`progress` as it goes, then `done` with the report, or `failed`."""
    loop, said = asyncio.get_running_loop(), asyncio.Queue[str | None]()

    def progress(done: int, total: int) -> None:
        loop.call_soon_threadsafe(said.put_nowait, event("progress", {"done": done, "total": total}))

    task = asyncio.create_task(memory.run(lambda inner: work(inner, progress), lane="long"))
    task.add_done_callback(lambda _: said.put_nowait(None))
    while (line := await said.get()) is not None:
        yield line
    try:
        yield event("done", await task)
    except RecollectError as error:
        yield event("failed", error_of(error))


TABLE = (
    Stream("/api/stream", growth, ends=False),
    Stream("/api/stream/verify", verification),
    Stream("/api/stream/compare", comparison),
    Stream("/api/stream/compare", comparison_tried, method="POST"),
)
