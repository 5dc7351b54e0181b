"""Verify a log of Recollect without Recollect: segments or an exported file, against a checkpoint or another copy.

    python tools/verify_log.py STORE
    python tools/verify_log.py log.jsonl --against checkpoint.txt
    python tools/verify_log.py STORE --against log.jsonl

STORE is a store's directory (or its `log` directory), a *.jsonl file an export. `--against` takes a checkpoint that
`recollect checkpoint` printed, or another store or export. Exit status 0: everything holds; 1: something does not, each on
a line; 2: it could not be read.

One file, the standard library, nothing of Recollect: docs/log-format.md says what it checks, and is enough to write
another. Only signatures are not checked here, since Ed25519 is not in the standard library.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import re
import struct
import sys
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

GENESIS = bytes(32)
SALT_BYTES = 16
ERASED = b"memory.erased"
EVENT = 1
SEGMENT_HEADER = struct.Struct("<8sII16sQQQ32s36sI")
TRAILER = struct.Struct("<8sIIQQQ16s16sQ32s32s12sI")
FRAME = struct.Struct("<4sBBHIHHQQQ16sII32s32sII")
FIELDS = struct.Struct("<4sBBHIHHQQQ16sII32s")
HEAD_SLOT = struct.Struct("<4sIQQQII")
HEAD_STRIDE = 512
NOT_AS_WRITTEN = (
    ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError, MemoryError, struct.error,
)  # fmt: skip
PAYLOAD_BYTES_MAX = 2**30
SEGMENT_NAME = re.compile(r"(\d{20})-([0-9a-f]{8})\.seg")


class Unreadable(Exception):
    """Not a log at all."""


class Event(NamedTuple):
    """What the chain needs of an event: the bytes it runs over, and the chain value that is claimed."""

    where: str
    seq: int
    fields: bytes
    meta: bytes
    body: bytes | None
    digest: bytes
    chain: bytes


class Report:
    """What was found, and the chain value after each event."""

    def __init__(self) -> None:
        self.problems: list[str] = []
        self.chains: list[bytes] = [GENESIS]
        self.erased = 0
        self.unchecked = 0
        self.unseen = 0  # how many events the log had when nothing could be read in its head file

    def wrong(self, where: str, what: str) -> None:
        self.problems.append(f"{where}: {what}")


# --- the chain, which segments and exports share ----------------------------------------------------


def follow(events: Iterable[Event], report: Report) -> None:
    """Payload against digest, digest against chain, one event after the other."""
    chain, erasures = GENESIS, Erasures()
    for event in events:
        erasures.take(event)
        expected = len(report.chains)
        if event.seq != expected:
            report.wrong(
                event.where, f"@{event.seq} stands where @{expected} should: an event is missing, or moved"
            )
        if event.body is None:
            report.unchecked += 1
        elif hashlib.sha256(event.body).digest() != event.digest:
            if any(event.body):
                report.wrong(event.where, f"the payload of @{event.seq} is not the one that was recorded")
            else:
                report.erased += 1
        value = hashlib.sha256(chain + event.fields + event.meta).digest()
        if event.body is not None and value != event.chain:
            report.wrong(
                event.where, f"the chain breaks at @{event.seq}: it, or one before it, was changed or moved"
            )
        chain = event.chain
        report.chains.append(chain)
    for where, seq in erasures.unnamed():
        report.wrong(where, f"the payload of @{seq} was overwritten, and no erasure names it")


class Erasures:
    """Which payloads are gone, and which the log's own events say were erased."""

    def __init__(self) -> None:
        self._gone: dict[int, str] = {}
        self._erasures: set[int] = set()
        self._named: set[int] = set()
        self._remains: dict[int, bytes] = {}

    def take(self, event: Event) -> None:
        is_erasure = event.meta[1 : 1 + event.meta[0]] == ERASED
        if is_erasure:
            self._erasures.add(event.seq)
        if event.body is None:
            return
        if hashlib.sha256(event.body).digest() != event.digest:
            self._gone[event.seq] = event.where
        elif is_erasure:
            self._read(event.body[SALT_BYTES:])

    def unnamed(self) -> Iterator[tuple[str, int]]:
        for seq, left in sorted(self._remains.items(), reverse=True):
            if (
                seq in self._erasures
            ):  # an erasure that was itself erased: what is left of it names the same payloads
                self._read(left)
        yield from ((where, seq) for seq, where in self._gone.items() if seq not in self._named)

    def _read(self, payload: bytes) -> None:
        try:
            fact = Unpacked(payload).value()
            self._named.update(fact["seqs"])
            self._remains.update(
                {one["seq"]: base64.b64decode(one["payload"]) for one in fact.get("remains", ())}
            )
        except NOT_AS_WRITTEN:
            return  # it names nothing


