"""doctor: a store examined end to end, what is wrong in it, and how to put each thing right.

Looking changes nothing: the log is opened for reading, and nothing is recovered, finished or rebuilt. `fix` does
what is safe: it deletes caches that are wrong, finishes an erasure and removes what interrupted work left behind.
Damage to acknowledged data is never cut or changed; `salvage` copies what can be read before the first damaged
event into a new store, event for event with the same chain.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from recollect.doctor_caches import Caches, Problem
from recollect.events import scrub as scrubbing
from recollect.events.disk import RealDisk
from recollect.events.erasure import INTENT
from recollect.events.errors import InvalidInput, LogDamaged
from recollect.events.head import HEAD, HeadFile
from recollect.events.log import Finding
from recollect.events.recovery import QUARANTINE
from recollect.events.redacted_log import RedactedLog
from recollect.events.segment_log import SegmentLog
from recollect.events.transfer import export_lines, import_lines
from recollect.projections import checkpoints
from recollect.store import Progress, Store

_UNFINISHED_S = 600


class Salvage(msgspec.Struct, frozen=True, kw_only=True):
    """A new store with the events up to `head`; `lost` events of the old one are not in it."""

    path: str
    head: int
    lost: int


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """What an examination found. `notes` are worth knowing and no problem; `fixed` was wrong and is not any more."""

    store: str
    head: int
    healthy: bool
    problems: tuple[Problem, ...]
    notes: tuple[str, ...] = ()
    fixed: tuple[Problem, ...] = ()
    salvaged: Salvage | None = None
    scrubbed: scrubbing.Scrubbed | None = None


def doctor(
    path: str | Path,
    *,
    fix: bool = False,
    salvage: str | Path | None = None,
    scrub: bool = False,
    progress: Progress | None = None,
) -> Diagnosis:
    """Examine the store in a directory; with `fix` repair what is safe, with `salvage` copy what can be read.

    With `scrub` sealed segments are read from the medium as well, without their indexes (`events/scrub`).
    """
    folder = Path(path).expanduser()
    if not (folder / "log").is_dir():
        raise InvalidInput(f"there is no store at {folder}; a store is a directory with a log in it")
    found = examine(folder, progress)
    before = {problem.where: problem for problem in found.problems}
    if fix and before:
        _fix(folder, found.problems)
        found = examine(folder, progress)
        left = {problem.where for problem in found.problems}
        fixed = tuple(problem for where, problem in before.items() if where not in left)
        found = msgspec.structs.replace(found, fixed=fixed)
    if scrub:
        found = _with_scrub(found, folder, progress)
    if salvage is not None:
        found = msgspec.structs.replace(found, salvaged=_salvage(folder, Path(salvage).expanduser()))
    return found


def examine(folder: Path, progress: Progress | None = None) -> Diagnosis:
    """Look at everything and change nothing."""
    with SegmentLog.open(folder / "log", read_only=True) as base:
        log = RedactedLog(base)
        log.learn()
        damage = _damage(base)
        problems = [_damaged(finding) for finding in damage]
        problems += _unfinished_erasures(folder, log)
        if not damage:
            problems += Caches(folder / "cache", log, progress).problems()
        problems += _leftovers(folder)
        return Diagnosis(
            store=str(folder),
            head=log.head,
            healthy=not problems,
            problems=tuple(problems),
            notes=tuple(_notes(folder, base, damaged=bool(damage))),
        )


# --- the log -----------------------------------------------------------------------------------------


def _damage(log: SegmentLog) -> list[Finding]:
    return sorted(log.verify_chain(), key=lambda finding: finding.seq)


def _with_scrub(found: Diagnosis, folder: Path, progress: Progress | None) -> Diagnosis:
    """The same diagnosis with what scrubbing finds beyond it."""
    paths, scrubbed = scrubbing.sealed_segments(folder / "log"), scrubbing.Scrubbed()
    for done, path in enumerate(paths, 1):
        scrubbed += scrubbing.scrub(path)
        if progress:
            progress(done, len(paths))
    known = {problem.where for problem in found.problems}
    fresh = [one for one in map(_damaged, scrubbed.findings) if one.where not in known]
    problems = (*found.problems, *fresh)
    return msgspec.structs.replace(found, problems=problems, healthy=not problems, scrubbed=scrubbed)


def _damaged(finding: Finding) -> Problem:
    return Problem(
        severity="damage",
        where=f"{finding.path}, byte {finding.offset}, @{finding.seq}",
        what=f"acknowledged data is damaged: {finding.problem}",
        remedy="restore the file from a copy, or copy what can be read: `recollect doctor --salvage NEW_DIR`",
    )


def _unfinished_erasures(folder: Path, log: RedactedLog) -> Iterator[Problem]:
    remedy = "`recollect doctor --fix`, or any command that opens the store, finishes it"
    if (folder / "log" / INTENT).exists():
        yield Problem(
            severity="erasure",
            where=str(folder / "log" / INTENT),
            what="an erasure was interrupted while payloads were overwritten",
            remedy=remedy,
        )
    for erasure in log.erasures:
        try:
            left = [seq for seq in log.remains_of(erasure) if not log.overwritten(seq)]
        except LogDamaged:
            return
        if left:
            yield Problem(
                severity="erasure",
                where=f"@{erasure}",
                what=f"{len(left)} payloads that it erased are still in the log",
                remedy=remedy,
            )


def _notes(folder: Path, log: SegmentLog, *, damaged: bool) -> Iterator[str]:
    if damaged:
        yield "the caches were not examined: they can only be compared with a log that is whole"
    flaw = HeadFile(RealDisk(), folder / "log" / HEAD).flaw() if log.head else None
    if flaw:
        yield (
            f"{folder / 'log' / HEAD}: {flaw}; it bears witness to what was acknowledged, so events missing at the end "
            f"of the log might not be noticed now. Whoever writes next writes it anew"
        )
    status = log.status()
    for name in status.recovered:
        yield (
            f"an unfinished write was set aside as {folder / 'log' / QUARANTINE / name}; it was never acknowledged: "
            f"delete it when you have no use for it"
        )
    for type_, count in status.unknown_types.items():
        yield f"{count} events of the type {type_} were written by a newer program; upgrade to use them"


# --- leftovers --------------------------------------------------------------------------------------


def _leftovers(folder: Path) -> Iterator[Problem]:
    """What interrupted work left behind; a file that is not old may still be in the making."""
    patterns = ("cache/checkpoints/*.tmp", "cache/shards/*.building", "log/*.new")
    for path in sorted(path for pattern in patterns for path in folder.glob(pattern)):
        if time.time() - path.stat().st_mtime > _UNFINISHED_S:
            yield Problem(
                severity="leftover",
                where=str(path),
                what="the work that wrote this file was interrupted",
                remedy="delete the file, or let `recollect doctor --fix` do it",
            )


# --- repair ------------------------------------------------------------------------------------------


def _fix(folder: Path, problems: tuple[Problem, ...]) -> None:
    """Only what is safe: caches and leftovers are deleted, an erasure is finished by opening the store."""
    for problem in problems:
        if problem.severity in ("cache", "leftover"):
            with suppress(OSError):  # what cannot be deleted is found again, and stays a problem
                Path(problem.where).unlink(missing_ok=True)
    damaged = any(problem.severity == "damage" for problem in problems)
    if not damaged and any(problem.severity == "erasure" for problem in problems):
        for path in checkpoints.paths(folder / "cache" / "checkpoints"):
            path.unlink(missing_ok=True)  # so that every erasure is looked at again
        Store.open(folder).close()


def _salvage(folder: Path, target: Path) -> Salvage:
    """The events before the first damaged one, up to the end of a whole batch, in a new store."""
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise InvalidInput(f"{target} exists already; name a directory for the new store that does not")
    with SegmentLog.open(folder / "log", read_only=True) as log:
        damage = _damage(log)
        upto = min(log.head, damage[0].seq - 1 if damage else log.head)
        while upto and (last := next(log.frames(upto - 1, upto)).header).position < last.batch - 1:
            upto -= 1
        redacted = RedactedLog(log)
        redacted.learn()
        erased = [seq for erasure in redacted.erasures for seq in redacted.remains_of(erasure) if seq <= upto]
        with SegmentLog.open(target / "log") as copy:
            import_lines(copy, export_lines(log, upto=upto))
            copy.erase(erased)
        lost = max([log.head, *(finding.seq for finding in damage)]) - upto
        return Salvage(path=str(target), head=upto, lost=lost)
