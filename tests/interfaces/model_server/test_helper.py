"""The warm helper, with the hash embedder in the place of the model: the same server, protocol and client."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import signal
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from recollect.engine.embedding.embedder import PROBE_TEXT, EmbedderMismatch, HashEmbedder
from recollect.engine.embedding.minilm import ModelMissing
from recollect.events.errors import InvalidInput
from recollect.interfaces.model_server import client, connection, protocol, running, server, starting
from recollect.interfaces.model_server.client import HelperEmbedder, HelperUse
from recollect.interfaces.model_server.connection import HelperHung, Tell
from recollect.interfaces.model_server.protocol import NoPlace, Place, place_of
from recollect.interfaces.model_server.running import helpers, stop_helpers
from recollect.interfaces.model_server.starting import idle_minutes, memory_limit_bytes
from recollect.interfaces.python.memory import Memory

TEXTS = ["auth sessions live in Postgres", "", "ж 日本語 🙂", "x" * 10_000]


def until(condition: Callable[[], bool], seconds: float = 120.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.01)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A runtime directory of the test's own, with a path short enough for a socket; its helper goes with it."""
    folder = Path(tempfile.mkdtemp(prefix="rw", dir="/tmp"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    monkeypatch.setattr(connection, "PING_S", 120.0)  # on a loaded machine one that lives may be slow
    monkeypatch.setattr(running, "_LEAVING_S", 120.0)
    monkeypatch.setattr(starting, "_START_S", 600.0)
    yield folder
    if (folder / "recollect").is_dir() and not (folder / "recollect").is_symlink():
        (folder / "recollect").chmod(0o700)
        assert all(one.stopped for one in stop_helpers())
    shutil.rmtree(folder)


def hashing(*, use: HelperUse = "start", tell: Tell | None = None) -> HelperEmbedder:
    return HelperEmbedder(HashEmbedder(), "hash", use=use, tell=tell)


def pid_of(warm: HelperEmbedder) -> int:
    helper = warm.helper()
    assert helper is not None
    return helper.pid


def test_vectors_are_those_of_the_same_embedder_in_process_bit_for_bit(runtime):
    warm = hashing()
    assert (warm.name, warm.dimensions) == (HashEmbedder.name, HashEmbedder.dimensions)
    for text in [*TEXTS, PROBE_TEXT]:
        assert warm.embed([text]).tobytes() == HashEmbedder().embed([text]).tobytes()
    many = [f"text {n}" for n in range(2 * protocol.TEXTS_MAX + 1)]
    assert warm.embed(many).tobytes() == HashEmbedder().embed(many).tobytes()
    assert warm.embed([]).shape == (0, HashEmbedder.dimensions)


def test_the_first_embedding_starts_a_helper_that_later_ones_find(runtime):
    told: list[str] = []
    warm = hashing(tell=told.append)
    assert (warm.ready, warm.state, warm.helper()) == (False, "not loaded", None)
    warm.embed(["a"])
    assert told == ["loading hash/1 in a helper; it stays loaded for 10 idle minutes"]
    pid = pid_of(warm)
    until(lambda: warm.ready)
    assert warm.state == f"warm helper pid {pid}, idle 0 min"
    other = hashing(tell=told.append)
    other.embed(["b"])
    assert pid_of(other) == pid
    assert len(told) == 1


def test_warming_starts_it_in_the_background_and_calls_it_back_after_it_left(runtime):
    warm = hashing()
    warm.warm()
    until(lambda: warm.ready)
    first = pid_of(warm)
    os.kill(first, signal.SIGTERM)
    until(lambda: not alive(first))
    until(lambda: warm.ready)
    assert pid_of(warm) != first


def test_many_that_start_at_once_get_one_helper(runtime):
    def run(n: int) -> int:
        warm = hashing()
        warm.embed([f"text {n}"])
        return pid_of(warm)

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(run, range(8)))) == 1


