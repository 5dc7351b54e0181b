"""What the retrievers share: a memory, open for threads or for a loop, asked with the options of `recall`."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TypedDict

from recollect.engine.answers import Answer, Hit
from recollect.events.facts import Filters
from recollect.interfaces.python.async_memory import AsyncMemory
from recollect.interfaces.python.memory import Memory
from recollect.query.formula import Formula

AnyMemory = Memory | AsyncMemory


class Options(TypedDict):
    """The arguments of `recall` that a retriever keeps."""

    k: int
    formula: str | Path | Formula | None
    session: str | None
    filters: Filters | Mapping[str, object] | None
    track: bool
    record: bool


def recall(memory: AnyMemory, query: str, options: Options) -> Answer:
    opened = memory.memory if isinstance(memory, AsyncMemory) else memory
    return opened.recall(query, **options)


async def arecall(memory: AnyMemory, query: str, options: Options) -> Answer:
    if isinstance(memory, AsyncMemory):
        return await memory.recall(query, **options)
    return await asyncio.to_thread(partial(recall, memory, query, options))


def metadata(answer: Answer, hit: Hit) -> dict[str, object]:
    """What a document carries beside its text; `recall` is the id to ask `why` with, None if it was not recorded."""
    return {
        "id": hit.id,
        "score": hit.score,
        "rank": hit.rank,
        "recall": answer.id,
        "basis": answer.basis,
        "formula": answer.formula,
        "factors": dict(hit.factors),
        "degraded": list(answer.degraded),
    }
