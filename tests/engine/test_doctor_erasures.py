"""doctor finishes an erasure whose bytes a backup brought back, beside damage too, and salvages nothing of what was erased."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from recollect.engine.doctor import Diagnosis, doctor
from recollect.events.head import HEAD
from recollect.events.scan import find_frames
from recollect.events.scrub import scrub, sealed_segments
from recollect.events.segment_format import HEADER_BYTES, TRAILER_BYTES, SegmentName, Trailer
from recollect.events.segment_log import SegmentLog
from recollect.interfaces.python.memory import Memory

Open = Callable[..., Memory]
# What is erased, and where: each memory is one event behind the adoption of the embedder.
ERASED = {"m2": 4, "m9": 11}
FIRST = 21  # events before the erasures
WORDS = [f"the tea of {id_} is green".encode() for id_ in ERASED]


@pytest.fixture(autouse=True)
def small_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    opened = SegmentLog.open.__func__  # type: ignore[attr-defined]

    def small(cls: type[SegmentLog], path: Path, **options: Any) -> SegmentLog:
        return opened(cls, path, **{"segment_bytes": 3_000, **options})

    monkeypatch.setattr(SegmentLog, "open", classmethod(small))


def remembered(open_memory: Open, name: str, numbers: range) -> Path:
    with open_memory(name) as memory:
        for n in numbers:
            memory.remember(f"the tea of m{n} is green", id=f"m{n}")
        assert memory.store.folder is not None
        return memory.store.folder


@pytest.fixture
def folder(open_memory: Open, tmp_path: Path) -> Path:
    """A store in which m2 and m9 were erased at @22 and @23, with more behind; `backup` is from before the erasure."""
    folder = remembered(open_memory, "store", range(FIRST - 1))
    shutil.copytree(folder, tmp_path / "backup")
    with open_memory() as memory:
        memory.erase(list(ERASED))
    return remembered(open_memory, "store", range(FIRST - 1, FIRST + 9))


def segment(folder: Path, seq: int) -> Path:
    """The file that holds an event."""
    return [path for path in segments(folder) if int(path.name[:20]) <= seq][-1]


def segments(folder: Path) -> list[Path]:
    return sorted((folder / "log").glob("*.seg"))


def put_back(folder: Path, *seqs: int) -> None:
    """Put the files of these events back from the backup."""
    for seq in seqs:
        path = segment(folder, seq)
        shutil.copy(folder.parent / "backup" / "log" / path.name, path)


def damage(folder: Path, id_: str) -> None:
    """Flip a bit in a memory's text."""
    text = f"the tea of {id_} is green".encode()
    (path,) = [path for path in segments(folder) if text in path.read_bytes()]
    data = bytearray(path.read_bytes())
    data[data.index(text)] ^= 1
    path.write_bytes(bytes(data))


def readable(folder: Path) -> list[bytes]:
    """Which of the erased texts stand in any file."""
    data = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    return [word for word in WORDS if word in data]


def sizes(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_size for path in segments(folder)}


def found_in(found: Diagnosis) -> list[tuple[str, str]]:
    return [(problem.severity, problem.where.rpartition(", ")[2]) for problem in found.problems]


def unsealed(path: Path) -> bytes:
    """A segment as it was before it was sealed."""
    data = path.read_bytes()
    trailer = Trailer.parse(data[-TRAILER_BYTES:])
    assert trailer is not None
    return data[: trailer.frames_end]


BACK = [("erasure", "@22"), ("erasure", "@23")]


def test_what_a_restored_backup_brings_back_is_named_with_its_erasure_and_fix_finishes_it(folder: Path):
    assert doctor(folder).healthy
    put_back(folder, *ERASED.values())
    found = doctor(folder)
    assert found_in(found) == BACK
    assert all("a backup that was restored brought them back" in problem.what for problem in found.problems)
    assert readable(folder) == WORDS  # looking changed nothing
    fixed = doctor(folder, fix=True)
    assert (fixed.healthy, [problem.where for problem in fixed.fixed]) == (True, ["@22", "@23"])
    assert readable(folder) == []


DAMAGE: dict[str, Callable[[Path], None]] = {
    "behind the erasures": lambda folder: damage(folder, "m24"),
    "before the erasures": lambda folder: damage(folder, "m15"),
    "the end is missing": lambda folder: segments(folder)[-1].unlink(),
}


@pytest.mark.parametrize("harmed", DAMAGE)
def test_beside_damage_an_erasure_is_finished_as_well_and_nothing_else_is_changed(folder: Path, harmed: str):
    put_back(folder, *ERASED.values())
    DAMAGE[harmed](folder)
    found = doctor(folder)
    assert [kind for kind, _ in found_in(found)] == ["damage", "erasure", "erasure"]
    before, head = sizes(folder), (folder / "log" / HEAD).read_bytes()
    fixed = doctor(folder, fix=True)
    assert fixed.problems == found.problems[:1]
    assert [problem.where for problem in fixed.fixed] == ["@22", "@23"]
    assert readable(folder) == []
    assert sizes(folder) == before
    assert (folder / "log" / HEAD).read_bytes() == head  # it bears witness to what is missing


