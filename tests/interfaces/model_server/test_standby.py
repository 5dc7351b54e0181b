"""Commands handed to the standby do what they do in a process of their own; where that is not sure, they are not."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import termios
import time
from array import array
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from recollect.interfaces.cli.commands import COMMANDS
from recollect.interfaces.cli.entry import main
from recollect.interfaces.model_server import errand, server
from recollect.interfaces.model_server.place import place_of
from recollect.interfaces.model_server.relay import GO, HANDED_OVER, MODEL, READY
from recollect.interfaces.python.memory import Memory

# The program as its console script starts it; afterwards it says whether it had to import the command line.
PROGRAM = """
import sys
who = sys.argv.pop(1)
from recollect.interfaces.cli.entry import main
from recollect.interfaces.model_server import relay
relay._READY_TIMEOUT_S = 60.0  # a machine that is busy with tests is no reason to run a command here
try:
    main()
finally:
    open(who, "w").write("here" if "click" in sys.modules else "standby")
"""


class Ran(NamedTuple):
    status: int
    output: bytes
    errors: bytes


def until(condition: Callable[[], bool], seconds: float = 120.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.01)


def environment(**more: str) -> dict[str, str]:
    plain = {name: value for name, value in os.environ.items() if not name.startswith("RECOLLECT_")}
    return {**plain, "RECOLLECT_EMBEDDER": "hash", **more}


class Caller:
    """Runs the program, in this directory and environment, and knows who ran the last command."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._who = folder / "who"

    def begin(
        self, *arguments: str, python: tuple[str, ...] = (), **options: object
    ) -> subprocess.Popen[bytes]:
        self._who.unlink(missing_ok=True)
        given: Mapping[str, object] = {
            "cwd": self.folder, "env": environment(), "stdin": subprocess.DEVNULL,
            "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options,
        }  # fmt: skip
        command = [sys.executable, *python, "-c", PROGRAM, str(self._who), *arguments]
        return subprocess.Popen(command, **given)  # type: ignore[call-overload, no-any-return]

    def run(self, *arguments: str, given: bytes | None = None, **options: object) -> Ran:
        if given is not None:
            options["stdin"] = subprocess.PIPE
        process = self.begin(*arguments, **options)  # type: ignore[arg-type]
        output, errors = process.communicate(given, timeout=120)
        return Ran(process.returncode, output, errors)

    def ran_by(self) -> str:
        return self._who.read_text()


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="rs", dir="/tmp"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    monkeypatch.delenv("RECOLLECT_NO_DAEMON", raising=False)
    yield folder
    shutil.rmtree(folder)


def connected() -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(120)
    try:
        connection.connect(str(place_of(MODEL).standby))
    except OSError:
        connection.close()
        raise
    return connection


def listening() -> bool:
    try:
        connected().close()
    except OSError:
        return False
    return True


@pytest.fixture
def standby(runtime: Path) -> Iterator[subprocess.Popen[bytes]]:
    process = server.start_standby(place_of(MODEL))
    until(listening)
    yield process
    process.communicate(timeout=120)  # closes its standard input: it leaves


@pytest.fixture
def caller(tmp_path: Path) -> Caller:
    with Memory.open(tmp_path / "store", embedder="hash") as memory:
        memory.remember("Auth sessions live in Postgres, not Redis", id="auth")
        memory.remember("The café opens at eight — 日本語", id="cafe")
        memory.recall("where do sessions live?")
    return Caller(tmp_path)


def head(folder: Path) -> int:
    with Memory.open(folder, embedder=None) as memory:
        return memory.store.log.head


# --- the same as in a process of its own -------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        ["recall", "where do sessions live?", "--at", "3", "--store", "store"],
        ["recall", "日本語 café", "--at", "3", "--json", "--store", "store"],
        ["recall", "sessions", "--formula", "nope", "--store", "store"],
        ["recall", "--store", "store"],
        ["recall", "--help"],
        ["get", "auth", "--store", "store"],
        ["get", "nobody", "--store", "store"],
        ["history", "auth", "--json", "--store", "store"],
        ["memories", "--store", "store"],
        ["why", "r4", "auth", "--store", "store"],
        ["why-not", "r4", "nobody", "--store", "store"],
    ],
    ids=lambda line: " ".join(line[:4]),
)
def test_output_errors_and_status_are_the_same(standby, caller, line):
    handed = caller.run(*line)
    assert caller.ran_by() == "standby"
    alone = caller.run(*line, env=environment(RECOLLECT_NO_DAEMON="1"))
    assert caller.ran_by() == "here"
    assert handed == alone
    assert handed.output or handed.errors


