"""What went in and out, for people."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from recollect.engine.replicate import Replication
from recollect.engine.safe_text import drawing
from recollect.engine.sync import SyncReport
from recollect.engine.transfer import Transfer
from recollect.interfaces.cli.render.common import console, escaped
from recollect.interfaces.common.counting import counted
from recollect.interfaces.files.format_detection import LOG
from recollect.interfaces.files.markdown_export import MarkdownExport
from recollect.interfaces.files.report import ImportReport

_WHAT = {"jsonl": "the log", "parquet": "the tables"}
_COUNTS = ("remembered", "revised", "forgotten", "linked", "unchanged")


@drawing
def exported(result: Transfer | MarkdownExport) -> None:
    out = console()
    if isinstance(result, Transfer):
        what = _WHAT[result.format] + (f" with {result.shards:,} shards" if result.shards else "")
    else:
        what = f"{result.memories:,} memories" + ("" if result.at == result.head else f" as of @{result.at}")
    out.print(f"[green]exported[/] {what} to {escaped(str(result.path))}  [dim]{_extent(result)}[/]")
    if isinstance(result, MarkdownExport):
        out.print(f"written {result.written:,}  unchanged {result.unchanged:,}  removed {result.removed:,}")
        for name in result.kept:
            note = f"kept {name}: it was edited since, or is not ours; --overwrite replaces it"
            out.print(Text(note, "yellow"))
    _degraded(result.degraded)


@drawing
def replicated(result: Replication) -> None:
    out = console()
    out.print(
        f"[green]replicated[/] {result.events:,} new events to {escaped(result.target)}  "
        f"[dim]both end at @{result.head:,}, chain {result.chain[:16]}…[/]"
    )
    _degraded(result.degraded)


@drawing
def synced(result: SyncReport) -> None:
    out = console()
    out.print(
        f"[green]level[/]  {result.pulled:,} events came, {result.pushed:,} went to {escaped(result.remote)}  "
        f"[dim]both end at @{result.head:,}, chain {result.chain[:16]}…[/]"
    )
    if result.branch is not None:
        out.print(
            f"  both had gone on since @{result.forked_at}; what was here is kept in {escaped(result.branch)}"
        )
    for one in result.not_taken:
        where = ", ".join(f"@{seq}" for seq in one.seqs[:5]) + (" …" if len(one.seqs) > 5 else "")
        out.print(Text(f"  not taken: {where} {one.what}: {one.reason}", "yellow"))
    if result.recalls:
        out.print(
            f"  {result.recalls:,} recalls were asked offline; {len(result.changed):,} would be answered otherwise now"
        )
    if result.changed:
        out.print("  [dim]`recollect compare recorded FORMULA` shows how[/]")
    _degraded(result.degraded)


def _degraded(notes: Sequence[str]) -> None:
    for note in notes:
        console().print(Text(note, "yellow"))


@drawing
def imported(result: ImportReport) -> None:
    out = console()
    verb = "would import" if result.dry_run else "imported"
    if result.format == LOG:
        out.print(
            f"[green]{verb}[/] {result.events} new events of {escaped(str(result.path))}  [dim]{_extent(result)}[/]"
        )
        _degraded(result.notes)
        return
    for note in result.notes:
        out.print(Text(note, "dim"))
    out.print(
        f"[green]{verb}[/] {escaped(str(result.path))} ({escaped(result.format)}): {result.read:,} read  [dim]{_extent(result)}[/]"
    )
    for part in result.parts:
        what = part.path if part.path != "." else counted(part.files, "file")
        out.print(Text(f"  {what} ({part.format}): {part.read:,} read"))
    counts = {name: getattr(result, name) for name in _COUNTS}
    out.print("  ".join(f"{name} {count:,}" for name, count in counts.items() if count) or "nothing to write")
    if result.skipped:
        skipped = ", ".join(f"{count:,} × {reason}" for reason, count in result.skipped.items())
        out.print(Text(f"skipped {skipped}"))
    for problem in result.problems:
        out.print(Text(f"{problem.where}: {problem.reason}", "yellow"))
    if result.problems_left_out:
        out.print(Text(f"… and {result.problems_left_out:,} more", "yellow"))


def _extent(result: Transfer | MarkdownExport | ImportReport) -> str:
    return escaped(f"head @{result.head}, chain {result.chain[:16]}…")
