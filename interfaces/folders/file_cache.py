"""What the files looked like when they were last read: a cache that saves reading them again, and nothing more.

A file is passed over only if its stamp is as it was then and the store still holds what it held then. A stamp is kept
only once the file has been left alone for longer than the coarsest clock of a file system ticks. The same file
holds the folder's marker and which files could not be read. All of it may be deleted at any time.

Files that an older `READER` read are read again once: the same bytes may give other chunks now.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from recollect.events.errors import InvalidInput
from recollect.events.private_files import make_private, open_regular, replacing
from recollect.interfaces.folders.folder import Folder, Marker
from recollect.interfaces.folders.scan import FileStamp

READER = 2
_TICK_NS = 2_000_000_000
_READ_AGAIN = b""
_BYTES_MAX = 1 << 28


class Remembered(msgspec.Struct, frozen=True, omit_defaults=True):
    """A file as it was read: the fingerprint of its chunks, or the reason why it has none."""

    stamp: FileStamp = msgspec.field(name="look")
    fingerprint: bytes = _READ_AGAIN
    reason: str = ""


class _Saved(msgspec.Struct, kw_only=True):
    marker: Marker | None = None
    reader: int = 1
    files: dict[bytes, Remembered] = {}


class FileCache:
    """The cache of one folder; kept in memory alone for a store without a directory."""

    def __init__(self, folder: Folder, cache: Path | None) -> None:
        self._file = None if cache is None else folder.file_in(cache, "looks")
        saved = self._load()
        self.marker = saved.marker
        self.files = {os.fsdecode(path): each for path, each in saved.files.items()}
        self._stored = saved

    def _load(self) -> _Saved:
        if self._file is None:
            return _Saved()
        try:
            saved = msgspec.msgpack.decode(_content(self._file), type=_Saved)
        except (OSError, InvalidInput, msgspec.MsgspecError, RecursionError):
            if self._file.is_dir() and not self._file.is_symlink():  # which no file can replace
                raise InvalidInput(f"{self._file} is a directory where a file belongs; remove it") from None
            return _Saved()
        if saved.reader != READER:
            saved.files = {path: Remembered(each.stamp) for path, each in saved.files.items()}
        return saved

    def unchanged(self, path: str, stamp: FileStamp, fingerprint: bytes) -> bool:
        known = self.files.get(path)
        return known is not None and known.stamp == stamp and known.fingerprint == fingerprint

    def read(self, path: str, stamp: FileStamp, fingerprint: bytes, *, now_ns: int) -> None:
        """A file was read and the store now holds it."""
        if now_ns - max(stamp.mtime_ns, stamp.ctime_ns) > _TICK_NS:
            self.files[path] = Remembered(stamp, fingerprint)
        else:
            self.files.pop(path, None)

    def unreadable(self, path: str, stamp: FileStamp) -> str:
        """Why a file could not be read when it looked like this; empty if it was not tried."""
        known = self.files.get(path)
        return known.reason if known is not None and known.stamp == stamp else ""

    def save(self) -> None:
        """Write the cache if it changed; a half-written one is never seen."""
        state = _Saved(
            marker=self.marker,
            reader=READER,
            files={os.fsencode(path): each for path, each in self.files.items()},
        )
        if self._file is None or state == self._stored or not self._file.parents[2].is_dir():
            return
        make_private(self._file.parent)
        with replacing(self._file) as file:
            file.write(msgspec.msgpack.encode(state))
        self._stored = state


def _content(path: Path) -> bytes:
    """The bytes of a regular file; none of one that is too long to be a cache."""
    with open(open_regular(path, os.O_RDONLY), "rb") as file:  # noqa: PTH123 (a descriptor)
        return file.read(_BYTES_MAX) if os.fstat(file.fileno()).st_size <= _BYTES_MAX else b""
