"""doctor: a store examined end to end, what is wrong in it, and how to put each thing right.

Looking changes nothing: the log is opened for reading, and nothing is recovered, finished or rebuilt. `fix` does
what is safe: it deletes caches that are wrong, finishes an erasure, removes what interrupted work left behind, and
appends events where those heal: a shard that cannot be used is retired, a text with another text's vector is embedded
again, recorded time that ran ahead of this machine's clock is corrected.
Damage to acknowledged data is never cut or changed; `salvage` copies what can be read before the first damaged
event into a new store, event for event with the same chain.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import TypedDict, Unpack

import msgspec

from recollect.engine.branches import left_in_branches
from recollect.engine.copies import refuse_inside, unknown_copies
from recollect.engine.doctor_caches import Caches, Problem, folded
from recollect.engine.doctor_dreams import doubled_dreams
from recollect.engine.doctor_erasures import (
    finish_erasures,
    unfinished_erasures,
    unnamed_erasures,
)
from recollect.engine.doctor_files import unreadable_files
from recollect.engine.doctor_settings import bad_configuration
from recollect.engine.doctor_vectors import VectorCheck, check_vectors, mend_vectors
from recollect.engine.embedding.embedder import Embedder
from recollect.engine.erase import erase_in_branches
from recollect.engine.moments import clock_ahead_max, iso
from recollect.engine.opening import finish_swap, unfinished_swap
from recollect.engine.recall_options import refuse_unknown
from recollect.engine.salvage import Salvage, salvage_into
from recollect.engine.store import Progress, Store
from recollect.engine.witnesses import missing_head, remembered
from recollect.events import scrub as scrubbing
from recollect.events.checkpoint_note import Contradiction
from recollect.events.clock import CLOCK_CORRECTED, ClockAhead, span
from recollect.events.disk import WRITER_LOCK, RealDisk
from recollect.events.envelope import draft
from recollect.events.errors import InvalidInput, RecollectError
from recollect.events.facts import ClockCorrected
from recollect.events.head import HEAD, HeadFile
from recollect.events.log import BrokenSeal, Clock, Finding, Log
from recollect.events.named_files import named_path, resolved
from recollect.events.packs.urls import directory, is_mirror, is_url, shown
from recollect.events.private_files import exposed
from recollect.events.recovery import QUARANTINE
from recollect.events.redacted_log import RedactedLog
from recollect.events.regular_files import kind_of, remove
from recollect.events.segment_log import SegmentLog, wall_clock
from recollect.events.segments import SECOND_FILE
from recollect.projections import checkpoints
from recollect.replay.fork.note import GO_ON, read_note

_UNFINISHED_S = 600


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


class DoctorOptions(TypedDict, total=False):
    """What to do beside examining, as `Memory.doctor` says."""

    fix: bool
    salvage: str | Path | None
    scrub: bool
    progress: Progress | None


def doctor(
    path: str | Path, *, embedder: Embedder | None = None, clock: Clock = wall_clock, **options: Unpack[DoctorOptions]
) -> Diagnosis:  # fmt: skip
    """Examine the store in a directory; with `fix` repair what is safe, with `salvage` copy what can be read.

    With `scrub` sealed segments are read from the medium as well, without their indexes (`events/scrub`).
    Of a store at a URL this replica is examined, and its engine asked.
    """
    refuse_unknown(options, DoctorOptions.__annotations__)
    progress, salvage = options.get("progress"), options.get("salvage")
    if is_url(path):
        with closing(Store.open(path, clock=clock, progress=progress, as_found=True)) as store:
            if not store.log.head:
                raise InvalidInput(f"there is no store at {shown(str(path))}; nothing was ever written there")
            return doctor_of(store, embedder, options)
    folder = directory(path)
    if not (folder / "log").is_dir():
        raise InvalidInput(f"there is no store at {folder}; a store is a directory with a log in it")
    if salvage is not None:
        refuse_inside(folder, salvage)
    found = examine(folder, progress, clock, embedder)
    before = {problem.where: problem for problem in found.problems}
    if options.get("fix") and before:
        _fix(folder, found.problems, clock, embedder)
        found = examine(folder, progress, clock, embedder)
        left = {problem.where for problem in found.problems}
        fixed = tuple(problem for where, problem in before.items() if where not in left)
        found = msgspec.structs.replace(found, fixed=fixed)
    if options.get("scrub"):
        found = _with_scrub(found, folder, progress)
    if salvage is not None:
        found = msgspec.structs.replace(found, salvaged=salvage_into(folder, named_path(salvage), progress))
    return found


def doctor_of(store: Store, embedder: Embedder | None, options: DoctorOptions) -> Diagnosis:
    """Examine an open store with its clock; in a store in memory only the clock can be corrected."""
    refuse_unknown(options, DoctorOptions.__annotations__)
    if store.folder is not None and is_mirror(store.folder):
        return _examine_replica(store, embedder, options)
    if store.folder is not None:
        return doctor(store.folder, embedder=embedder, clock=store.clock, **options)
    if not (options.get("fix") and store.log.clock_ahead()):
        raise InvalidInput("a store in memory has no files to examine")
    correct_clock(store.log)
    return Diagnosis(store=":memory:", head=store.log.head, healthy=True, problems=())


def examine(
    folder: Path,
    progress: Progress | None = None,
    clock: Clock = wall_clock,
    embedder: Embedder | None = None,
) -> Diagnosis:
    """Look at everything and change nothing."""
    with _opened(folder, clock, read_only=True) as base:
        log = RedactedLog(base)
        log.learn()
        damage = _damage(base)
        problems = [_damaged(finding) for finding in damage]
        problems += map(_broken_seal, base.broken_seals())
        problems += unfinished_erasures(folder, log, damaged=bool(damage))
        notes = list(_notes(folder, base, damaged=bool(damage)))
        problems += _clock_ahead(base)
        problems += _missing_head(log, folder)
        if not damage:
            problems += unnamed_erasures(log)
            problems += map(_witnessed, remembered(log, folder, folder / "cache"))
            problems += _erased_in_branches(folder, log)
            problems += _derived(log, folder / "cache", progress, embedder, notes)
        problems += _leftovers(folder)
        problems += unreadable_files(folder)
        problems += _no_lock_file(folder / "log" / WRITER_LOCK)
        problems += _unknown_copies(folder)
        problems += _unfinished_fork(folder)
        problems += bad_configuration(folder)
        return Diagnosis(
            store=str(folder),
            head=log.head,
            healthy=not problems,
            problems=tuple(problems),
            notes=tuple(notes),
        )


def _examine_replica(store: Store, embedder: Embedder | None, options: DoctorOptions) -> Diagnosis:
    """This machine's part of a log on other machines: its mirror, keys and caches; and what the engine says of itself."""
    log, folder = store.log, store.folder
    assert folder is not None
    status = log.status()
    if options.get("fix") or options.get("salvage") or options.get("scrub"):
        raise InvalidInput(
            f"{status.path} is a log on other machines: its engine repairs its copies, and `recollect replicate` copies it "
            f"elsewhere; doctor without --fix, --scrub and --salvage examines this replica of it"
        )
    problems = [_damaged(finding) for finding in log.verify_chain()]
    problems += [_trouble(status.path, trouble) for trouble in status.troubles]
    problems += unfinished_erasures(folder, log)
    problems += _clock_ahead(log)
    problems += _unknown_copies(folder)
    notes = [f"the mirror in {folder} was examined; copies on other machines were not"]
    if not problems:
        problems += _derived(log, folder / "cache", options.get("progress"), embedder, notes)
    return Diagnosis(
        store=status.path, head=log.head, healthy=not problems, problems=tuple(problems), notes=tuple(notes)
    )


