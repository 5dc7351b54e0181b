"""Salvaging: what can be read before the first damaged event of a log, copied into a new store with the same chain.

How many events are lost is what everything in the old store knows of, less what was copied (`witnesses.known_events`).
That is exact only if the head file of the old log was never missing and knows of as many as any other witness; else
there may have been more.

The new store lists what the old one knew of copies, and the old one itself, where everything still lies; it has its
settings. Branches stay where they are, and are named.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from recollect.engine.configuration import FILE
from recollect.engine.copies import forget, inherit_copies, note_in
from recollect.engine.doctor_erasures import erase_in_copy, erasures_of
from recollect.engine.moments import iso
from recollect.engine.opening import BRANCHES, writers_kept_out
from recollect.engine.store import Progress
from recollect.engine.unfinished_files import unfinished_folder
from recollect.engine.witnesses import known_events
from recollect.events.disk import RealDisk
from recollect.events.errors import InvalidInput
from recollect.events.head import HEAD, HeadFile
from recollect.events.private_files import sync_directory, write_private
from recollect.events.redacted_log import RedactedLog
from recollect.events.regular_files import read_whole
from recollect.events.segment_log import SegmentLog, wall_clock
from recollect.events.toml_file import TOML_BYTES_MAX
from recollect.events.transfer import export_lines, import_lines


class Salvage(msgspec.Struct, frozen=True, kw_only=True):
    """A new store with the events up to `head`; `lost` events of the old one are not in it, or more if `at_least`."""

    path: str
    head: int
    lost: int
    at_least: bool = False
    degraded: tuple[str, ...] = ()


def salvage_into(folder: Path, target: Path, progress: Progress | None) -> Salvage:
    """The events before the first damaged one, up to the end of a whole batch, in a new store."""
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise InvalidInput(f"{target} exists already; name a directory for the new store that does not")
    with (
        SegmentLog.open(folder / "log", read_only=True) as log,
        unfinished_folder(target) as made,
        SegmentLog.open(made / "log", ahead_max=2**62) as copy,
    ):
        known, at_least = _known(log, folder)
        redacted = RedactedLog(log)
        with writers_kept_out(folder):
            _note(folder, made, upto=log.head, head=log.head, finished=False)
        while True:
            redacted.learn()
            damage = log.verify_chain()
            upto = _whole_batches(log, min([log.head, *(finding.seq - 1 for finding in damage)]))
            import_lines(copy, export_lines(log, upto=upto), progress=progress)
            with writers_kept_out(folder):
                log.refresh()
                if not redacted.learn():  # nothing was erased meanwhile, and nothing can be now
                    erase_in_copy(erasures_of(folder, redacted, damaged=bool(damage)), copy)
                    copy.close()
                    left = _take_along(folder, made, target, upto)
                    notes = left + _note(folder, target, upto=upto, head=log.head)
                    made.rename(target)
                    sync_directory(target.parent)
                    forget(folder, made)
                    break
        known = max([known, log.head, *(finding.seq for finding in damage)])
        return Salvage(path=str(target), head=upto, lost=known - upto, at_least=at_least, degraded=notes)


def _known(log: SegmentLog, folder: Path) -> tuple[int, bool]:
    """How many events the log had, and whether it may have had more."""
    head = HeadFile(RealDisk(), folder / "log" / HEAD)
    known = known_events(log, folder, folder / "cache")
    return known, bool(head.missing_at(log.head) or head.torn() or known > max(head.knows_of(), log.head))


def _whole_batches(log: SegmentLog, upto: int) -> int:
    while upto and (last := next(log.frames(upto - 1, upto)).header).position < last.batch - 1:
        upto -= 1
    return upto


def _take_along(folder: Path, made: Path, target: Path, upto: int) -> tuple[str, ...]:
    """The record of copies and the settings; what of the store stays behind, for people."""
    left = inherit_copies(folder, made, at=iso(wall_clock()), upto=upto, without=(made, target))
    try:
        write_private(made / FILE, read_whole(folder / FILE, bytes_max=TOML_BYTES_MAX, follow=True))
    except FileNotFoundError:
        pass
    except OSError as error:
        left += (f"{folder / FILE} could not be read and was not taken along: {error.strerror}",)
    branches = sorted(path.name for path in (folder / BRANCHES).glob("*"))
    if branches:
        names = f"{', '.join(branches)} in {folder / BRANCHES}"
        left += (f"not taken along: {names}; recalls that were asked there offline cannot be verified here",)
    return left


def _note(folder: Path, target: Path, *, upto: int, head: int, finished: bool = True) -> tuple[str, ...]:
    at = iso(wall_clock())
    return note_in(folder, target, "salvage", at=at, upto=upto, checked=head, finished=finished)