# --- segments --------------------------------------------------------------------------------------


def read_segments(folder: Path, report: Report) -> None:
    names = sorted(path for path in folder.iterdir() if SEGMENT_NAME.fullmatch(path.name))
    if not names:
        raise Unreadable(f"{folder} holds no segment of a log")
    follow(_segment_events(names, report), report)
    head = len(report.chains) - 1
    durable, report.unseen = _head_file(folder / "head", head)
    if durable > head:
        report.wrong(
            str(folder / "head"), f"@{durable} was acknowledged, and the log ends at @{head}: it was cut"
        )


def _segment_events(paths: list[Path], report: Report) -> Iterator[Event]:
    end, chain = 0, GENESIS
    for number, path in enumerate(paths):
        data = path.read_bytes() if path.is_file() else b""
        match = SEGMENT_NAME.fullmatch(path.name)
        assert match is not None
        seed = int(match[2], 16)
        _check_segment_header(path, data, (end, chain), report)
        place = SEGMENT_HEADER.size
        last = number == len(paths) - 1
        stop, sealed = _frames_end(path, data, report)
        while place < stop:
            event, place = _frame(path, data, place, stop, seed, report)
            if event is None:
                break
            chain = event.chain
            yield event
        end = place
        if sealed is not None and sealed != chain:
            report.wrong(
                str(path), "its seal names another last event: frames were changed, or cut from its end"
            )
        if sealed is None and not last:
            report.wrong(str(path), "it is not the last segment and has no seal: it was cut")


def _check_segment_header(path: Path, data: bytes, before: tuple[int, bytes], report: Report) -> None:
    if len(data) < SEGMENT_HEADER.size:
        report.wrong(str(path), "it is too short for the header of a segment")
        return
    magic, _, seed, _, first, _, end, chain, _, crc = SEGMENT_HEADER.unpack_from(data)
    if magic != b"RECOLSEG" or zlib.crc32(data[: SEGMENT_HEADER.size - 4]) != crc:
        report.wrong(str(path), "its header is damaged")
    elif path.name != f"{first:020d}-{seed:08x}.seg":
        report.wrong(str(path), "its header says another name: it was renamed, or stands in another's place")
    elif (end, chain) != before:
        report.wrong(str(path), "it does not continue the segment before: one is missing, or of another log")


def _frames_end(path: Path, data: bytes, report: Report) -> tuple[int, bytes | None]:
    """Where the frames end, and the chain value that the seal names there; None if it has no seal."""
    if len(data) < SEGMENT_HEADER.size + TRAILER.size or data[-TRAILER.size :][:8] != b"RECOLEND":
        return len(data), None
    fields = TRAILER.unpack_from(data, len(data) - TRAILER.size)
    frames_end, index_bytes, chain, digest, crc = fields[3], fields[5], fields[9], fields[10], fields[12]
    index = data[frames_end : frames_end + index_bytes]
    whole = zlib.crc32(data[-TRAILER.size : -4]) == crc
    if not whole or hashlib.sha256(data[: SEGMENT_HEADER.size] + chain + index).digest() != digest:
        report.wrong(str(path), "its seal is broken")
    return (frames_end if frames_end <= len(data) else len(data)), chain


def _frame(
    path: Path, data: bytes, start: int, stop: int, seed: int, report: Report
) -> tuple[Event | None, int]:
    """The event in the frame that begins at `start`, and where the next one does."""
    where = f"{path}, byte {start}"
    if not any(data[start:stop]):
        return None, start  # room that was made and not used yet
    if stop - start < FRAME.size or data[start : start + 4] != b"\xfeRcF":
        report.wrong(where, "there is no frame where one should begin: the rest of the file was not read")
        return None, stop
    header = FRAME.unpack_from(data, start)
    body_bytes, meta_bytes, seq, digest, chain, crc = header[4], header[5], header[7], *header[13:16]
    if zlib.crc32(data[start : start + 128], seed) != crc:
        report.wrong(where, "the checksum of a header does not match: the rest of the file was not read")
        return None, stop
    end = start + ((FRAME.size + meta_bytes + body_bytes + 4 + 7) & ~7)
    if end > stop:
        report.wrong(where, f"@{seq} is cut short")
        return None, stop
    if zlib.crc32(data[start : end - 4], seed) != int.from_bytes(data[end - 4 : end], "little"):
        report.wrong(where, f"the checksum of @{seq} does not match")
    meta = data[start + FRAME.size : start + FRAME.size + meta_bytes]
    body = data[start + FRAME.size + meta_bytes : start + FRAME.size + meta_bytes + body_bytes]
    return Event(where, seq, data[start : start + 96], meta, body, digest, chain), end