def _trouble(where: str, what: str) -> Problem:
    remedy = "see to the servers, or look at the options of the URL: docs/scale.md"
    return Problem(severity="engine", where=where, what=what, remedy=remedy)


def _derived(
    log: RedactedLog, cache: Path, progress: Progress | None, embedder: Embedder | None, notes: list[str]
) -> Iterator[Problem]:
    """What is wrong in what was made from a log that is whole: caches, dreams, and vectors of other texts."""
    projections = folded(log, [], log.head, progress, cache / "shards")
    caches = Caches(cache, log, projections, progress)
    yield from caches.problems()
    notes += caches.notes()
    yield from doubled_dreams(log, projections)
    yield from _wrong_vectors(check_vectors(log, projections, embedder), notes)


def _opened(folder: Path, clock: Clock, *, read_only: bool) -> SegmentLog:
    return SegmentLog.open(folder / "log", clock=clock, ahead_max=clock_ahead_max(), read_only=read_only)


# --- the log -----------------------------------------------------------------------------------------


def _damage(log: SegmentLog) -> list[Finding]:
    return sorted(log.verify_chain(), key=lambda finding: finding.seq)


def _with_scrub(found: Diagnosis, folder: Path, progress: Progress | None) -> Diagnosis:
    """Add what scrubbing finds to a diagnosis."""
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
    if isinstance(finding, BrokenSeal):
        return _broken_seal(Path(finding.path))
    remedy = "restore the file from a copy, or copy what can be read: `recollect doctor --salvage NEW_DIR`"
    if finding.problem.startswith(SECOND_FILE):
        remedy = f"move the one that does not belong there to another directory, examine again, and only then {remedy}"
    return Problem(
        severity="damage",
        where=f"{finding.path}, byte {finding.offset}, @{finding.seq}",
        what=f"acknowledged data is damaged: {finding.problem}",
        remedy=remedy,
    )


