"""Connections that stall: each is closed in a bounded time, and a fresh request is answered meanwhile."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from types import SimpleNamespace

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, StreamingResponse
from starlette.routing import Route

from recollect.interfaces.common.http.connections import ACCEPTED_AT_ONCE, AT_WORK, Limits, Server, protocol

GENEROUS_S = 180
"""How long a test waits for what must happen; it happens after the tiny limits below."""

GET = b"GET /echo HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n"
POST = b"POST /echo HTTP/1.1\r\nHost: here\r\nContent-Length: 100\r\n\r\n"
TINY = Limits(request_s=0.2, body_s=0.2, answer_s=0.2, connections_max=20)
PATIENT = Limits(request_s=GENEROUS_S * 9, body_s=GENEROUS_S * 9, answer_s=GENEROUS_S * 9, connections_max=20)


async def echo(request: Request) -> JSONResponse:
    return JSONResponse({"bytes": len(await request.body())})


async def much(_: Request) -> PlainTextResponse:
    return PlainTextResponse("x" * 50_000_000)


async def ticks(request: Request) -> StreamingResponse:
    """An event stream that is silent for much longer than any limit, then says one thing and ends."""
    released: asyncio.Event = request.app.state.released

    async def lines() -> AsyncIterator[str]:
        yield "data: first\n\n"
        await released.wait()
        yield "data: last\n\n"

    return StreamingResponse(lines(), media_type="text/event-stream")


async def work(request: Request) -> StreamingResponse:
    """The same, of work that ends."""
    request.state[AT_WORK] = True
    return await ticks(request)


class Running:
    """A server in a thread of this process."""

    def __init__(self, limits: Limits) -> None:
        self.app = Starlette(
            routes=[
                Route("/echo", echo, methods=["GET", "POST"]), Route("/much", much), Route("/ticks", ticks),
                Route("/work", work),
            ]
        )  # fmt: skip
        self.listening = socket.create_server(("127.0.0.1", 0))
        config = uvicorn.Config(
            self.app, http=protocol(limits), backlog=ACCEPTED_AT_ONCE, log_level="critical", lifespan="off"
        )
        self.server = Server(config)
        self.running = threading.Event()
        self.thread = threading.Thread(target=lambda: asyncio.run(self._serve()))
        self.thread.start()
        assert self.running.wait(GENEROUS_S)

    async def _serve(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.app.state.released = asyncio.Event()
        self.running.set()
        await self.server.serve(sockets=[self.listening])

    def release(self) -> None:
        self.loop.call_soon_threadsafe(self.app.state.released.set)

    def connect(self, sent: bytes = b"") -> socket.socket:
        connection = socket.create_connection(self.listening.getsockname(), timeout=GENEROUS_S)
        connection.sendall(sent)
        return connection

    @contextmanager
    def paused(self) -> Iterator[None]:
        """The server accepts and reads nothing meanwhile; afterwards it finds all that was sent at once."""
        paused, go_on = threading.Event(), threading.Event()
        self.loop.call_soon_threadsafe(lambda: (paused.set(), go_on.wait()))
        assert paused.wait(GENEROUS_S)
        try:
            yield
        finally:
            go_on.set()

    def stop(self) -> None:
        self.release()
        self.server.should_exit = True
        self.thread.join(GENEROUS_S)
        self.listening.close()


@pytest.fixture
def running() -> Iterator[Callable[[Limits], Running]]:
    started: list[Running] = []

    def start(limits: Limits) -> Running:
        started.append(Running(limits))
        return started[-1]

    yield start
    for one in started:
        one.stop()


def until_closed(connection: socket.socket) -> bytes:
    """All that the server says until it closes; fails if it does not close."""
    said = b""
    try:
        while some := connection.recv(65_536):
            said += some
    except ConnectionResetError:
        pass
    return said


def wait_until(holds: Callable[[], object]) -> None:
    for _ in range(GENEROUS_S * 50):
        if holds():
            return
        threading.Event().wait(0.02)
    pytest.fail("what was waited for did not happen")


def streaming(server: Running, path: str = "/ticks") -> socket.socket:
    """An event stream that has begun; a request that was later than a tiny limit allows is sent once more."""
    while True:
        stream = server.connect(f"GET {path} HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n".encode())
        said = b""
        while b"first" not in said and (some := stream.recv(1_000)):
            said += some
        if b"first" in said:
            return stream
        stream.close()


STALLED = {
    "silent": (b"", b""),
    "half a line": (b"GET /ec", b"408"),
    "half the headers": (b"GET /echo HTTP/1.1\r\nHost: he", b"408"),
    "no body": (POST, b"408"),
    "half a body": (POST + b"half", b"408"),
    "half a chunk": (
        b"POST /echo HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhe", b"408",
    ),
}  # fmt: skip


def test_a_client_that_stalls_is_told_and_closed(running):
    server = running(TINY)
    with ExitStack() as stack:
        with server.paused():  # a busy machine may take longer between connecting and sending than is allowed
            open_ = {
                name: stack.enter_context(closing(server.connect(sent)))
                for name, (sent, _) in STALLED.items()
            }
        said = {name: until_closed(connection)[9:12] for name, connection in open_.items()}
    assert said == {name: answered for name, (_, answered) in STALLED.items()}


def test_dripping_bytes_buys_no_time(running):
    server = running(TINY)
    for start in (b"GET / HTTP/1.1\r\nX: ", POST):
        with closing(server.connect(start)) as connection:
            connection.settimeout(0.02)
            for _ in range(int(GENEROUS_S / 0.02)):
                try:
                    connection.sendall(b"x")
                    if not connection.recv(1_000):
                        break
                except TimeoutError:
                    continue
                except OSError:
                    break
            else:
                pytest.fail("a byte now and then kept the connection open")


def test_a_reader_that_stops_reading_is_closed_and_its_answer_dropped(running):
    server = running(TINY._replace(request_s=GENEROUS_S))
    with closing(server.connect(b"GET /much HTTP/1.1\r\nHost: here\r\n\r\n")) as connection:
        state = server.server.server_state
        wait_until(lambda: state.total_requests and not state.connections)
        assert len(until_closed(connection)) < 50_000_000


def test_a_silent_event_stream_is_not_cut(running):
    server = running(TINY)
    with closing(streaming(server)) as stream:
        for _ in range(3):  # each of these outlives the limits
            with closing(server.connect()) as silent:
                assert until_closed(silent) == b""
        server.release()
        assert b"data: last" in until_closed(stream)


class Clock:
    """A loop whose time is told, and which runs nothing by itself."""

    now = 0.0

    def time(self) -> float:
        return self.now

    def call_later(self, _: float, __: Callable[[], None]) -> SimpleNamespace:
        return SimpleNamespace(cancel=lambda: None)


def test_only_the_time_since_the_last_answer_counts_on_a_kept_connection():
    """Many requests, each done between two looks at the connection, are not one that never comes."""
    clock, gone = Clock(), []
    transport = SimpleNamespace(
        get_write_buffer_size=lambda: 0, get_extra_info=lambda *_: None, is_closing=lambda: False,
        abort=lambda: gone.append(clock.now),
    )  # fmt: skip
    state = uvicorn.Server(uvicorn.Config(echo)).server_state
    one = protocol(Limits(request_s=10.0))(uvicorn.Config(echo), state, {}, clock)
    one.connection_made(transport)
    for _ in range(50):
        clock.now += 2.0
        one.cycle = SimpleNamespace(response_complete=True)
        one._check()
    assert gone == []
    for _ in range(5):
        clock.now += 2.0
        one._check()
    assert gone == [110.0]


def test_a_fresh_request_is_answered_beside_any_number_of_silent_connections(running):
    server = running(PATIENT)
    with ExitStack() as stack:
        for number in range(60):
            half = (b"", b"GET /ec", POST + b"half")[number % 3]
            stack.enter_context(closing(server.connect(half)))
            if number % 10 == 9:
                with closing(server.connect(GET)) as honest:
                    assert b"200 OK" in until_closed(honest)
        wait_until(lambda: len(server.server.server_state.connections) <= 20)


def test_where_all_are_at_work_a_new_client_is_refused_in_words(running):
    server = running(PATIENT._replace(connections_max=3))
    with ExitStack() as stack:
        for _ in range(3):
            stack.enter_context(closing(streaming(server, "/work")))
        with closing(server.connect(GET)) as refused:
            said = until_closed(refused)
    assert b"503 Service Unavailable" in said
    assert "try again" in json.loads(said.partition(b"\r\n\r\n")[2])["error"]


def test_a_fresh_request_is_answered_beside_streams_that_took_every_connection(running):
    """The oldest makes room; nothing that works is ended."""
    server = running(PATIENT)
    with ExitStack() as stack:
        working = stack.enter_context(closing(streaming(server, "/work")))
        streams = [stack.enter_context(closing(streaming(server))) for _ in range(3 * 20)]
        for _ in range(20):
            with closing(server.connect(GET)) as honest:
                assert b"200 OK" in until_closed(honest)
        assert until_closed(streams[0]) == b""
        server.release()
        assert b"data: last" in until_closed(working)
        assert b"data: last" in until_closed(streams[-1])


def test_streams_take_half_of_the_connections_and_a_new_one_ends_the_oldest(running):
    server = running(TINY._replace(request_s=1.0, connections_max=20))
    state = server.server.server_state
    with ExitStack() as stack:
        streams = []
        for _ in range(20 // 2 + 1):
            streams.append(stack.enter_context(closing(streaming(server))))
            wait_until(lambda: all(one.phase == "stream" for one in state.connections))
        wait_until(lambda: len(state.connections) == 20 // 2)
        assert until_closed(streams[0]) == b""
        server.release()
        assert all(b"data: last" in until_closed(stream) for stream in streams[1:])


def ask(port: int) -> None:
    """One honest request, which is answered: it wants an event stream, and says so."""
    with closing(socket.create_connection(("127.0.0.1", port), timeout=GENEROUS_S)) as honest:
        honest.sendall(f"GET /mcp HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n".encode())
        assert until_closed(honest).startswith(b"HTTP/1.1 4")


@pytest.mark.parametrize("command", ["serve", "mcp"])
def test_three_hundred_silent_clients_leave_a_server_with_few_files_reachable(tmp_path, command):
    """The real commands with their own limits, in a process that may open 256 files."""
    port_of = {"serve": ["--port", "0", "--json"], "mcp": ["--http", "127.0.0.1:0", "--no-daemon"]}[command]
    options = ["--store", str(tmp_path / "store"), "--embedder", "hash", *port_of]
    limited = f'ulimit -n 256; exec {sys.executable} -m recollect {command} "$@"'
    with subprocess.Popen(
        ["bash", "-c", limited, "-", *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            line = process.stdout.readline() if command == "serve" else process.stderr.readline()
            port = int(line.split("127.0.0.1:")[1].split("/")[0].split('"')[0])
            ask(port)
            with ExitStack() as stack:
                for _ in range(300):
                    silent = socket.create_connection(("127.0.0.1", port), timeout=GENEROUS_S)
                    stack.enter_context(closing(silent))
                ask(port)
        finally:
            process.terminate()
            process.communicate(timeout=GENEROUS_S)
