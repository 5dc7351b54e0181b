"""A broken index or trailer of a sealed segment is no damage of events: all are read, kept, and the seal is written anew."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from recollect.engine.doctor import doctor
from recollect.events.log import BrokenSeal
from recollect.events.scrub import scrub, sealed_segments
from recollect.events.segment_format import TRAILER_BYTES, Trailer
from recollect.events.segment_log import SegmentLog
from recollect.interfaces.python.memory import Memory


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "store"
    with monkeypatch.context() as patched:
        patched.setitem(SegmentLog.open.__func__.__kwdefaults__, "segment_bytes", 800)
        with Memory.open(folder, embedder=None) as memory:
            for n in range(12):
                memory.remember(f"note {n} about tea", id=f"n{n}")
            memory.recall("tea")
    return folder


def frames_end(segment: Path) -> int:
    trailer = Trailer.parse(segment.read_bytes()[-TRAILER_BYTES:])
    assert trailer is not None
    return trailer.frames_end


def flip(segment: Path, at: int) -> None:
    data = bytearray(segment.read_bytes())
    data[at] ^= 1
    segment.write_bytes(bytes(data))


BROKEN: dict[str, Callable[[Path], object]] = {
    "the index": lambda segment: flip(segment, frames_end(segment) + 5),
    "the trailer": lambda segment: flip(segment, segment.stat().st_size - TRAILER_BYTES + 20),
    "half of it is gone": lambda segment: segment.write_bytes(segment.read_bytes()[: -TRAILER_BYTES // 2]),
    "something stands behind it": lambda segment: segment.write_bytes(segment.read_bytes() + bytes(999)),
}


@pytest.mark.parametrize("broken", BROKEN)
@pytest.mark.parametrize("number", [0, 1])
def test_a_broken_seal_is_named_as_such_loses_no_event_and_is_written_anew(
    store: Path, tmp_path: Path, broken: str, number: int
):
    segment = sealed_segments(store / "log")[number]
    whole = segment.read_bytes()
    with SegmentLog.open(store / "log", read_only=True) as log:
        head, events = log.head, list(log.read())
    BROKEN[broken](segment)

    with SegmentLog.open(store / "log", read_only=True) as log:
        assert list(log.read()) == events
        assert log.verify_chain() == []
    (finding,) = scrub(segment).findings
    assert isinstance(finding, BrokenSeal)
    with Memory.open(store, embedder=None) as memory:
        assert len(memory.sql("SELECT id FROM memories").rows) == 12
        assert memory.verify().exact

    found = doctor(store, scrub=True, salvage=tmp_path / "salvaged")
    assert [(one.severity, one.where) for one in found.problems] == [("seal", str(segment))]
    assert found.salvaged is not None
    assert (found.salvaged.head, found.salvaged.lost) == (head, 0)

    found = doctor(store, fix=True, scrub=True)
    assert found.healthy
    assert [one.severity for one in found.fixed] == ["seal"]
    assert segment.read_bytes() == whole


def test_a_broken_seal_of_a_segment_with_a_damaged_event_is_left_as_it_is(store: Path):
    segment = sealed_segments(store / "log")[0]
    flip(segment, frames_end(segment) + 5)
    flip(segment, segment.read_bytes().index(b"note 1 "))
    before = segment.read_bytes()
    found = doctor(store, fix=True)
    assert [one.severity for one in found.problems] == ["damage", "seal"]
    assert segment.read_bytes() == before