def _broken_seal(path: Path) -> Problem:
    return Problem(
        severity="seal",
        where=str(path),
        what="the index or the trailer behind its events is broken; events are read and checked without it",
        remedy="`recollect doctor --fix` writes it anew from the events, if all of the log is whole",
    )


def _witnessed(found: Contradiction) -> Problem:
    return Problem(
        severity="witness",
        where=found.witness,
        what=found.problem,
        remedy="put the newer log back; if the older one was restored on purpose, delete this checkpoint or copy",
    )


def _missing_head(log: Log, folder: Path) -> Iterator[Problem]:
    for found in missing_head(log, folder):
        yield Problem(
            severity="witness",
            where=str(folder / "log" / HEAD),
            what=f"{found.witness} bears witness to what was acknowledged, and {found.problem}",
            remedy="if nothing was cut, `recollect doctor --salvage NEW_DIR` makes a store with a head file of its own",
        )


def _erased_in_branches(folder: Path, log: RedactedLog) -> Iterator[Problem]:
    for branch in left_in_branches(folder, log):
        yield Problem(
            severity="erasure",
            where=str(branch.folder),
            what=branch.what,
            remedy="`recollect doctor --fix`, or the next `recollect erase` or `sync`, erases it there; if the branch is damaged, delete it",
        )


def _wrong_vectors(check: VectorCheck, notes: list[str]) -> Iterator[Problem]:
    if check.missing_embedder is not None:
        notes.append(
            f"some vectors may belong to an older text and could not be compared: the embedder "
            f"{check.missing_embedder!r} is not here"
        )
    if check.wrong:
        shown = ", ".join(one.id for one in check.wrong[:5]) + (", …" if len(check.wrong) > 5 else "")
        yield Problem(
            severity="vectors",
            where=f"{len(check.wrong)} memories: {shown}",
            what="their vectors are not those of their texts",
            remedy="`recollect doctor --fix` embeds these texts again",
        )


def _clock_ahead(log: Log) -> Iterator[Problem]:
    ahead = log.clock_ahead()
    if ahead is not None:
        first = _first_ahead(log, ahead)
        yield Problem(
            severity="clock",
            where=f"@{first}",
            what=(
                f"recorded time ran ahead from @{first} on: the last event was recorded at {iso(ahead.at)}, "
                f"{span(ahead.at - ahead.now)} ahead of this machine's clock, and nothing can be written"
            ),
            remedy=(
                f"correct this machine's clock ({iso(ahead.now)}); if it is right, `recollect doctor --fix` records "
                f"a correction: new events get the true time again, old ones keep theirs"
            ),
        )


def _first_ahead(log: Log, ahead: ClockAhead) -> int:
    """The first event of those at the end that were recorded ahead of the clock."""
    start = max([1, *log.positions(CLOCK_CORRECTED)])
    return start + bisect_right(range(start, ahead.seq + 1), ahead.now, key=log.time_of)


def _notes(folder: Path, log: SegmentLog, *, damaged: bool) -> Iterator[str]:
    if damaged:
        yield "the caches were not examined: they can only be compared with a log that is whole"
    head = HeadFile(RealDisk(), folder / "log" / HEAD)
    torn = head.torn()
    if torn and head.knows_of():
        yield (
            f"{folder / 'log' / HEAD}: {torn} of its slots cannot be read; it bears witness to what was acknowledged, so "
            f"events missing at the end of the log might not be noticed now. The next writers write them anew"
        )
    note = exposed(folder)
    if note:
        yield note
    status = log.status()
    for name in status.recovered:
        yield (
            f"an unfinished write was set aside as {folder / 'log' / QUARANTINE / name}; it was never acknowledged: "
            f"delete it when you have no use for it"
        )
    for type_, count in status.unknown_types.items():
        yield f"{count} events of the type {type_} were written by a newer program; upgrade to use them"


def _unfinished_fork(folder: Path) -> Iterator[Problem]:
    try:
        note = read_note(folder)
    except InvalidInput as error:
        yield Problem(severity="fork", where=str(folder), what=str(error), remedy="make the fork again")
        return
    if note is not None and note.unfinished:
        yield Problem(severity="fork", where=str(folder), what=note.unfinished, remedy=GO_ON)


