"""The commands that explain: why and why-not."""

from __future__ import annotations

import click

from recollect.interfaces.cli.app import main, open_memory, options_without_embedder, show
from recollect.interfaces.cli.commands import completed_by


@main.command()
@click.argument("recall")
@click.argument("memory_id", metavar="ID", shell_complete=completed_by("memory_ids"))
@options_without_embedder
def why(recall: str, memory_id: str, store: str, as_json: bool) -> None:
    """Why a memory ranked where it did in a recorded recall, replayed.

    \b
    Example:
      recollect why r11 0192f0c1…
    """
    with open_memory(store) as memory:
        show(memory.why(recall, memory_id), as_json, "explanation.explanation")


@main.command("why-not")
@click.argument("recall")
@click.argument("memory_id", metavar="ID", shell_complete=completed_by("memory_ids"))
@options_without_embedder
def why_not(recall: str, memory_id: str, store: str, as_json: bool) -> None:
    """Why a memory was not in a recorded answer: where it was lost, what it had and what it needed.

    \b
    Example:
      recollect why-not r11 0192f0c1…
    """
    with open_memory(store) as memory:
        show(memory.why_not(recall, memory_id), as_json, "explanation.explanation")
