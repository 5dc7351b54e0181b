"""A store carried between places: the same chain, the same bits, resumable, and erased where the source is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from recollect.engine.replicate import replicate
from recollect.events.errors import InvalidInput
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
