"""The commands that judge and relate memories: rate, link, unlink, supersede."""

from __future__ import annotations

import click

from recollect.interfaces.cli.app import main, open_memory, options_without_embedder, show
from recollect.interfaces.cli.commands import completed_by


@main.command()
@click.argument("memory_id", metavar="ID", shell_complete=completed_by("memory_ids"))
@click.argument("verdict", type=click.Choice(["helpful", "unhelpful", "outdated"]))
@click.option("--recall", "recall_id", help="The recall that it was part of.")
@click.option("--session", help="The conversation that judges.")
@options_without_embedder
def rate(
    memory_id: str, verdict: str, recall_id: str | None, session: str | None, store: str,
    as_json: bool,
) -> None:  # fmt: skip
    """Judge a memory.

    \b
    Example:
      recollect rate 01m7hchceagz6kyj4amp helpful --recall r12
    """
    with open_memory(store) as memory:
        seq = memory.rate(memory_id, verdict, recall=recall_id, session=session)
        show({"seq": seq}, as_json, "written")


@main.command()
@click.argument("a", metavar="A", shell_complete=completed_by("memory_ids"))
@click.argument("b", metavar="B", shell_complete=completed_by("memory_ids"))
@click.option("--kind", required=True, help="supports, extends, derived_from, …")
@click.option("--weight", type=float, default=1.0, show_default=True, help="How strong the edge is.")
@options_without_embedder
def link(a: str, b: str, kind: str, weight: float, store: str, as_json: bool) -> None:
    """Link memory A to memory B.

    \b
    Example:
      recollect link redis cookie --kind supports
    """
    with open_memory(store) as memory:
        show({"seq": memory.link(a, b, kind, weight)}, as_json, "written")


@main.command()
@click.argument("a", metavar="A", shell_complete=completed_by("memory_ids"))
@click.argument("b", metavar="B", shell_complete=completed_by("memory_ids"))
@click.option("--kind", help="Only the edge of this kind.")
@options_without_embedder
def unlink(a: str, b: str, kind: str | None, store: str, as_json: bool) -> None:
    """Take the edges from A to B away.

    \b
    Example:
      recollect unlink redis cookie --kind supports
    """
    with open_memory(store) as memory:
        show({"seq": memory.unlink(a, b, kind)}, as_json, "written")


@main.command()
@click.argument("old", metavar="OLD", shell_complete=completed_by("memory_ids"))
@click.argument("new", metavar="NEW", shell_complete=completed_by("memory_ids"))
@click.option("--reason", default="", help="Why.")
@options_without_embedder
def supersede(old: str, new: str, reason: str, store: str, as_json: bool) -> None:
    """Let memory NEW take the place of memory OLD.

    \b
    Example:
      recollect supersede redis postgres --reason "we moved"
    """
    with open_memory(store) as memory:
        show({"seq": memory.supersede(old, new, reason)}, as_json, "written")