def test_it_belongs_to_no_terminal_and_holds_no_pipe_of_its_starter(runtime):
    code = (
        "from recollect.interfaces.model_server.client import HelperEmbedder as H;"
        "from recollect.engine.embedding.embedder import HashEmbedder as E;"
        "h = H(E(), 'hash'); h.embed(['a']); print(h.helper().pid)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300
    )
    pid = int(ran.stdout)  # the pipe was closed, or this would still wait
    assert alive(pid)
    assert os.getsid(pid) != os.getsid(0)
    assert Path(f"/proc/{pid}/cwd").readlink() == Path("/")


def test_only_the_user_can_reach_it(runtime):
    hashing().embed(["a"])
    place = place_of("hash")
    assert stat.S_IMODE(place.directory.stat().st_mode) == 0o700
    for path in (place.socket, place.lock, place.start):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_and_takes_the_socket_away(runtime, number):
    warm = hashing()
    warm.embed(["a"])
    pid = pid_of(warm)
    os.kill(pid, number)
    until(lambda: not alive(pid))
    assert not place_of("hash").socket.exists()


def test_a_socket_that_a_killed_helper_left_is_replaced(runtime):
    warm = hashing()
    warm.embed(["a"])
    pid = pid_of(warm)
    os.kill(pid, signal.SIGKILL)
    until(lambda: not alive(pid))
    assert place_of("hash").socket.exists()
    assert not warm.ready
    assert warm.embed(["a"]).tobytes() == HashEmbedder().embed(["a"]).tobytes()
    assert pid_of(warm) != pid


def test_it_ends_by_itself_when_idle(runtime, monkeypatch):
    monkeypatch.setenv("RECOLLECT_WARM_MINUTES", str(0.2 / 60))
    warm = hashing()
    warm.embed(["a"])
    until(lambda: warm.helper() is None)
    until(lambda: not place_of("hash").socket.exists())


def test_a_helper_of_another_version_is_replaced(runtime, monkeypatch):
    older = hashing()
    older.embed(["a"])
    first = pid_of(older)
    newer = hashing()
    monkeypatch.setattr(client, "version", lambda: "of tomorrow")
    newer.embed(["a"])
    until(lambda: not alive(first))
    assert pid_of(newer) != first


# --- what it does without a helper ------------------------------------------------------------------


def test_a_directory_that_others_may_enter_is_refused_and_the_model_loaded_here(runtime):
    told: list[str] = []
    (runtime / "recollect").mkdir(mode=0o755)
    (runtime / "recollect").chmod(0o755)
    with pytest.raises(NoPlace, match="others may enter"):
        place_of("hash")
    warm = hashing(tell=told.append)
    assert warm.embed(["a"]).tobytes() == HashEmbedder().embed(["a"]).tobytes()
    assert len(told) == 1
    assert told[0].startswith("others may enter")
    assert told[0].endswith("the model is loaded in this process instead")
    assert (warm.state, warm.ready) == ("loaded in this process", True)
    assert list((runtime / "recollect").iterdir()) == []


def test_a_link_in_the_place_of_the_directory_is_refused(runtime, tmp_path):
    (runtime / "recollect").symlink_to(tmp_path)
    with pytest.raises(NoPlace, match="is not a directory"):
        place_of("hash")


