"""The helper: one model, loaded once, answering on a Unix socket until it has been idle for some minutes.

    python -m recollect.interfaces.model_server.server DIRECTORY NAME MODEL MINUTES

The process binds the socket first and then forks: the parent's exit status 0 means that the socket can be connected
to, so whoever starts a helper waits for that and polls nothing. The child belongs to no terminal and is nobody's
child. It holds the lock file as long as it lives; whoever holds the lock owns the socket's name, so a socket that
a killed helper left behind is removed by the next one. SIGTERM and SIGINT end it as idleness does.

Beside it lives a standby, which runs short commands without importing anything (`standby.py`) and goes when it goes.
"""

from __future__ import annotations

import fcntl
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import FrameType

from recollect.engine.embedding.embedder import PROBE_TEXT, Embedder, choose
from recollect.interfaces.model_server import protocol
from recollect.interfaces.model_server.place import Place
from recollect.interfaces.model_server.protocol import (
    Bye,
    Embed,
    Failed,
    Hello,
    Helper,
    Reply,
    Request,
    Stop,
    Vectors,
)
from recollect.interfaces.model_server.version import version_of

_BACKLOG = 64
_TALK_TIMEOUT_S = 3_600.0
_BROKEN_S = 5.0
ALREADY_RUNNING = 3


class Server:
    """Answers requests with one embedder; `serve` returns after `idle_s` without one, or after `stop`."""

    def __init__(self, listener: socket.socket, embedder: Embedder, *, version: str, idle_s: float) -> None:
        self._listener = listener
        self._embedder = embedder
        self._version = version
        self._idle_s = idle_s
        self._used = time.monotonic()
        self._busy = 0
        self._counting = threading.Lock()
        self._embedding = threading.Lock()
        self._probe = b""
        self._waker, self._woken = socket.socketpair()

    def serve(self) -> None:
        threading.Thread(target=self._load, name="recollect-load", daemon=True).start()
        while (left_s := self._left_s()) > 0.0:
            waiting, _, _ = select.select([self._listener, self._woken], [], [], left_s)
            if self._woken in waiting:
                return
            if waiting:
                connection, _ = self._listener.accept()
                threading.Thread(target=self._talk, args=(connection,), daemon=True).start()

    def stop(self) -> None:
        """End `serve`, from a signal or another thread."""
        self._waker.send(b".")

    def close(self) -> None:
        """Let go of what `stop` needs; the listener is its owner's."""
        self._waker.close()
        self._woken.close()

    def _left_s(self) -> float:
        with self._counting:
            return self._idle_s if self._busy else self._idle_s - (time.monotonic() - self._used)

    def _load(self) -> None:
        """Make the model ready and keep the vector of the probe text, which every opening of a store asks for.

        A helper without its model tells why for a moment and goes: the next one may find it installed.
        """
        try:
            with self._embedding:
                self._probe = self._vectors([PROBE_TEXT]).data
        except Exception as error:  # noqa: BLE001 (whoever asks for a vector is told the same)
            print(f"the model was not loaded: {error}", file=sys.stderr, flush=True)  # noqa: T201 (the log)
            ending = threading.Timer(_BROKEN_S, self.stop)
            ending.daemon = True
            ending.start()

    def _talk(self, connection: socket.socket) -> None:
        with connection:
            connection.settimeout(_TALK_TIMEOUT_S)
            if not protocol.same_user(connection):
                return
            try:
                while (request := protocol.receive_request(connection)) is not None:
                    protocol.send(connection, self._answer(request))
                    if isinstance(request, Stop):
                        self.stop()
                        return
            except (OSError, protocol.Garbled):
                return

    def _answer(self, request: Request) -> Reply:
        match request:
            case Hello():
                return self._introduce()
            case Embed(texts=texts):
                return self._embed(texts)
            case Stop():
                return Bye()

    def _introduce(self) -> Helper:
        return Helper(
            pid=os.getpid(),
            version=self._version,
            embedder=self._embedder.name,
            dimensions=self._embedder.dimensions,
            ready=bool(self._probe),
            idle_s=time.monotonic() - self._used,
            probe=self._probe,
        )

    def _embed(self, texts: list[str]) -> Reply:
        if not 0 < len(texts) <= protocol.TEXTS_MAX:
            return Failed(problem=f"{len(texts)} texts in one request; 1 to {protocol.TEXTS_MAX} are taken")
        with self._counting:
            self._busy += 1
        try:
            with self._embedding:
                return self._vectors(texts)
        except Exception as error:  # noqa: BLE001 (the client raises it)
            return Failed(problem=str(error))
        finally:
            with self._counting:
                self._busy -= 1
                self._used = time.monotonic()

    def _vectors(self, texts: list[str]) -> Vectors:
        matrix = self._embedder.embed(texts)
        return Vectors(dimensions=matrix.shape[1], data=matrix.astype("<f4", copy=False).tobytes())


def listen(place: Place) -> tuple[int, socket.socket] | None:
    """The lock and the socket of a place; None if a helper lives there."""
    lock = os.open(place.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        return None
    listener = bound(place.socket)
    listener.listen(_BACKLOG)
    return lock, listener


def bound(path: Path) -> socket.socket:
    """A socket under this name, for this user alone; what a killed helper left there is removed."""
    path.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        listener.bind(str(path))
    finally:
        os.umask(before)
    return listener


def start_standby(place: Place) -> subprocess.Popen[bytes]:
    """Start the standby of a place; it listens when it is ready, and stays as long as its standard input is open."""
    with bound(place.standby) as listener:
        return subprocess.Popen(  # noqa: S603 (our own interpreter and module)
            [sys.executable, "-P", "-m", "recollect.interfaces.model_server.standby", str(listener.fileno())],
            stdin=subprocess.PIPE,
            pass_fds=[listener.fileno()],
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        )


def run(place: Place, model: str, idle_s: float) -> None:
    """Bind, detach, serve, tidy up."""
    held = listen(place)
    if held is None:
        raise SystemExit(ALREADY_RUNNING)
    lock, listener = held
    if os.fork():
        os._exit(0)
    standby = start_standby(place)
    embedder = choose(model)
    assert embedder is not None
    server = Server(listener, embedder, version=version_of(model), idle_s=idle_s)

    def end(_signal: int, _frame: FrameType | None) -> None:
        server.stop()

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    try:
        server.serve()
    finally:
        place.standby.unlink(missing_ok=True)
        place.socket.unlink(missing_ok=True)
        standby.kill()
        os.close(lock)
        os._exit(0)  # threads of the model must not hold a finished helper back


if __name__ == "__main__":
    os.chdir("/")
    run(Place(directory=Path(sys.argv[1]), name=sys.argv[2]), sys.argv[3], float(sys.argv[4]) * 60.0)