def _head_file(path: Path, head: int) -> tuple[int, int]:
    """The highest seq that it calls durable, and how many events the log had when nothing could be read in it."""
    data = path.read_bytes() if path.is_file() else b""
    slots = []
    for slot in range(4):
        fields = data[slot * HEAD_STRIDE : slot * HEAD_STRIDE + HEAD_SLOT.size]
        if len(fields) == HEAD_SLOT.size and fields[:4] == b"RcHd":
            _, remade, _, _, durable, _, crc = HEAD_SLOT.unpack(fields)
            slots += [(durable, remade)] if zlib.crc32(fields[:-4]) == crc else []
    return max((one[0] for one in slots), default=0), max((one[1] for one in slots), default=head)


# --- exports ---------------------------------------------------------------------------------------


def read_export(path: Path, report: Report) -> None:
    with path.open("rb") as file:
        try:
            opening = json.loads(file.readline())
            head, chain = int(opening["head"]), bytes.fromhex(opening["chain"])
            known = opening["recollect"] == "log"
        except NOT_AS_WRITTEN:
            raise Unreadable(f"{path} does not begin as an exported log does") from None
        if not known or opening.get("format") != 1:
            raise Unreadable(f"{path} is of a format that this program does not read")
        follow(_lines(path, file, report), report)
    if len(report.chains) - 1 != head:
        report.wrong(
            str(path), f"it ends at @{len(report.chains) - 1}, its first line promises @{head}: it was cut"
        )
    elif report.chains[-1] != chain:
        report.wrong(str(path), "its last event has another chain value than its first line says")


def _lines(path: Path, file: Iterable[bytes], report: Report) -> Iterator[Event]:
    for number, text in enumerate(file, 2):
        where = f"{path}, line {number}"
        try:
            line = json.loads(text)
            if "fact" in line and ("payload" in line or "erased" in line) and not _says_its_payload(line):
                report.wrong(where, f"the fact of @{line['seq']} is not what its payload says")
            yield _line(where, line)
        except NOT_AS_WRITTEN as error:
            report.wrong(where, f"it is not a whole event: {error!r}; the rest of the file was not read")
            return


def _says_its_payload(line: dict[str, Any]) -> bool:
    """Whether the readable `fact` of a line says the same as its payload; an erased event has no `fact`."""
    if "erased" in line:
        return False
    payload = Unpacked(base64.b64decode(line["payload"], validate=True)).value()
    return json.dumps(payload, sort_keys=True) == json.dumps(line["fact"], sort_keys=True)


def _line(where: str, line: dict[str, Any]) -> Event:
    body: bytes | None = None
    digest, length = GENESIS, SALT_BYTES
    if "erased" in line:
        length, digest = line["erased"]["bytes"], bytes.fromhex(line["erased"]["digest"])
        if length > PAYLOAD_BYTES_MAX:
            raise ValueError(f"a payload of {length} bytes")
        body = bytes(length)
    elif "payload" in line:
        body = bytes.fromhex(line["salt"]) + base64.b64decode(line["payload"], validate=True)
        length, digest = len(body), hashlib.sha256(body).digest()
    name = line["type"].encode()
    meta = bytes((len(name),)) + name + line.get("actor", "").encode()
    place, batch = line.get("batch", (0, 1))
    fields = FIELDS.pack(
        b"\xfeRcF", 1, line.get("kind", EVENT), line.get("flags", 0), length, len(meta), line.get("version", 1),
        line["seq"], line["durable"], line["at"], bytes.fromhex(line["id"]), place, batch, digest,
    )  # fmt: skip
    return Event(where, line["seq"], fields, meta, body, digest, bytes.fromhex(line["chain"]))