def test_directory_environment_and_time_zone_are_the_callers(standby, caller):
    elsewhere = environment(RECOLLECT_STORE="new", TZ="Pacific/Auckland")
    made = caller.run("remember", "made by the standby", "--id", "one", env=elsewhere)
    assert (made.status, caller.ran_by()) == (0, "standby")
    assert (caller.folder / "new" / "log").is_dir()
    here, there = (
        caller.run("get", "one", env={**elsewhere, "TZ": zone}).output for zone in ("Pacific/Auckland", "UTC")
    )
    alone = caller.run("get", "one", env={**elsewhere, "RECOLLECT_NO_DAEMON": "1"}).output
    assert here == alone
    assert b"made by the standby" in there


def test_standard_input_is_the_callers(standby, caller):
    done = caller.run("remember", "-", "--id", "piped", "--store", "store", given="über den Kanal".encode())
    assert (done.status, caller.ran_by()) == (0, "standby")
    with Memory.open(caller.folder / "store", embedder=None) as memory:
        assert memory.get("piped").content == "über den Kanal"


def test_the_encoding_of_the_streams_is_the_callers(standby, caller):
    latin = {"PYTHONIOENCODING": "latin-1:replace"}
    handed = caller.run("get", "cafe", "--store", "store", env=environment(**latin))
    assert caller.ran_by() == "standby"
    alone = caller.run("get", "cafe", "--store", "store", env=environment(RECOLLECT_NO_DAEMON="1", **latin))
    assert handed == alone
    assert "café opens at eight ? ???".encode("latin-1") in handed.output


def test_a_closed_pipe_and_a_full_disk_are_no_success_in_disguise(standby, caller):
    with Path("/dev/full").open("wb") as full:
        done = caller.run("memories", "--store", "store", stdout=full)
    assert caller.ran_by() == "standby"
    assert done.status != 0
    assert b"No space left" in done.errors


def test_a_hook_that_gives_up_ends_as_it_does_elsewhere(standby, caller):
    line = ("hook", "--prompt", "auth", "--timeout", "0.000001", "--store", "store")
    handed = caller.run(*line)
    assert caller.ran_by() == "standby"
    assert (handed.status, handed.output) == (0, b"")
    assert b"no answer within" in handed.errors


def test_one_command_leaves_nothing_to_the_next(standby, caller):
    caller.run(
        "recall",
        "sessions",
        "--store",
        "store",
        env=environment(RECOLLECT_STORE="elsewhere", TZ="Asia/Tokyo"),
    )
    missing = caller.run("memories", env=environment(HOME=str(caller.folder)))
    assert caller.ran_by() == "standby"
    alone = caller.run("memories", env=environment(HOME=str(caller.folder), RECOLLECT_NO_DAEMON="1"))
    assert missing == alone


def test_commands_run_side_by_side(standby, caller):
    waiting = caller.begin("remember", "-", "--id", "slow", "--store", "store", stdin=subprocess.PIPE)
    quick = caller.run("get", "auth", "--store", "store")
    assert quick.status == 0
    _, errors = waiting.communicate(b"at last", timeout=60)
    assert (waiting.returncode, errors) == (0, b"")


# --- signals -----------------------------------------------------------------------------------------


def children_of(process: subprocess.Popen[bytes]) -> list[int]:
    """The living children of a process, found by their parent's number."""
    found = []
    for status in Path("/proc").glob("[0-9]*/status"):
        with contextlib.suppress(OSError):
            fields = dict(line.split(":", 1) for line in status.read_text().splitlines())
            if int(fields["PPid"]) == process.pid and not fields["State"].strip().startswith("Z"):
                found.append(int(fields["Pid"]))
    return found


def begun(caller: Caller) -> subprocess.Popen[bytes]:
    """A command that has read some of its standard input, and waits for the rest."""
    waiting = caller.begin("remember", "-", "--store", "store", stdin=subprocess.PIPE)
    waiting.stdin.write(b"some of it")
    waiting.stdin.flush()
    until(lambda: unread(waiting.stdin.fileno()) == 0)
    return waiting


def unread(pipe: int) -> int:
    count = array("i", [0])
    fcntl.ioctl(pipe, termios.FIONREAD, count)
    return count[0]


def test_ctrl_c_reaches_the_command_and_its_words_and_status_the_caller(standby, caller):
    waiting = begun(caller)
    waiting.send_signal(signal.SIGINT)
    _, errors = waiting.communicate(timeout=60)
    assert (waiting.returncode, caller.ran_by()) == (130, "standby")
    assert b"interrupted" in errors
    until(lambda: children_of(standby) == [])


