"""What an intruder with access to the files may do to a log: cut it, rewrite it, swap events, fork it."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from pathlib import Path

from recollect.events.frame import Frame, parse_header
from recollect.events.segment_format import HEADER_BYTES, SegmentName


def only_segment(store: Path) -> Path:
    (segment,) = (store / "log").glob("*.seg")
    return segment


def frames_of(segment: Path) -> tuple[bytes, list[Frame], int]:
    """The header of a segment without a seal, its frames, and its seed."""
    data = segment.read_bytes()
    name = SegmentName.parse(segment.name)
    assert name is not None
    place, frames = HEADER_BYTES, []
    while place < len(data) and any(data[place : place + 8]):
        length = parse_header(data, place, name.seed).length
        frames.append(Frame.parse(data[place : place + length], name.seed))
        place += length
    return data[:HEADER_BYTES], frames, name.seed


def write_frames(segment: Path, header: bytes, frames: list[Frame], seed: int) -> None:
    segment.write_bytes(header + b"".join(frame.encode(seed) for frame in frames))
    (segment.parent / "active.index").unlink(missing_ok=True)  # it bears witness to what was there


def cut(store: Path, events: int) -> None:
    """Take events from the end, and the head file with them."""
    header, frames, seed = frames_of(only_segment(store))
    write_frames(only_segment(store), header, frames[:-events], seed)
    (store / "log" / "head").unlink()


def rewrite_payload(store: Path, old: bytes, new: bytes) -> None:
    """Other words of the same length in the payload that holds these, with checksums that are right again."""
    header, frames, seed = frames_of(only_segment(store))
    changed = [frame._replace(body=frame.body.replace(old, new)) for frame in frames]
    assert changed != frames
    write_frames(only_segment(store), header, changed, seed)


def swap(store: Path, first: int) -> None:
    """Let two neighbours change places."""
    header, frames, seed = frames_of(only_segment(store))
    frames[first - 1], frames[first] = frames[first], frames[first - 1]
    write_frames(only_segment(store), header, frames, seed)


def rewrite_history(store: Path, old: bytes, new: bytes) -> None:
    """Other words, and every digest and chain value from there on made anew: whole in itself."""
    header, frames, seed = frames_of(only_segment(store))
    write_frames(only_segment(store), header, _chained_anew(frames, old, new), seed)


def _chained_anew(frames: list[Frame], old: bytes, new: bytes) -> list[Frame]:
    chain, made = bytes(32), []
    for frame in frames:
        one = frame.header
        made.append(
            Frame.build(
                kind=one.kind, flags=one.flags, version=one.version, seq=one.seq, durable_seq=one.durable_seq, at=one.at,
                id_=one.id, position=one.position, batch=one.batch, digest=None, meta=frame.meta,
                body=frame.body.replace(old, new), chain=chain,
            )
        )  # fmt: skip
        chain = made[-1].header.chain
    return made


def change_line(export: Path, old: bytes, new: bytes) -> None:
    """Other words in the payload of the line that holds these."""
    lines = [json.loads(line) for line in export.read_text("utf-8").splitlines()]
    for line in lines[1:]:
        payload = b64decode(line.get("payload", ""))
        if old in payload:
            line["payload"] = b64encode(payload.replace(old, new)).decode()
            line["fact"] = json.loads(json.dumps(line["fact"]).replace(old.decode(), new.decode()))
    export.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")


def swap_lines(export: Path, first: int) -> None:
    lines = export.read_text("utf-8").splitlines(keepends=True)
    lines[first], lines[first + 1] = lines[first + 1], lines[first]
    export.write_text("".join(lines), "utf-8")


def cut_lines(export: Path, events: int) -> None:
    lines = export.read_text("utf-8").splitlines(keepends=True)
    export.write_text("".join(lines[:-events]), "utf-8")
