"""The log as text and back: one JSON line per event, from which the same log, hash for hash, is written again.

The first line says what the file is and how far the log goes:

    {"recollect": "log", "format": 1, "head": 120, "chain": "9f3c…"}

Every other line is one event: the fields of its frame (`frame`) that the chain commits to, and its payload.

    seq, at, durable   position, recorded time in µs, what was durable when it was written
    id, salt, chain    event id, salt and chain value after this event, in hexadecimal
    batch              [place in its batch, events in its batch]
    type, version      of the payload; a version of 1 and an empty actor are left out
    payload            the payload in base64: salt and payload are the bytes that the digest is over
    fact               the same as JSON for people, bytes in base64; left out where JSON cannot hold it bit for bit
    erased             {"digest", "bytes"} in place of salt and payload, for an event whose payload is gone

Older exports have only `fact` where that is enough to rebuild the payload; they can still be imported.

`chain` is checked line by line before a batch is written, so a changed line is refused and named, and what was
imported by then stays. Importing again continues from there, or writes nothing if everything is there. A store that
holds anything but a prefix of the file is refused.

An imported frame keeps its `durable` claim about frames that may still be on their way to this disk: after a
power cut in the middle of an import the log may call itself damaged. The file is the copy: remove the store
and import again.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import IO, Protocol

import msgspec

from recollect.events.envelope import decode, encode
from recollect.events.errors import InvalidInput, RecollectError
from recollect.events.facts import AnyFact, Unknown
from recollect.events.frame import (
    EVENT,
    GENESIS,
    PAYLOAD_BYTES_MAX,
    SALT_BYTES,
    Frame,
    Header,
    decode_meta,
    encode_meta,
    is_erased,
)
from recollect.events.log import Log
from recollect.events.upcasts import VERSIONS

FORMAT = 1
BATCH_EVENTS = 2_048
_OPENING_BYTES_MAX = 1 << 16
LINE_BYTES_MAX = 8 * PAYLOAD_BYTES_MAX
"""A payload takes 4/3 of its bytes in base64, and at most 6 times its bytes as JSON, where each is spelled \\u0000."""

Progress = Callable[[int, int], None]


class TransferableLog(Log, Protocol):
    """A log whose frames can be taken out and put in as they are."""

    def frames(self, after: int, upto: int) -> Iterator[Frame]:
        """The frames of the events with after < seq <= upto."""
        ...

    def append_frames(self, frames: Sequence[Frame]) -> None:
        """Whole batches behind the head, as they are; they must continue its chain."""
        ...


class NotImportable(RecollectError):
    """A file that is not an exported log, or does not fit this store; the message says which and where."""


class Opening(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The first line."""

    recollect: str
    format: int
    head: int
    chain: str