def test_a_caller_that_is_told_to_end_ends_by_that_signal_with_its_command(standby, caller):
    waiting = begun(caller)
    waiting.send_signal(signal.SIGTERM)
    waiting.communicate(timeout=60)
    assert waiting.returncode == -signal.SIGTERM
    until(lambda: children_of(standby) == [])


def test_a_command_that_was_killed_is_told(standby, caller):
    waiting = begun(caller)
    until(lambda: len(children_of(standby)) == 1)
    os.kill(children_of(standby)[0], signal.SIGKILL)
    _, errors = waiting.communicate(timeout=60)
    assert waiting.returncode == 128 + signal.SIGKILL
    assert errors == b"recollect: the process that ran the command was ended before it was done\n"


def test_a_killed_caller_takes_its_command_with_it(standby, caller):
    before = head(caller.folder / "store")
    waiting = begun(caller)
    until(lambda: len(children_of(standby)) == 1)
    waiting.kill()
    waiting.wait(60)
    until(lambda: children_of(standby) == [])
    waiting.communicate(timeout=60)  # now the standard input ends, and nobody reads it
    assert head(caller.folder / "store") == before


def test_a_caller_that_goes_as_soon_as_it_has_said_go_takes_its_command_with_it(standby, caller):
    line = ("remember", "-", "--embedder", "none", "--store", str(caller.folder / "store"))
    before = head(caller.folder / "store")
    reading, writing = os.pipe()
    for _ in range(10):
        with connected() as connection:
            assert offered(connection, *line, nowhere=reading) == READY
            connection.recv(4)
            connection.sendall(GO)
        until(lambda: children_of(standby) == [])
    os.close(writing)
    os.close(reading)
    assert head(caller.folder / "store") == before


# What a process does that is ready for an errand, and gone before it has read "go".
GONE = """
import os, socket, sys
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
listener.listen()
print("listening", flush=True)
connection, _ = listener.accept()
connection.recv(1 << 16)
connection.sendall(b"R" + os.getpid().to_bytes(4, "big"))
connection.recv(1, socket.MSG_PEEK)
"""


def test_a_command_whose_process_went_before_it_read_go_is_run_by_the_caller(standby, caller):
    standby.communicate(timeout=120)
    place_of(MODEL).standby.unlink()
    gone = subprocess.Popen(
        [sys.executable, "-c", GONE, str(place_of(MODEL).standby)], stdout=subprocess.PIPE
    )
    gone.stdout.readline()
    assert caller.run("get", "auth", "--store", "store").status == 0
    assert caller.ran_by() == "here"
    assert gone.communicate(timeout=60) == (b"", None)


def test_ctrl_c_before_a_command_has_begun_is_one_line(monkeypatch, capsys):
    def interrupt(_: list[str]) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("recollect.interfaces.cli.entry.relay", interrupt)
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 130
    assert capsys.readouterr().err == "recollect: interrupted\n"


# --- when the caller runs the command itself -----------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "python", "variables"),
    [
        (["memories", "--no-daemon"], (), {}),
        (["memories"], (), {"RECOLLECT_NO_DAEMON": "1"}),
        (["recall", "what /dev/fd/63 is"], (), {}),
        (["memories"], ("-X", "dev"), {}),
        (["memories"], ("-O",), {}),
        (["status"], (), {}),
        (["--help"], (), {}),
    ],
    ids=[
        "--no-daemon",
        "RECOLLECT_NO_DAEMON",
        "a descriptor of the caller's",
        "-X",
        "-O",
        "another command",
        "no command",
    ],
)
def test_some_commands_are_not_handed_over(standby, caller, line, python, variables):
    line = line if line == ["--help"] else [*line, "--store", "store"]
    assert caller.run(*line, python=python, env=environment(**variables)).status == 0
    assert caller.ran_by() == "here"


def test_a_caller_with_other_limits_runs_its_command_itself(standby, caller):
    def fewer_files() -> None:
        import resource

        resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200))

    assert caller.run("memories", "--store", "store", preexec_fn=fewer_files).status == 0
    assert caller.ran_by() == "here"


def test_a_directory_that_others_may_enter_is_not_trusted(standby, caller, runtime):
    (runtime / "recollect").chmod(0o755)
    assert caller.run("memories", "--store", "store").status == 0
    assert caller.ran_by() == "here"


def test_a_socket_that_nobody_serves_is_no_obstacle(standby, caller):
    standby.communicate(timeout=120)
    assert place_of(MODEL).standby.exists()
    assert caller.run("memories", "--store", "store").status == 0
    assert caller.ran_by() == "here"


