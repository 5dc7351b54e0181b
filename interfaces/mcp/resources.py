"""What a client can read without calling a tool: memories, recorded recalls explained, and the timeline.

    recollect://timeline        the last events of the log, in words
    recollect://memory/{id}     one memory with its state; listed newest first, a page at a time
    recollect://recall/{id}     a recorded recall, replayed, each hit explained in one sentence

Reading writes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from mcp import types

from recollect.engine import validate
from recollect.engine.safe_text import block, closed, identifier, inline
from recollect.events.errors import InvalidInput, RecollectError
from recollect.interfaces.mcp import text

if TYPE_CHECKING:
    from recollect.engine.store import Store
    from recollect.interfaces.python.memory import Memory

TIMELINE = "recollect://timeline"
MEMORY = "recollect://memory/"
RECALL = "recollect://recall/"
_TEXT = "text/plain"
TEMPLATES = [
    types.ResourceTemplate(uri_template=template, name=name, description=says, mime_type=_TEXT)
    for template, name, says in (
        (MEMORY + "{id}", "memory", "One memory with its state."),
        (RECALL + "{id}", "recall", "A recorded recall, replayed, with every hit explained."),
    )
]
_EVENTS_SHOWN = 100
_PAGE = 100
_TITLE_CHARACTERS = 80


class NoSuchResource(RecollectError):
    """Nothing stands behind this URI."""


def listed(memory: Memory, cursor: str | None) -> types.ListResourcesResult:
    """A page of the memories that answer, newest first; the timeline comes before the first."""
    from recollect.engine.torn_state import locked  # noqa: PLC0415 (tools are listed before the engine is loaded)

    if cursor is not None and not validate.is_seq(cursor):
        raise InvalidInput(f"cursor {cursor!r:.100} is not one that this server gave; start without one")
    found, following = locked(_page)(memory.store, None if cursor is None else int(cursor))
    timeline = types.Resource(
        uri=TIMELINE, name="timeline", title="Timeline", mime_type=_TEXT,
        description="The last events of the log, in words.",
    )  # fmt: skip
    return types.ListResourcesResult(resources=found if cursor else [timeline, *found], next_cursor=following)


def _page(store: Store, before: int | None) -> tuple[list[types.Resource], str | None]:
    """The memories of a page, and the cursor of the next one."""
    import numpy as np  # noqa: PLC0415 (resources are listed after the engine was loaded, not before)

    view = store.view()
    documents = view.documents
    born = documents.rows_born(view.seq)
    rows = np.arange(born if before is None else min(before, born), dtype=np.int32)
    alive = rows[documents.alive(rows, view.seq)][::-1]
    page = [int(row) for row in alive[:_PAGE]]
    uris = [uri_of(documents.ids.values[int(documents.memory_of[row])]) for row in page]
    found = [
        types.Resource(uri=uri, name=uri, title=title_of(store.content_of_row(row)), mime_type=_TEXT)
        for uri, row in zip(uris, page, strict=True)
    ]
    return found, str(page[-1]) if len(alive) > len(page) else None


def title_of(content: str) -> str:
    from recollect.engine.event_summaries import shorten  # noqa: PLC0415 (tools are listed before the engine is loaded)

    return shorten(content, _TITLE_CHARACTERS)


def read(memory: Memory, uri: str) -> str:
    """The text behind a URI."""
    if uri == TIMELINE:
        return timeline(memory)
    if uri.startswith(MEMORY) and len(uri) > len(MEMORY):
        return text.one_memory(text.memory_result(memory.get(unquote(uri.removeprefix(MEMORY)))))
    if uri.startswith(RECALL) and len(uri) > len(RECALL):
        return recall(memory, unquote(uri.removeprefix(RECALL)))
    known = ", ".join([TIMELINE, *(template.uri_template for template in TEMPLATES)])
    raise NoSuchResource(f"there is no resource {uri!r}; there are {known}")


def timeline(memory: Memory) -> str:
    """The last events, oldest first."""
    store = memory.store
    since = max(store.catch_up() - _EVENTS_SHOWN + 1, 1)
    events = memory.log(since=since) if store.log.head else ()
    lines = (f"@{event.seq} {event.at} {event.type}: {event.summary}" for event in events)
    return closed("\n".join(map(inline, lines)))


def recall(memory: Memory, recall_id: str) -> str:
    """A recorded recall: the question, its answer, and a sentence on each hit."""
    from recollect.engine.remember import recall_seq  # noqa: PLC0415
    from recollect.replay.why import recorded  # noqa: PLC0415

    store = memory.store
    store.catch_up()
    fact = recorded(store.log, store.projections, recall_seq(recall_id))
    lines = [f"{recall_id}: {fact.question.text}", f"asked at @{fact.basis}, {len(fact.ids)} hits"]
    lines += [f"degraded: {problem}" for problem in fact.degraded]
    for rank, (memory_id, score) in enumerate(zip(fact.ids, fact.scores, strict=True), 1):
        sentence = _sentence(memory, recall_id, memory_id)
        lines.append(f"{rank}. [{identifier(memory_id)}] {score:.6g}: {sentence}")
    return closed("\n".join(map(block, lines)))


def _sentence(memory: Memory, recall_id: str, memory_id: str) -> str:
    """The sentence of a hit, or why it can no longer be explained."""
    try:
        found = memory.why(recall_id, memory_id)
    except RecollectError as error:
        return str(error)
    return f"{found.note} {found.sentence}".strip()


def uri_of(memory_id: str) -> str:
    return MEMORY + quote(memory_id, safe="")
