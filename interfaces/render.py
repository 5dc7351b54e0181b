"""Results for people: plain tables that read the same piped and on a terminal, with colour where there is one."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import msgspec
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from recollect.answers import Answer, Happening, Memo, Status
from recollect.replay.verify import VerifyReport
from recollect.store import Progress as Report
from recollect.summary import shorten
from recollect.when import iso

_BAR_AFTER_S = 0.5
_DIFFERENCES_SHOWN = 10
_PIPED_WIDTH = 200


def console() -> Console:
    """Colour and the terminal's width on a terminal; plain and wide enough for any line when piped."""
    out = Console(highlight=False, soft_wrap=True)
    if not out.is_terminal:
        out.width = _PIPED_WIDTH
    return out


def to_json(value: object) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


@contextmanager
def progress(label: str) -> Iterator[Report]:
    """A bar on stderr that appears once the work has taken a moment."""
    begun = time.monotonic()
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    task = bar.add_task(label, total=None, rate="")

    def report(done: int, total: int) -> None:
        elapsed = time.monotonic() - begun
        if elapsed > _BAR_AFTER_S:
            if not bar.live.is_started:
                bar.start()
            bar.update(task, completed=done, total=total, rate=f"{done / elapsed:,.0f}/s")

    try:
        yield report
    finally:
        if bar.live.is_started:
            bar.stop()


def remembered(result: Mapping[str, object]) -> None:
    console().print(f"[green]remembered[/] {result['id']}  [dim]head @{result['head']}[/]")


def revised(result: Mapping[str, object]) -> None:
    console().print(f"[green]revised[/] {result['id']}  [dim]revision {result['revision_count']}[/]")


def written(result: Mapping[str, object]) -> None:
    console().print(f"[green]written[/] @{result['seq']}")


def answer(result: Answer) -> None:
    out = console()
    head = f"{result.id}  " if result.id else ""
    out.print(f"[bold]{head}[/][dim]basis @{result.basis}  formula {result.formula}  now {result.now}[/]")
    for note in result.degraded:
        out.print(f"[yellow]degraded[/] {note}")
    if not result.hits:
        out.print("nothing matches")
        return
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name, justify in (("#", "right"), ("score", "right"), ("memory", "left"), ("id", "left")):
        table.add_column(name, justify="right" if justify == "right" else "left", no_wrap=True)
    for hit in result.hits:
        table.add_row(
            str(hit.rank), f"{hit.score:.12g}", Text(shorten(hit.content)), Text(hit.id, style="dim")
        )
    out.print(table)


def memo(result: Memo) -> None:
    out = console()
    out.print(Text(result.content))
    pairs: dict[str, object] = {
        "id": result.id,
        "as of": f"@{result.at}",
        "visible": "yes" if result.visible else f"no: {result.hidden_because}",
        **msgspec.to_builtins(result.state),
    }
    _pairs({name: _readable(name, value) for name, value in pairs.items() if value not in (None, [], "")})


def _readable(name: str, value: object) -> str:
    if isinstance(value, int) and name.endswith(("_at", "_from", "_to")):
        return iso(value)
    return (
        ", ".join(map(str, value))
        if isinstance(value, Sequence) and not isinstance(value, str)
        else str(value)
    )


def happenings(results: Sequence[Happening]) -> None:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("seq", "recorded", "event", "what"):
        table.add_column(name, overflow="fold")
    for result in results:
        table.add_row(f"@{result.seq}", result.at, result.type, Text(result.summary))
    console().print(table)


def verification(report: VerifyReport) -> None:
    out = console()
    how = "against rank-bm25 and a brute-force scan" if report.independent else "bit for bit"
    if report.exact:
        out.print(
            f"[green]exact[/]  {report.checked} recalls replayed {how}, no differences; the log's chain holds"
        )
        return
    out.print(f"[red]not exact[/]  {len(report.differences)} of {report.checked} recalls differ ({how})")
    for finding in report.damage[:_DIFFERENCES_SHOWN]:
        out.print(
            f"  the log is damaged at @{finding.seq}: {finding.problem} ({finding.path}, byte {finding.offset})"
        )
    for difference in report.differences[:_DIFFERENCES_SHOWN]:
        out.print(
            f"  {difference.recall} rank {difference.rank}: recorded {difference.recorded}, "
            f"replayed {difference.replayed}; {difference.reason}"
        )


def status(result: Status) -> None:
    counts = ", ".join(f"{count} {name}" for name, count in result.by_status.items()) or "none"
    _pairs(
        {
            "store": result.store,
            "head": f"@{result.head} (durable @{result.durable})",
            "memories": f"{result.visible} visible of {result.memories} ({counts})",
            "recalls": str(result.recalls),
            "log": f"{result.log_bytes:,} bytes in {result.segments} segments",
            "formula": result.formula,
            "embedder": f"{result.embedder.name or 'none'} ({result.embedder.state})",
            "vectors": f"{result.shards} shards, {result.rows_unsealed} rows scanned exactly",
            "last dream": (f"@{result.last_dream}" if result.last_dream else "never")
            + f", {result.new_since_dream} new memories since the last dream",
            "checkpoint": f"{result.checkpoint_age_events} events old",
            "degraded": "; ".join(result.degraded) or "nothing",
        }
    )


def _pairs(pairs: Mapping[str, str]) -> None:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="dim")
    table.add_column(overflow="fold")
    for name, value in pairs.items():
        table.add_row(name, Text(value))
    console().print(table)