class Erasure(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    digest: str
    bytes: int


class Line(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One event."""

    seq: int
    at: int
    durable: int
    id: str
    type: str
    version: int = 1
    actor: str = ""
    kind: int = EVENT
    flags: int = 0
    batch: tuple[int, int] = (0, 1)
    fact: AnyFact | None = None
    payload: str | None = None
    salt: str | None = None
    erased: Erasure | None = None
    chain: str


_opening = msgspec.json.Decoder(Opening)
_line = msgspec.json.Decoder(Line)
_to_json = msgspec.json.Encoder()
_from_json: msgspec.json.Decoder[AnyFact] = msgspec.json.Decoder(AnyFact)


# --- out -------------------------------------------------------------------------------------------


def export_lines(
    log: TransferableLog, *, upto: int | None = None, progress: Progress | None = None
) -> Iterator[bytes]:
    """The log up to a seq (default: its head) as lines, each with its newline."""
    head = log.head if upto is None else upto
    opening = Opening(recollect="log", format=FORMAT, head=head, chain=log.chain_at(head).hex())
    yield _to_json.encode(opening) + b"\n"
    for frame in log.frames(0, head):
        yield _to_json.encode(_line_of(frame)) + b"\n"
        if progress and (frame.header.seq % BATCH_EVENTS == 0 or frame.header.seq == head):
            progress(frame.header.seq, head)


def _line_of(frame: Frame) -> Line:
    header, body = frame.header, frame.body
    type_, actor = decode_meta(frame.meta)
    erased = is_erased(body, header.digest)
    fact = None if erased else _fact_if_exact(type_, header, body[SALT_BYTES:])
    return Line(
        seq=header.seq,
        at=header.at,
        durable=header.durable_seq,
        id=header.id.hex(),
        type=type_,
        version=header.version,
        actor=actor,
        kind=header.kind,
        flags=header.flags,
        batch=(header.position, header.batch),
        fact=fact,
        payload=None if erased else b64encode(body[SALT_BYTES:]).decode(),
        salt=None if erased else body[:SALT_BYTES].hex(),
        erased=Erasure(digest=header.digest.hex(), bytes=len(body)) if erased else None,
        chain=header.chain.hex(),
    )


def _fact_if_exact(type_: str, header: Header, payload: bytes) -> AnyFact | None:
    """The fact, if converting it to JSON and back gives the same payload bit for bit; else None."""
    if header.kind != EVENT or header.version != VERSIONS.get(type_):
        return None
    fact = decode(type_, header.version, payload)
    if isinstance(fact, Unknown):
        return None
    try:
        return fact if encode(_from_json.decode(_to_json.encode(fact))) == payload else None
    except (msgspec.MsgspecError, UnicodeError):
        return None


# --- in --------------------------------------------------------------------------------------------


def lines_of(file: IO[bytes]) -> Iterator[bytes]:
    """The lines of an exported log; NotImportable names one that is longer than that of any event."""
    bytes_max, number = _OPENING_BYTES_MAX, 1
    while line := file.readline(bytes_max + 1):
        if len(line) > bytes_max:
            raise NotImportable(
                f"line {number} is longer than {bytes_max:,} bytes, so it is no exported log's"
            )
        yield line
        bytes_max, number = LINE_BYTES_MAX, number + 1


def import_lines(
    log: TransferableLog, lines: Iterable[bytes], *, progress: Progress | None = None, write: bool = True
) -> int:
    """Append the events of an export that the log lacks; returns their number. `write=False` only checks and counts."""
    source = iter(enumerate(lines, 1))
    opening = _open(source)
    frames = _frames(source, opening)
    present = min(log.refresh(), opening.head)
    _skip_present(log, frames, opening, present)
    written = 0
    for batch in whole_batches(frames):
        if write:
            log.append_frames(batch)
        written += len(batch)
        if progress:
            progress(present + written, opening.head)
    if present + written < opening.head:
        raise NotImportable(
            f"the file ends at @{present + written}, but its first line promises @{opening.head}; what it holds "
            f"is imported: get the whole file and import it again"
        )
    if write:
        log.sync()
    return written


def _open(source: Iterator[tuple[int, bytes]]) -> Opening:
    try:
        opening = _opening.decode(next(source, (0, b""))[1])
    except msgspec.MsgspecError:
        raise NotImportable(
            "the first line is not that of an exported log; `recollect export` writes one"
        ) from None
    if opening.recollect != "log" or opening.format != FORMAT:
        raise NotImportable(
            f"the file has format {opening.format} of {opening.recollect!r}; this program reads format {FORMAT} of 'log'"
        )
    return opening


def _frames(source: Iterator[tuple[int, bytes]], opening: Opening) -> Iterator[Frame]:
    """The frames of the lines, each checked against the one before."""
    chain, seq = GENESIS, 0
    for number, text in source:
        if not text.endswith(b"\n"):
            return  # the last line of a file that was cut short
        try:
            frame = _frame_of(_line.decode(text), chain)
        except (msgspec.MsgspecError, ValueError) as error:
            raise NotImportable(f"line {number} is not an event: {error}") from None
        if frame.header.seq != seq + 1 or frame.header.seq > opening.head:
            raise NotImportable(f"line {number} holds @{frame.header.seq} where @{seq + 1} should stand")
        chain, seq = frame.header.chain, frame.header.seq
        yield frame
    if seq == opening.head and chain.hex() != opening.chain:
        raise NotImportable(
            f"the events end in the chain value {chain.hex()}, the first line says {opening.chain}"
        )


def _frame_of(line: Line, chain: bytes) -> Frame:
    """The frame that a line describes; ValueError if its chain value is another one."""
    digest, body = None, b""
    if line.erased is not None:
        digest, body = bytes.fromhex(line.erased.digest), bytes(line.erased.bytes)
    elif line.payload is None and line.fact is not None:
        body = bytes.fromhex(line.salt or "") + encode(line.fact)
    else:
        payload = b64decode(line.payload or "", validate=True)
        if line.fact is not None and encode(line.fact) != payload:
            raise ValueError(
                f"the chain breaks at @{line.seq}: its fact is not what its payload says, the line was changed"
            )
        body = bytes.fromhex(line.salt or "") + payload
    frame = Frame.build(
        kind=line.kind, flags=line.flags, version=line.version, seq=line.seq, durable_seq=line.durable, at=line.at,
        id_=bytes.fromhex(line.id), position=line.batch[0], batch=line.batch[1], digest=digest,
        meta=encode_meta(line.type, line.actor), body=body, chain=chain,
    )  # fmt: skip
    if frame.header.chain.hex() != line.chain:
        raise ValueError(f"the chain breaks at @{line.seq}: the line, or one before it, was changed")
    return frame


def _skip_present(log: TransferableLog, frames: Iterator[Frame], opening: Opening, present: int) -> None:
    """Skip what the log holds already; refuse a log that holds something else."""
    last = None
    for seq in range(1, present + 1):
        last = next(frames, None)
        if last is None:
            raise NotImportable(f"the file ends before @{seq}, but its first line promises @{opening.head}")
    chain = last.header.chain if last else GENESIS
    if log.chain_at(present) != chain:
        raise InvalidInput(
            f"this store has {log.head} events of its own, which are not those of the file; import into a new store"
        )


def whole_batches(frames: Iterator[Frame]) -> Iterator[list[Frame]]:
    """Whole batches, some thousand events at a time; a batch that is cut short is left out."""
    group: list[Frame] = []
    whole = 0
    for frame in frames:
        group.append(frame)
        if frame.header.position == frame.header.batch - 1:
            whole = len(group)
            if whole >= BATCH_EVENTS:
                yield group
                group, whole = [], 0
    if whole:
        yield group[:whole]
