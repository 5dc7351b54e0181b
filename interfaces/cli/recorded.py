"""The commands that look at what was recorded: recalls, show."""

from __future__ import annotations

from typing import Any

import click

from recollect.interfaces.cli import app
from recollect.interfaces.cli.app import main, open_memory, options_without_embedder, row_options
from recollect.interfaces.cli.recall_options import struct_options
from recollect.interfaces.common.recall_filters import RecallFilters


@main.command()
@struct_options(RecallFilters)
@click.option("--limit", default=50, show_default=True, help="How many at most.")
@click.option("--before", metavar="RECALL", help="Only older ones than this: the next page.")
@row_options
@options_without_embedder
def recalls(limit: int, before: str | None, store: str, as_json: bool, **filters: Any) -> None:
    """Recorded recalls, newest first, found by what is known of them.

    \b
    Example:
      recollect recalls --since "2 days ago" --grep auth
      recollect recalls --held 0192f0c1… --session s1
    """
    with open_memory(store) as memory:
        found = memory.recalls(limit=limit, before=before, **filters)
    app.show(found, as_json, "recorded.recalls")


@main.command()
@click.argument("name", metavar="THING")
@options_without_embedder
def show(name: str, store: str, as_json: bool) -> None:
    """Everything about one thing: a recall, a memory, an event, a dream or a formula.

    A recall with its question, its hits as recorded and what came of them; a memory with its versions, links and every recall
    that it was in; an event in full; a dream with what it changed and why; a formula with its text.

    \b
    Example:
      recollect show r11
      recollect show 0192f0c1
      recollect show @2184
    """
    with open_memory(store) as memory:
        app.show(memory.show(name), as_json, "shown.shown")
