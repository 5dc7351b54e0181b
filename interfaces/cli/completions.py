"""What Tab offers beyond commands and options: memories, formulas, embedders.

Completion must never fail or write: where the store cannot be read, nothing is offered.
"""

from __future__ import annotations

from pathlib import Path

import click
from click.shell_completion import CompletionItem

from recollect.engine.event_summaries import shorten
from recollect.engine.safe_text import inline
from recollect.interfaces.python.memory import Memory
from recollect.query.formula import names

OFFERED_MAX = 50


def memory_ids(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Memories whose id begins so, with what they say."""
    folder = Path(str(ctx.params.get("store") or "~/.recollect")).expanduser()
    if not (folder / "log").is_dir():
        return []
    try:
        with Memory.open(folder, embedder=None) as memory:
            named = (memo for memo in memory.memories() if memo.id.startswith(incomplete))
            found = [memo for memo in named if inline(memo.id) == memo.id]  # a shell takes a line for an id
    except Exception:  # noqa: BLE001 (a damaged store is no reason to break the line being typed)
        return []
    return [CompletionItem(memo.id, help=shorten(memo.content)) for memo in found[:OFFERED_MAX]]


def formulas(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Built-in formulas, else the files that are there."""
    offered = [CompletionItem(name) for name in names() if name.startswith(incomplete)]
    return offered or [CompletionItem(incomplete, type="file")]


def embedders(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return [
        CompletionItem(name)
        for name in ("minilm", "hash", "none", "st:", "http://")
        if name.startswith(incomplete)
    ]
