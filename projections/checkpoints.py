"""Checkpoints: the projections' arrays in one file, so that opening does not replay everything.

A checkpoint is a cache with a key: the versions of the projections, a seq, and the log's chain value there.
It is used only if all of them match and every CRC is right; otherwise the log is replayed. Deleting every
checkpoint is always safe and changes nothing but time.

    magic 8 | header offset u64 | header length u32 | header CRC u32 | arrays at multiples of 64 | header

Arrays are read as copy-on-write memory maps. Files are written beside their place, synced and renamed.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import struct
import zlib
from pathlib import Path
from typing import IO, Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from recollect.events.log import Log
from recollect.events.private_files import make_private, replacing
from recollect.events.regular_files import is_of_the_system, make_room, opened, remove
from recollect.projections.columns import State

MAGIC = b"RCLCKP01"
_PREFIX = struct.Struct("<8sQII")
_ALIGN = 64
_KEPT = 2
_EMPTIED = "emptied"


class _Entry(msgspec.Struct, array_like=True):
    """Where one array stands; `fields` is numpy's description of its items (empty for plain bytes)."""

    name: str
    fields: list[tuple[str, str]]
    shape: tuple[int, ...]
    offset: int
    size: int
    crc: int


class _Header(msgspec.Struct, array_like=True):
    key: str
    seq: int
    chain: bytes
    entries: list[_Entry]


class Position(NamedTuple):
    """A seq, and the log's chain value there."""

    seq: int
    chain: bytes


class Checkpoint(msgspec.Struct, frozen=True):
    seq: int
    chain: bytes
    state: State


def key_of(versions: dict[str, int]) -> str:
    """What a checkpoint must match besides the log: the projections' names and versions."""
    return ",".join(f"{name}={version}" for name, version in sorted(versions.items()))


def paths(folder: Path) -> list[Path]:
    """The checkpoints in a folder, newest first."""
    return sorted(folder.glob("*.checkpoint"), reverse=True)


def save(folder: Path, *, key: str, seq: int, chain: bytes, state: State) -> Path:
    """Write a checkpoint and drop the oldest others; of a log that was longer once there may be later ones."""
    make_private(folder)
    path = folder / f"{seq:020d}.checkpoint"
    make_room(path)
    with replacing(path) as file:
        _write(file, key, seq, chain, state)
    for old in [one for one in paths(folder) if one != path][_KEPT - 1 :]:
        with contextlib.suppress(FileNotFoundError):
            remove(old)
    return path


def _write(file: IO[bytes], key: str, seq: int, chain: bytes, state: State) -> None:
    file.write(b"\x00" * _PREFIX.size)
    entries = []
    for name, value in state.items():
        file.write(b"\x00" * (-file.tell() % _ALIGN))
        blob, fields, shape = _flatten(value)
        entries.append(_Entry(name, fields, shape, file.tell(), len(blob), zlib.crc32(blob)))
        file.write(blob)
    header = msgspec.msgpack.encode(_Header(key, seq, chain, entries))
    prefix = _PREFIX.pack(MAGIC, file.tell(), len(header), zlib.crc32(header))
    file.write(header)
    file.seek(0)
    file.write(prefix)
    file.flush()
    os.fsync(file.fileno())


def purge(folder: Path, log: Log, *, before: int) -> list[str]:
    """Delete all but the log's checkpoints of seqs from this one on: any other file may hold what was erased; their names.

    A checkpoint that is not of this log is emptied instead: its position is a witness that the log is not what it was.
    """
    gone = []
    for path in sorted(folder.glob("*")):
        position, emptied = None, False
        with contextlib.suppress(OSError):  # one that cannot be looked at may hold what was erased
            position, emptied = position_of(path), is_emptied(path)
        if emptied or (position is not None and position.seq >= before and is_of(log, position)):
            continue
        remove(path)
        gone.append(path.name)
        if position is not None and not is_of(log, position):
            save(folder, key=_EMPTIED, seq=position.seq, chain=position.chain, state={})
    return gone


def is_of(log: Log, found: Position | Checkpoint) -> bool:
    """Whether the log has this position."""
    return found.seq <= log.head and log.chain_at(found.seq) == found.chain


def is_emptied(path: Path) -> bool:
    """Whether the file holds a position and nothing else."""
    return load(path, key=_EMPTIED) is not None


def position_of(path: Path) -> Position | None:
    """The position of the log that a checkpoint was made at, whatever version made it; None if it cannot be read."""
    mapped = _mapped(path)
    header = None if mapped is None else _read_header(mapped)
    return None if header is None else Position(header.seq, header.chain)


def _mapped(path: Path) -> mmap.mmap | None:
    try:
        with opened(path) as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    except OSError as error:
        if is_of_the_system(error):
            raise
        return None
    except ValueError:
        return None


def load(path: Path, *, key: str) -> Checkpoint | None:
    """The checkpoint in a file; None if it has another key, is damaged or is gone.

    As everywhere here, an error of the system (too many open files) is no verdict about the file, and is raised.
    """
    mapped = _mapped(path)
    header = None if mapped is None else _read_header(mapped)
    if mapped is None or header is None or header.key != key:
        return None
    state: State = {}
    for entry in header.entries:
        blob = memoryview(mapped)[entry.offset : entry.offset + entry.size]
        if len(blob) != entry.size or zlib.crc32(blob) != entry.crc:
            return None
        state[entry.name] = _restore(entry, blob)
    # Checking read the whole file; parts that are never used need not stay in memory.
    mapped.madvise(mmap.MADV_DONTNEED)
    return Checkpoint(header.seq, header.chain, state)


def _read_header(mapped: mmap.mmap) -> _Header | None:
    if len(mapped) < _PREFIX.size:
        return None
    magic, offset, length, crc = _PREFIX.unpack_from(mapped)
    blob = mapped[offset : offset + length]
    if magic != MAGIC or zlib.crc32(blob) != crc:
        return None
    try:
        return msgspec.msgpack.decode(blob, type=_Header)
    except msgspec.DecodeError:
        return None


def _flatten(
    value: npt.NDArray[Any] | bytes,
) -> tuple[bytes | memoryview, list[tuple[str, str]], tuple[int, ...]]:
    if isinstance(value, bytes):
        return value, [], ()
    packed = np.ascontiguousarray(value)
    fields = [(str(name), str(code)) for name, code, *_ in packed.dtype.descr]
    return packed.reshape(-1).view(np.uint8).data, fields, packed.shape


def _restore(entry: _Entry, blob: memoryview) -> npt.NDArray[Any] | bytes:
    if not entry.fields:
        return bytes(blob)
    plain = len(entry.fields) == 1 and entry.fields[0][0] == ""
    dtype = np.dtype(entry.fields[0][1] if plain else entry.fields)
    return np.frombuffer(blob, dtype).reshape(entry.shape)
