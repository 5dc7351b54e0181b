"""AsyncMemory: `Memory` for servers. The same methods with the same parameters, awaited; the work is done in threads.

An open `Memory` may be shared by threads: code that folds the log or reads the projections holds `store.lock`, the
log has a mutex of its own, and embedding and dreaming run outside of both. So the work goes down three lanes:

    writes    one thread: what was told is written in the order in which it was told
    reads     four threads: recalls (the `Recalled` of one needs no order), explanations, views; the model embeds
              for one while another ranks
    long      one thread: dreams, comparisons, verification. A dream commits only if the log has not moved, so a
              write may overtake it

Cancelling an await stops the waiting, not the work: it is done, once, and the store is as if it had been awaited.
`close` takes no new work and waits for all that was begun. Callbacks (`progress`, `summariser`) are called in the
thread that does the work. `serve`, `mcp` and `watch` have no twin: they stay until they are told to stop, so they
get a thread of their own, `asyncio.to_thread(memory.memory.watch, …)`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial, wraps
from itertools import islice
from pathlib import Path
from typing import Any, Concatenate, Literal, ParamSpec, Self, TypeVar, Unpack

from recollect import engine
from recollect.engine.answers import Happening
from recollect.engine.moments import When
from recollect.engine.past import PastView
from recollect.engine.store import Store
from recollect.events.errors import InvalidInput
from recollect.interfaces.python.memory import Memory
from recollect.interfaces.python.opening import OpenOptions
from recollect.query.formula import Formula

P = ParamSpec("P")
T = TypeVar("T")
log = logging.getLogger("recollect.async_memory")
Lane = Literal["writes", "reads", "long"]

_THREADS: dict[Lane, int] = {"writes": 1, "reads": 4, "long": 1}
_CHUNK = 256


def _twin(
    lane: Lane, method: Callable[Concatenate[Memory, P], T]
) -> Callable[Concatenate[AsyncMemory, P], Coroutine[Any, Any, T]]:
    @wraps(method)
    async def twin(self: AsyncMemory, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.run(lambda memory: method(memory, *args, **kwargs), lane=lane)

    return twin


class AsyncMemory:
    """An open store whose methods are awaited. `async with await AsyncMemory.open(path) as memory`, or `close` it."""

    def __init__(self, memory: Memory, *, owner: bool = True) -> None:
        """Wrap an open memory; `close` closes it too if `owner`."""
        self._memory = memory
        self._owner = owner
        self._closing: Future[None] | None = None
        self._lanes = {
            lane: ThreadPoolExecutor(threads, thread_name_prefix=f"recollect-{lane}")
            for lane, threads in _THREADS.items()
        }
        memory.store.checkpointer.start()

    @classmethod
    async def open(cls, path: str | Path, **options: Unpack[OpenOptions]) -> Self:
        """Open the store in a directory, as `Memory.open` does; the fold of a long log blocks no other task."""
        opening = asyncio.get_running_loop().run_in_executor(None, partial(Memory.open, path, **options))
        try:
            return cls(await asyncio.shield(opening))
        except asyncio.CancelledError:
            opening.add_done_callback(_close_opened)
            raise

    @property
    def memory(self) -> Memory:
        """The memory behind; it may be used from any thread."""
        return self._memory

    @property
    def store(self) -> Store:
        """The engine room: log, projections and caches."""
        return self._memory.store

    async def run(self, function: Callable[[Memory], T], *, lane: Lane = "writes") -> T:
        """Several calls as one piece of work, in the thread that writes unless another lane is named."""
        if self._closing is not None:
            raise InvalidInput("this AsyncMemory is closed; open the store again")
        if lane not in self._lanes:
            raise InvalidInput(f"there is no lane {lane!r}; there are {', '.join(self._lanes)}")
        work = asyncio.wrap_future(self._lanes[lane].submit(function, self._memory))
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            work.add_done_callback(_unheard)
            raise

    async def close(self) -> None:
        """Wait for all work that was begun, then close the store. Closing twice is closing once."""
        if self._closing is None:
            closer = ThreadPoolExecutor(1, thread_name_prefix="recollect-close")
            self._closing = closer.submit(self._shut)
            closer.shutdown(wait=False)
        await asyncio.shield(asyncio.wrap_future(self._closing))

    def _shut(self) -> None:
        for lane in self._lanes.values():
            lane.shutdown(wait=True)
        if self._owner:
            self._memory.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    # --- tell ------------------------------------------------------------------------------------

    remember = _twin("writes", Memory.remember)
    remember_many = _twin("writes", Memory.remember_many)
    revise = _twin("writes", Memory.revise)
    access = _twin("writes", Memory.access)
    forget = _twin("writes", Memory.forget)
    restore = _twin("writes", Memory.restore)
    rate = _twin("writes", Memory.rate)
    adopt = _twin("writes", Memory.adopt)
    link = _twin("writes", Memory.link)
    unlink = _twin("writes", Memory.unlink)
    supersede = _twin("writes", Memory.supersede)
    erase = _twin("writes", Memory.erase)
    retain = _twin("writes", Memory.retain)
    import_ = _twin("writes", Memory.import_)
    reembed = _twin("writes", Memory.reembed)
    dream = _twin("long", Memory.dream)
    undream = _twin("long", Memory.undream)
    proposals = _twin("writes", Memory.proposals)

    # --- ask -------------------------------------------------------------------------------------

    recall = _twin("reads", Memory.recall)
    get = _twin("reads", Memory.get)
    missing_vector = _twin("reads", Memory.missing_vector)
    history = _twin("reads", Memory.history)
    similar = _twin("reads", Memory.similar)
    memories = _twin("reads", Memory.memories)
    recalls = _twin("reads", Memory.recalls)
    show = _twin("reads", Memory.show)
    status = _twin("reads", Memory.status)
    warm = _twin("reads", Memory.warm)
    load_model = _twin("reads", Memory.load_model)
    why = _twin("reads", Memory.why)
    why_not = _twin("reads", Memory.why_not)
    explain = _twin("reads", Memory.explain)
    why_changed = _twin("reads", Memory.why_changed)
    ranks = _twin("reads", Memory.ranks)
    sql = _twin("reads", Memory.sql)
    drill = _twin("reads", Memory.drill)
    expect = _twin("writes", Memory.expect)
    withdraw = _twin("writes", Memory.withdraw)
    expectations = _twin("reads", Memory.expectations)
    check = _twin("long", Memory.check)
    fixture = _twin("long", Memory.fixture)
    verify = _twin("long", Memory.verify)
    checkpoint = _twin("long", Memory.checkpoint)
    compare = _twin("long", Memory.compare)
    tune = _twin("long", Memory.tune)
    bisect = _twin("long", Memory.bisect)
    impact = _twin("long", Memory.impact)
    stale = _twin("long", Memory.stale)
    fork = _twin("long", Memory.fork)
    export = _twin("long", Memory.export)
    doctor = _twin("long", Memory.doctor)

    async def at(self, when: When) -> AsyncView:
        """The store as it was: a read-only view with that moment's corpus, state, formula and clock."""
        return AsyncView(self, await self.run(lambda memory: memory.at(when), lane="reads"))

    async def log(
        self, *, limit: int | None = None, follow: bool = False, full: bool = False, **filters: Unpack[engine.log_stream.LogFilters]
    ) -> AsyncIterator[Happening]:  # fmt: skip
        """The log in words, oldest first; `limit` shows the last so many, `follow` waits for more, `full` cuts no text."""
        events = await self.run(
            lambda memory: engine.log_stream.read_log(
                memory.store, limit=limit, follow=follow, full=full, **filters
            ),
            lane="reads",
        )
        while chunk := await self.run(lambda _: _chunk(events), lane="reads"):
            for happening in chunk:
                if happening is None:
                    await asyncio.sleep(engine.log_stream.POLL_S)
                else:
                    yield happening