def test_a_program_that_changed_is_run_by_the_caller_and_the_standby_leaves(
    runtime, caller, tmp_path, monkeypatch
):
    module = tmp_path / "changing" / "sitecustomize.py"
    module.parent.mkdir()
    module.write_text("before = 1")
    monkeypatch.setenv("PYTHONPATH", str(module.parent), prepend=os.pathsep)
    process = server.start_standby(place_of(MODEL))
    try:
        until(listening)
        assert caller.run("memories", "--store", "store").status == 0
        assert caller.ran_by() == "standby"
        module.write_text("and_after = 2")
        assert caller.run("memories", "--store", "store").status == 0
        assert caller.ran_by() == "here"
        assert process.wait(120) == 0
    finally:
        process.communicate(timeout=120)


# --- what is agreed on -----------------------------------------------------------------------------------


def offered(connection: socket.socket, *arguments: str, nowhere: int) -> bytes:
    """Offer an errand as `relay` does; what the standby answers."""
    body = errand.of_this_process(list(arguments)).pack()
    socket.send_fds(connection, [body], [nowhere] * errand.STREAMS)
    return connection.recv(1)


@pytest.fixture
def nowhere() -> Iterator[int]:
    descriptor = os.open(os.devnull, os.O_RDWR)
    yield descriptor
    os.close(descriptor)


def test_nothing_is_run_before_the_caller_says_go(standby, caller, nowhere):
    line = ("remember", "never", "--embedder", "none", "--store", str(caller.folder / "store"))
    before = head(caller.folder / "store")
    with connected() as connection:
        assert offered(connection, *line, nowhere=nowhere) == READY
        until(lambda: len(children_of(standby)) == 1)
    until(lambda: children_of(standby) == [])
    assert head(caller.folder / "store") == before
    with connected() as connection:
        assert offered(connection, *line, nowhere=nowhere) == READY
        connection.recv(4)
        connection.sendall(GO)
        assert connection.recv(5) == b"X" + bytes(4)
    assert head(caller.folder / "store") == before + 1


@pytest.mark.parametrize("said", [b"", b"\0", b"\xff\xff\xff\xff", b"\0\0\0\5hello", b"\0\0\0\x01x" * 1_000])
def test_a_caller_that_talks_nonsense_is_left_and_the_next_one_served(standby, caller, nowhere, said):
    with connected() as connection:
        if said:
            socket.send_fds(connection, [said], [nowhere] * errand.STREAMS)
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(1) == b""
    assert caller.run("memories", "--store", "store").status == 0
    assert caller.ran_by() == "standby"


def test_an_errand_is_read_as_it_was_packed():
    given = errand.Errand(
        [b"recall", b"", b"\xff\xfe=", "日本語".encode()],
        b"/tmp/a b",
        0o027,
        [("utf-8", "strict"), ("ascii", "replace"), ("utf-8", "backslashreplace")],
        {b"A": b"", b"B": b"x=y", b"C": b"\xff"},
    )
    packed = given.pack()
    assert int.from_bytes(packed[: errand.LENGTH_BYTES], "big") == len(packed) - errand.LENGTH_BYTES
    read = errand.unpack(packed[errand.LENGTH_BYTES :])
    assert all(getattr(read, name) == getattr(given, name) for name in errand.Errand.__slots__)


def test_what_is_handed_over_are_commands():
    assert set(COMMANDS) > HANDED_OVER


# --- with its helper ---------------------------------------------------------------------------------------


def test_the_standby_comes_with_the_helper_and_goes_when_the_helper_is_killed(runtime):
    place = place_of(MODEL)
    command = [
        sys.executable,
        "-P",
        "-m",
        "recollect.interfaces.model_server.server",
        str(place.directory),
        place.name,
        "hash",
        "1",
    ]
    subprocess.run(command, check=True, timeout=60, stdin=subprocess.DEVNULL)
    until(listening)
    with connected() as connection:
        told = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    standby = int.from_bytes(told[:4], sys.byteorder)
    status = Path(f"/proc/{standby}/status")
    helper = next(
        int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("PPid:")
    )
    os.kill(helper, signal.SIGKILL)
    until(lambda: not status.exists() or "State:\tZ" in status.read_text())


def test_json_from_the_standby_is_json(standby, caller):
    answer = json.loads(caller.run("recall", "sessions", "--json", "--store", "store").output)
    assert caller.ran_by() == "standby"
    assert answer["hits"][0]["id"] == "auth"
