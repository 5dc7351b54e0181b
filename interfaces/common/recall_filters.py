"""The filters of recorded recalls, stated once: the command line, MCP and HTTP take their arguments and help from here."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta


class RecallFilters(msgspec.Struct, frozen=True, kw_only=True):
    since: Annotated[
        str | None, Meta(description="From this moment on: '2 days ago', a time, @1234 or r1234.")
    ] = None
    until: Annotated[str | None, Meta(description="Up to this moment.")] = None
    session: Annotated[str | None, Meta(description="Only what this session asked.")] = None
    project: Annotated[str | None, Meta(description="Only questions about this project.")] = None
    actor: Annotated[str | None, Meta(description="Only what this program or person asked.")] = None
    formula: Annotated[str | None, Meta(description="Only what it ranked.")] = None
    grep: Annotated[str | None, Meta(description="Only questions with this in their text, in any case.")] = (
        None
    )
    empty: Annotated[bool, Meta(description="Only what found nothing.")] = False
    rated: Annotated[bool, Meta(description="Only answers that were rated.")] = False
    held: Annotated[str | None, Meta(description="Only answers with this memory.")] = None
