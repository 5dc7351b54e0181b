"""A disk in memory that loses power and fails on request.

Every file keeps what is durable beside what a running program sees, and the unsynced writes in between; every
directory does the same with its entries. `crash` gives the disk that a machine might find after a power cut:
of the unsynced writes any subset, in pieces of 64, 512 or 4096 bytes, is lost, kept or garbled, and each
unsynced directory entry may be lost. `cut_at(n)` cuts the power at the n-th operation, `fail_at(n, errno)`
makes that operation fail. A sync that fails is Linux's: what it should have written is held for written from then on,
and no later sync writes it; other open descriptors meet the error once, later ones never do.
One seed gives one outcome.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import NoReturn

PIECE_BYTES = (64, 512, 4096)


class PowerCut(BaseException):
    """The machine lost power; no handler of ordinary errors may swallow this."""


@dataclass
class _File:
    content: bytearray = field(default_factory=bytearray)
    durable: bytearray = field(default_factory=bytearray)
    unsynced: list[tuple[int, bytes | None]] = field(default_factory=list)  # None: cut to this length

    def write(self, offset: int, data: bytes) -> None:
        _overlay(self.content, offset, data)
        self.unsynced.append((offset, bytes(data)))

    def truncate(self, size: int) -> None:
        _resize(self.content, size)
        self.unsynced.append((size, None))

    def sync(self) -> None:
        for offset, data in self.unsynced:
            if data is None:
                _resize(self.durable, offset)
            else:
                _overlay(self.durable, offset, data)
        self.unsynced.clear()

    def fail_sync(self) -> None:
        self.unsynced = [(size, None) for size, data in self.unsynced if data is None]

    def after_crash(self, rng: Random) -> _File:
        content = bytearray(self.durable)
        for offset, data in self.unsynced:
            if data is not None:
                _overlay_some(content, offset, data, rng)
            elif rng.random() < 0.5:
                _resize(content, offset)
        return _File(content, bytearray(content))


@dataclass
class _Directory:
    entries: dict[str, _File | _Directory] = field(default_factory=dict)
    durable: dict[str, _File | _Directory] = field(default_factory=dict)
    unsynced: list[dict[str, _File | _Directory | None]] = field(default_factory=list)

    def change(self, change: dict[str, _File | _Directory | None]) -> None:
        """One atomic change of entries; None removes one."""
        _apply(self.entries, change)
        self.unsynced.append(change)

    def sync(self) -> None:
        self.durable = dict(self.entries)
        self.unsynced.clear()

    def after_crash(self, rng: Random, seen: dict[int, _File]) -> _Directory:
        entries = dict(self.durable)
        for change in self.unsynced:
            if rng.random() < 0.5:
                _apply(entries, change)
        kept: dict[str, _File | _Directory] = {}
        for name, node in entries.items():
            if isinstance(node, _Directory):
                kept[name] = node.after_crash(rng, seen)
            else:
                kept[name] = seen.setdefault(id(node), node.after_crash(rng))
        return _Directory(kept, dict(kept))


def _apply(entries: dict[str, _File | _Directory], change: dict[str, _File | _Directory | None]) -> None:
    for name, node in change.items():
        if node is None:
            entries.pop(name, None)
        else:
            entries[name] = node


def _resize(content: bytearray, size: int) -> None:
    if size < len(content):
        del content[size:]
    else:
        content.extend(bytes(size - len(content)))


def _overlay(content: bytearray, offset: int, data: bytes) -> None:
    if offset > len(content):
        content.extend(bytes(offset - len(content)))
    content[offset : offset + len(data)] = data


def _overlay_some(content: bytearray, offset: int, data: bytes, rng: Random) -> None:
    """Write the pieces that reached the disk; a lost piece before a kept one leaves what was there, or zeros."""
    piece_bytes = rng.choice(PIECE_BYTES)
    lost_share = rng.choice((0.0, 0.1, 0.5, 1.0))
    start = 0
    while start < len(data):
        stop = min(len(data), start + piece_bytes - (offset + start) % piece_bytes)
        fate = rng.random()
        if fate >= lost_share:
            _overlay(content, offset + start, data[start:stop])
        elif fate < lost_share / 4:
            _overlay(content, offset + start, rng.randbytes(stop - start))
        start = stop


def _walk(directory: _Directory, path: Path) -> Iterator[tuple[Path, bytes]]:
    for name, node in directory.entries.items():
        if isinstance(node, _Directory):
            yield from _walk(node, path / name)
        else:
            yield path / name, bytes(node.content)


class SimulatedDisk:
    """`Disk` in memory. Paths are looked up from one root; locks are held per descriptor."""

    def __init__(self, root: _Directory | None = None, boot: int = 1) -> None:
        self._root = root if root is not None else _Directory()
        self._open: dict[int, _File | _Directory] = {}
        self._paths: dict[int, Path] = {}
        self._next_descriptor = 3
        self._locks: dict[int, int] = {}
        self._owed: dict[int, int] = {}
        self._fail_at: int | None = None
        self._error: int | None = None
        self._dead = False
        self._boot = boot
        self.operations = 0

    @classmethod
    def holding(cls, files: Mapping[Path, bytes]) -> SimulatedDisk:
        """A disk with these files on it, durably."""
        disk = cls()
        for path, content in files.items():
            disk.make_directories(path.parent)
            directory = disk._directory(path.parent)
            directory.change({path.name: _File(bytearray(content), bytearray(content))})
            directory.sync()
        return disk

    def files(self) -> dict[Path, bytes]:
        """Every file as a running program sees it."""
        return dict(_walk(self._root, Path("/")))

    # --- accidents -------------------------------------------------------------------------------

    def crash(self, seed: int | Random) -> SimulatedDisk:
        """The disk that is found after a power cut now."""
        rng = seed if isinstance(seed, Random) else Random(seed)
        self._dead = True
        return SimulatedDisk(self._root.after_crash(rng, {}), self._boot + 1)

    def cut_at(self, operation: int) -> None:
        """Cut the power at the n-th operation from now (1 is the next)."""
        self._fail_at, self._error = self.operations + operation, None

    def fail_at(self, operation: int, error: int = errno.EIO) -> None:
        """Let the n-th operation from now fail once; ENOSPC lets half of a write through."""
        self._fail_at, self._error = self.operations + operation, error

    def repair(self) -> None:
        """No accident is planned any more, and a cut program's disk answers another program of the same boot."""
        self._fail_at, self._dead = None, False

    def _step(self) -> int:
        """Count an operation; the errno it has to fail with, or 0."""
        if self._dead:
            raise PowerCut
        self.operations += 1
        if self.operations != self._fail_at:
            return 0
        if self._error is None:
            self._dead = True
            raise PowerCut
        return self._error

    def _check(self) -> None:
        if error := self._step():
            raise OSError(error, os.strerror(error))

    # --- the tree --------------------------------------------------------------------------------

    def _directory(self, path: Path) -> _Directory:
        node: _File | _Directory = self._root
        for part in path.parts[1:] if path.is_absolute() else path.parts:
            found = node.entries.get(part) if isinstance(node, _Directory) else None
            if found is None:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
            node = found
        if not isinstance(node, _Directory):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))
        return node

    def _file(self, path: Path) -> _File | None:
        node = self._directory(path.parent).entries.get(path.name)
        return node if isinstance(node, _File) else None

    def _handle(self, node: _File | _Directory, path: Path) -> int:
        self._next_descriptor += 1
        self._paths[self._next_descriptor] = path
        self._open[self._next_descriptor] = node
        return self._next_descriptor

    def _opened(self, descriptor: int) -> _File:
        node = self._open[descriptor]
        assert isinstance(node, _File)
        return node

    # --- Disk ------------------------------------------------------------------------------------

    def open(self, path: Path, *, write: bool = True, create: bool = False) -> int:
        self._check()
        node = self._file(path)
        if node is None:
            if not create:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
            node = _File()
            self._directory(path.parent).change({path.name: node})
        return self._handle(node, path)

    def create(self, path: Path) -> int:
        self._check()
        if self._file(path) is not None:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
        node = _File()
        self._directory(path.parent).change({path.name: node})
        return self._handle(node, path)

    def open_directory(self, path: Path) -> int:
        self._check()
        return self._handle(self._directory(path), path)

    def close(self, descriptor: int) -> None:
        self.unlock(descriptor)
        self._open.pop(descriptor, None)
        self._owed.pop(descriptor, None)

    def read(self, descriptor: int, size: int, offset: int) -> bytes:
        self._check()
        return bytes(self._opened(descriptor).content[offset : offset + size])

    def write(self, descriptor: int, data: bytes, offset: int) -> None:
        error = self._step()
        file = self._opened(descriptor)
        if not error:
            file.write(offset, data)
            return
        if error == errno.ENOSPC:
            file.write(offset, data[: len(data) // 2])
        raise OSError(error, os.strerror(error))

    def size(self, descriptor: int) -> int:
        self._check()
        return len(self._opened(descriptor).content)

    def truncate(self, descriptor: int, size: int) -> None:
        self._check()
        self._opened(descriptor).truncate(size)

    def sync(self, descriptor: int) -> None:
        error = self._step() or self._owed.pop(descriptor, 0)
        if error:
            self.fail_sync(descriptor, error)
        self._open[descriptor].sync()

    def fail_sync(self, descriptor: int, error: int) -> NoReturn:
        """Let a sync fail: everybody who has the file open hears of it once."""
        node = self._open[descriptor]
        if isinstance(node, _File):
            lost = any(data is not None for _, data in node.unsynced)
            node.fail_sync()
            others = [other for other, opened in self._open.items() if opened is node and other != descriptor]
            self._owed.update(dict.fromkeys(others, error) if lost else {})
        raise OSError(error, os.strerror(error))

    def rename(self, old: Path, new: Path) -> None:
        self._check()
        assert old.parent == new.parent
        directory = self._directory(old.parent)
        directory.change({old.name: None, new.name: directory.entries[old.name]})

    def remove(self, path: Path) -> None:
        self._check()
        if self._file(path) is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
        self._directory(path.parent).change({path.name: None})

    def names(self, path: Path) -> list[str]:
        self._check()
        try:
            return sorted(self._directory(path).entries)
        except FileNotFoundError:
            return []

    def make_directories(self, path: Path) -> None:
        self._check()
        directory = self._root
        for part in path.parts[1:] if path.is_absolute() else path.parts:
            found = directory.entries.get(part)
            if found is None:
                found = _Directory()
                directory.change({part: found})
                directory.sync()
            assert isinstance(found, _Directory)
            directory = found

    def boot(self) -> int:
        return self._boot

    def size_in_place(self, descriptor: int) -> int | None:
        file = self._opened(descriptor)
        return len(file.content) if self._file(self._paths[descriptor]) is file else None

    def try_lock(self, descriptor: int) -> bool:
        self._check()
        holder = self._locks.setdefault(id(self._opened(descriptor)), descriptor)
        return holder == descriptor

    def unlock(self, descriptor: int) -> None:
        node = self._open.get(descriptor)
        if node is not None and self._locks.get(id(node)) == descriptor:
            del self._locks[id(node)]
