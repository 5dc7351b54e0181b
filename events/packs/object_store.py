"""Packs in an object store with create-only puts: S3 and what speaks its API, GCS, Azure, and a plain directory.

    log/<position, 20 digits>     a pack; created once, never replaced
    box/<name>/<version>          a box: the next version is created, then the older ones are deleted
    blob/<SHA-256>                a blob

A position is taken by creating its object, which the store allows once (`If-None-Match: *`). Credentials, regions and
endpoints come from the environment, as with every tool for that store (`AWS_…`, `GOOGLE_…`, `AZURE_…`).

In a plain directory every object is synced before it counts: obstore itself does not.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from typing import TypeVar
from urllib.parse import unquote, urlsplit

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError, NotFoundError, PreconditionError
from obstore.store import ObjectStore, from_url

from recollect.events.packs.store import Box, BoxMoved, StoreStatus, StoreUnreachable, Unsettled
from recollect.events.private_files import make_private, sync_directory

Result = TypeVar("Result")
_AT_ONCE = 16
_PAUSE_S_MIN = 0.02
_PAUSE_S_MAX = 1.0
_TIMEOUT = "20s"
_FULL = os.strerror(errno.ENOSPC)


class ObjectPackStore:
    """The log at a URL such as `s3://bucket/prefix` or `file:///directory`."""

    pack_bytes_max = 64 * 1024 * 1024

    def __init__(self, url: str) -> None:
        self.where = url
        self._folder = Path(unquote(urlsplit(url).path)) if url.startswith("file:") else None
        self.fresh_s = 0.0 if self._folder else 1.0
        self.copies: tuple[str, ...] = (
            ("backups and snapshots of the directory, for as long as they are kept",)
            if self._folder
            else (
                "older versions of deleted objects, if the bucket keeps versions",
                "replicas and backups of the bucket",
            )
        )
        if self._folder:
            make_private(self._folder)
        try:
            self._store: ObjectStore = _opened(url)
        except (BaseError, ValueError) as error:
            raise StoreUnreachable(f"{url} cannot be opened: {_said(error)}") from error
        self._pool = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="recollect-packs")

    # --- packs -----------------------------------------------------------------------------------

    def put_if(self, position: int, pack: bytes) -> None:
        try:
            created = self._create(_pack(position), pack)
        except StoreUnreachable as error:
            raise Unsettled(f"no acknowledgement: {error}") from error
        if not created:
            raise Unsettled(f"position {position} is taken")

    def get(self, position: int) -> bytes | None:
        return self._read(_pack(position))

    def get_many(self, first: int, count: int) -> list[bytes | None]:
        return list(self._pool.map(self.get, range(first, first + count)))

    def others(self, position: int) -> Iterator[bytes]:
        """Read the same object again: the object store may answer from another copy."""
        found = self.get(position)
        if found is not None:
            yield found

    def last(self, known: int) -> int:
        """The last position; positions have no gaps, so double the distance until one is missing, then bisect."""
        low, step = known, 1
        if known and not self._exists(_pack(known)):
            low, high = 0, known
        else:
            while self._exists(_pack(low + step)):
                low, step = low + step, 2 * step
            high = low + step
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._exists(_pack(middle)) else (low, middle)
        return low

    def wait(self, position: int, timeout_s: float) -> bool:
        deadline, pause = time.monotonic() + timeout_s, _PAUSE_S_MIN
        while not self._exists(_pack(position)):
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            time.sleep(min(pause, left))
            pause = min(2 * pause, _PAUSE_S_MAX)
        return True

    # --- boxes -----------------------------------------------------------------------------------

    def get_box(self, name: str) -> Box:
        while versions := self._versions(name):
            content = self._read(_box(name, max(versions)))
            if content is not None:
                return Box(max(versions), content)
        return Box(0, b"")

    def get_boxes(self, names: Sequence[str]) -> list[Box]:
        """Read version 1 of each box first, without listing versions: nearly every box is never replaced."""

        def first(name: str) -> Box:
            content = self._read(_box(name, 1))
            return self.get_box(name) if content is None else Box(1, content)

        return list(self._pool.map(first, names))

    def get_versions(self, names: Sequence[str]) -> list[list[Box]]:
        def every(name: str) -> list[Box]:
            found = [(version, self._read(_box(name, version))) for version in sorted(self._versions(name))]
            return [Box(version, content) for version, content in found if content is not None]

        return list(self._pool.map(every, names))

    def put_box(self, name: str, content: bytes, version: int) -> int:
        path = _box(name, version + 1)
        if not self._create(path, content) and self._read(path) != content:
            raise BoxMoved(name)
        versions = self._versions(name) if version else []
        if (
            max(versions, default=0) > version + 1
        ):  # it was replaced twice meanwhile, and the place was free again
            self._delete(path)
            raise BoxMoved(name)
        for older in versions:
            if older <= version:
                self._delete(_box(name, older))
        return version + 1

    def delete_box(self, name: str) -> None:
        for version in self._versions(name):
            self._delete(_box(name, version))

    def _versions(self, name: str) -> list[int]:
        def listed() -> list[int]:
            chunks = obstore.list(self._store, prefix=f"box/{name}")
            names = [found["path"].rpartition("/")[2] for chunk in chunks for found in chunk]
            return [int(name) for name in names if name.isdecimal()]

        return self._asked(listed)

    # --- blobs -----------------------------------------------------------------------------------

    def put_blob(self, content: bytes) -> str:
        digest = sha256(content).hexdigest()
        path = f"blob/{digest}"
        if not self._create(path, content) and self._read(path) != content:  # damaged: this one is right
            self._asked(lambda: obstore.put(self._store, path, content))
        return digest

    def get_blob(self, digest: str) -> bytes | None:
        return self._read(f"blob/{digest}")

    def delete_blob(self, digest: str) -> None:
        self._delete(f"blob/{digest}")

    # --- objects ---------------------------------------------------------------------------------

    def _create(self, path: str, content: bytes) -> bool:
        """Create an object, synced in a directory; False if it exists already."""
        try:
            if self._folder:
                make_private((self._folder / path).parent)
            obstore.put(self._store, path, content, mode="create", use_multipart=False)
            if self._folder:
                _sync(self._folder / path)
        except (AlreadyExistsError, PreconditionError):
            return False
        except (BaseError, OSError) as error:
            raise StoreUnreachable(
                f"{self.where} did not take {path} of {len(content):,} bytes: {_said(error)}"
            ) from error
        return True

    def _read(self, path: str) -> bytes | None:
        return self._asked(lambda: bytes(obstore.get(self._store, path).bytes()), missing=None)

    def _exists(self, path: str) -> bool:
        return self._asked(lambda: bool(obstore.head(self._store, path)), missing=False)

    def _delete(self, path: str) -> None:
        self._asked(lambda: obstore.delete(self._store, path), missing=None)

    def _asked(
        self, question: Callable[[], Result], *, missing: Result | type[NotFoundError] = NotFoundError
    ) -> Result:
        try:
            return question()
        except (NotFoundError, FileNotFoundError):
            if missing is NotFoundError:
                raise StoreUnreachable(f"{self.where} is not there") from None
            return missing  # type: ignore[return-value]
        except (BaseError, OSError) as error:
            raise StoreUnreachable(f"{self.where} did not answer: {_said(error)}") from error

    def status(self) -> StoreStatus:
        if self._folder:
            return StoreStatus(kind="packs in a directory", replication="none: one directory, synced")
        return StoreStatus(kind="packs in an object store", replication="the object store's own")

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)


def _opened(url: str) -> ObjectStore:
    if url.startswith("file:"):
        return from_url(url)
    return from_url(url, client_options={"timeout": _TIMEOUT, "allow_http": True})


def _pack(position: int) -> str:
    return f"log/{position:020d}"


def _box(name: str, version: int) -> str:
    return f"box/{name}/{version}"


def _said(error: Exception) -> str:
    """An error in a line, without obstore's dump of its parts; what to do where the disk is full."""
    said = " ".join(str(error).partition("\n\nDebug source")[0].split())
    return f"{said}; make room there and run it again" if _FULL in said else said


def _sync(path: Path) -> None:
    """Make a new file its owner's alone, and let it and its directory entries survive a power cut."""
    path.chmod(0o600)
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    sync_directory(path.parent)
    sync_directory(path.parent.parent)
