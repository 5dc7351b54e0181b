"""The envelope around a fact: what goes in (`Draft`), what comes out (`Recorded`), and their codec.

The payload is msgpack of the tagged fact. Type name and version stand in the envelope as well, so that an
event of an unknown type or a newer version is kept as `Unknown` instead of failing the reader.
"""

from __future__ import annotations

import os
import time
from functools import cache

import msgspec

from recollect.events.facts import AnyFact, Fact, Redacted, Unknown
from recollect.events.upcasts import VERSIONS, upcast

EventId = bytes

_encoder = msgspec.msgpack.Encoder()
_decoder: msgspec.msgpack.Decoder[AnyFact] = msgspec.msgpack.Decoder(AnyFact)


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """An event to be appended. Its id makes a retry safe for ever."""

    fact: AnyFact
    id: EventId
    actor: str = ""


class Recorded(msgspec.Struct, frozen=True):
    """An event in the log: position, recorded time (µs, never decreasing), and the fact."""

    seq: int
    at: int
    id: EventId
    actor: str
    type: str
    version: int
    payload: bytes
    fact: AnyFact | Unknown | Redacted


def new_event_id() -> EventId:
    """A UUIDv7: 48 bits of milliseconds, then random bits."""
    milliseconds = time.time_ns() // 1_000_000
    value = bytearray(milliseconds.to_bytes(6, "big") + os.urandom(10))
    value[6] = 0x70 | (value[6] & 0x0F)
    value[8] = 0x80 | (value[8] & 0x3F)
    return bytes(value)


def draft(fact: AnyFact, *, actor: str = "", event_id: EventId | None = None) -> Draft:
    return Draft(fact=fact, id=event_id or new_event_id(), actor=actor)


@cache
def type_name(fact_type: type[Fact]) -> str:
    tag = fact_type.__struct_config__.tag
    assert isinstance(tag, str)
    return tag


def encode(fact: AnyFact) -> bytes:
    return _encoder.encode(fact)


def decode(type_: str, version: int, payload: bytes) -> AnyFact | Unknown:
    """The fact in `payload`, upcast to its current version; `Unknown` if this program is too old for it."""
    current = VERSIONS.get(type_)
    if current is None or version > current:
        return Unknown(type=type_, version=version)
    if version < current:
        payload = upcast(type_, version, payload)
    return _decoder.decode(payload)
