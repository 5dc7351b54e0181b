"""The helper: one model, loaded once, answering on a Unix socket until it has been idle for some minutes.

    python -m recollect.interfaces.model_server.server DIRECTORY NAME MODEL MINUTES

The process binds the socket first and then forks: the parent's exit status 0 means that the socket can be connected to,
so a client that starts a helper waits for that and polls nothing. The child belongs to no terminal. It holds the lock
file as long as it lives, and the holder of the lock owns the socket's name: a socket that a killed helper left behind
is removed by the next one. SIGTERM and SIGINT end it as idleness does.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from recollect.engine.embedding.choice import choose
from recollect.engine.embedding.embedder import PROBE_TEXT, Embedder
from recollect.interfaces.model_server import protocol
from recollect.interfaces.model_server.running import look
from recollect.interfaces.model_server.starting import ALREADY_RUNNING, memory_limit_bytes

_BACKLOG = 64
_BROKEN_S = 5.0


class Server:
    """Answers requests with one embedder; `serve` returns after `idle_s` without one, or after `stop`."""

    def __init__(self, embedder: Embedder, *, model: str, idle_s: float) -> None:
        self._embedder = embedder
        self._memory_bytes_max = memory_limit_bytes()
        self._too_large: protocol.Failed | None = None
        self._model = model
        self._version = protocol.version()
        self._idle_s = idle_s
        self._used = time.monotonic()
        self._busy = 0
        self._probe = b""
        self._stopped = asyncio.Event()
        self._thread = ThreadPoolExecutor(1, "recollect-model")  # one batch at a time

    async def serve(self, listener: socket.socket, on_ready: Callable[[], None] = lambda: None) -> None:
        server = await asyncio.start_unix_server(self._talk, sock=listener, backlog=_BACKLOG)
        loading = asyncio.create_task(self._load(on_ready))
        while not self._stopped.is_set() and (left_s := self._left_s()) > 0.0:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopped.wait(), left_s)
        loading.cancel()
        server.close()

    def stop(self) -> None:
        """End `serve`; call it in its event loop."""
        self._stopped.set()

    def _left_s(self) -> float:
        return self._idle_s if self._busy else self._idle_s - (time.monotonic() - self._used)

    async def _load(self, on_ready: Callable[[], None]) -> None:
        """Make the model ready and keep the vector of the probe text, which every opening of a store asks for.

        If the model cannot be loaded, answer with the reason for a moment and end: the next helper may find it installed.
        """
        reply = await self._embed([PROBE_TEXT])
        if isinstance(reply, protocol.Vectors):
            reply = await self._within_limit(reply)
        if isinstance(reply, protocol.Vectors):
            self._probe = reply.data
            on_ready()
        elif isinstance(reply, protocol.Failed):
            print(f"the model was not loaded: {reply.problem}", file=sys.stderr, flush=True)  # noqa: T201 (the log)
            await asyncio.sleep(_BROKEN_S)
            self.stop()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            if not protocol.same_user(writer.get_extra_info("socket")):
                return
            while True:
                length = protocol.checked_length(
                    protocol.LENGTH.unpack(await reader.readexactly(protocol.LENGTH.size))[0]
                )
                request = protocol.unpacked(protocol.REQUESTS, await reader.readexactly(length))
                writer.write(protocol.packed(await self._answer(request)))
                await writer.drain()
                grown = isinstance(request, protocol.Embed) and _memory_bytes() > self._memory_bytes_max
                if isinstance(request, protocol.Stop) or grown:
                    self.stop()
        except (OSError, protocol.Garbled, asyncio.IncompleteReadError):
            return  # that client is gone; the others go on
        finally:
            writer.close()

    async def _answer(self, request: protocol.Request) -> protocol.Reply:
        match request:
            case protocol.Ping() | protocol.Stop():
                return self._introduction()
            case protocol.Embed(texts=texts) if not 0 < len(texts) <= protocol.TEXTS_MAX:
                return protocol.Failed(
                    problem=f"{len(texts)} texts in one request; 1 to {protocol.TEXTS_MAX} are taken"
                )
            case protocol.Embed() if self._too_large is not None:
                return self._too_large
            case protocol.Embed(texts=texts, queries=queries):
                return await self._embed(texts, queries=queries)

    async def _within_limit(self, reply: protocol.Vectors) -> protocol.Vectors | protocol.Failed:
        """Keep the memory of all of the user's helpers together below the limit.

        End those that were idle for longest to make room. A helper that is too large by itself says so and ends; its client
        loads the model itself.
        """
        own, most = _memory_bytes(), self._memory_bytes_max
        if own <= most:
            await asyncio.to_thread(make_room, most - own)
            return reply
        self._too_large = protocol.Failed(
            problem=f"{self._model} takes {own / 2**20:,.0f} MB in a helper, more than the {most / 2**20:,.0f} MB that "
            f"RECOLLECT_HELPER_MEMORY allows",
            too_large=True,
        )
        return self._too_large

    def _introduction(self) -> protocol.Helper:
        return protocol.Helper(
            pid=os.getpid(),
            version=self._version,
            model=self._model,
            embedder=self._embedder.name,
            dimensions=self._embedder.dimensions,
            ready=bool(self._probe),
            idle_s=time.monotonic() - self._used,
            idle_s_max=self._idle_s,
            memory_bytes=_memory_bytes(),
            memory_bytes_max=self._memory_bytes_max,
            probe=self._probe,
        )

    async def _embed(self, texts: list[str], *, queries: bool = False) -> protocol.Reply:
        self._busy += 1
        try:
            run = asyncio.get_running_loop().run_in_executor
            embed = self._embedder.embed_queries if queries else self._embedder.embed
            matrix = await run(self._thread, embed, texts)
            note = await run(self._thread, self._embedder.cut_note, texts)
        except Exception as error:  # noqa: BLE001 (the client raises it)
            return protocol.Failed(problem=str(error))
        finally:
            self._busy -= 1
            self._used = time.monotonic()
        return protocol.Vectors(
            dimensions=matrix.shape[1], data=matrix.astype("<f4", copy=False).tobytes(), note=note or ""
        )


def make_room(bytes_max: int) -> None:
    """End other helpers of this user, those that were idle for longest first, until they hold no more than this."""
    others = [
        (place, found)
        for place in protocol.places()
        if (holder := place.holder()) and holder[0] != os.getpid() and (found := look(place)) is not None
    ]
    held = sum(found.memory_bytes for _, found in others)
    for place, found in sorted(others, key=lambda one: -one[1].idle_minutes):
        if held <= bytes_max:
            return
        if found.state == "ready":
            look(place, stop=True)
            held -= found.memory_bytes


def _memory_bytes() -> int:
    """What this process holds in memory; 0 where the system does not tell."""
    try:
        pages = Path("/proc/self/statm").read_text("ascii").split()[1]
    except OSError:
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def listen(place: protocol.Place) -> tuple[int, socket.socket] | None:
    """The lock and the socket of a place; None if a helper lives there."""
    lock = os.open(place.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        return None
    os.ftruncate(lock, 0)  # the pid of the one before
    place.socket.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        listener.bind(str(place.socket))
    finally:
        os.umask(before)
    listener.listen(_BACKLOG)
    return lock, listener


def note_state(lock: int, state: str) -> None:
    """Write the pid and the state of this helper into its lock file."""
    os.ftruncate(lock, 0)
    os.pwrite(lock, f"{os.getpid()} {state}".encode(), 0)


def run(place: protocol.Place, model: str, idle_s: float) -> None:
    """Bind, detach, serve, tidy up."""
    held = listen(place)
    if held is None:
        raise SystemExit(ALREADY_RUNNING)
    lock, listener = held
    if os.fork():
        os._exit(0)
    note_state(lock, "loading")
    embedder = choose(model)
    assert embedder is not None

    async def serve() -> None:
        server, loop = Server(embedder, model=model, idle_s=idle_s), asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, server.stop)
        await server.serve(listener, lambda: note_state(lock, "ready"))

    try:
        asyncio.run(serve())
    finally:
        place.socket.unlink(missing_ok=True)
        os._exit(0)  # which lets go of the lock; threads of the model must not hold a finished helper back


if __name__ == "__main__":
    os.chdir("/")
    run(protocol.Place(directory=Path(sys.argv[1]), name=sys.argv[2]), sys.argv[3], float(sys.argv[4]) * 60.0)
