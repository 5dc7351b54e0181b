"""A watched folder: its path, and a check that it is still the same folder.

The marker (device and inode of the folder) tells a folder from the empty place where a disk was mounted. Nothing
is forgotten when the folder is gone, when it is another one by its marker and most of what is known is missing
from it, or when its marker is unknown and nothing that is known is in it.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from recollect.events.errors import InvalidInput
from recollect.events.named_files import resolved
from recollect.interfaces.common.file_uris import shown

_RECOGNISED = 0.5


class Marker(msgspec.Struct, frozen=True):
    device: int
    inode: int


class Folder(msgspec.Struct, frozen=True):
    """The absolute path of a folder, without symbolic links."""

    path: str

    @property
    def shown(self) -> str:
        return shown(self.path)

    def file_in(self, cache: Path, ending: str) -> Path:
        """A file about this folder in a store's cache."""
        name = hashlib.sha256(os.fsencode(self.path)).hexdigest()[:16]
        return cache / "folders" / f"{name}.{ending}"

    def marker(self) -> Marker | None:
        """What the folder is on disk; None if it is not there."""
        try:
            found = Path(self.path).stat()
        except OSError:
            return None
        return Marker(found.st_dev, found.st_ino) if stat.S_ISDIR(found.st_mode) else None


def folders_of(paths: Iterable[str | os.PathLike[str]], *, store: Path | None) -> list[Folder]:
    """The folders to watch, each once; refuses one inside another and one that holds or lies in the log."""
    given = [str(resolved(path)) for path in paths]
    folders = [Folder(path) for path in dict.fromkeys(given)]
    if not folders:
        raise InvalidInput("watch needs at least one folder")
    for folder in folders:
        if Path(folder.path).exists() and not Path(folder.path).is_dir():
            raise InvalidInput(f"{folder.shown} is a file; watch takes folders")
        if store is not None and _within(folder.path, str(store.resolve())):
            raise InvalidInput(f"{folder.shown} lies in the store {store}; a store does not remember itself")
        outer = next(
            (other for other in folders if other != folder and _within(folder.path, other.path)), None
        )
        if outer is not None:
            raise InvalidInput(
                f"{folder.shown} lies in {outer.shown}, which is watched already; leave it out"
            )
    return folders


def _within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def doubt(
    folder: Folder,
    *,
    now: Marker | None,
    before: Marker | None,
    known: Sequence[str],
    found: int,
) -> str | None:
    """Why this may be another folder than the one the store knows, so that nothing may be forgotten; None if it is the same.

    `known` are the paths that the store has of it, `found` how many of those are there.
    """
    if not known:
        return None
    name = folder.shown
    if now is None:
        return f"{name} is gone; its {len(known):,} files are kept as they were until it is back"
    if before is None and not found:
        return (
            f"{name} holds none of the {len(known):,} files that are known of it (not mounted?); "
            f"if that is right, say so with --accept-root"
        )
    if before is not None and now != before and found < _RECOGNISED * len(known):
        return (
            f"{name} is another folder than before (device or inode) and {len(known) - found:,} of {len(known):,} known "
            f"files are missing (not mounted?); if that is right, say so with --accept-root"
        )
    return None
