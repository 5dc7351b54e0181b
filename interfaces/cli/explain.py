"""The commands that explain: why and why-not."""

from __future__ import annotations

import click

from recollect.interfaces.cli.app import main, open_memory, options_without_embedder, show
from recollect.interfaces.cli.commands import completed_by

_FULL = click.option(
    "--full", is_flag=True, help="Channels, stages and the events behind every number as well."
)


@main.command()
@click.argument("recall")
@click.argument("memory_id", metavar="ID", shell_complete=completed_by("memory_ids"))
@_FULL
@options_without_embedder
def why(recall: str, memory_id: str, full: bool, store: str, as_json: bool) -> None:
    """Why a memory ranked where it did in a recorded recall, or was not in it; replayed.

    What decided against the next one comes first, then the margins; --full shows the stages.

    \b
    Example:
      recollect why r11 0192f0c1…
      recollect why r11 0192f0c1… --full
    """
    with open_memory(store) as memory:
        show(memory.why(recall, memory_id), as_json, f"explanation.{'whole' if full else 'explanation'}")


@main.command("why-not")
@click.argument("recall")
@click.argument("memory_id", metavar="ID", shell_complete=completed_by("memory_ids"))
@_FULL
@options_without_embedder
def why_not(recall: str, memory_id: str, full: bool, store: str, as_json: bool) -> None:
    """The same as `why`: where a memory was lost, what it had and what it needed.

    \b
    Example:
      recollect why-not r11 0192f0c1…
    """
    with open_memory(store) as memory:
        show(memory.why_not(recall, memory_id), as_json, f"explanation.{'whole' if full else 'explanation'}")
