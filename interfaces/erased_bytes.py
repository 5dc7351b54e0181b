"""Whether what was erased is still gone from the log's files: a restored backup brings it back.

Every opening looks at the files that changed since the last look: one whose inode, size or times differ is asked for
each erased payload that it holds. What was seen stands in `<store>/cache/erased.stamps`, which may be deleted at any
time: then every erased payload is looked at once more.
"""

from __future__ import annotations

import os
import tempfile
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from recollect.events.private_files import make_private

STAMPS = "erased.stamps"


class FileStamp(msgspec.Struct, frozen=True, array_like=True):
    """A segment file as it was when its erased payloads were last looked at."""

    inode: int
    size: int
    modified_ns: int
    changed_ns: int


Stamps = dict[str, FileStamp]


def stamps_of(log: Path) -> Stamps:
    """The segment files of a log as they are now, by name; names begin with the first seq of the file."""
    found = {}
    for path in sorted(log.glob("*.seg")):
        stat = path.stat()
        found[path.name] = FileStamp(stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)
    return found


def seen(cache: Path) -> Stamps:
    """The stamps of the last look; empty if there was none or the file cannot be read."""
    try:
        return msgspec.msgpack.decode((cache / STAMPS).read_bytes(), type=Stamps)
    except (OSError, msgspec.MsgspecError):
        return {}


def keep(cache: Path, stamps: Stamps) -> None:
    """Note what was looked at, for the next opening."""
    make_private(cache)
    descriptor, draft = tempfile.mkstemp(suffix=".tmp", dir=cache)
    os.fchmod(descriptor, 0o600)  # whatever the umask
    with os.fdopen(descriptor, "wb") as file:
        file.write(msgspec.msgpack.encode(stamps))
    Path(draft).replace(cache / STAMPS)


def in_changed_files(erased: Sequence[int], now: Stamps, before: Stamps) -> list[int]:
    """Those of the erased seqs (ascending) that lie in files which are not as they were."""
    firsts = [int(name.partition("-")[0]) for name in now]
    found: list[int] = []
    for name, first, end in zip(now, firsts, [*firsts[1:], 2**63], strict=True):
        if before.get(name) != now[name]:
            found += _between(erased, first, end)
    return found if now else list(erased)


def _between(seqs: Sequence[int], first: int, end: int) -> Iterable[int]:
    return seqs[bisect_left(seqs, first) : bisect_left(seqs, end)]