def test_a_helper_that_cannot_start_is_told_once(runtime, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/bin/false")
    told: list[str] = []
    warm = hashing(tell=told.append)
    for _ in range(2):
        assert warm.embed(["a"]).tobytes() == HashEmbedder().embed(["a"]).tobytes()
    assert told == [
        "loading hash/1 in a helper; it stays loaded for 10 idle minutes",
        "no model helper could be started: it ended with status 1; the model is loaded in this process instead",
    ]


@pytest.mark.parametrize("given", ["soon", "0", "-1", "nan", "1e9"])
def test_minutes_that_are_none_are_refused(monkeypatch, given):
    monkeypatch.setenv("RECOLLECT_WARM_MINUTES", given)
    with pytest.raises(InvalidInput, match="RECOLLECT_WARM_MINUTES"):
        idle_minutes()


def test_minutes_come_from_the_environment(monkeypatch):
    monkeypatch.setenv("RECOLLECT_WARM_MINUTES", "2.5")
    assert idle_minutes() == 2.5


def test_a_store_of_another_embedder_under_the_same_name_is_refused(runtime, tmp_path):
    def backwards(texts: list[str]) -> np.ndarray:
        return HashEmbedder().embed([text[::-1] for text in texts])

    backwards.name = HashEmbedder.name  # type: ignore[attr-defined]
    with Memory.open(tmp_path, embedder=backwards) as memory:
        memory.remember("auth sessions")
    with Memory.open(tmp_path, embedder=hashing()) as memory, pytest.raises(EmbedderMismatch):
        memory.recall("auth sessions")


# --- the server, in this process -------------------------------------------------------------------


class Counting(HashEmbedder):
    """Counts what it is asked; an error takes the place of an answer."""

    def __init__(self, error: Exception | None = None) -> None:
        self.asked: list[list[str]] = []
        self.error = error

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        self.asked.append(list(texts))
        if self.error:
            raise self.error
        return super().embed(texts)


@pytest.fixture
def serve(runtime) -> Iterator[Callable[[Counting], threading.Thread]]:
    running: list[tuple[Callable[[], object], threading.Thread]] = []

    def serve_(embedder: Counting) -> threading.Thread:
        held = server.listen(place_of("hash"))
        assert held is not None
        lock, listener = held
        server.note_state(lock, "ready")
        begun = threading.Event()

        async def run() -> None:
            one = server.Server(embedder, model="hash", idle_s=60.0)
            loop = asyncio.get_running_loop()
            running.append((lambda: loop.is_closed() or loop.call_soon_threadsafe(one.stop), thread))
            begun.set()
            await one.serve(listener)
            os.close(lock)
            place_of("hash").socket.unlink()

        thread = threading.Thread(target=lambda: asyncio.run(run()))
        thread.start()
        assert begun.wait(120)
        return thread

    yield serve_
    for stop, thread in running:
        stop()
        thread.join()


def test_checking_the_embedder_of_a_store_costs_no_embedding(serve):
    counting = Counting()
    serve(counting)
    warm = hashing()
    until(lambda: warm.ready)
    assert counting.asked == [[PROBE_TEXT]]
    assert warm.embed([PROBE_TEXT]).tobytes() == HashEmbedder().embed([PROBE_TEXT]).tobytes()
    assert counting.asked == [[PROBE_TEXT]]


def test_a_model_that_does_not_load_is_an_error_with_its_reason_and_the_helper_ends(serve, monkeypatch):
    heard = threading.Event()

    async def sleep(_: float) -> None:
        await asyncio.to_thread(heard.wait, 120)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    thread = serve(Counting(ModelMissing("the weights are gone")))
    with pytest.raises(ModelMissing, match="the weights are gone"):
        hashing().embed(["a"])
    heard.set()  # its time is up
    thread.join(120)
    assert not thread.is_alive()


def test_two_helpers_do_not_share_a_place(serve):
    serve(Counting())
    assert server.listen(place_of("hash")) is None


def connect() -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.connect(str(place_of("hash").socket))
    connection.settimeout(120)
    return connection


def hung_up(connection: socket.socket) -> bool:
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


@pytest.mark.parametrize(
    "sent",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        struct.pack(">I", protocol.MESSAGE_BYTES_MAX + 1),
        struct.pack(">I", 3) + b"\xc1\xc1\xc1",
        struct.pack(">I", 0),
    ],
)
def test_a_malformed_request_ends_its_own_connection_only(serve, sent):
    serve(Counting())
    with connect() as connection:
        connection.sendall(sent)
        assert hung_up(connection)
    assert hashing().embed(["a"]).tobytes() == HashEmbedder().embed(["a"]).tobytes()


@pytest.mark.parametrize("count", [0, protocol.TEXTS_MAX + 1])
def test_too_few_and_too_many_texts_are_refused(serve, count):
    serve(Counting())
    with connect() as connection:
        connection.sendall(protocol.packed(protocol.Embed(texts=["a"] * count)))
        with connection.makefile("rb") as stream:
            reply = protocol.receive(stream)
    assert isinstance(reply, protocol.Failed)
    assert f"{count} texts in one request" in reply.problem


