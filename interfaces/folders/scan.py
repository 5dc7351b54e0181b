"""A scan of the disk: which files of a folder are taken, and what became of the rest. It reads no file's content."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from recollect.interfaces.folders.rules import Rules


class FileStamp(msgspec.Struct, frozen=True):
    """What shows that a file may have changed, without reading it."""

    device: int
    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int


class Seen(msgspec.Struct, kw_only=True):
    """What one scan found. All paths are relative to the folder.

    `refused` says why a file or folder is not taken; what is in `unreadable`, and all below it, could not be seen
    and must not count as missing.
    """

    files: dict[str, FileStamp] = {}
    refused: dict[str, str] = {}
    unreadable: dict[str, str] = {}


def stamp_of(found: os.stat_result) -> FileStamp:
    return FileStamp(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def stamp_at(folder: str, path: str) -> FileStamp | None:
    """One file again; None if it is not there."""
    try:
        return stamp_of(Path(folder, path).lstat())
    except OSError:
        return None


def scan(folder: str, rules: Rules, scope: Iterable[str] | None = None) -> Seen:
    """The whole folder, or what lies at and below the paths of a scope."""
    seen = Seen()
    if scope is None:
        _walk(folder, "", rules, seen)
        return seen
    for path in _outermost(scope):
        _enter(folder, path, rules, seen)
    return seen


def _outermost(paths: Iterable[str]) -> list[str]:
    """The paths that lie below no other of them."""
    kept: list[str] = []
    for path in sorted(set(paths), key=lambda each: each.split("/")):
        if not kept or not (path == kept[-1] or path.startswith(f"{kept[-1]}/")):
            kept.append(path)
    return kept


def _enter(folder: str, path: str, rules: Rules, seen: Seen) -> None:
    """One path, if every folder above it may be entered."""
    parts = path.split("/")
    for depth in range(1, len(parts)):
        above = "/".join(parts[:depth])
        found = _stat(folder, above, seen)
        if found is None or not stat.S_ISDIR(found.st_mode):
            return
        if reason := rules.refuses_folder(above, found):
            seen.refused[above] = reason
            return
    found = _stat(folder, path, seen)
    if found is not None and _take(path, found, rules, seen):
        _walk(folder, path, rules, seen)


def _stat(folder: str, path: str, seen: Seen) -> os.stat_result | None:
    try:
        return Path(folder, path).lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        seen.unreadable[path] = error.strerror or str(error)
        return None


def _take(path: str, found: os.stat_result, rules: Rules, seen: Seen) -> bool:
    """Note a file; says whether the path is a folder to walk."""
    if stat.S_ISDIR(found.st_mode):
        reason = rules.refuses_folder(path, found)
        if reason is not None:
            seen.refused[path] = reason
        return reason is None
    reason = rules.refuses_file(path, found)
    if reason is None:
        seen.files[path] = stamp_of(found)
    else:
        seen.refused[path] = reason
    return False


def _walk(folder: str, top: str, rules: Rules, seen: Seen) -> None:
    waiting = [top]
    while waiting:
        path = waiting.pop()
        for name, found in _entries(folder, path, seen):
            inner = f"{path}/{name}" if path else name
            if _take(inner, found, rules, seen):
                waiting.append(inner)


def _entries(folder: str, path: str, seen: Seen) -> Iterator[tuple[str, os.stat_result]]:
    try:
        with os.scandir(Path(folder, path)) as listed:
            entries = sorted(listed, key=lambda entry: entry.name)
    except FileNotFoundError:
        return
    except OSError as error:
        seen.unreadable[path] = error.strerror or str(error)
        return
    for entry in entries:
        try:
            yield entry.name, entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            continue
        except OSError as error:
            seen.unreadable[f"{path}/{entry.name}" if path else entry.name] = error.strerror or str(error)
