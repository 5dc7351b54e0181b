"""The JSON API: what can be written. A read-only server refuses all of it."""

from __future__ import annotations

from typing import Any

import msgspec
from starlette.requests import Request

from recollect.engine.similar import Similar, nearness_min
from recollect.events.errors import InvalidInput
from recollect.interfaces.python.memory import Memory
from recollect.web.endpoint import Endpoints

ENDPOINTS = Endpoints()


class Remembered(msgspec.Struct, frozen=True, kw_only=True):
    """`similar` is what it resembles, nearest first."""

    id: str
    head: int
    similar: list[Similar] = []
    degraded: list[str] = []


class Revised(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    revision_count: int
    degraded: list[str] = []


class Written(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    seq: int


class Because(msgspec.Struct, frozen=True, kw_only=True):
    reason: str = ""


@ENDPOINTS.add("POST", "/api/remember", "keep one text", lane="writes", writes=True, status=201)
def remember(memory: Memory, item: dict[str, object], _: Request) -> Remembered:
    nearness_min()  # a setting that is wrong is refused before anything is written
    (memory_id,) = memory.remember_many([item])
    return Remembered(
        id=memory_id,
        head=memory.store.projections.position,
        similar=memory.similar(memory_id),
        degraded=memory.missing_vector(memory_id),
    )


@ENDPOINTS.add("PATCH", "/api/memories/{id:path}", "a new version of a memory", lane="writes", writes=True)
def revise(memory: Memory, changes: dict[str, Any], request: Request) -> Revised:
    memory_id = request.path_params["id"]
    for taken in ("id", "self"):
        if taken in changes:
            raise InvalidInput(f"revise has no argument {taken!r}; the memory is named in the address")
    count = memory.revise(memory_id, **changes)
    return Revised(id=memory_id, revision_count=count, degraded=memory.missing_vector(memory_id))


@ENDPOINTS.add(
    "POST", "/api/memories/{id:path}/forget", "soft delete, with a reason", lane="writes", writes=True
)
def forget(memory: Memory, because: Because, request: Request) -> Written:
    memory_id = request.path_params["id"]
    return Written(id=memory_id, seq=memory.forget(memory_id, because.reason))


@ENDPOINTS.add("POST", "/api/memories/{id:path}/restore", "undo it", lane="writes", writes=True)
def restore(memory: Memory, because: Because, request: Request) -> Written:
    memory_id = request.path_params["id"]
    return Written(id=memory_id, seq=memory.restore(memory_id, because.reason))
