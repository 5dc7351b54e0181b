"""A damaged store answers from what comes before the damage, and every answer says so; no copy is made of a part."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from recollect.engine.show_recall import verdicts
from recollect.events.errors import RecollectError, UnknownMemory
from recollect.events.segment_log import SegmentLog
from recollect.interfaces.cli.app import main
from recollect.interfaces.python.memory import Memory

Open = Callable[..., Memory]
IDS = [f"f{n}" for n in range(1, 8)]


@pytest.fixture
def folder(open_memory: Open, tmp_path: Path) -> Path:
    """Seven memories, one event each, behind the adoption of their embedder: f1 is @2, f7 is @8."""
    with open_memory() as memory:
        for id_ in IDS:
            memory.remember(f"the tea of {id_} is green", id=id_)
    return tmp_path / "store"


def damage(folder: Path, id_: str, *, scanned: bool = True) -> None:
    """Flip a bit in a memory's text. With the stored index opening does not scan the log: the fold finds it."""
    (path,) = (folder / "log").glob("*.seg")
    data = bytearray(path.read_bytes())
    data[data.index(f"the tea of {id_}".encode())] ^= 1
    path.write_bytes(bytes(data))
    if scanned:
        (folder / "log/active.index").unlink()


@pytest.fixture(params=["found when opened", "found by the fold"])
def damaged(folder: Path, request: pytest.FixtureRequest) -> Path:
    """The event of f6, @7, cannot be read."""
    damage(folder, "f6", scanned=request.param == "found when opened")
    return folder


def run(folder: Path, *arguments: str) -> Result:
    return CliRunner().invoke(main, [*arguments, "--store", str(folder), "--embedder", "hash"])


def test_answers_now_and_as_of_a_moment_say_how_far_they_were_made(damaged: Path, open_memory: Open):
    memory = open_memory()
    for answer in (memory.recall("green tea", record=False), memory.at("@4").recall("green tea")):
        (note,) = answer.degraded
        assert "only the events up to @6 were read" in note
        assert "@7 was acknowledged" in note
    assert {hit.id for hit in memory.recall("green tea", record=False).hits} == set(IDS[:5])


def test_a_recall_in_a_damaged_store_is_answered_and_not_recorded(damaged: Path, open_memory: Open):
    answer = open_memory().recall("green tea")
    assert (answer.id, {hit.id for hit in answer.hits}) == (None, set(IDS[:5]))
    assert answer.degraded[1] == "this recall was not recorded: a damaged log takes no writes"
    assert run(damaged, "recall", "green tea").exit_code == 0


def test_a_whole_store_has_nothing_to_say(folder: Path, open_memory: Open, tmp_path: Path):
    memory = open_memory()
    assert memory.store.damage is None
    assert memory.recall("green tea", record=False).degraded == ()
    assert memory.export(tmp_path / "backup.jsonl").events == 1 + len(IDS)
    with pytest.raises(UnknownMemory, match=r"no memory has the id 'f9' as of @8$"):
        memory.get("f9")
    assert run(folder, "memories").stderr == ""


def test_a_memory_that_is_not_found_may_lie_behind_the_damage(damaged: Path, open_memory: Open):
    memory = open_memory()
    assert memory.get("f5").visible
    for ask in (memory.get, memory.history, memory.at("@3").get):
        with pytest.raises(
            UnknownMemory, match=r"'f7' as of @.*, or it lies behind the damage at @7: .*salvage"
        ):
            ask("f7")


@pytest.mark.parametrize(("target", "format_"), [("a.jsonl", None), ("a", "parquet"), ("a", "markdown")])
def test_a_part_of_the_log_never_takes_the_place_of_a_good_copy(
    folder: Path, open_memory: Open, tmp_path: Path, target: str, format_: str | None
):
    def copies() -> dict[Path, bytes]:
        found = [path for path in tmp_path.rglob("*") if path.is_file() and folder not in path.parents]
        return {path: path.read_bytes() for path in found}

    with open_memory() as memory:
        memory.export(tmp_path / target, format=format_)
    before = copies()
    damage(folder, "f6")
    with (
        open_memory() as memory,
        pytest.raises(RecollectError, match=r"up to @6 can be read.*doctor --salvage NEW_DIR"),
    ):
        memory.export(tmp_path / target, format=format_, overwrite=True)
    assert copies() == before


@pytest.mark.parametrize(("id_", "readable"), [("f1", 1), ("f6", 6), ("f7", 7)])
@pytest.mark.parametrize(
    "arguments",
    [["memories"], ["sql", "SELECT id FROM memories"], ["log"], ["recall", "tea", "--no-record"], ["dream", "--dry-run"]],
    ids=lambda arguments: arguments[0],
)  # fmt: skip
def test_a_command_that_reads_says_it_once_on_stderr(
    folder: Path, arguments: list[str], id_: str, readable: int
):
    damage(folder, id_)
    said = run(folder, *arguments)
    assert said.exit_code == 0
    assert said.stderr.count("recollect: the log is damaged") == 1
    assert f"only the events up to @{readable} were read" in said.stderr
    assert "recollect: the log is damaged" not in said.stdout


def test_json_carries_the_damage(damaged: Path):
    found = json.loads(run(damaged, "recall", "tea", "--no-record", "--json").stdout)
    assert ["is damaged" in note for note in found["degraded"]] == [True]


