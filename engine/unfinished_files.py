"""Files and folders that are written beside their place, and moved there when they are whole.

    .NAME.3f9c21d7.unfinished    being written; its writer holds a lock (`flock`) on it

The kernel lets go of the lock of a process that died: the next write to the same place removes what is not locked.
What is put in place was synced before, and its directory is synced after. A file that exists is replaced only on
request, also when it came into being meanwhile. All of it is for its owner alone.
"""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from recollect.events.errors import InvalidInput
from recollect.events.private_files import make_private, naming, open_private, sync_directory

_SUFFIX = ".unfinished"
_ATTEMPTS = 20
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EMLINK, errno.ENOSYS)


class UnfinishedFile:
    """A file in the making; `path` is where it stands now."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._descriptor = descriptor

    def write(self, chunks: Iterator[bytes]) -> None:
        """Write these bytes as the whole file, and sync it."""
        os.ftruncate(self._descriptor, 0)
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        with naming(self.path):
            with open(os.dup(self._descriptor), "wb") as file:  # noqa: PTH123 (a descriptor)
                file.writelines(chunks)
            os.fsync(self._descriptor)

    def put(self, place: Path, *, overwrite: bool) -> None:
        """Move the file to its place."""
        put_in_place(self.path, place, overwrite=overwrite)
        sync_directory(place.parent)


def refuse_existing(path: Path, *, overwrite: bool) -> None:
    """Refuse before any work what `put_in_place` would refuse at its end."""
    if path.is_dir():
        raise InvalidInput(f"{path} is a directory; name a file in it")
    if path.exists() and not path.is_file():
        raise InvalidInput(f"{path} is no regular file, and would be replaced by one; name another place")
    if path.exists() and not overwrite:
        raise exists_already(path)


def put_in_place(made: Path, place: Path, *, overwrite: bool) -> None:
    """Move a file that was synced; one that exists is replaced only if `overwrite` says so."""
    if overwrite:
        made.replace(place)
        return
    try:
        place.hardlink_to(made)
    except FileExistsError:
        raise exists_already(place) from None
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        if place.exists():
            raise exists_already(place) from None
        made.replace(place)
    else:
        made.unlink()


def exists_already(path: Path) -> InvalidInput:
    return InvalidInput(
        f"{path} exists already; name another place, or replace it with --overwrite (overwrite=True)"
    )


@contextmanager
def unfinished_file(place: Path) -> Iterator[UnfinishedFile]:
    """A new file beside its place; gone after the block unless it was put there."""
    make_private(place.parent)
    remove_debris(place)
    path, descriptor = _locked(place, folder=False)
    try:
        yield UnfinishedFile(path, descriptor)
    finally:
        with suppress(OSError):
            path.unlink()
        os.close(descriptor)


def write_file(place: Path, text: str, *, overwrite: bool) -> None:
    """Write a whole text, and put it in its place when it is synced."""
    with unfinished_file(place) as file:
        file.write(iter([text.encode()]))
        file.put(place, overwrite=overwrite)


@contextmanager
def unfinished_folder(place: Path) -> Iterator[Path]:
    """A new folder beside its place; gone after the block unless it was moved there."""
    make_private(place.parent)
    remove_debris(place)
    path, descriptor = _locked(place, folder=True)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
        os.close(descriptor)


def remove_debris(place: Path) -> None:
    """Remove what processes that died were writing for this place."""
    for path in place.parent.iterdir():
        if path.name.startswith(f".{place.name}.") and path.name.endswith(_SUFFIX):
            with suppress(OSError):  # its writer lives, or it is not ours to open
                _remove_unlocked(path)


def _remove_unlocked(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    finally:
        os.close(descriptor)


def _locked(place: Path, *, folder: bool) -> tuple[Path, int]:
    """A new file or folder, and the descriptor that holds its lock."""
    for attempt in range(_ATTEMPTS):
        path = place.with_name(f".{place.name}.{secrets.token_hex(4)}{_SUFFIX}")
        try:
            return path, _created_and_locked(path, folder=folder)
        except (FileNotFoundError, BlockingIOError):  # taken for debris in the moment before it was locked
            if attempt == _ATTEMPTS - 1:  # or nothing can be made there
                raise
    raise AssertionError


def _created_and_locked(path: Path, *, folder: bool) -> int:
    descriptor = _created(path, folder=folder)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        path.stat()
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _created(path: Path, *, folder: bool) -> int:
    if not folder:
        return open_private(path, os.O_RDWR | os.O_CREAT | os.O_EXCL)
    make_private(path)
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
