"""The commands that question what was recorded: impact, stale, proposals."""

from __future__ import annotations

import click

from recollect.interfaces.cli.app import main, open_memory, options_without_embedder, row_options, show
from recollect.interfaces.cli.commands import completed_by
from recollect.interfaces.cli.progress import progress_bar


@main.command()
@click.argument("memory_id", metavar="ID", shell_complete=completed_by("memory_ids"))
@row_options
@options_without_embedder
def impact(memory_id: str, store: str, as_json: bool) -> None:
    """Which recorded answers held a memory, and what each would have been without it.

    Every such recall is ranked again at its own moment, in the store as it was and in one without the memory.

    \b
    Example:
      recollect impact 0192f0c1…
    """
    with open_memory(store) as memory, progress_bar("without it") as progress:
        found = memory.impact(memory_id, progress=progress)
    show(found, as_json, "impact.impact")


@main.command()
@row_options
@options_without_embedder
def stale(store: str, as_json: bool) -> None:
    """Answers given from a memory that had been superseded, contradicted or was no longer valid; who was told.

    Answers that were found to be stale only later are included and marked.

    \b
    Example:
      recollect stale
    """
    with open_memory(store) as memory, progress_bar("looking") as progress:
        found = memory.stale(progress=progress)
    show(found, as_json, "impact.stale")


@main.command()
@click.option("--accept", multiple=True, metavar="ID", help="Accept this proposal; may be repeated.")
@click.option(
    "--supersede",
    is_flag=True,
    help="What is accepted supersedes the older memory, also if it contradicts it.",
)
@options_without_embedder
def proposals(accept: tuple[str, ...], supersede: bool, store: str, as_json: bool) -> None:
    """Duplicates and contradictions that dreams found, to be accepted; until then they change nothing.

    \b
    Example:
      recollect proposals
      recollect proposals --accept p120-1
    """
    with open_memory(store) as memory:
        show(memory.proposals(accept=accept, supersede=supersede), as_json, "impact.proposals")
