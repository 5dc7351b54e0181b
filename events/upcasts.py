"""How older versions of an event are read: pure functions from one version's mapping to the next one's.

Stored bytes are never rewritten. `VERSIONS` names every type this program knows with its current version;
`UPCASTS[(type, v)]` turns version v into v + 1. One encoded sample of every (type, version) ever released
is kept in `tests/golden/events/` and decoded for ever.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import get_args

import msgspec

from recollect.events.facts import AnyFact

Fields = dict[str, object]


def accessed_1_to_2(fields: Fields) -> Fields:
    """Version 1 recorded one memory per event in `id`; version 2 records a group in `ids`."""
    return {**{k: v for k, v in fields.items() if k != "id"}, "ids": [fields["id"]]}


UPCASTS: dict[tuple[str, int], Callable[[Fields], Fields]] = {
    ("memory.accessed", 1): accessed_1_to_2,
}


def _current_version(type_: str) -> int:
    return 1 + max((v for name, v in UPCASTS if name == type_), default=0)


VERSIONS: dict[str, int] = {
    tag: _current_version(tag)
    for fact_type in get_args(AnyFact)
    if isinstance(tag := fact_type.__struct_config__.tag, str)
}


def upcast(type_: str, version: int, payload: bytes) -> bytes:
    """`payload` of an older version, as bytes of the current one."""
    fields = msgspec.msgpack.decode(payload, type=dict[str, object])
    for v in range(version, VERSIONS[type_]):
        fields = UPCASTS[type_, v](fields)
    return msgspec.msgpack.encode(fields)
