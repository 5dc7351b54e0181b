"""Keeping what was erased out of the log's files.

The payloads that an `Erased` event names are overwritten by every process that catches up with it; what cannot be
overwritten now is kept in mind and tried again. A restored backup brings erased payloads back, so every opening looks
at the files that changed since the last look: one whose inode, size or times differ is asked for each erased payload
that it holds. What was seen stands in `<store>/cache/erased.stamps`, which may be deleted at any time: then every
erased payload is looked at once more.

Of a log of packs it brings back keys, in boxes of the engine. Every opening asks for those of the newest erasures first,
for `LOOK_S`, and goes on to all as soon as one is found: a backup is older than what it brings back. `finish_erasures`
(`verify`, and before every copy) asks for all of them, and `doctor` does.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path

import msgspec

from recollect.events.errors import LogFailed, RecollectError
from recollect.events.private_files import make_private, replacing
from recollect.events.redacted_log import RedactedLog
from recollect.events.regular_files import make_room, read_whole
from recollect.events.segment_format import SegmentName

STAMPS = "erased.stamps"
LOOK_S = 0.5
_TOGETHER = 64
_STAMP_BYTES_MAX = 128  # a name and four numbers

Stamps = dict[str, tuple[int, int, int, int]]
"""Inode, size, mtime and ctime (ns) of segment files when their erased payloads were last looked at, by name."""


class ErasedBytes:
    """The payloads of a log that must be gone; `unfinished` says why some are not."""

    def __init__(self, log: RedactedLog, folder: Path | None) -> None:
        self._log = log
        self._folder = folder
        self._left: list[int] = []
        self._unfinished: RecollectError | None = None
        self._unseen: RecollectError | None = None

    @property
    def unfinished(self) -> RecollectError | None:
        return self._unfinished or self._unseen

    def overwrite(self, seqs: Iterable[int] = ()) -> None:
        """Overwrite the payloads at these seqs, and those that could not be overwritten before."""
        if self._unseen is not None:
            self._look_for_keys(everywhere=False)
        wanted = list(dict.fromkeys([*self._left, *seqs]))
        left: list[int] = []
        try:
            keyed = set(self._log.keys_left(self._left) or ())
            left = [seq for seq in wanted if seq in keyed or not self._log.overwritten(seq)]
            if left:
                self._log.erase(left)
        except (RecollectError, OSError) as error:
            self._left = left or wanted
            reason = (error.__cause__ if isinstance(error, LogFailed) else None) or error
            self._unfinished = RecollectError(
                f"an erasure is in force but is not finished: {reason}; {_payloads(len(self._left))} in the log, the first at "
                f"@{min(self._left)}. It is tried again with the next write, and when the store is opened again"
            )
        else:
            self._left = []
            self._unfinished = None

    def overwrite_restored(self, *, keep_stamps: bool, everywhere: bool = False) -> None:
        """Overwrite what a restored backup brought back; files that did not change since the last look are trusted.

        Of keys those of the newest erasures are looked for, or `everywhere` all.
        """
        if self._folder is None or not self._log.erasures:
            return
        self._look_for_keys(everywhere=everywhere)
        log, cache = self._folder / "log", self._folder / "cache"
        now = stamps_of(log)
        before = seen(cache, len(now))
        if now and now == before:
            self.overwrite()
            return
        self.overwrite(in_changed_files(self._log.read_all_erasures(), now, before))
        if self._unfinished is None and keep_stamps:
            with suppress(OSError):  # without stamps the next opening looks again
                keep(cache, stamps_of(log))

    def _look_for_keys(self, *, everywhere: bool) -> None:
        """Remember the erased events that have keys again, for `overwrite`; or that it is not known."""
        try:
            self._left += self._keys_back(everywhere=everywhere)
        except (RecollectError, OSError) as error:
            self._unseen = RecollectError(
                f"an erasure is in force but is not finished: it is not known whether keys of what was erased came back with a restored "
                f"backup: {error}. It is looked again by `recollect verify`, and when the store is opened again"
            )
        else:
            self._unseen = None

    def _keys_back(self, *, everywhere: bool) -> list[int]:
        if self._log.keys_left(()) is None:
            return []
        back: list[int] = []
        until = time.monotonic() + LOOK_S
        seqs = self._newest_erased()
        while piece := list(islice(seqs, _TOGETHER)):
            back += self._log.keys_left(piece) or ()
            if not (everywhere or back) and time.monotonic() > until:
                break
        return back

    def _newest_erased(self) -> Iterator[int]:
        """The seqs that erasures name, those of the newest first."""
        for erasure in reversed(self._log.erasures):
            yield from self._log.remains_of(erasure)


def _payloads(count: int) -> str:
    return "1 payload is still" if count == 1 else f"{count:,} payloads are still"


def stamps_of(log: Path) -> Stamps:
    """The segment files of a log as they are now, by name; names begin with the first seq of the file."""
    found = {}
    for path in sorted(log.glob("*.seg")):
        if SegmentName.parse(path.name) is None or not path.is_file():  # not the log's
            continue
        stat = path.stat()
        found[path.name] = (stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)
    return found


def seen(cache: Path, segments: int) -> Stamps:
    """The stamps of the last look; empty if there was none or the file cannot be read."""
    try:
        return _read(cache, segments)
    except (OSError, msgspec.MsgspecError):
        return {}


def unreadable_stamps(cache: Path, segments: int) -> str | None:
    """Why the stamps cannot be read; None if they can, or are not there."""
    try:
        _read(cache, segments)
    except FileNotFoundError:
        return None
    except OSError as error:
        return error.strerror or str(error)
    except msgspec.MsgspecError as error:
        return str(error)
    return None


def _read(cache: Path, segments: int) -> Stamps:
    """The stamps of a log of so many segments; a longer file is refused."""
    data = read_whole(cache / STAMPS, bytes_max=_STAMP_BYTES_MAX * (segments + 1))
    return msgspec.msgpack.decode(data, type=Stamps)


def keep(cache: Path, stamps: Stamps) -> None:
    """Note what was looked at, for the next opening."""
    make_private(cache)
    make_room(cache / STAMPS)
    with replacing(cache / STAMPS) as file:
        file.write(msgspec.msgpack.encode(stamps))


def in_changed_files(erased: Sequence[int], now: Stamps, before: Stamps) -> list[int]:
    """Those of the erased seqs (ascending) that lie in files which are not as they were."""
    if not now:
        return list(erased)
    firsts = [int(name.partition("-")[0]) for name in now]
    found: list[int] = []
    for name, first, end in zip(now, firsts, [*firsts[1:], 2**63], strict=True):
        if before.get(name) != now[name]:
            found += erased[bisect_left(erased, first) : bisect_left(erased, end)]
    return found
