"""A dream's report for people."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from recollect.dream.phase import Change, Value
from recollect.dream.report import DreamReport
from recollect.engine.safe_text import drawing
from recollect.interfaces.cli.render.common import console, escaped, first_of, table_of

_CHANGES_SHOWN = 20


@drawing
def dream(report: DreamReport) -> None:
    out = console()
    out.print(f"[bold]{escaped(report.id)}[/]  {_verdict(report)}  [dim]basis @{report.basis}[/]")
    for note in report.degraded:
        out.print(f"[yellow]degraded[/] {escaped(note)}")
    for phase in report.phases:
        out.print(
            f"\n[bold]{escaped(phase.phase)}[/]  [dim]looked at {phase.looked_at}, {len(phase.changes)} changes, "
            f"{phase.facts} events[/]"
        )
        _changes(phase.changes)
    if report.left:
        out.print(f"\n[yellow]left alone[/]  [dim]{len(report.left)}[/]")
        _changes(report.left)
    if report.metrics:
        out.print(Text("\n" + "  ".join(f"{name} {value:g}" for name, value in report.metrics.items())))


def _verdict(report: DreamReport) -> str:
    if report.refused:
        return f"[red]refused[/]: {escaped(report.refused)}; nothing was written"
    if report.dry_run:
        return "[yellow]dry run[/], nothing was written"
    return (
        f"[green]{'undid ' + escaped(report.undoes) if report.undoes else 'dreamt'}[/], head @{report.head}"
    )


def _changes(changes: Sequence[Change]) -> None:
    if not changes:
        return
    table = table_of("memory", "what", "~change", "~why")
    shown = first_of(changes, _CHANGES_SHOWN)
    for change in shown:
        who = "every memory" if change.id == "*" else change.id
        values = f"{_value(change.before)} → {_value(change.after)}"
        table.add_row(who, change.what, values, Text(change.why, style="dim"))
    out = console()
    out.print(table)
    if len(changes) > len(shown):
        out.print(f"[dim]… and {len(changes) - len(shown)} more (--json shows all)[/]")


def _value(value: Value) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return "–" if value in (None, "") else str(value)
