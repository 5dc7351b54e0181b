"""What a client and the helper say to each other: msgpack in frames, one reply per request.

    length u32, big-endian | msgpack of one Struct

A frame longer than FRAME_BYTES_MAX, and one that is not a known message, ends the conversation. Both ends check
that the other runs as the same user where the system tells (SO_PEERCRED, Linux); elsewhere the mode of the
directory alone keeps others out.
"""

from __future__ import annotations

import os
import socket
import struct

import msgspec

from recollect.events.errors import RecollectError

FRAME_BYTES_MAX = 64 * 2**20
TEXTS_MAX = 64
_LENGTH = struct.Struct(">I")
_CREDENTIALS = struct.Struct("3i")


class Hello(msgspec.Struct, frozen=True, kw_only=True, tag="hello"):
    """Who are you?"""


class Embed(msgspec.Struct, frozen=True, kw_only=True, tag="embed"):
    """Vectors for these texts, at most TEXTS_MAX; answered when the model is loaded."""

    texts: list[str]


class Stop(msgspec.Struct, frozen=True, kw_only=True, tag="stop"):
    """Make room: another version takes over."""


class Helper(msgspec.Struct, frozen=True, kw_only=True, tag="helper"):
    """The helper's answer to Hello. `probe` is its vector of the probe text, empty while the model loads."""

    pid: int
    version: str
    embedder: str
    dimensions: int
    ready: bool
    idle_s: float
    probe: bytes = b""


class Vectors(msgspec.Struct, frozen=True, kw_only=True, tag="vectors"):
    """One row of little-endian float32 per text."""

    dimensions: int
    data: bytes


class Failed(msgspec.Struct, frozen=True, kw_only=True, tag="failed"):
    """The model could not be loaded, or refused the texts."""

    problem: str


class Bye(msgspec.Struct, frozen=True, kw_only=True, tag="bye"):
    """The helper takes no more requests."""


Request = Hello | Embed | Stop
Reply = Helper | Vectors | Failed | Bye
_REQUESTS: msgspec.msgpack.Decoder[Request] = msgspec.msgpack.Decoder(Request)
_REPLIES: msgspec.msgpack.Decoder[Reply] = msgspec.msgpack.Decoder(Reply)
_ENCODER = msgspec.msgpack.Encoder()


class Garbled(RecollectError):
    """The other end does not speak this protocol."""


def send(connection: socket.socket, message: Request | Reply) -> None:
    body = _ENCODER.encode(message)
    if len(body) > FRAME_BYTES_MAX:
        raise Garbled(f"a message of {len(body):,} bytes is longer than {FRAME_BYTES_MAX:,}")
    connection.sendall(_LENGTH.pack(len(body)) + body)


def receive_request(connection: socket.socket) -> Request | None:
    """The next request; None if the other end has hung up."""
    body = _frame(connection)
    if body is None:
        return None
    try:
        return _REQUESTS.decode(body)
    except msgspec.MsgspecError as error:
        raise Garbled(f"not a request: {error}") from None


def receive_reply(connection: socket.socket) -> Reply:
    body = _frame(connection)
    if body is None:
        raise Garbled("the helper hung up without an answer")
    try:
        return _REPLIES.decode(body)
    except msgspec.MsgspecError as error:
        raise Garbled(f"not a reply: {error}") from None


def _frame(connection: socket.socket) -> bytes | None:
    head = _exactly(connection, _LENGTH.size)
    if head is None:
        return None
    (length,) = _LENGTH.unpack(head)
    if length > FRAME_BYTES_MAX:
        raise Garbled(f"a message of {length:,} bytes is longer than {FRAME_BYTES_MAX:,}")
    body = _exactly(connection, length)
    if body is None:
        raise Garbled("the other end hung up in the middle of a message")
    return body


def _exactly(connection: socket.socket, count: int) -> bytes | None:
    """So many bytes; None if the other end hung up before the first."""
    parts = bytearray()
    while len(parts) < count:
        part = connection.recv(min(count - len(parts), 1 << 20))
        if not part:
            if parts:
                raise Garbled("the other end hung up in the middle of a message")
            return None
        parts += part
    return bytes(parts)


def same_user(connection: socket.socket) -> bool:
    """Whether the process at the other end runs as this user, as far as the system tells."""
    credentials = _credentials(connection)
    return credentials is None or credentials[1] == os.getuid()


def peer(connection: socket.socket) -> int:
    """The process at the other end; 0 where the system does not tell."""
    return (_credentials(connection) or (0,))[0]


def _credentials(connection: socket.socket) -> tuple[int, int, int] | None:
    """Process, user and group at the other end."""
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return None
    raw = connection.getsockopt(socket.SOL_SOCKET, option, _CREDENTIALS.size)
    pid, uid, gid = _CREDENTIALS.unpack(raw)
    return pid, uid, gid
