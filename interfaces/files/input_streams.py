"""Files as streams: bytes with progress, members of zip archives, and one element of a JSON array at a time.

Links, FIFOs, devices and sockets in a folder are left out and named; only the path that the user gave may be a link.

An export of conversations is one JSON array of hundreds of megabytes. `elements` holds one conversation of it in
memory: the standard library's scanner decodes a value at a position of a buffer, and a buffer that ends too early
is grown by doubling, so every byte is scanned at most about twice. That is as fast as decoding the whole file and
needs no other library.
"""

from __future__ import annotations

import io
import json
import lzma
import os
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path
from typing import IO, NamedTuple

import msgspec

from recollect.events.errors import InvalidInput
from recollect.events.regular_files import NOT_REGULAR, SYMBOLIC_LINK, opened, read_whole
from recollect.interfaces.files.records import ByteProgress, Problem, Skipped

CONVERSATIONS = "conversations*.json"
CHUNK_CHARACTERS = 1 << 18
ELEMENT_CHARACTERS_MAX = 1 << 27
LINE_BYTES_MAX = 1 << 25
PAGE_BYTES_MAX = 5_000_000
UNPACKED_BYTES_MAX = 1 << 34
_SMALL_MEMBER_BYTES = 1 << 26
_RATIO_MAX = 200

_decoder = json.JSONDecoder()
_BLANK = " \t\r\n"


class Counted(io.RawIOBase):
    """A stream that reports how many bytes were read of how many."""

    def __init__(self, stream: IO[bytes], total: int, progress: ByteProgress, before: int = 0) -> None:
        self._stream = stream
        self._total = total
        self._progress = progress
        self._done = before

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        data = self._stream.read(len(buffer))
        buffer[: len(data)] = data
        self._done += len(data)
        self._progress(self._done, self._total)
        return len(data)


def counted(stream: IO[bytes], total: int, progress: ByteProgress, before: int = 0) -> io.BufferedReader:
    return io.BufferedReader(Counted(stream, total, progress, before), 1 << 16)


def no_progress(done: int, total: int) -> None:
    """Progress that is not shown."""


class Found(NamedTuple):
    """The files to read, and what was left out."""

    files: list[Path]
    refused: list[Skipped]


def files_under(path: Path, *patterns: str, deep: bool = True, chosen: Sequence[Path] | None = None) -> Found:
    """The file itself, or the matching files of a folder, however deep, in order of their paths; no hidden ones.

    Those that were `chosen` of the folder already are not looked for again.
    """
    if chosen is not None:
        return Found(list(chosen), [])
    if not path.is_dir():
        return Found([path], [])
    found = Found([], [])
    waiting = [path]
    while waiting:
        for entry in _entries(waiting.pop(), path, found):
            if entry.name.startswith("."):
                continue
            if entry.is_dir(follow_symlinks=False):
                waiting += [Path(entry.path)] if deep else []
            elif entry.is_symlink() or any(fnmatch(entry.name, pattern) for pattern in patterns):
                _sort_out(entry, path, found)
    found.files.sort()
    found.refused.sort(key=lambda skipped: skipped.where)
    return found


def _entries(folder: Path, root: Path, found: Found) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as listed:
            return list(listed)
    except OSError as error:
        where = folder.relative_to(root).as_posix()
        found.refused.append(Skipped(reason=f"folder that cannot be read ({error.strerror})", where=where))
        return []


def _sort_out(entry: os.DirEntry[str], root: Path, found: Found) -> None:
    if entry.is_file(follow_symlinks=False):
        found.files.append(Path(entry.path))
        return
    reason = SYMBOLIC_LINK if entry.is_symlink() else NOT_REGULAR
    found.refused.append(Skipped(reason=reason, where=Path(entry.path).relative_to(root).as_posix()))


def size_of(file: Path) -> int:
    """Its bytes, for progress; 0 if it is gone."""
    try:
        return file.stat().st_size
    except OSError:
        return 0


def modified_at(file: Path) -> int | None:
    """When a file was changed, in µs; None if it is gone."""
    try:
        return file.stat().st_mtime_ns // 1_000
    except OSError:
        return None


def pages(
    path: Path, files: Sequence[Path], progress: ByteProgress
) -> Iterator[tuple[Path, str, str | Problem]]:
    """The pages among these files of a folder (or the one named): each with its place there and its text."""
    total, done = sum(map(size_of, files)), 0
    for file in files:
        name = place_of(file, path)
        try:
            yield file, name, read_whole(file, bytes_max=PAGE_BYTES_MAX, follow=file == path).decode()
        except OSError as error:
            yield file, name, Problem(where=name, reason=error.strerror or str(error))
        except UnicodeDecodeError:
            yield file, name, Problem(where=name, reason="not UTF-8 text")
        done += size_of(file)
        progress(done, total)


def place_of(file: Path, named: Path) -> str:
    """The path of a file below the folder that the user named, or the name of the file."""
    return file.name if file == named else file.relative_to(named).as_posix()


def conversation_streams(
    path: Path, progress: ByteProgress, *, follow: bool = True
) -> Iterator[tuple[str, IO[bytes]]]:
    """The files of conversations in a file, a folder or a zip archive, with their names."""
    if path.is_dir():
        yield from _files(path, progress)
        return
    with reading(path, follow=follow) as file:
        if zipfile.is_zipfile(file):
            yield from _members(file, path, progress)
        else:
            file.seek(0)
            yield path.name, counted(file, size_of(path), progress)


@contextmanager
def reading(path: Path, *, follow: bool = True) -> Iterator[IO[bytes]]:
    """The file that the user named, or one of its folder; InvalidInput if it cannot be opened."""
    try:
        with opened(path, follow=follow) as file:
            yield file
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror or error}") from None


