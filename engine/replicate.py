"""A store moved, or copied, between any two places: directories, JetStream, object stores. The chain stays the same.

Batches are written to the target as they are, in order, so an interrupted run goes on where it stopped, and a later run
brings over what is new. A target that holds anything else than a beginning of the source is refused, and so is a source
whose end cannot be read. What was erased in the source is erased in the target, also if it came over before, and in
the target's caches.

The target is a copy that the source knows (`copies`), from before it holds anything. When all is there, the source is
looked at again with its other writers kept out: an erasure comes before that, and is in the target, or after it, and
finds the copy noted.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

import msgspec

from recollect.engine.copies import note_in, refuse_inside
from recollect.engine.moments import clock_ahead_max, iso
from recollect.engine.opening import writers_kept_out
from recollect.engine.store import Progress, Store, system_clock
from recollect.events.errors import InvalidInput, LogFailed, RecollectError
from recollect.events.named_files import resolved
from recollect.events.packs.urls import directory, is_url, open_packs, shown
from recollect.events.redacted_log import ERASED, RedactedLog
from recollect.events.segment_log import SegmentLog
from recollect.events.transfer import TransferableLog, whole_batches


class NotABeginning(InvalidInput):
    """The target holds something else than a beginning of the source."""


class Replication(msgspec.Struct, frozen=True, kw_only=True):
    """What was copied: `events` that the target lacked, and the head and chain value that both have now.

    `degraded` says what could not be done beside.
    """

    source: str
    target: str
    events: int
    head: int
    chain: str
    degraded: tuple[str, ...] = ()


def replicate(source: str, target: str, *, progress: Progress | None = None) -> Replication:
    """Copy what the target lacks; both places are a store's directory or the URL of one."""
    if _place(source) == _place(target):
        raise InvalidInput(f"{shown(source)} and {shown(target)} are the same place; name another target")
    if not is_url(source) and not is_url(target):
        refuse_inside(directory(source), target)
    with ExitStack() as opened:
        origin, origin_folder = _opened(source, write=False)
        opened.enter_context(closing(origin))
        _require_whole(origin)
        copy, folder = _opened(target, write=True)
        opened.enter_context(closing(copy))
        before = copy.refresh()
        _require_beginning(origin, copy, shown(source), shown(target))
        with _others_kept_out(origin, origin_folder):
            _note(origin_folder, target, origin.head, finished=False)
        _bring_over(origin, copy, progress)
        erase_the_same(copy)
        with _others_kept_out(origin, origin_folder):
            looked = copy.head
            _bring_over(origin, copy, progress)
            if copy.positions(ERASED, looked):
                erase_the_same(copy)
            copy.sync()
            head = copy.head
            notes = _note(origin_folder, target, head, finished=True)
        chain = copy.chain_at(head).hex()
        shared = is_url(target) and before > 0 and bool(copy.positions(ERASED, before))
        stale = shared or (bool(copy.positions(ERASED)) and has_caches(folder))
    if stale:
        purge_erased(target)
    return Replication(
        source=shown(source),
        target=shown(target),
        events=head - before,
        head=head,
        chain=chain,
        degraded=notes,
    )


def _bring_over(origin: TransferableLog, copy: TransferableLog, progress: Progress | None) -> None:
    head, done = origin.refresh(), copy.head
    _require_whole(origin)
    for batch in whole_batches(origin.frames(done, head)):
        copy.append_frames(batch)
        done += len(batch)
        if progress:
            progress(done, head)


@contextmanager
def _others_kept_out(origin: TransferableLog, folder: Path) -> Iterator[None]:
    """Keep other writers of the source out; one that cannot be written is only looked at."""
    with ExitStack() as held:
        if isinstance(origin, SegmentLog):  # it was opened for reading
            held.enter_context(writers_kept_out(folder))
        else:
            with suppress(LogFailed):
                held.enter_context(origin.exclusive())
        yield


def _note(folder: Path, target: str, head: int, *, finished: bool) -> tuple[str, ...]:
    at = iso(system_clock())
    return note_in(folder, _place(target), "replica", at=at, upto=head, checked=head, finished=finished)


def _require_whole(origin: TransferableLog) -> None:
    """Refuse a source of which only a beginning can be read: the copy would look like the whole."""
    if origin.damage is not None:
        raise RecollectError(
            f"replicate refused: only the events up to @{origin.head} can be read. Copy them with "
            f"`recollect doctor --salvage NEW_DIR` and replicate that store. {origin.damage}"
        )


def has_caches(folder: Path) -> bool:
    """Whether the store in this folder has cached files that may hold what was erased."""
    return any(any((folder / "cache" / name).glob("*")) for name in ("checkpoints", "shards"))


def purge_erased(where: str) -> None:
    """Purge the caches of a store in whose log something was erased from outside, as every opening of it does."""
    with closing(Store.open(where)) as store:
        store.require_writable()
        store.finish_erasures()


def _place(where: str) -> str:
    return shown(where) if is_url(where) else str(resolved(where))


def _opened(where: str, *, write: bool) -> tuple[TransferableLog, Path]:
    """The log at a place, and the folder of its store."""
    if is_url(where):
        return open_packs(where, clock=system_clock, ahead_max=clock_ahead_max())
    folder = directory(where)
    if not write and not (folder / "log").is_dir():
        raise InvalidInput(f"there is no store at {where}; name a store's directory, or the URL of one")
    return SegmentLog.open(folder / "log", ahead_max=clock_ahead_max(), read_only=not write), folder


def _require_beginning(origin: TransferableLog, copy: TransferableLog, source: str, target: str) -> None:
    present = copy.head
    if present > origin.head:
        raise NotABeginning(
            f"{target} goes to @{present} and {source} only to @{origin.head}; replicate in the other direction"
        )
    if copy.chain_at(present) != origin.chain_at(present):
        raise NotABeginning(
            f"{target} holds {present} events of its own, which are not those of {source}; replicate to a new place"
        )


def erase_the_same(copy: TransferableLog) -> None:
    """Overwrite what an erasure names that came over later than the event itself."""
    redacted = RedactedLog(copy)
    left = [seq for seq in redacted.read_all_erasures() if not redacted.overwritten(seq)]
    if left:
        copy.erase(left)
