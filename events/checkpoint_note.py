"""A log's checkpoint, to be kept elsewhere: origin, size and root as a C2SP signed note.

    recollect.log/3f9c21d7a0b14e55
    1234
    CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=

    — recollect.log/3f9c21d7a0b14e55 Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=

The first three lines are the text that is signed (https://c2sp.org/tlog-checkpoint): the origin, which comes from the
chain value after the first event and so stays the same in every copy of a log; the number of events; and the chain value
after the last of them, in base64, where a transparency log would have the root of its tree. It commits to every event
before it. The signatures (https://c2sp.org/signed-note) are base64 of four bytes that name the key and 64 of Ed25519; a
note may be unsigned. Lines may follow the root and are signed with it: the receipt of an erasure (`engine.receipt`) is a
checkpoint that says in such lines what was erased.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections.abc import Sequence
from hashlib import sha256
from typing import NamedTuple

import msgspec

from recollect.events.errors import InvalidInput
from recollect.events.log import Log

PREFIX = "recollect.log/"
EMPTY = "empty"
_DASH = "\N{EM DASH} "
_ED25519 = b"\x01"
_HASH_BYTES = 32
_KEY_ID_BYTES = 4


class Signature(NamedTuple):
    name: str
    key_id: bytes
    value: bytes


class LogCheckpoint(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a log at one moment; `note` is the text to keep, `signed_by` names the keys that signed it.

    `lines` are the note's lines after origin, size and root.
    """

    origin: str
    size: int
    root: str
    note: str
    signed_by: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.note

    @property
    def signed_text(self) -> bytes:
        return checkpoint_text(self.origin, self.size, b64decode(self.root), self.lines)

    @property
    def signatures(self) -> list[Signature]:
        lines = self.note.partition("\n\n")[2].splitlines()
        return [_signature(line) for line in lines]


class Contradiction(msgspec.Struct, frozen=True, kw_only=True):
    """Where the log disagrees with something that was kept outside of it."""

    witness: str
    seq: int
    problem: str


def checkpoint_of(log: Log, size: int, lines: Sequence[str] = ()) -> LogCheckpoint:
    """The unsigned checkpoint of a log after so many events; `lines` are added to the note."""
    assert all(line and "\n" not in line for line in lines)
    origin = PREFIX + (log.chain_at(1).hex()[:16] if size else EMPTY)
    root = log.chain_at(size)
    text = checkpoint_text(origin, size, root, lines)
    return LogCheckpoint(
        origin=origin, size=size, root=encoded(root), note=text.decode() + "\n", lines=tuple(lines)
    )


def signed(checkpoint: LogCheckpoint, public_key: bytes, value: bytes) -> LogCheckpoint:
    """The checkpoint with a signature of its text by this Ed25519 key, which has the origin as its name."""
    line = b64encode(key_id(checkpoint.origin, public_key) + value).decode()
    return msgspec.structs.replace(
        checkpoint,
        note=f"{checkpoint.note}{_DASH}{checkpoint.origin} {line}\n",
        signed_by=(*checkpoint.signed_by, checkpoint.origin),
    )


def key_id(name: str, public_key: bytes) -> bytes:
    """The id of a key: the first bytes of a hash over its name, its kind and the key itself."""
    return sha256(name.encode() + b"\n" + _ED25519 + public_key).digest()[:_KEY_ID_BYTES]


def checkpoint_text(origin: str, size: int, root: bytes, lines: Sequence[str] = ()) -> bytes:
    return "".join(f"{line}\n" for line in (origin, size, encoded(root), *lines)).encode()


def encoded(root: bytes) -> str:
    return b64encode(root).decode()


def parse_checkpoint(note: str, *, where: str) -> LogCheckpoint:
    """A checkpoint from its note; InvalidInput if the text is not a note."""
    text, blank, signatures = note.partition("\n\n")
    lines = text.split("\n")
    try:
        names = tuple(_signature(line).name for line in signatures.splitlines())
        whole = blank and len(lines) >= 3 and len(b64decode(lines[2], validate=True)) == _HASH_BYTES
    except ValueError:
        whole = False
    if not whole or not re.fullmatch("0|[1-9][0-9]{0,17}", lines[1]):
        raise InvalidInput(
            f"{where} is not a checkpoint of a log; `recollect checkpoint --out FILE` writes one: origin, size and root "
            f"on a line each, an empty line, and signatures"
        )
    return LogCheckpoint(
        origin=lines[0], size=int(lines[1]), root=lines[2], note=note, signed_by=names, lines=tuple(lines[3:])
    )


def _signature(line: str) -> Signature:
    name, _, value = line.removeprefix(_DASH).rpartition(" ")
    decoded = b64decode(value, validate=True)
    if not line.startswith(_DASH) or not name or len(decoded) <= _KEY_ID_BYTES:
        raise ValueError(f"{line!r} is not a line of a signature")
    return Signature(name, decoded[:_KEY_ID_BYTES], decoded[_KEY_ID_BYTES:])
