"""Erasures and examinations for people."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from recollect.engine.copies import Copy
from recollect.engine.doctor import Diagnosis
from recollect.engine.doctor_caches import Problem
from recollect.engine.erase import ErasureReport
from recollect.engine.receipt import ErasureReceipt
from recollect.engine.retain import Retention
from recollect.engine.safe_text import drawing, inline
from recollect.engine.salvage import Salvage
from recollect.interfaces.cli.render.common import console, escaped, first_of
from recollect.interfaces.common.counting import counted

_SHOWN = 10


@drawing
def erasure(report: ErasureReport) -> None:
    out = console()
    if not report.ids:
        out.print("nothing matches")
        return
    what = "[yellow]would erase[/]" if report.dry_run else f"[red]erased[/] @{report.at}"
    out.print(f"{what}  {_some(report.ids)}")
    if report.derived:
        out.print(f"  derived from them: {_some(report.derived)}")
    seqs = first_of(report.seqs, _SHOWN)
    where = ", ".join(f"@{seq}" for seq in seqs) + (" …" if len(report.seqs) > len(seqs) else "")
    verb = "holding" if report.dry_run else "overwritten:"
    out.print(f"  {counted(len(report.seqs), 'event')} {verb} {report.bytes:,} bytes ({where})")
    if report.purged:
        out.print(f"  {counted(len(report.purged), 'cached file')} deleted")
    if report.recalls:
        out.print(
            f"  named in {counted(len(report.recalls), 'recall')}, which keep the id: {_some(report.recalls)}"
        )
    _attested(out, report)
    _copies(out, report)
    if report.receipt is not None:
        _receipt(out, report.receipt)


def _receipt(out: Console, receipt: ErasureReceipt) -> None:
    """The note itself; of a long list of events the beginning."""
    out.print(f"receipt, {'signed' if receipt.signed_by else 'not signed'}:")
    kept = len(first_of(receipt.erased, _SHOWN))
    left_out = set(range(4 + kept, 4 + len(receipt.erased)))  # after origin, size, root and what was before
    for place, line in enumerate(receipt.text.rstrip().splitlines()):
        if place not in left_out:
            out.print(Text(f"    {inline(line)}", "dim"), soft_wrap=True)
        elif place == min(left_out):
            out.print(
                Text(f"    … {len(left_out)} more events; --receipt FILE and --json have them all", "yellow")
            )


def _copies(out: Console, report: ErasureReport | Retention) -> None:
    for followed, until in (
        (False, "must be erased in or deleted"),
        (True, "keep it until the next `recollect replicate` or `sync` carries the erasure there"),
    ):
        copies = [copy for copy in report.copies if copy.is_followed == followed]
        if copies:
            verb = f"may hold it and {until}"
            out.print(Text(f"  {counted(len(copies), 'copy')} {verb}:", "yellow"))
        for copy in copies:
            out.print(Text(f"    {copy.path} ({copy.kind} of {copy.at[:19]}Z, {_how_far(copy)})"))
    if report.unknown_copies:
        out.print(Text(f"  {report.unknown_copies}", "yellow"))


def _how_far(copy: Copy) -> str:
    if copy.diverged or copy.kind == "branch":  # branches were noted as not finished once
        return "of the log that this one took the place of"
    return f"up to @{copy.upto}" if copy.finished else "not finished"


@drawing
def retention(report: Retention) -> None:
    out = console()
    what = (
        "[yellow]would erase[/]"
        if report.dry_run
        else "[red]erased[/]" + (f" @{report.at}" if report.at else "")
    )
    out.print(
        f"{what}  {counted(report.recalls, 'recall')} from before {report.before}: {report.bytes:,} bytes"
    )
    if report.attested:
        out.print(f"  {counted(report.attested, 'recall')} verified and attested before")
    _not_attested(out, report)
    _copies(out, report)


def _attested(out: Console, report: ErasureReport) -> None:
    if report.attested:
        verb = "would be verified and attested first" if report.dry_run else "verified and attested"
        what = f"  {counted(report.attested, 'recall')} that can no longer be verified afterwards: {verb}"
        out.print(
            what + (f", {counted(len(report.different), 'recall')} different" if report.different else "")
        )
    _not_attested(out, report)


def _not_attested(out: Console, report: ErasureReport | Retention) -> None:
    if report.different:
        out.print(Text(f"  not as recorded: {', '.join(first_of(report.different, _SHOWN))}", "red"))
    if report.unattested:
        out.print(
            Text(
                f"  {counted(report.unattested, 'recall')} can no longer be verified, not attested", "yellow"
            )
        )


@drawing
def diagnosis(result: Diagnosis) -> None:
    out = console()
    for problem in result.fixed:
        out.print(Text.assemble(("fixed  ", "green"), f"{problem.what} ({problem.where})"))
    for problem in result.problems:
        _problem(problem)
    for note in result.notes:
        out.print(Text.assemble(("note  ", "dim"), note))
    if result.salvaged:
        saved = result.salvaged
        out.print(f"salvaged  events up to @{saved.head} are in {escaped(str(saved.path))}; {_lost(saved)}")
        for note in saved.degraded:
            out.print(Text(note, "yellow"))
    if result.scrubbed:
        read = result.scrubbed
        out.print(
            f"scrubbed  {read.segments} sealed segments, {read.events:,} events, {read.bytes:,} bytes read from the disk"
        )
    if result.healthy:
        out.print(f"[green]healthy[/]  {escaped(result.store)}, head @{result.head}")
    else:
        out.print(
            f"[red]{counted(len(result.problems), 'problem')}[/]  {escaped(result.store)}, head @{result.head}"
        )


def _lost(saved: Salvage) -> str:
    if saved.at_least and not saved.lost:
        return "whether later ones are lost cannot be seen"
    return f"{'at least ' if saved.at_least else ''}{saved.lost} are lost"


def _problem(problem: Problem) -> None:
    out = console()
    out.print(Text.assemble((f"{problem.severity}  ", "red"), problem.what))
    out.print(Text(f"  {problem.where}"))
    out.print(Text(f"  {problem.remedy}", style="dim"))


def _some(names: Sequence[str]) -> str:
    shown = first_of(names, _SHOWN)
    more = len(names) - len(shown)
    return escaped(", ".join(shown)) + (f" and {more} more" if more else "")
