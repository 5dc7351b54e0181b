"""Files that one replica makes and the others fetch: encrypted blobs, and one box that lists them with their keys.

    box `built`           name of each file -> SHA-256 and length of it, and its parts: blob and key of each
    box `lease-<what>`    which replica makes something at the moment; empty if none does

A blob cannot be read without its key, and the key is only in the box. Dropping a file replaces the box first and then
deletes the blobs, so no remaining copy of the blobs can be read.

A lease is kept by replacing its box again and again. A replica that wants it and sees the same version for `LEASE_S`,
by its own clock, takes it over; clocks of two machines are never compared. If the holder was only slow, the same thing
is made twice, which costs only time: shards and seals have the same bits wherever they are made.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from hashlib import file_digest, sha256
from pathlib import Path

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from recollect.events.packs.store import Box, BoxMoved, PackStore, StoreUnreachable

LEASE_S = 30.0
PART_BYTES = 32 * 1024 * 1024
_BOX = "built"
_KEY_BYTES = 32
_NONCE = bytes(12)  # a key is used for one part


class Part(msgspec.Struct, frozen=True, array_like=True):
    blob: str
    key: bytes


class SharedFile(msgspec.Struct, frozen=True, array_like=True):
    digest: str
    bytes: int
    parts: tuple[Part, ...]


_listing = msgspec.msgpack.Decoder(dict[str, SharedFile])


class SharedFiles:
    """`trouble` is the last failure, until the same operation succeeds; `away` means that the engine does not answer."""

    def __init__(self, store: PackStore, *, lease_s: float = LEASE_S) -> None:
        self._store = store
        self._lease_s = lease_s
        self._me = os.urandom(16)
        self._seen: dict[str, tuple[int, float]] = {}
        self._bad: set[str] = set()
        self.trouble: str | None = None
        self.away: Callable[[], bool] = lambda: False

    def listed(self) -> dict[str, SharedFile]:
        return self._read()[1]

    def _read(self) -> tuple[int, dict[str, SharedFile]]:
        self._require_engine()
        box = self._store.get_box(_BOX)
        return box.version, _files_in(box)

    def _require_engine(self) -> None:
        if self.away():  # following the log has just waited for it
            raise StoreUnreachable(f"{self._store.where} does not answer")

    def put(self, name: str, path: Path) -> None:
        """Share a file under this name, replacing an earlier one; if the same file is there and whole, do nothing."""
        digest = _digest_of(path)
        before = self.listed().get(name)
        if before is not None and before.digest == digest and name not in self._bad:
            return
        parts: list[Part] = []
        with path.open("rb") as file:
            while part := file.read(PART_BYTES):
                key = os.urandom(_KEY_BYTES)
                parts.append(Part(self._store.put_blob(AESGCM(key).encrypt(_NONCE, part, None)), key))
        made = SharedFile(digest, path.stat().st_size, tuple(parts))
        self._change(lambda files: {**files, name: made})
        self._bad.discard(name)
        self.trouble = None

    def fetch(self, name: str, into: Path) -> bool:
        """Write the shared file of this name to a path; False, and `trouble`, if it is missing or not what was shared."""
        found = self.listed().get(name)
        if found is None:
            return False
        digest = sha256()
        with into.open("wb") as file:
            for part in found.parts:
                plain = self._plain(part)
                if plain is None:
                    break
                digest.update(plain)
                file.write(plain)
        if digest.hexdigest() == found.digest:
            return True
        self._bad.add(name)
        self.trouble = f"the shared file {name} of {self._store.where} has wrong or missing bytes; it was made here instead"
        return False

    def _plain(self, part: Part) -> bytes | None:
        content = self._store.get_blob(part.blob)
        if content is None:
            return None
        try:
            return AESGCM(part.key).decrypt(_NONCE, content, None)
        except (InvalidTag, ValueError):
            return None

    def drop(self, unwanted: Callable[[str], bool]) -> list[str]:
        """Destroy the keys of these files, then delete their blobs; the names of those that went.

        Also if they are only in an older version of the box, which a restored backup brought back.
        """
        self._require_engine()
        (versions,) = self._store.get_versions([_BOX])
        if not any(unwanted(name) for box in versions for name in _files_in(box)):
            return []
        return self._change(lambda files: {name: one for name, one in files.items() if not unwanted(name)})

    def _change(self, change: Callable[[dict[str, SharedFile]], dict[str, SharedFile]]) -> list[str]:
        """Replace the box; of files that are no longer in it the blobs are deleted."""
        while True:
            version, before = self._read()
            after = change(before)
            try:
                self._store.put_box(_BOX, msgspec.msgpack.encode(after), version)
            except BoxMoved:
                continue
            break
        kept = {part.blob for one in after.values() for part in one.parts}
        for one in before.values():
            for part in one.parts:
                if part.blob not in kept:
                    self._store.delete_blob(part.blob)
        return [name for name in before if name not in after]

    # --- leases ----------------------------------------------------------------------------------

    @contextmanager
    def lease(self, what: str) -> Iterator[bool]:
        """Whether this replica got the lease; it is renewed inside the block and given back at its end."""
        name = f"lease-{what}"
        try:
            version = self._take(name)
        except StoreUnreachable:
            version = None
        if version is None:
            yield False
            return
        held = [version]
        done = threading.Event()
        keeping = threading.Thread(
            target=self._keep, args=(name, held, done), name="recollect-lease", daemon=True
        )
        keeping.start()
        try:
            yield True
        finally:
            done.set()
            keeping.join()
            with suppress(BoxMoved, StoreUnreachable):  # taken over, or it runs out by itself
                self._store.put_box(name, b"", held[0])

    def _take(self, name: str) -> int | None:
        box = self._store.get_box(name)
        version, since = self._seen.get(name, (-1, 0.0))
        if box.version != version:
            since = time.monotonic()
            self._seen[name] = box.version, since
        if box.version and box.content and time.monotonic() - since < self._lease_s:
            return None
        try:
            return self._store.put_box(name, self._me, box.version)
        except BoxMoved:
            return None

    def _keep(self, name: str, held: list[int], done: threading.Event) -> None:
        while not done.wait(self._lease_s / 3):
            try:
                held[0] = self._store.put_box(name, self._me, held[0])
            except BoxMoved:
                return  # another took it over: both make the same
            except StoreUnreachable:
                continue


def _files_in(box: Box) -> dict[str, SharedFile]:
    try:
        return _listing.decode(box.content) if box.version else {}
    except msgspec.MsgspecError:
        return {}  # it is a cache: what cannot be read is made anew


def _digest_of(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()
