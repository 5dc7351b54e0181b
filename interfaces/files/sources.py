"""Files as streams: bytes with progress, members of zip archives, and one element of a JSON array at a time.

An export of conversations is one JSON array of hundreds of megabytes. `elements` holds one conversation of it in
memory: the standard library's scanner decodes a value at a position of a buffer, and a buffer that ends too early
is grown by doubling, so every byte is scanned at most about twice. That is as fast as decoding the whole file and
needs no other library.
"""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path
from typing import IO

from recollect.events.errors import InvalidInput
from recollect.files.records import ByteProgress

CONVERSATIONS = "conversations*.json"
CHUNK_CHARACTERS = 1 << 18
ELEMENT_CHARACTERS_MAX = 1 << 29
LINE_BYTES_MAX = 1 << 27

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


def nothing(done: int, total: int) -> None:
    """Progress that nobody looks at."""


def files_under(path: Path, *patterns: str) -> list[Path]:
    """The file itself, or the matching files of a folder, however deep, in order of their paths; no hidden ones."""
    if path.is_file():
        return [path]
    found = (file for pattern in patterns for file in path.rglob(pattern) if file.is_file())
    return sorted(f for f in found if not any(part.startswith(".") for part in f.relative_to(path).parts))


@contextmanager
def conversation_streams(path: Path, progress: ByteProgress) -> Iterator[Iterator[tuple[str, IO[bytes]]]]:
    """The files of conversations in a file, a folder or a zip archive, with their names."""
    if path.is_file() and zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            yield _members(archive, path, progress)
    else:
        yield _files(path, progress)


def _members(archive: zipfile.ZipFile, path: Path, progress: ByteProgress) -> Iterator[tuple[str, IO[bytes]]]:
    members = [m for m in archive.infolist() if fnmatch(Path(m.filename).name, CONVERSATIONS)]
    if not members:
        raise InvalidInput(f"{path} holds no {CONVERSATIONS}; it is not an export of conversations")
    total, before = sum(member.file_size for member in members), 0
    for member in sorted(members, key=lambda member: member.filename):
        if member.flag_bits & 1:
            raise InvalidInput(f"{member.filename} in {path} is encrypted; unpack the archive first")
        with archive.open(member) as stream:
            yield member.filename, counted(stream, total, progress, before)
        before += member.file_size


def _files(path: Path, progress: ByteProgress) -> Iterator[tuple[str, IO[bytes]]]:
    files = [path] if path.is_file() else sorted(path.glob(CONVERSATIONS))
    if not files:
        raise InvalidInput(f"{path} holds no {CONVERSATIONS}; name the file, or the folder that it is in")
    total, before = sum(file.stat().st_size for file in files), 0
    for file in files:
        with file.open("rb") as stream:
            yield file.name, counted(stream, total, progress, before)
        before += file.stat().st_size


def lines(
    path: Path, progress: ByteProgress, *, total: int = 0, before: int = 0
) -> Iterator[tuple[int, bytes]]:
    """The lines of a file that are not blank, with their numbers, without a byte order mark."""
    with path.open("rb") as file:
        stream = counted(file, total or path.stat().st_size, progress, before)
        number = 0
        while line := stream.readline(LINE_BYTES_MAX):
            number += 1
            if number == 1:
                line = line.removeprefix(b"\xef\xbb\xbf")
            if line.strip():
                yield number, line


def elements(stream: IO[bytes], name: str) -> Iterator[object]:
    """The elements of a JSON array, one at a time; a single object counts as one element."""
    text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
    try:
        yield from _elements(_Window(text), name)
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{name} is not UTF-8 text: {error.reason}") from None
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise InvalidInput(f"the archive with {name} is damaged: {error}; get it again") from None
    finally:
        text.detach()


class _Window:
    """The part of a text that is looked at: grown at its end, cut at its beginning."""

    def __init__(self, text: io.TextIOWrapper) -> None:
        self._text = text
        self.buffer = ""
        self.place = 0

    def grow(self) -> bool:
        """Double what is ahead; says whether there was more."""
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
            except (json.JSONDecodeError, RecursionError) as error:
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