def test_erasures_are_found_behind_a_segment_that_is_missing(folder: Path, tmp_path: Path):
    put_back(folder, ERASED["m2"])
    segment(folder, 6).unlink()
    assert found_in(doctor(folder))[1:] == BACK[:1]
    saved = doctor(folder, salvage=tmp_path / "new").salvaged
    assert saved is not None
    assert saved.head < 6
    assert readable(tmp_path / "new") == []
    assert found_in(doctor(folder, fix=True))[1:] == []
    assert readable(folder) == []


@pytest.mark.parametrize(("damaged", "upto"), [("m24", 27), ("m15", 16)])
def test_what_is_salvaged_holds_nothing_that_was_erased_and_names_it(
    folder: Path, tmp_path: Path, open_memory: Open, damaged: str, upto: int
):
    put_back(folder, *ERASED.values())
    damage(folder, damaged)
    saved = doctor(folder, salvage=tmp_path / "new").salvaged
    assert saved is not None
    assert saved.head == upto
    assert readable(tmp_path / "new") == []
    assert doctor(tmp_path / "new").healthy
    with open_memory("new") as memory:
        assert memory.verify().exact
        assert [memory.store.log.get(seq).fact.erased_at for seq in ERASED.values()] == (
            [22, 23] if upto > 23 else [upto + 1, upto + 2]
        )
        assert {memo.id for memo in memory.memories(limit=100)}.isdisjoint(ERASED)


def test_an_erasure_that_was_erased_itself_still_counts_in_a_damaged_log(open_memory: Open, tmp_path: Path):
    """Who erases an id again also overwrites the earlier erasure, for its reason; what that one named stays erased."""
    folder = remembered(open_memory, "store", range(8))
    shutil.copytree(folder, tmp_path / "backup")
    with open_memory() as memory:
        memory.erase("m2", reason="the first time")
        memory.remember("m2 once more", id="m2")
        memory.erase("m2", reason="the second time")
    remembered(open_memory, "store", range(10, 18))
    assert all(b"the first time" not in path.read_bytes() for path in segments(folder))
    put_back(folder, ERASED["m2"])
    damage(folder, "m5")
    assert [kind for kind, _ in found_in(doctor(folder))] == ["damage", "erasure"]
    assert doctor(folder, salvage=tmp_path / "new").salvaged is not None
    assert readable(tmp_path / "new") == []
    assert doctor(tmp_path / "new").healthy
    doctor(folder, fix=True)
    assert readable(folder) == []


def test_a_file_of_another_store_in_the_log_erases_nothing_here(
    folder: Path, open_memory: Open, tmp_path: Path
):
    """Its erasures name events by their positions; those of this log are other events."""
    own = remembered(open_memory, "own", range(FIRST - 1))
    shutil.copy(segment(folder, 22), own / "log")
    assert [kind for kind, _ in found_in(doctor(own))] == ["damage"]
    doctor(own, fix=True, salvage=tmp_path / "new")
    assert readable(own) == WORDS
    assert readable(tmp_path / "new") == WORDS


# --- a segment that was copied before it was sealed --------------------------------------------------


def test_a_segment_that_was_copied_before_it_was_sealed_is_whole_and_the_next_writer_seals_it(
    folder: Path, open_memory: Open
):
    path = segment(folder, 6)
    sealed = path.read_bytes()
    path.write_bytes(unsealed(path))
    found = doctor(folder, scrub=True)
    assert (found.healthy, found.problems) == (True, ())
    assert found.scrubbed is not None
    assert found.scrubbed.events == int(segments(folder)[-1].name[:20]) - 1
    with open_memory() as memory:
        assert memory.verify().exact
    assert path.read_bytes() == sealed


def test_a_segment_without_a_seal_that_ends_elsewhere_than_the_next_one_says_is_found(folder: Path):
    path = segment(folder, 6)
    frames = unsealed(path)
    name = SegmentName.parse(path.name)
    assert name is not None
    last = list(find_frames(frames, HEADER_BYTES, name.seed))[-1].header
    for wrong, kind in (
        (frames[: -last.length], "damage"), (frames[:-1], "damage"), (frames + bytes(8), "seal"),
    ):  # fmt: skip
        path.write_bytes(wrong)
        assert [found for found, _ in found_in(doctor(folder))] == [kind]
        assert scrub(path).findings
    assert path in sealed_segments(folder / "log")