# --- leftovers --------------------------------------------------------------------------------------


def _leftovers(folder: Path) -> Iterator[Problem]:
    """What interrupted work left behind; a file that is not old may still be in the making."""
    for path in unfinished_swap(folder):
        yield Problem(
            severity="leftover",
            where=str(path),
            what="a sync was interrupted and left this copy of the log, in which nothing is erased",
            remedy="`recollect doctor --fix`, the next `sync`, or whatever opens the store next, deletes it",
        )
    patterns = ("cache/checkpoints/*.tmp", "cache/shards/*.building", "cache/shards/*.lock", "log/*.new")
    for path in sorted(path for pattern in patterns for path in folder.glob(pattern)):
        if time.time() - path.lstat().st_mtime > _UNFINISHED_S:
            yield Problem(
                severity="leftover",
                where=str(path),
                what="the work that wrote this file was interrupted",
                remedy="delete the file, or let `recollect doctor --fix` do it",
            )


def _unknown_copies(folder: Path | None) -> Iterator[Problem]:
    unknown = unknown_copies(folder)
    if unknown:
        yield Problem(
            severity="copies",
            where=str(folder),
            what=unknown,
            remedy="put the file back from a backup; or look for the copies yourself, then delete what cannot be read of it",
        )


def _no_lock_file(lock: Path) -> Iterator[Problem]:
    if kind_of(lock) is not None and not lock.is_file():
        yield Problem(
            severity="lock",
            where=str(lock),
            what="it is no file, so no writer can lock it and the store can only be read",
            remedy="move it away; the next writer makes the file anew",
        )


# --- repair ------------------------------------------------------------------------------------------


def _fix(folder: Path, problems: Sequence[Problem], clock: Clock, embedder: Embedder | None) -> None:
    """Only what is safe. Files of caches and leftovers are deleted; all else is mended by opening the store and
    appending events, and nothing is appended to a log that is damaged; what was erased is overwritten there too."""
    kinds = {problem.severity for problem in problems}
    finish_swap(folder)
    for problem in problems:
        if problem.severity in ("cache", "leftover"):
            with suppress(
                OSError, InvalidInput
            ):  # what cannot be deleted is found again, and stays a problem
                _delete(folder, Path(problem.where))
    if "erasure" in kinds:
        with suppress(RecollectError), _opened(folder, clock, read_only=False) as log:
            finish_erasures(folder, log, damaged="damage" in kinds)
    if "damage" in kinds:
        return
    if "seal" in kinds:
        with suppress(RecollectError), _opened(folder, clock, read_only=False) as log:
            log.seal_again()
    if "clock" in kinds:
        with suppress(RecollectError), _opened(folder, clock, read_only=False) as log:
            correct_clock(log)  # where nothing can be written it stays a problem
    # so that every erasure is looked at again; one of another log is emptied and stays a witness
    if "erasure" in kinds:
        with _opened(folder, clock, read_only=True) as log:
            checkpoints.purge(folder / "cache" / "checkpoints", log, before=log.head + 1)
    if kinds & {"erasure", "vectors", "shard", "missing"}:
        store = Store.open(folder, clock=clock)  # opening finishes erasures
        try:
            _append_repairs(store, problems, embedder)
            erase_in_branches(folder, store.log, actor="recollect")
        finally:
            store.close()


def _delete(folder: Path, path: Path) -> None:
    """Delete a file that is wrong or left over; in the store's cache also a directory that stands in its place."""
    if resolved(path.parent).is_relative_to(resolved(folder / "cache")):
        remove(path)
    else:
        path.unlink(missing_ok=True)


def _append_repairs(store: Store, problems: Sequence[Problem], embedder: Embedder | None) -> None:
    if store.read_only:
        return
    for problem in problems:
        if problem.severity in ("shard", "missing"):
            store.retire_shard(problem.shard, f"doctor: {problem.what}", sealed_at=problem.sealed_at)
    if any(problem.severity == "vectors" for problem in problems):
        mend_vectors(store, check_vectors(store.log, store.projections, embedder).wrong, embedder)


def correct_clock(log: Log) -> None:
    """Append that recorded time ran ahead, unless it did not, or another process has done so."""
    with log.exclusive():
        if ahead := log.clock_ahead():
            fact = ClockCorrected(first=_first_ahead(log, ahead), at=ahead.now, was=ahead.at)
            log.append([draft(fact, actor="recollect")], expect=ahead.seq)
    log.refresh()
