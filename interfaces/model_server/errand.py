"""An errand: a command as its caller would run it, in bytes. The caller has no time to import much, so nothing is.

    length u32, big-endian | fields joined by NUL, which none of them can hold

The fields are the number of arguments, the arguments, the working directory, the umask, encoding and error handler
of the three standard streams, and the environment as NAME=VALUE.
"""

from __future__ import annotations

import os
import sys

BYTES_MAX = 8 * 2**20
LENGTH_BYTES = 4
STREAMS = 3


class Errand:
    """What makes a process the caller's: all but the standard streams, which travel beside it."""

    __slots__ = ("arguments", "cwd", "encodings", "environment", "umask")

    def __init__(
        self,
        arguments: list[bytes],
        cwd: bytes,
        umask: int,
        encodings: list[tuple[str, str]],
        environment: dict[bytes, bytes],
    ) -> None:
        self.arguments = arguments
        self.cwd = cwd
        self.umask = umask
        self.encodings = encodings
        self.environment = environment

    def pack(self) -> bytes:
        fields = [
            str(len(self.arguments)).encode(),
            *self.arguments,
            self.cwd,
            str(self.umask).encode(),
            *(part.encode() for pair in self.encodings for part in pair),
            *(name + b"=" + value for name, value in self.environment.items()),
        ]
        body = b"\0".join(fields)
        return len(body).to_bytes(LENGTH_BYTES, "big") + body


def unpack(body: bytes) -> Errand:
    """The errand of a body without its length; ValueError if it is none."""
    count, *fields = body.split(b"\0")
    arguments, (cwd, umask, *rest) = fields[: int(count)], fields[int(count) :]
    texts = [part.decode() for part in rest[: 2 * STREAMS]]
    pairs = (entry.partition(b"=") for entry in rest[2 * STREAMS :])
    return Errand(
        arguments,
        cwd,
        int(umask),
        list(zip(texts[::2], texts[1::2], strict=True)),
        {name: value for name, _, value in pairs},
    )


def of_this_process(arguments: list[str]) -> Errand:
    umask = os.umask(0)
    os.umask(umask)
    streams = (sys.stdin, sys.stdout, sys.stderr)
    return Errand(
        [os.fsencode(argument) for argument in arguments],
        os.getcwdb(),  # noqa: PTH109 (pathlib takes 3 ms to import)
        umask,
        [(stream.encoding, stream.errors or "strict") for stream in streams],
        dict(os.environb),
    )
