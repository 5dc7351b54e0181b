"""What the retrievers share: recall from a `Memory` or an `AsyncMemory`, with the options of `recall`."""

from __future__ import annotations

import asyncio
from functools import partial

import msgspec

from recollect.engine.answers import Answer, Hit
from recollect.engine.recall_options import RecallOptions
from recollect.interfaces.python.async_memory import AsyncMemory
from recollect.interfaces.python.memory import Memory

AnyMemory = Memory | AsyncMemory


def recall(memory: AnyMemory, query: str, options: RecallOptions) -> Answer:
    opened = memory.memory if isinstance(memory, AsyncMemory) else memory
    return opened.recall(query, **options)


async def arecall(memory: AnyMemory, query: str, options: RecallOptions) -> Answer:
    if isinstance(memory, AsyncMemory):
        return await memory.recall(query, **options)
    return await asyncio.to_thread(partial(recall, memory, query, options))


def metadata(answer: Answer, hit: Hit) -> dict[str, object]:
    """What a document carries beside its text; `recall` is the id to ask `why` with, None if it was not recorded."""
    beside = msgspec.structs.asdict(hit)
    del beside["content"]
    lists = {"tags": list(hit.tags), "degraded": list(answer.degraded)}
    return {**beside, **lists, "recall": answer.id, "basis": answer.basis, "formula": answer.formula}