def test_a_process_of_another_user_gets_no_answer(serve, monkeypatch):
    serve(Counting())
    with monkeypatch.context() as patched:
        place = place_of("hash")
        ours = os.getuid()
        patched.setattr(os, "getuid", lambda: ours + 1)  # then every other process runs as another user
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.connect(str(place.socket))
            connection.settimeout(120)
            assert not protocol.same_user(connection)
            assert hung_up(connection)
    assert hashing().helper() is not None


def test_a_place_is_per_model_and_python(runtime, monkeypatch):
    here = place_of("hash")
    assert isinstance(here, Place)
    assert place_of("minilm").socket != here.socket
    monkeypatch.setattr(sys, "executable", "/another/python")
    assert place_of("hash").socket != here.socket


# --- a helper that hangs ----------------------------------------------------------------------------


@pytest.fixture
def stopped(runtime, monkeypatch) -> Iterator[int]:
    """The pid of a ready helper that was stopped in its tracks."""
    warm = hashing()
    warm.embed(["a"])
    until(lambda: warm.ready)
    pid = pid_of(warm)
    os.kill(pid, signal.SIGSTOP)
    monkeypatch.setattr(connection, "PING_S", 0.5)
    yield pid
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGCONT)


def test_a_helper_that_hangs_is_named_with_what_to_do_and_then_avoided_without_waiting(stopped, monkeypatch):
    warm = hashing()
    with pytest.raises(
        HelperHung, match=rf"pid {stopped}\) does not answer.*recollect helper stop.*kill -9 {stopped}"
    ):
        warm.embed(["a"])
    assert place_of("hash").hung.read_text() == str(stopped)
    monkeypatch.setattr(connection, "PING_S", 3_600.0)  # it is not waited for again
    assert (warm.ready, warm.helper()) == (False, None)
    assert warm.failure is not None
    assert str(stopped) in warm.state
    with pytest.raises(HelperHung):
        hashing().embed(["a"])


def test_a_helper_that_hangs_is_waited_for_once(stopped, monkeypatch):
    waited: list[float | None] = []
    receive = socket.socket.recv

    class Noting(socket.socket):
        def recv(self, *args: int) -> bytes:
            waited.append(self.gettimeout())
            return receive(self, *args)

    monkeypatch.setattr(socket, "socket", Noting)
    with pytest.raises(HelperHung):
        hashing().embed(["a"])
    assert waited == [connection.PING_S]


def test_a_program_that_would_start_none_passes_over_a_helper_that_hangs_and_says_so(stopped):
    told: list[str] = []
    warm = hashing(use="running", tell=told.append)
    assert warm.embed(["a"]).tobytes() == HashEmbedder().embed(["a"]).tobytes()
    assert len(told) == 1
    assert f"pid {stopped}" in told[0]
    assert warm.state == "loaded in this process"


def test_a_helper_that_answers_again_is_used_again(stopped, monkeypatch):
    with pytest.raises(HelperHung):
        hashing().embed(["a"])
    os.kill(stopped, signal.SIGCONT)
    monkeypatch.setattr(connection, "AVOIDED_S", 0.0)  # the time is over
    monkeypatch.setattr(connection, "PING_S", 120.0)
    warm = hashing()
    warm.embed(["a"])
    assert pid_of(warm) == stopped
    assert not place_of("hash").hung.exists()


def test_a_helper_that_hangs_is_shown_and_stopped_and_another_takes_its_place(stopped, monkeypatch):
    assert [(one.pid, one.state) for one in helpers()] == [(stopped, "not answering")]
    assert [(one.pid, one.stopped) for one in stop_helpers()] == [(stopped, True)]
    assert helpers() == []
    monkeypatch.setattr(connection, "PING_S", 120.0)
    warm = hashing()
    warm.embed(["a"])
    assert pid_of(warm) != stopped


