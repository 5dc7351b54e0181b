"""The JSON API: what can be told. A server that is read-only has none of it."""

from __future__ import annotations

import msgspec
from starlette.requests import Request

from recollect.engine.similar import Similar, nearness_min
from recollect.events.errors import InvalidInput
from recollect.interfaces.python.async_memory import AsyncMemory
from recollect.web.api import Endpoint
from recollect.web.requests import body, json_object


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


async def remember(memory: AsyncMemory, request: Request) -> Remembered:
    item = await json_object(request)
    nearness_min()  # a setting that is wrong is refused before anything is written
    (memory_id,) = await memory.remember_many([item])
    similar = await memory.similar(memory_id)
    degraded = await memory.run(lambda inner: inner.missing_vector(memory_id))
    return Remembered(
        id=memory_id, head=memory.store.projections.position, similar=similar, degraded=degraded
    )


async def revise(memory: AsyncMemory, request: Request) -> Revised:
    memory_id, changes = request.path_params["id"], await json_object(request)
    for taken in ("id", "self"):
        if taken in changes:
            raise InvalidInput(f"revise has no argument {taken!r}; the memory is named in the address")
    count = await memory.run(lambda inner: inner.revise(memory_id, **changes))  # type: ignore[arg-type]  # checked there
    degraded = await memory.run(lambda inner: inner.missing_vector(memory_id))
    return Revised(id=memory_id, revision_count=count, degraded=degraded)


async def forget(memory: AsyncMemory, request: Request) -> Written:
    memory_id, because = request.path_params["id"], await body(request, Because)
    return Written(id=memory_id, seq=await memory.forget(memory_id, because.reason))


async def restore(memory: AsyncMemory, request: Request) -> Written:
    memory_id, because = request.path_params["id"], await body(request, Because)
    return Written(id=memory_id, seq=await memory.restore(memory_id, because.reason))


TABLE = (
    Endpoint("POST", "/api/remember", remember, "keep one text", writes=True, status=201),
    Endpoint("PATCH", "/api/memories/{id:path}", revise, "a new version of a memory", writes=True),
    Endpoint(
        "POST",
        "/api/memories/{id:path}/forget",
        forget,
        "soft delete, with a reason",
        writes=True,
        takes=Because,
    ),
    Endpoint("POST", "/api/memories/{id:path}/restore", restore, "undo it", writes=True, takes=Because),
)
