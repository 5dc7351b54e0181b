"""Time travel for people: changes, bisections, ranks over time, the log as lines, tables of SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from recollect.engine.answers import Happening, Memo
from recollect.engine.event_summaries import shorten
from recollect.engine.moments import iso
from recollect.engine.safe_text import drawing
from recollect.interfaces.cli.render.common import console, draws, echo_wrapped, escaped, excerpt, table_of
from recollect.interfaces.cli.render.grid import Grid
from recollect.interfaces.common.counting import counted
from recollect.replay.changes.bisect import Bisection
from recollect.replay.changes.inquiry import Standing
from recollect.replay.changes.ranks import RankHistory
from recollect.replay.changes.why_changed import Change, Part

if TYPE_CHECKING:
    from recollect.projections.sql.face import SqlTable

_BARS = "▁▂▃▄▅▆▇█"
_EVENTS_SHOWN = 6


@drawing
def memos(results: list[Memo]) -> None:
    table = table_of("id", "kind", "made", "project", "~memory")
    for result in results:
        state, made = result.state, iso(result.state.created_at)[:10]
        table.add_row(result.id, state.kind, made, state.project or "-", excerpt(result.content))
    console().print(table if results else "no memories")


def line(happening: Happening) -> str:
    actor = f" [{happening.actor}]" if happening.actor else ""
    return f"@{happening.seq}  {happening.at}  {happening.type:<18}  {happening.summary}{actor}"


@drawing
def sql(result: SqlTable) -> None:
    columns = list(zip(result.columns, result.types, strict=True))
    table = table_of(*(f"{'>' if _numeric(kind) else '~'}{name}" for name, kind in columns))
    for row in result.rows:
        table.add_row(*("∅" if cell is None else shorten(str(cell), None) for cell in row))
    console().print(table)
    console().print(f"[dim]{counted(len(result.rows), 'row')}[/]")


def _numeric(kind: str) -> bool:
    return any(word in kind.upper() for word in ("INT", "DOUBLE", "FLOAT", "DECIMAL", "NUMBER"))


@drawing
def change(result: Change) -> None:
    out = console()
    out.print(Text(result.sentence))
    table = table_of("cause", ">score", ">rank", "~what", "~events")
    for part in result.parts:
        table.add_row(part.cause, f"{part.score:+.6g}", f"{part.rank:+.3g}", part.says, _events(part))
    table.add_row("together", f"{result.score_change:+.6g}", f"{result.rank_change:+d}", style="bold")
    out.print(table)
    _beside(result)


def _beside(result: Change | Bisection | RankHistory) -> None:
    """What was erased since, and what was ranked by words only."""
    notes = [("redacted", result.redacted)] if result.redacted else []
    for name, says in (*notes, *(("degraded", reason) for reason in result.degraded)):
        console().print(Text.assemble((name, "yellow"), f"  {says}"))


def _events(part: Part) -> str:
    seqs = part.events[-_EVENTS_SHOWN:] if draws() else part.events
    shown = " ".join(f"@{seq}" for seq in seqs)
    return f"… {shown}" if part.event_count > len(seqs) else shown


@drawing
def bisection(result: Bisection) -> None:
    out = console()
    out.print(Text(result.sentence))
    _beside(result)
    if result.before is None or result.after is None:
        return
    out.print(Text(f"@{result.seq}  {result.event}", style="bold"))
    for title, standing in (("just before", result.before), ("just after", result.after)):
        out.print(f"[dim]{title}, @{standing.seq}, {escaped(standing.formula)}[/]")
        out.print(_ranking(standing, result.id))
    if len(result.crossings) > 1:
        table = table_of("crossing", "", ">before", ">after")
        for crossing in result.crossings:
            way = "entered" if crossing.entered else "left"
            table.add_row(f"@{crossing.seq}", way, _rank(crossing.rank_before), _rank(crossing.rank_after))
        out.print(table)


def _ranking(standing: Standing, memory_id: str) -> Grid:
    table = table_of(">#", ">score", "id")
    for place in standing.top:
        style = "bold" if place.id == memory_id else ""
        table.add_row(str(place.rank), f"{place.score:.12g}", place.id, style=style)
    return table


def _rank(rank: int | None) -> str:
    return "-" if rank is None else str(rank)


@drawing
def ranks(result: RankHistory) -> None:
    """The best rank is the highest bar; · where the memory was not ranked."""
    out = console()
    points = result.points
    out.print(f"[dim]@{points[0].seq}[/] {sparkline([p.rank for p in points])} [dim]@{points[-1].seq}[/]")
    table = table_of(">seq", "when", ">rank", ">score")
    for before, point in zip((None, *points), points, strict=False):
        if before is None or before.rank != point.rank or point is points[-1]:
            score = "-" if point.score is None else f"{point.score:.6g}"
            table.add_row(f"@{point.seq}", iso(point.at), _rank(point.rank), score)
    out.print(table)
    _beside(result)


def sparkline(values: list[int | None]) -> str:
    """One bar per rank: 1 is the highest, the worst seen the lowest."""
    known = [value for value in values if value is not None]
    worst = max(known, default=1)
    span = max(worst - 1, 1)
    return "".join(
        "·" if value is None else _BARS[round((worst - value) / span * 7) if worst > 1 else 7]
        for value in values
    )


@drawing
def echo_line(happening: Happening) -> None:
    echo_wrapped(line(happening))