def test_what_comes_before_acknowledged_data_was_durable(folder: Path, open_memory: Open):
    damage(folder, "f6")
    status = open_memory().status()
    assert (status.head, status.durable, status.unsynced_bytes) == (6, 6, 0)
    assert [note for note in status.degraded if "damaged at byte" in note] == [status.degraded[0]]


# --- verify reports damage ---------------------------------------------------------------------------


@pytest.fixture(params=["folded", "from a checkpoint"])
def segmented(
    open_memory: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Path:
    """Several segments with a recall for every few memories; a checkpoint lets a store open behind the damage."""
    opened = SegmentLog.open.__func__  # type: ignore[attr-defined]

    def small(cls: type[SegmentLog], path: Path, **options: Any) -> SegmentLog:
        return opened(cls, path, **{"segment_bytes": 5_000, **options})

    monkeypatch.setattr(SegmentLog, "open", classmethod(small))
    with open_memory() as memory:
        for n in range(20):
            memory.remember(f"the tea of m{n} is green", id=f"m{n}")
            if n % 4 == 3:
                memory.recall(f"green m{n}", track=False)
        if request.param != "folded":
            memory.store.checkpoint()
    return tmp_path / "store"


def flip(path: Path, text: bytes) -> None:
    data = bytearray(path.read_bytes())
    data[data.index(text)] ^= 1
    path.write_bytes(bytes(data))


def segments(folder: Path) -> list[Path]:
    return sorted((folder / "log").glob("*.seg"))


DAMAGE: dict[str, Callable[[Path], object]] = {
    "a flipped bit in a memory": lambda folder: flip(segments(folder)[0], b"tea of m2"),
    "a flipped bit in a recall": lambda folder: flip(segments(folder)[0], b"green m3"),
    "a sealed segment cut short": lambda folder: os.truncate(
        segments(folder)[1], segments(folder)[1].stat().st_size // 2
    ),
    "a missing segment": lambda folder: segments(folder)[1].unlink(),
    "the first segment is missing": lambda folder: segments(folder)[0].unlink(),
    "the last segment is missing": lambda folder: segments(folder)[-1].unlink(),
}


@pytest.mark.parametrize("independent", [False, True])
@pytest.mark.parametrize("damaged_by", DAMAGE)
def test_verify_reports_damage_and_checks_what_comes_before(
    segmented: Path, open_memory: Open, damaged_by: str, independent: bool
):
    assert len(segments(segmented)) > 3
    with open_memory() as memory:
        recalls = memory.store.projections.adoptions.recalls.tolist()
    DAMAGE[damaged_by](segmented)
    report = open_memory().verify(independent=independent)
    assert not report.exact
    assert report.differences == ()
    assert report.damage
    first = min(finding.seq for finding in report.damage)
    assert report.checked >= sum(seq < first for seq in recalls)
    assert report.checked + report.unreadable <= len(recalls) == 5


@pytest.mark.parametrize("damaged_by", DAMAGE)
def test_every_command_on_a_damaged_store_says_one_clear_line(segmented: Path, damaged_by: str):
    DAMAGE[damaged_by](segmented)
    for arguments, exits in (
        (["verify"], {1}),
        (["status"], {0}),
        (["doctor"], {1}),
        (["log", "--limit", "3"], {0, 2}),
        (["history", "m1"], {0, 2}),
        (["history", "m19"], {0, 2}),
        (["sql", "SELECT count(*) FROM memories"], {0, 2}),
    ):
        said = run(segmented, *arguments)
        assert said.exit_code in exits, (arguments, said.stderr)
        assert isinstance(said.exception, SystemExit | None), arguments
        assert len(said.stderr.splitlines()) <= 1, (arguments, said.stderr)
        if arguments == ["verify"]:
            assert "the log is damaged at @" in said.stdout


def test_a_zeroed_head_file_costs_no_event_and_is_never_exact(segmented: Path, open_memory: Open):
    head = segmented / "log" / "head"
    head.write_bytes(bytes(head.stat().st_size))
    report = open_memory().verify()
    assert (report.checked, report.verdict) == (5, "differs")
    assert [one.witness for one in report.contradictions] == ["the head file"]


@pytest.mark.parametrize("damaged_by", DAMAGE)
def test_each_recall_of_a_damaged_store_gets_its_own_verdict_and_none_flatters(
    segmented: Path, open_memory: Open, damaged_by: str
):
    with open_memory() as memory:
        recalls = [f"r{seq}" for seq in memory.store.projections.adoptions.recalls.tolist()]
    DAMAGE[damaged_by](segmented)
    memory = open_memory()
    report, found = memory.verify(), verdicts(memory.store, [*recalls, "r99999", "nonsense"])
    assert [one.recall for one in found] == [*recalls, "r99999", "nonsense"]
    assert sum(one.verdict == "exact" for one in found) == report.exact_count
    assert [one.verdict for one in found[-2:]] == ["unknown", "unknown"]
    for one in found:
        assert ("replays exactly" in one.sentence) is one.exact is (one.verdict == "exact")
        assert one.verdict in ("exact", "unreadable", "unknown")
        assert (
            one.exact
            or memory.store.damage is None
            or "damage" in one.sentence
            or one.verdict == "unreadable"
        )
