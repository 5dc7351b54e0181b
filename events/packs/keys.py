"""A key for every event: its body is stored only encrypted, so deleting the key erases every copy.

AES-256-GCM of `cryptography`. A key is used for one body, so its nonce is zero. The body keeps its length, because
the frame's header, which the chain commits to, says how long it is; the tag is stored beside the key. The digest in
the header is that of the plain body: computed before encryption, checked after decryption.

A pack's keys are in one box, written before the pack. Erasing an event replaces the box by one without its key: a box
without a key says *erased*, no box at all says *damaged*.

`KeyFile` keeps the keys that this replica has fetched, beside its mirror and not in it, so that a copy of the mirror
alone cannot be read either:

    <mirror>/cache/keys   49 bytes for each seq: what is known (0 nothing, 1 the key, 2 erased), key, tag
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from recollect.events.frame import BadFrame, Frame
from recollect.events.private_files import make_private

KEY_BYTES = 32
TAG_BYTES = 16
SEALED_KEY_BYTES = KEY_BYTES + TAG_BYTES
ERASED = b""
_NONCE = bytes(12)
_RECORD_BYTES = 1 + SEALED_KEY_BYTES
_UNKNOWN, _KEPT, _ERASED = 0, 1, 2

Keys = list[bytes]
"""Of each event its key and tag, or `ERASED`."""


class Sealed(NamedTuple):
    """Bodies on their way into a pack, as they are and encrypted, with their keys; `id` names their box."""

    id: bytes
    bodies: list[bytes]
    encrypted: list[bytes]
    keys: Keys


def seal(bodies: list[bytes]) -> Sealed:
    """A new key for each body; an erased one, which is all zeros, stays as it is."""
    secrets = os.urandom(KEY_BYTES * len(bodies))
    encrypted: list[bytes] = []
    keys: Keys = []
    for place, body in enumerate(bodies):
        if not any(body):
            encrypted.append(body)
            keys.append(ERASED)
            continue
        key = secrets[place * KEY_BYTES : (place + 1) * KEY_BYTES]
        made = AESGCM(key).encrypt(_NONCE, body, None)
        encrypted.append(made[:-TAG_BYTES])
        keys.append(key + made[-TAG_BYTES:])
    return Sealed(os.urandom(16), bodies, encrypted, keys)


def unseal(frame: Frame, key: bytes) -> Frame:
    """The frame with its plain body, all zeros if it is erased; `BadFrame` if the body is not the one recorded."""
    if key == ERASED or not any(frame.body):
        return frame._replace(body=bytes(len(frame.body)))
    try:
        body = AESGCM(key[:KEY_BYTES]).decrypt(_NONCE, frame.body + key[KEY_BYTES:], None)
    except InvalidTag:
        raise BadFrame("its payload cannot be decrypted with its key") from None
    if sha256(body).digest() != frame.header.digest:
        raise BadFrame("its payload is not the one that was recorded")
    return frame._replace(body=body)


def encode_box(keys: Keys) -> bytes:
    return msgspec.msgpack.encode(keys)


def decode_box(content: bytes, events: int) -> Keys | None:
    """The keys of so many events; None if these bytes are anything else."""
    try:
        keys = msgspec.msgpack.decode(content, type=list[bytes])
    except msgspec.MsgspecError:
        return None
    fits = len(keys) == events and all(len(key) in {0, SEALED_KEY_BYTES} for key in keys)
    return keys if fits else None


class KeyFile:
    """The keys of a replica by seq. It may be deleted at any time: the boxes have them."""

    def __init__(self, path: Path) -> None:
        make_private(path.parent)
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def get(self, seq: int) -> bytes | None:
        """The key of an event, `ERASED` if it is gone, None if it has to be fetched."""
        return _key(os.pread(self._descriptor, _RECORD_BYTES, (seq - 1) * _RECORD_BYTES))

    def get_many(self, after: int, upto: int) -> list[bytes | None]:
        data = os.pread(self._descriptor, (upto - after) * _RECORD_BYTES, after * _RECORD_BYTES)
        starts = range(0, (upto - after) * _RECORD_BYTES, _RECORD_BYTES)
        return [_key(data[start : start + _RECORD_BYTES]) for start in starts]

    def put(self, first_seq: int, keys: Keys) -> None:
        """Keep the keys of consecutive events."""
        records = b"".join(
            bytes((_KEPT if key else _ERASED,)) + key.ljust(SEALED_KEY_BYTES, b"\0") for key in keys
        )
        os.pwrite(self._descriptor, records, (first_seq - 1) * _RECORD_BYTES)

    def erase(self, seqs: Iterable[int]) -> None:
        """Overwrite the keys of these events, on disk."""
        record = bytes((_ERASED,)).ljust(_RECORD_BYTES, b"\0")
        for seq in seqs:
            os.pwrite(self._descriptor, record, (seq - 1) * _RECORD_BYTES)
        os.fsync(self._descriptor)

    def close(self) -> None:
        os.close(self._descriptor)


def _key(record: bytes) -> bytes | None:
    if len(record) < _RECORD_BYTES or record[0] == _UNKNOWN:
        return None
    return record[1:] if record[0] == _KEPT else ERASED
