"""A store moved, or copied, between any two places: directories, JetStream, object stores. The chain stays the same.

Batches are written to the target as they are, in order, so an interrupted run goes on where it stopped, and a later run
brings over what is new. A target that holds anything else than a beginning of the source is refused. What was erased in
the source is erased in the target, also if it came over before.
"""

from __future__ import annotations

from contextlib import ExitStack, closing
from pathlib import Path

import msgspec

from recollect.engine.copies import refuse_inside
from recollect.engine.moments import clock_ahead_max
from recollect.engine.store import Progress, system_clock
from recollect.events.errors import InvalidInput
from recollect.events.packs.urls import directory, is_url, open_packs, shown
from recollect.events.redacted_log import RedactedLog
from recollect.events.segment_log import SegmentLog
from recollect.events.transfer import TransferableLog, whole_batches


class Replication(msgspec.Struct, frozen=True, kw_only=True):
    """What was copied: `events` that the target lacked, and the head and chain value that both have now."""

    source: str
    target: str
    events: int
    head: int
    chain: str


def replicate(source: str, target: str, *, progress: Progress | None = None) -> Replication:
    """Copy what the target lacks; both places are a store's directory or the URL of one."""
    if _place(source) == _place(target):
        raise InvalidInput(f"{shown(source)} and {shown(target)} are the same place; name another target")
    if not is_url(source) and not is_url(target):
        refuse_inside(directory(source), target)
    with ExitStack() as opened:
        origin = opened.enter_context(closing(_opened(source, write=False)))
        copy = opened.enter_context(closing(_opened(target, write=True)))
        head, present = origin.refresh(), copy.refresh()
        _require_beginning(origin, copy, shown(source), shown(target))
        done = present
        for batch in whole_batches(origin.frames(present, head)):
            copy.append_frames(batch)
            done += len(batch)
            if progress:
                progress(done, head)
        erase_the_same(copy)
        copy.sync()
        return Replication(
            source=shown(source),
            target=shown(target),
            events=done - present,
            head=done,
            chain=copy.chain_at(done).hex(),
        )


def _place(where: str) -> str:
    return shown(where) if is_url(where) else str(Path(where).expanduser().resolve())


def _opened(where: str, *, write: bool) -> TransferableLog:
    if is_url(where):
        return open_packs(where, clock=system_clock, ahead_max=clock_ahead_max())[0]
    folder = directory(where)
    if not write and not (folder / "log").is_dir():
        raise InvalidInput(f"there is no store at {where}; name a store's directory, or the URL of one")
    return SegmentLog.open(folder / "log", ahead_max=clock_ahead_max(), read_only=not write)


def _require_beginning(origin: TransferableLog, copy: TransferableLog, source: str, target: str) -> None:
    present = copy.head
    if present > origin.head:
        raise InvalidInput(
            f"{target} goes to @{present} and {source} only to @{origin.head}; replicate in the other direction"
        )
    if copy.chain_at(present) != origin.chain_at(present):
        raise InvalidInput(
            f"{target} holds {present} events of its own, which are not those of {source}; replicate to a new place"
        )


def erase_the_same(copy: TransferableLog) -> None:
    """Overwrite what an erasure names that came over later than the event itself."""
    redacted = RedactedLog(copy)
    left = [seq for seq in redacted.read_all_erasures() if not redacted.overwritten(seq)]
    if left:
        copy.erase(left)
