"""The log in words, page by page, newest first."""

from __future__ import annotations

import msgspec

from recollect.engine.answers import Happening
from recollect.engine.event_summaries import happening_of
from recollect.engine.log_stream import Selection
from recollect.interfaces.python.memory import Memory

_WINDOW = 1_024


class TimelinePage(msgspec.Struct, frozen=True, kw_only=True):
    """Newest first; `before` asks for the next page, None at the end."""

    events: tuple[Happening, ...]
    head: int
    before: int | None


def timeline_page(memory: Memory, selection: Selection, *, before: int | None, limit: int) -> TimelinePage:
    """The last `limit` matching events before a seq; the log is read backwards only as far as it must be."""
    store = memory.store
    head = store.catch_up()
    first, last = selection.span(store.log, head)
    upto = max(0, min(last, last if before is None else before - 1))
    found: list[Happening] = []
    while upto > first and len(found) <= limit:
        after = max(first, upto - _WINDOW)
        window = [r for r in store.log.read(after, upto) if selection.matches(r)]
        found += [happening_of(recorded) for recorded in reversed(window)]
        upto = after
    more = len(found) > limit
    shown = tuple(found[:limit])
    return TimelinePage(events=shown, head=head, before=shown[-1].seq if more else None)
