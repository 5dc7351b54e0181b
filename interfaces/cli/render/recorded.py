"""Recorded recalls for people."""

from __future__ import annotations

from rich.text import Text

from recollect.engine.event_summaries import spelled_filters
from recollect.engine.recalls import Recalls, RecordedRecall
from recollect.engine.safe_text import drawing
from recollect.interfaces.cli.render.common import console, table_of

_SECONDS = 19


def when(at: str) -> str:
    """A time to the second."""
    return at[:_SECONDS].replace("T", " ")


@drawing
def recalls(result: Recalls) -> None:
    out = console()
    if not len(result):
        out.print("no recalls match" if result.total else "no recalls yet")
        return
    table = table_of("recall", "when", ">hits", "~question")
    for row in result:
        table.add_row(row.id, when(row.at), str(row.hits), _question(row))
    out.print(table)
    if result.before is not None:
        out.print(f"[dim]{len(result)} of {result.total:,}; older ones: --before r{result.before}[/]")


def _question(row: RecordedRecall) -> Text:
    """The question, and below it the options that it was asked with."""
    asked = {
        "session": row.session,
        "actor": row.actor,
        **spelled_filters(row.filters),
        "formula": row.formula,
    }
    said = "  ".join(f"{name} {value}" for name, value in asked.items() if value)
    return Text.assemble(row.query, (f"\n{said}", "dim"))