def _members(file: IO[bytes], path: Path, progress: ByteProgress) -> Iterator[tuple[str, IO[bytes]]]:
    try:
        with zipfile.ZipFile(file) as archive:
            yield from _conversations(archive, path, progress)
    except (zipfile.BadZipFile, NotImplementedError) as error:
        raise InvalidInput(f"the archive {path} is damaged: {error}; get it again") from None


def _conversations(
    archive: zipfile.ZipFile, path: Path, progress: ByteProgress
) -> Iterator[tuple[str, IO[bytes]]]:
    members = [m for m in archive.infolist() if fnmatch(Path(m.filename).name, CONVERSATIONS)]
    if not members:
        raise InvalidInput(f"{path} holds no {CONVERSATIONS}; it is not an export of conversations")
    total, before = sum(member.file_size for member in members), 0
    _refuse_bombs(path, members, total)
    for member in sorted(members, key=lambda member: member.filename):
        if member.flag_bits & 1:
            raise InvalidInput(f"{member.filename} in {path} is encrypted; unpack the archive first")
        with archive.open(member) as stream:
            yield member.filename, counted(stream, total, progress, before)
        before += member.file_size


def _refuse_bombs(path: Path, members: list[zipfile.ZipInfo], total: int) -> None:
    """Refuse an archive whose directory states an unbelievable size; zipfile unpacks no more than it states."""
    packed = max(sum(member.compress_size for member in members), 1)
    if total > UNPACKED_BYTES_MAX or (total > _SMALL_MEMBER_BYTES and total > packed * _RATIO_MAX):
        raise InvalidInput(
            f"{path} unpacks to {total:,} bytes, {total // packed:,} times its size; if you trust it, unpack it "
            f"first and import the file inside"
        )


def _files(path: Path, progress: ByteProgress) -> Iterator[tuple[str, IO[bytes]]]:
    files = files_under(path, CONVERSATIONS, deep=False).files
    if not files:
        raise InvalidInput(f"{path} holds no {CONVERSATIONS}; name the file, or the folder that it is in")
    total, before = sum(map(size_of, files)), 0
    for file in files:
        with reading(file, follow=False) as stream:
            yield file.name, counted(stream, total, progress, before)
        before += size_of(file)


def json_lines(
    path: Path, progress: ByteProgress, *, total: int = 0, before: int = 0, follow: bool = True
) -> Iterator[tuple[int, dict[str, object] | str]]:
    """The objects on the lines of a file that are not blank, with their numbers; or what is wrong with a line.

    A line that is longer than any entry may be is no object.
    """
    with reading(path, follow=follow) as file:
        stream = counted(file, total or size_of(path), progress, before)
        number = 0
        while line := stream.readline(LINE_BYTES_MAX):
            number += 1
            rest = line
            while len(rest) == LINE_BYTES_MAX and not rest.endswith(b"\n"):
                rest = stream.readline(LINE_BYTES_MAX)
            if rest is not line:
                yield number, f"longer than {LINE_BYTES_MAX:,} bytes"
                continue
            if number == 1:
                line = line.removeprefix(b"\xef\xbb\xbf")
            if line.strip():
                yield number, _object(line)


def _object(line: bytes) -> dict[str, object] | str:
    try:
        return msgspec.json.decode(line, type=dict[str, object])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        return f"not a JSON object: {error}"


def elements(stream: IO[bytes], name: str) -> Iterator[object]:
    """The elements of a JSON array, one at a time; a single object counts as one element."""
    text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
    try:
        yield from _elements(_Window(text), name)
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{name} is not UTF-8 text: {error.reason}") from None
    except OSError as error:
        raise InvalidInput(f"{name} cannot be read: {error.strerror or error}") from None
    except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError) as error:
        raise InvalidInput(f"the archive with {name} is damaged: {error}; get it again") from None
    finally:
        text.detach()


class _Window:
    """A buffer over a text: grown at its end, cut at its beginning."""

    def __init__(self, text: io.TextIOWrapper) -> None:
        self._text = text
        self.buffer = ""
        self.place = 0

    def grow(self) -> bool:
        """Read as much again as is buffered; says whether there was more."""
        self.buffer = self.buffer[self.place :]
        self.place = 0
        more = self._text.read(max(CHUNK_CHARACTERS, len(self.buffer)))
        self.buffer += more
        return bool(more)

    def peek(self) -> str:
        """The next character that is not blank; empty at the end."""
        while True:
            while self.place < len(self.buffer) and self.buffer[self.place] in _BLANK:
                self.place += 1
            if self.place < len(self.buffer):
                return self.buffer[self.place]
            if not self.grow():
                return ""

    def value(self, name: str) -> object:
        """The JSON value that begins here."""
        while True:
            try:
                found, end = _decoder.raw_decode(self.buffer, self.place)
            except RecursionError:
                raise InvalidInput(f"{name} is nested too deeply to be read; repair it") from None
            except ValueError as error:  # JSONDecodeError, and a number of thousands of digits
                if len(self.buffer) > ELEMENT_CHARACTERS_MAX or not self.grow():
                    raise InvalidInput(
                        f"{name} is not whole or not JSON: {error}; get the file again, or repair it"
                    ) from None
                continue
            self.place = end
            return found


def _elements(window: _Window, name: str) -> Iterator[object]:
    opening = window.peek()
    if opening != "[":
        if opening:
            yield window.value(name)
        return
    window.place += 1
    while (here := window.peek()) != "]":
        if not here:
            raise InvalidInput(f"{name} ends in the middle; get the file again")
        yield window.value(name)
        if window.peek() == ",":
            window.place += 1
        elif window.peek() != "]":
            raise InvalidInput(f"{name} is not whole or not JSON: a comma is missing between two elements")