class Unpacked:
    """MessagePack as JSON would have it: bytes in base64."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._place = 0

    def value(self) -> object:
        code = self._take(1)[0]
        if code < 0x80 or code >= 0xE0:
            return code if code < 0x80 else code - 256
        if code in (0xC0, 0xC2, 0xC3):
            return {0xC0: None, 0xC2: False, 0xC3: True}[code]
        if code in (0xCA, 0xCB):
            return struct.unpack(">f" if code == 0xCA else ">d", self._take(4 if code == 0xCA else 8))[0]
        if 0xCC <= code <= 0xD3:
            return int.from_bytes(self._take(1 << ((code - 0xCC) % 4)), "big", signed=code >= 0xD0)
        return self._of_many(code)

    def _of_many(self, code: int) -> object:
        """A text, bytes, an array or a map, with its length in the code or behind it."""
        if code < 0xC0:
            kind, size = (
                (0x80, code & 15) if code < 0x90 else (0x90, code & 15) if code < 0xA0 else (0xA0, code & 31)
            )
        else:
            kinds = {0xC4: 0xC4, 0xD9: 0xA0, 0xDC: 0x90, 0xDE: 0x80}
            first = max((one for one in kinds if one <= code), default=0)
            width = 1 << (code - first + (first >= 0xDC))
            if first == 0 or width > 4:
                raise ValueError(f"a payload with the MessagePack code {code:#x}")
            kind, size = kinds[first], int.from_bytes(self._take(width), "big")
        if kind == 0xA0:
            return self._take(size).decode()
        if kind == 0xC4:
            return base64.b64encode(self._take(size)).decode()
        if kind == 0x90:
            return [self.value() for _ in range(size)]
        return {str(self.value()): self.value() for _ in range(size)}

    def _take(self, size: int) -> bytes:
        found = self._data[self._place : self._place + size]
        if len(found) < size:
            raise ValueError("a payload that is cut short")
        self._place += size
        return found


# --- against something that was kept ----------------------------------------------------------------


def compare(report: Report, path: Path) -> int:
    """Whether this log is the one of a checkpoint, or agrees with another copy as far as both go; how far that is."""
    if path.is_dir() or path.suffix in {".jsonl", ".ndjson"}:
        return _compare_logs(report, path)
    lines = (
        path.read_text("utf-8").partition("\n\n")[0].split("\n")
    )  # a receipt of an erasure has more of them
    if len(lines) < 3 or not re.fullmatch("[0-9]{1,18}", lines[1]):
        raise Unreadable(f"{path} is neither a checkpoint nor a log")
    size = int(lines[1])
    head = len(report.chains) - 1
    if size > head:
        report.wrong(str(path), f"the log had {size} events, and ends at @{head}: it was cut")
        return head
    if base64.b64encode(report.chains[size]).decode() != lines[2]:
        report.wrong(
            str(path), f"the log's value after @{size} is another one: it was rewritten, or is a fork"
        )
    origin = f"recollect.log/{report.chains[1].hex()[:16] if size else 'empty'}"
    if lines[0] != origin:
        report.wrong(str(path), f"it is of the log {lines[0]}, and this is {origin}")
    return size


def _compare_logs(report: Report, path: Path) -> int:
    other = verify(path)
    report.problems += other.problems
    both = min(len(report.chains), len(other.chains))
    fork = next((seq for seq in range(both) if report.chains[seq] != other.chains[seq]), None)
    if fork is not None:
        report.wrong(
            str(path), f"the two logs are the same up to @{fork - 1} and went different ways from there"
        )
    elif len(other.chains) > both:
        report.wrong(
            str(path), f"it goes on to @{len(other.chains) - 1}, and the log ends at @{both - 1}: it was cut"
        )
    return both - 1


# --- the program -----------------------------------------------------------------------------------


def verify(path: Path) -> Report:
    """Everything that can be checked of one log."""
    report = Report()
    if path.is_dir():
        read_segments(path / "log" if (path / "log").is_dir() else path, report)
    else:
        read_export(path, report)
    return report


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Verify a log of Recollect without Recollect.")
    parser.add_argument("log", type=Path, help="a store's directory, or an exported *.jsonl")
    parser.add_argument("--against", type=Path, help="a checkpoint, or another store or export")
    given = parser.parse_args(arguments)
    try:
        report, agreed = verify(given.log), 0
        if given.against:
            agreed = compare(report, given.against)
        if report.unseen > agreed:
            report.wrong(
                str(given.log),
                f"its head file was missing or unreadable when it ended at @{report.unseen}: whether events were cut from "
                f"its end cannot be seen; name a checkpoint that was kept elsewhere (--against)",
            )
    except (Unreadable, OSError, UnicodeError) as error:
        print(f"verify_log: {error}", file=sys.stderr)  # noqa: T201 (a program)
        return 2
    for problem in report.problems:
        print(problem)  # noqa: T201
    told = f"{len(report.chains) - 1} events, {report.erased} of them erased, root {report.chains[-1].hex()}"
    if report.unchecked:
        told += f"; {report.unchecked} lines carry no payload (an export of an earlier version) and were not checked"
    print(f"{'wrong' if report.problems else 'holds'}  {told}")  # noqa: T201
    return 1 if report.problems or report.unchecked else 0


if __name__ == "__main__":
    sys.exit(main())
