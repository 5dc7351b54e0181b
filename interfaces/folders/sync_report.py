"""What a step did, in words and in counts."""

from __future__ import annotations

from collections import Counter

from recollect.events.facts import Forgotten, Ingested, Restored, Revised
from recollect.interfaces.common.counting import counted
from recollect.interfaces.common.file_uris import shown
from recollect.interfaces.folders.folder_sync import FolderSync, Step
from recollect.interfaces.folders.reconcile import FileChange
from recollect.interfaces.folders.report import Happened, Trouble, WatchReport, What

_COUNTED: dict[type, What] = {
    Ingested: "ingested", Revised: "revised", Forgotten: "forgotten", Restored: "restored",
}  # fmt: skip


def happenings(sync: FolderSync, step: Step) -> list[Happened]:
    """One line per file, and one for its links."""
    folder = sync.folder.shown
    told = [_happened(folder, change) for change in step.changes]
    if step.linked or step.unlinked:
        detail = f"{counted(step.linked, 'link')} added, {step.unlinked} removed"
        told.append(Happened(what="linked", folder=folder, detail=detail))
    return told


def _happened(folder: str, change: FileChange) -> Happened:
    counts = Counter(_COUNTED[type(fact)] for fact in change.facts)
    main: What = "moved" if change.was is not None else "revised"
    if change.was is None:
        main = next((what for what in ("ingested", "forgotten", "restored") if set(counts) == {what}), main)
    return Happened(
        what=main,
        folder=folder,
        path=shown(change.path),
        was="" if change.was is None else shown(change.was),
        detail=_detail(counts, main),
    )


def _detail(counts: Counter[What], main: What) -> str:
    if set(counts) == {main}:
        return counted(counts[main], "memory")
    return ", ".join(f"{count} {what}" for what, count in counts.items())


def add(report: WatchReport, step: Step) -> None:
    """Count what a step did."""
    counts = Counter(_COUNTED[type(fact)] for change in step.changes for fact in change.facts)
    report.ingested += counts["ingested"]
    report.revised += counts["revised"]
    report.forgotten += counts["forgotten"]
    report.restored += counts["restored"]
    report.moved += sum(change.was is not None for change in step.changes)
    report.linked += step.linked
    report.unlinked += step.unlinked


def describe(report: WatchReport, sync: FolderSync, step: Step, touched: set[str]) -> None:
    """Describe the whole folder after a full scan; `touched` are the memories that were written."""
    visible = [known for known in sync.manifest if known.standing == "visible"]
    report.files += len(step.seen.files)
    report.chunks += len(visible)
    report.unchanged += sum(known.id not in touched for known in visible)
    for reason in step.seen.refused.values():
        report.skipped[reason] = report.skipped.get(reason, 0) + 1
    prefix = f"{sync.folder.shown}/" if len(report.folders) > 1 else ""
    report.quarantined += tuple(
        Trouble(path=f"{prefix}{shown(path)}", reason=reason)
        for path, reason in sorted(step.quarantined.items())
    )
    report.waiting += len(sync.waiting)
    report.degraded += tuple(
        f"{prefix}{shown(path) or sync.folder.shown} cannot be read ({why}); what is known of it is kept"
        for path, why in sorted(step.seen.unreadable.items())
    )