def test_a_helper_that_loads_is_waited_for(serve, monkeypatch):
    monkeypatch.setattr(connection, "PING_S", 0.01)
    answering = threading.Event()
    talk = server.Server._talk

    async def late(one: server.Server, *streams: object) -> None:
        await asyncio.to_thread(answering.wait, 120)
        await talk(one, *streams)  # type: ignore[arg-type]

    monkeypatch.setattr(server.Server, "_talk", late)
    asked: list[Place] = []

    def is_loading(place: Place) -> bool:
        asked.append(place)
        if len(asked) == 3:
            answering.set()
            monkeypatch.setattr(connection, "PING_S", 120.0)
        return True

    monkeypatch.setattr(connection, "_is_loading", is_loading)
    serve(Counting())
    assert hashing().embed(["a"]).tobytes() == HashEmbedder().embed(["a"]).tobytes()
    assert len(asked) >= 3


def test_a_stopped_process_is_not_said_to_load(runtime):
    held = server.listen(place_of("hash"))
    assert held is not None
    lock, listener = held
    with listener, subprocess.Popen(["sleep", "600"]) as process:
        os.pwrite(lock, f"{process.pid} loading".encode(), 0)
        assert connection._is_loading(place_of("hash"))
        os.kill(process.pid, signal.SIGSTOP)
        until(lambda: not connection._is_loading(place_of("hash")))
        process.kill()
    os.close(lock)


def test_helpers_hold_no_more_than_their_limit_together_and_the_idle_one_makes_room(runtime, monkeypatch):
    first = hashing()
    first.embed(["a"])
    (held,) = helpers()
    assert held.memory_bytes_max == memory_limit_bytes() > held.memory_bytes
    monkeypatch.setenv("RECOLLECT_HELPER_MEMORY", str(held.memory_bytes * 3 // 2))
    second = HelperEmbedder(HashEmbedder(), "hash/1")
    assert second.embed(["a"]).tobytes() == HashEmbedder().embed(["a"]).tobytes()
    until(lambda: [one.model for one in helpers()] == ["hash/1"])
    (left,) = helpers()
    assert left.memory_bytes_max == held.memory_bytes * 3 // 2


def test_a_model_that_is_too_large_for_a_helper_is_loaded_by_the_program_which_says_so(runtime, monkeypatch):
    monkeypatch.setenv("RECOLLECT_HELPER_MEMORY", "1MB")
    told: list[str] = []
    warm = hashing(tell=told.append)
    until(lambda: warm.embed(["a"]).tobytes() == HashEmbedder().embed(["a"]).tobytes() and len(told) > 1)
    until(lambda: helpers() == [])


@pytest.mark.parametrize(
    ("given", "size"), [("2GB", 2 * 2**30), ("1.5 mb", 3 * 2**19), ("700", 700), ("64K", 65_536)]
)
def test_the_limit_comes_from_the_environment(monkeypatch, given, size):
    monkeypatch.setenv("RECOLLECT_HELPER_MEMORY", given)
    assert memory_limit_bytes() == size


@pytest.mark.parametrize("given", ["much", "-1GB", "0", "1PB"])
def test_a_limit_that_is_none_is_refused(monkeypatch, given):
    monkeypatch.setenv("RECOLLECT_HELPER_MEMORY", given)
    with pytest.raises(InvalidInput, match="must be a size"):
        memory_limit_bytes()


def test_python_uses_a_helper_that_runs_and_starts_none(runtime, tmp_path):
    alone = hashing(use="running")
    alone.embed(["a"])
    assert (helpers(), alone.state) == ([], "loaded in this process")
    hashing().embed(["a"])
    sharing = hashing(use="running")
    sharing.embed(["a"])
    assert sharing.state.startswith("warm helper pid")


def test_the_commands_show_and_stop_helpers(runtime):
    def run(*line: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "recollect", "helper", *line],
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )

    assert run("status").stdout == "no model helper is running\n"
    warm = hashing()
    warm.embed(["a"])
    until(lambda: warm.ready)
    pid = pid_of(warm)
    (found,) = json.loads(run("status", "--json").stdout)
    assert (found["pid"], found["model"], found["state"], found["stopped"]) == (pid, "hash", "ready", False)
    assert found["memory_bytes"] > 10**6
    assert run("stop").stdout.startswith(f"pid {pid}  hash  stopped")
    until(lambda: not alive(pid))
    assert run("stop").returncode == 0
