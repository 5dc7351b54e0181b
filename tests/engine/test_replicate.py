"""A store carried between places: the same chain, the same bits, resumable, and erased where the source is."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from recollect.engine.replicate import replicate
from recollect.events.errors import InvalidInput, RecollectError
from recollect.events.packs.pack_log import PackLog
from recollect.interfaces.cli.app import main
from recollect.interfaces.python.memory import Memory


@pytest.fixture
def source(tmp_path: Path) -> str:
    path = str(tmp_path / "source")
    with Memory.open(path, embedder="hash") as memory:
        memory.remember_many([{"id": f"m{n}", "content": f"note {n} about tea {n % 7}"} for n in range(40)])
        memory.recall("tea 3")
    return path


@pytest.fixture
def shared(tmp_path: Path) -> str:
    return f"file://{tmp_path}/shared?mirror={tmp_path}/mirror"


def answers(where: str) -> list[tuple[str, float]]:
    with Memory.open(where, embedder="hash") as memory:
        assert memory.verify().exact
        return [(hit.id, hit.score) for hit in memory.recall("tea 5", record=False, now="2030-01-01").hits]


def test_a_store_goes_to_packs_and_back_with_the_same_chain_and_the_same_bits(
    source: str, shared: str, tmp_path: Path
) -> None:
    there = replicate(source, shared)
    back = replicate(shared, str(tmp_path / "back"))
    assert there.events == back.events == there.head
    assert there.chain == back.chain
    assert answers(source) == answers(shared) == answers(str(tmp_path / "back"))


def test_again_brings_over_what_is_new(source: str, shared: str) -> None:
    first = replicate(source, shared)
    assert replicate(source, shared).events == 0
    with Memory.open(source, embedder="hash") as memory:
        memory.remember("one more")
    again = replicate(source, shared)
    assert (again.events, again.head) == (1, first.head + 1)


def test_an_interrupted_run_goes_on_where_it_stopped(
    source: str, shared: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recollect.events.transfer.BATCH_EVENTS", 1)
    appended = PackLog.append_frames
    left = 1

    def until_the_second(log: PackLog, frames: list[object]) -> None:
        nonlocal left
        if not left:
            raise KeyboardInterrupt
        left -= 1
        appended(log, frames)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(PackLog, "append_frames", until_the_second)
        with pytest.raises(KeyboardInterrupt):
            replicate(source, shared)
    rest = replicate(source, shared)
    assert 0 < rest.events < rest.head
    assert answers(shared) == answers(source)


def test_what_is_erased_in_the_source_is_erased_in_the_target(
    source: str, shared: str, tmp_path: Path
) -> None:
    replicate(source, shared)
    replicate(source, str(tmp_path / "copy"))
    with Memory.open(source, embedder="hash") as memory:
        memory.erase("m5")
    for target in (shared, str(tmp_path / "copy")):
        replicate(source, target)
    for folder in ("copy", "mirror", "shared"):
        for path in (tmp_path / folder).rglob("*"):
            assert path.is_dir() or b"note 5 about tea 5" not in path.read_bytes(), path
    with Memory.open(shared, embedder="hash") as memory:
        assert memory.get("m5").content == "[erased]"


def holding(folder: Path, text: bytes) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and text in path.read_bytes()]


def erase_in_another_process(store: str, id_: str) -> None:
    command = [
        sys.executable,
        "-m",
        "recollect",
        "erase",
        id_,
        "--yes",
        "--store",
        store,
        "--embedder",
        "hash",
    ]
    subprocess.run(command, check=True, capture_output=True)


def test_a_source_whose_acknowledged_end_was_cut_is_refused_and_nothing_is_written(
    source: str, shared: str, tmp_path: Path
) -> None:
    (segment,) = (Path(source) / "log").glob("*.seg")
    os.truncate(segment, segment.stat().st_size - 300)
    for target in (shared, str(tmp_path / "copy")):
        with pytest.raises(
            RecollectError, match=r"replicate refused: only the events up to @\d+ can be read"
        ):
            replicate(source, target)
    assert not (tmp_path / "copy").exists()
    assert not (tmp_path / "shared").exists()


def test_what_is_erased_while_the_copy_is_made_is_not_in_it(source: str, shared: str, tmp_path: Path) -> None:
    for id_, target, folders in (
        ("m5", str(tmp_path / "copy"), ("copy",)),
        ("m6", shared, ("shared", "mirror")),
    ):
        erasing = [id_]

        def progress(_: int, __: int, erasing: list[str] = erasing) -> None:
            if erasing:
                erase_in_another_process(source, erasing.pop())

        made = replicate(source, target, progress=progress)
        text = f"note {id_[1:]} about tea".encode()
        assert [path for folder in folders for path in holding(tmp_path / folder, text)] == []
        with Memory.open(source, embedder="hash") as memory:
            assert memory.store.log.head == made.head


def test_an_erasure_names_the_replica_until_the_next_run_has_carried_it_there(
    source: str, shared: str, tmp_path: Path
) -> None:
    copy = str(tmp_path / "copy")
    places = {copy, shared.partition("?")[0]}
    for id_ in ("m5", "m6"):
        replicate(source, copy)
        replicate(source, shared)
        text = f"note {id_[1:]} about tea".encode()
        with Memory.open(source, embedder="hash") as memory:
            report = memory.erase(id_)
        assert {(one.kind, one.path, one.finished) for one in report.copies} == {
            ("replica", place, True) for place in places
        }
        assert report.receipt is not None
        assert (
            f"replica of this store at {copy}, until the next replicate or sync carries"
            in report.receipt.text
        )
        assert holding(tmp_path / "copy", text) != []
    replicate(source, copy)
    said = CliRunner().invoke(main, ["erase", "m7", "--yes", "--store", source, "--embedder", "hash"]).output
    assert "2 copies may hold it and keep it until the next `recollect replicate` or `sync`" in " ".join(
        said.split()
    )
    assert "must be erased in" not in said


def test_a_replica_whose_making_was_interrupted_is_known_to_erase(source: str, tmp_path: Path) -> None:
    def interrupted(_: int, __: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        replicate(source, str(tmp_path / "copy"), progress=interrupted)
    with Memory.open(source, embedder="hash") as memory:
        (copy,) = memory.erase("m5").copies
    assert (copy.kind, copy.path, copy.finished) == ("replica", str(tmp_path / "copy"), False)


def test_what_comes_over_erased_is_gone_from_the_caches_of_the_target(
    source: str, shared: str, tmp_path: Path
) -> None:
    """A cached checkpoint holds the words of every memory; a replica that is read from has one."""
    for target in (shared, str(tmp_path / "copy")):
        replicate(source, target)
        with Memory.open(target, embedder="hash") as memory:
            memory.recall("tea", record=False)
            assert memory.store.checkpoint() is not None
    word = b"xylophone"
    with Memory.open(source, embedder="hash") as memory:
        memory.remember(f"a {word.decode()} for tea", id="word")
    for target in (shared, str(tmp_path / "copy")):
        replicate(source, target)
        with Memory.open(target, embedder="hash") as memory:
            memory.store.checkpoint()
    assert holding(tmp_path / "copy" / "cache", word) != []
    assert holding(tmp_path / "mirror" / "cache", word) != []
    with Memory.open(source, embedder="hash") as memory:
        memory.erase("word")
    for target in (shared, str(tmp_path / "copy")):
        replicate(source, target)
    assert holding(tmp_path / "copy", word) == []
    assert holding(tmp_path / "mirror", word) == []


def test_of_a_source_with_restored_bytes_that_were_erased_the_target_holds_none(
    source: str, shared: str, tmp_path: Path
) -> None:
    """`export` refuses such a store where it is read-only, because its file would hold them. `replicate` need not: it
    opens every source for reading, and carries out in the target every erasure that it brings over."""
    shutil.copytree(source, tmp_path / "backup")
    with Memory.open(source, embedder="hash") as memory:
        memory.erase("m5")
    (segment,) = (Path(source) / "log").glob("*.seg")
    (old,) = (tmp_path / "backup" / "log").glob("*.seg")
    written = old.read_bytes()
    with segment.open("r+b") as file:
        file.write(written)
    text = b"note 5 about tea"
    assert holding(Path(source), text) == [segment]
    replicate(source, str(tmp_path / "copy"))
    replicate(source, shared)
    for folder in ("copy", "shared", "mirror"):
        assert holding(tmp_path / folder, text) == []
    assert holding(Path(source), text) == [segment]


def test_a_target_with_events_of_its_own_is_refused(source: str, shared: str, tmp_path: Path) -> None:
    with Memory.open(shared, embedder="hash") as memory:
        memory.remember("something else")
    with pytest.raises(InvalidInput, match="events of its own"):
        replicate(source, shared)
    with pytest.raises(InvalidInput, match=r"events of its own|in the other direction"):
        replicate(shared, source)
    with pytest.raises(InvalidInput, match="no store at"):
        replicate(str(tmp_path / "nowhere"), shared)
    with pytest.raises(InvalidInput, match="the same place"):
        replicate(shared, shared.partition("?")[0])


def test_the_command_says_what_was_copied(source: str, shared: str) -> None:
    done = CliRunner().invoke(main, ["replicate", source, shared, "--json"])
    assert done.exit_code == 0, done.output
    result = json.loads(done.stdout)
    assert result["events"] == result["head"] > 40
    said = CliRunner().invoke(main, ["replicate", source, shared])
    assert "0 new events" in said.output
