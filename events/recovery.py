"""The end of a log after a crash: an unacknowledged tail is set aside, acknowledged events are never cut.

`Segments.follow` stops at a frame that fails. Was it acknowledged? Yes, if there is evidence:

- the files themselves: a later segment, or one that does not continue the one before (`Stop.proven`);
- the head file: it calls the frame durable;
- a later whole frame in the same file whose `durable_seq` covers it.

With evidence, acknowledged data is damaged (`LogDamaged`): the log stays as it is, readable up to there,
and takes no more writes. Without, it is the tail of a write that never finished. Its bytes are copied to
`quarantine/`, then cut, and the log goes on in a new segment with a `Recovered` event that says so. ("The
first bad record ends the log" would cut acknowledged data after one flipped bit; "a good record after a bad
one means damage" is wrong too, because the sectors of a torn write reach the disk in any order.)

Called under the writer lock only: without it the tail may be a write in progress.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from recollect.events.disk import Disk, read_whole, synced_directory, write_new
from recollect.events.erasure import INTENT
from recollect.events.errors import LogDamaged, LogFailed
from recollect.events.facts import Recovered
from recollect.events.frame import Frame
from recollect.events.head import HEAD
from recollect.events.regular_files import Refused, kind_of
from recollect.events.scan import find_frames
from recollect.events.segment_format import (
    HEADER_BYTES,
    TRAILER_BYTES,
    SegmentHeader,
    SegmentName,
    Trailer,
    footer_digest,
)
from recollect.events.segments import INDEX_CACHE, Segments, Stop

QUARANTINE = "quarantine"
_INDEX_BYTES_MAX = 2**26


def find_damage(
    disk: Disk, path: Path, segments: Segments, stop: Stop | None, *, witnessed: int
) -> LogDamaged | None:
    """The damage if acknowledged events cannot be read, else None; `witnessed` is the durable seq of the head file."""
    if stop is not None:
        if not (stop.proven or witnessed >= stop.cut_seq or _covered_later(disk, path, stop)):
            return None
        return LogDamaged(
            path=str(path / str(stop.name)), offset=stop.offset, seq=stop.seq, reason=stop.reason
        )
    if witnessed <= segments.tail:
        return None
    last = segments.last
    where, offset = (path, 0) if last is None else (last.path, last.end)
    return LogDamaged(path=str(where), offset=offset, seq=segments.tail + 1, reason="the log ends before it")


def _covered_later(disk: Disk, path: Path, stop: Stop) -> bool:
    """Whether a whole frame after the bad one says that the bad one was durable."""
    data = read_whole(disk, path / str(stop.name)) or b""
    frames = find_frames(data, stop.offset, stop.name.seed)
    return any(frame.header.durable_seq >= stop.cut_seq for frame in frames)


def whole_frames(disk: Disk, path: Path) -> Iterator[Frame]:
    """Every frame that stands whole in a segment of this log, behind damage too, in no order that can be relied on.

    A file of another store is passed over.
    """
    store_id: bytes | None = None
    for name in filter(None, map(SegmentName.parse, disk.names(path))):
        data = b""
        with suppress(Refused):
            data = read_whole(disk, path / str(name)) or b""
        header = SegmentHeader.parse(data[:HEADER_BYTES])
        if header is not None:
            store_id = store_id or header.store_id
        if header is None or header.store_id == store_id:
            yield from find_frames(data, HEADER_BYTES, name.seed)


def set_aside(disk: Disk, path: Path, segments: Segments, stop: Stop) -> Recovered:
    """Copy the unfinished tail to quarantine, cut it, and seal the segment; delete the segment if it has no events."""
    source = path / str(stop.name)
    tail = (read_whole(disk, source) or b"")[stop.cut_offset :]
    copy = f"{stop.name}-at-{stop.cut_offset}-{os.urandom(4).hex()}"
    disk.make_directories(path / QUARANTINE)
    with synced_directory(disk, path / QUARANTINE):
        write_new(disk, path / QUARANTINE / copy, tail)
    last = segments.last
    if last is not None and last.name == stop.name and last.count > 0:
        last.truncate(stop.cut_offset)
        last.sync()
        last.seal()
    else:
        if last is not None and last.name == stop.name:
            segments.drop_last()
        with synced_directory(disk, path):
            disk.remove(source)
    return Recovered(segment=str(stop.name), offset=stop.cut_offset, length=len(tail), quarantined_as=copy)


def closed_at(disk: Disk, path: Path) -> tuple[int, bytes] | None:
    """The last event, and the chain value after it, when the newest segment's index was kept: a close syncs them before."""
    footer = header = None
    with suppress(Refused):
        footer = read_whole(disk, path / INDEX_CACHE, bytes_max=_INDEX_BYTES_MAX)
        for name in [name for name in disk.names(path) if SegmentName.parse(name)][-1:]:
            header = SegmentHeader.parse(read_whole(disk, path / name, bytes_max=HEADER_BYTES) or b"")
    trailer = Trailer.parse((footer or b"")[-TRAILER_BYTES:])
    if footer is None or header is None or trailer is None:
        return None
    if footer_digest(header, trailer.chain, footer[:-TRAILER_BYTES]) != trailer.digest:
        return None
    return header.first_seq + trailer.events - 1, trailer.chain


def quarantined(disk: Disk, path: Path) -> list[str]:
    """The names of what was set aside; `LogFailed` if it cannot be looked at."""
    try:
        return disk.names(path / QUARANTINE)
    except OSError as error:
        raise LogFailed(
            f"{path / QUARANTINE} cannot be read: {error.strerror}; {what_to_do(error)}"
        ) from error


def purge_quarantine(disk: Disk, path: Path) -> None:
    """Delete what was set aside: it may contain an erased text."""
    directory = path / QUARANTINE
    names = quarantined(disk, path)
    if names:
        with synced_directory(disk, directory):
            for name in names:
                disk.remove(directory / name)


def what_to_do(error: OSError) -> str:
    """What to do about a file of the log that cannot be opened."""
    file = Path(str(error.filename or ""))
    kind = kind_of(file)
    if kind is not None and file.name == INDEX_CACHE:
        return f"it is {kind}; delete it: it is a cache, and is made again"
    if kind is not None and file.name == INTENT:
        return f"it is {kind}; move it away: what is left to erase is found again by `recollect doctor --fix`"
    if kind is not None and file.name == HEAD:
        return (
            f"it is {kind}; move it away, or restore the file from a copy: the next writer makes it anew, but then it "
            f"cannot be seen whether events were cut from the log's end"
        )
    if file.name == QUARANTINE and error.errno in (errno.ENOTDIR, errno.EEXIST):
        return "it is no directory, as belongs there for unfinished writes that are set aside; move it away"
    return "nothing was changed; what was acknowledged is as it was"