def _past_twin(
    method: Callable[Concatenate[PastView, P], T],
) -> Callable[Concatenate[AsyncView, P], Coroutine[Any, Any, T]]:
    @wraps(method)
    async def twin(self: AsyncView, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.memory.run(lambda _: method(self.view, *args, **kwargs), lane="reads")

    return twin


class AsyncView:
    """The store as it was at one seq, awaited: corpus statistics, lifecycle, formula in force and clock of then."""

    def __init__(self, memory: AsyncMemory, view: PastView) -> None:
        self.memory = memory
        self.view = view

    @property
    def seq(self) -> int:
        return self.view.seq

    @property
    def formula(self) -> Formula:
        """The formula in force then; today's default if none had been adopted yet."""
        return self.view.formula

    recall = _past_twin(PastView.recall)
    explain = _past_twin(PastView.explain)
    get = _past_twin(PastView.get)
    memories = _past_twin(PastView.memories)


def _chunk(events: Iterator[Happening | None]) -> list[Happening | None]:
    """The next events, up to where the caller has to wait."""
    chunk: list[Happening | None] = []
    for event in islice(events, _CHUNK):
        chunk.append(event)
        if event is None:
            break
    return chunk


def _unheard(work: asyncio.Future[T]) -> None:
    """No caller waits for this work any more; drop its error."""
    if not work.cancelled() and (error := work.exception()) is not None:
        log.info("work that was no longer waited for failed: %s", error)


def _close_opened(opening: asyncio.Future[Memory]) -> None:
    """No caller waits for this store any more; close it."""
    if not opening.cancelled() and opening.exception() is None:
        opening.result().close()
