"""What shows that a log is not what it was: checkpoints that were kept elsewhere, and what lies beside the log.

A log whose last events were cut away is whole in itself, and so is one that was written anew. Both are found by
comparing the log with something that remembers more: a `LogCheckpoint` (`verify --against`), a cached checkpoint of the
projections, which names the seq and the chain value that it was folded up to, the index that is kept when the log is
closed (after a sync, so it never names an event that a power cut may take), and the record of copies.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path

from recollect.engine.copies import known_copies
from recollect.engine.receipt import still_there
from recollect.engine.signing import signature_problem, signed_if_asked
from recollect.engine.store import Store
from recollect.engine.transfer import target_of
from recollect.engine.unfinished_files import refuse_existing, write_file
from recollect.events.checkpoint_note import (
    Contradiction,
    LogCheckpoint,
    checkpoint_of,
    parse_checkpoint,
)
from recollect.events.disk import RealDisk
from recollect.events.errors import InvalidInput, LogDamaged, RecollectError
from recollect.events.head import HEAD, HeadFile
from recollect.events.log import Log
from recollect.events.named_files import KEY_BYTES_MAX, read_named
from recollect.events.recovery import closed_at, whole_frames
from recollect.events.segment_format import SegmentName
from recollect.events.segments import INDEX_CACHE
from recollect.projections import checkpoints

_CUT = "events were cut from its end, or an older copy of it was put in its place"
_REWRITTEN = "events were rewritten, or it is a fork that went another way"


def checkpoint(store: Store, out: str | Path | None) -> LogCheckpoint:
    """The log as it is now, perhaps into a file; an earlier one there is replaced only if the log agrees with it."""
    head = store.catch_up()
    if store.damage is not None:
        raise store.damage
    if store.read_only:
        head = min(head, store.log.status().durable)
    else:
        store.log.sync()
    made = signed_if_asked(checkpoint_of(store.log, head))
    if out is None:
        return made
    path = target_of(store, out)
    refuse_existing(path, overwrite=True)
    existed = path.exists()
    if existed:
        for problem in against(store, read_checkpoint(path), str(path))[0]:
            raise InvalidInput(f"{path} was left as it is: {problem.problem}")
    try:
        write_file(path, made.note, overwrite=existed)
    except OSError as error:
        raise InvalidInput(f"the checkpoint cannot be written to {path}: {error.strerror}") from None
    return made


def read_checkpoint(path: Path) -> LogCheckpoint:
    try:
        return parse_checkpoint(read_named(path, bytes_max=KEY_BYTES_MAX).decode(), where=str(path))
    except OSError as error:
        raise InvalidInput(f"the checkpoint {path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InvalidInput(f"the checkpoint {path} cannot be read: it is not text in UTF-8") from None


def against(store: Store, kept: LogCheckpoint, name: str) -> tuple[list[Contradiction], list[str]]:
    """What contradicts a kept checkpoint, and notes."""
    found = [*_compared(store.log, name, kept.size, kept.root), *_origin(store, name, kept)]
    if not found:
        gone = still_there(store.log, kept)
        found += (Contradiction(witness=name, seq=seq, problem=problem) for seq, problem in gone)
    notes: list[str] = []
    problem = signature_problem(kept, notes)
    if problem:
        found.append(Contradiction(witness=name, seq=kept.size, problem=problem))
    return found, notes


def beside(log: Log, folder: Path | None, cache: Path | None, *, accepted: int = 0) -> list[Contradiction]:
    """What contradicts the store's own files.

    A checkpoint that the log agrees with has `accepted` so many events: a head file that was missing before is no news.
    """
    if cache is None or folder is None:
        return []
    return [*remembered(log, folder, cache), *missing_head(log, folder, accepted)]


def remembered(log: Log, folder: Path, cache: Path) -> Iterator[Contradiction]:
    """What cached checkpoints, the kept index and the record of copies know of the log, where it is another one now."""
    for path in checkpoints.paths(cache / "checkpoints"):
        try:
            position = checkpoints.position_of(path)
        except OSError as error:
            raise RecollectError(
                f"{path} could not be looked at: {error}; nothing was changed, try again when that is over"
            ) from error
        if position is not None:
            name = f"the cached checkpoint {path.name}"
            yield from _compared(log, name, position.seq, b64encode(position.chain).decode())
    closed = closed_at(RealDisk(), folder / "log")
    if closed is not None:
        yield from _compared(log, f"log/{INDEX_CACHE}", closed[0], b64encode(closed[1]).decode())
    for copy in known_copies(folder):
        yield from _compared(log, f"the record of the copy {copy.path}", copy.upto, None)


def missing_head(log: Log, folder: Path, accepted: int = 0) -> Iterator[Contradiction]:
    """A log has a head file before its first event: where nothing can be read in it, events may have been cut."""
    path = folder / "log" / HEAD
    end = HeadFile(RealDisk(), path).missing_at(log.head) if path.parent.is_dir() else 0
    if end > accepted:
        problem = (
            f"it was missing or unreadable when the log ended at @{end}: whether events were cut from its end cannot "
            "be seen; compare with a checkpoint that was kept elsewhere (`verify --against`)"
        )
        yield Contradiction(witness="the head file", seq=end, problem=problem)


def known_events(log: Log, folder: Path, cache: Path) -> int:
    """How many events the log had at least, by everything in the store that remembers more of them."""
    checkpointed = filter(None, map(checkpoints.position_of, checkpoints.paths(cache / "checkpoints")))
    names = filter(None, map(SegmentName.parse, RealDisk().names(folder / "log")))
    closed = closed_at(RealDisk(), folder / "log")
    return max(
        log.head,
        HeadFile(RealDisk(), folder / "log" / HEAD).knows_of(),
        *(name.first_seq - 1 for name in names),
        *(frame.header.seq for frame in whole_frames(RealDisk(), folder / "log")),
        *(position.seq for position in checkpointed),
        0 if closed is None else closed[0],
        *(copy.upto for copy in known_copies(folder)),
    )


def _compared(log: Log, witness: str, size: int, root: str | None) -> Iterator[Contradiction]:
    head = log.head
    if size > head:
        head = log.refresh()  # a process beside this one may have appended, and left a witness of it, since
    if size > head:
        problem = f"the log ends at @{head}, and it had {size} events: {_CUT}"
        yield Contradiction(witness=witness, seq=size, problem=problem)
    elif root is not None:
        try:
            found = b64encode(log.chain_at(size)).decode()
        except LogDamaged:
            return  # the damage is told as such
        if found != root:
            problem = f"the log's value after @{size} is {found}, and it was {root}: {_REWRITTEN}"
            yield Contradiction(witness=witness, seq=size, problem=problem)


def _origin(store: Store, witness: str, kept: LogCheckpoint) -> Iterator[Contradiction]:
    """A log of another origin is not the one that the checkpoint was made of, however long it is."""
    own = checkpoint_of(store.log, min(1, store.log.head)).origin
    if 0 < kept.size <= store.log.head and kept.origin != own:
        yield Contradiction(
            witness=witness, seq=1, problem=f"it is of the log {kept.origin}, and this is {own}"
        )
