"""What was recorded, for people: recalls as a table, one thing in full."""

from __future__ import annotations

import click
from rich.text import Text

from recollect.engine.event_summaries import spelled_filters
from recollect.engine.recalls import Recalls, RecordedRecall
from recollect.engine.safe_text import block, drawing
from recollect.engine.show_recall import ShownRecall
from recollect.interfaces.cli.render.common import console, print_pairs, table_of

_SECONDS = 19


@drawing
def recalls(result: Recalls) -> None:
    out = console()
    if not len(result):
        out.print("no recalls match" if result.total else "no recalls yet")
        return
    table = table_of("recall", "when", ">hits", "~question")
    for row in result:
        table.add_row(row.id, row.at[:_SECONDS].replace("T", " "), str(row.hits), _question(row))
    out.print(table)
    if result.before is not None:
        out.print(f"[dim]{len(result)} of {result.total:,}; older ones: --before r{result.before}[/]")


def _question(row: RecordedRecall) -> Text:
    """The question, and below it how it was asked, as far as that is not as always."""
    asked = {
        "session": row.session,
        "actor": row.actor,
        **spelled_filters(row.filters),
        "formula": row.formula,
    }
    said = "  ".join(f"{name} {value}" for name, value in asked.items() if value)
    return Text.assemble(row.query, (f"\n{said}", "dim"))


@drawing
def shown(result: ShownRecall) -> None:
    click.echo(block(result.query))
    asked = {
        "recall": result.id,
        "asked": f"{result.at}{f' by {result.actor}' if result.actor else ''}",
        "session": result.session,
        "filters": _spelled(spelled_filters(result.filters)),
        "context": _spelled(spelled_filters(result.context)),
        "formula": result.formula,
        "basis": f"@{result.basis}, clock {result.now}, k {result.k}",
        "embedder": result.embedder,
        "replayed": result.replayed.sentence,
    }
    print_pairs(
        {name: value for name, value in asked.items() if value},
        {"degraded": result.degraded} if result.degraded else {},
    )
    _hits(result)
    for one in result.afterwards:
        click.echo(f"@{one.seq}  {one.at}  {one.what}: {', '.join(one.ids)}")


def _spelled(given: dict[str, str]) -> str:
    return "; ".join(f"{name} {value}" for name, value in given.items())


def _hits(result: ShownRecall) -> None:
    out = console()
    if not result.hits:
        out.print("no hits")
        return
    table = table_of(">#", ">score", "~memory")
    for hit in result.hits:
        facts = (hit.id, hit.kind, hit.at[:_SECONDS].replace("T", " "), hit.project, hit.source)
        about = "  ".join(fact for fact in facts if fact)
        table.add_row(str(hit.rank), f"{hit.score:.12g}", Text.assemble(hit.content, (f"\n{about}", "dim")))
    out.print(table)
