"""The command itself: real processes over a real folder, killed, interrupted, and asked for reports."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from click.testing import CliRunner
from kept_folder import AT_ONCE, expected, held, keep, write

from recollect.interfaces.cli.app import main
from recollect.interfaces.python.memory import Memory

BURST = 5_000
WAIT_S = 120.0


@pytest.fixture
def watching(notes: Path, tmp_path: Path) -> Iterator[object]:
    """Starts `recollect watch`, and leaves no process behind."""
    started: list[subprocess.Popen[str]] = []

    def start(*options: str) -> subprocess.Popen[str]:
        with (tmp_path / f"out{len(started)}.jsonl").open("w") as output:
            process = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "recollect",
                    "watch",
                    str(notes),
                    "--json",
                    "--grace",
                    "0.1",
                    *options,
                ],
                env={**os.environ, "RECOLLECT_STORE": str(tmp_path / "store"), "RECOLLECT_EMBEDDER": "none"},
                stdout=output,
                stderr=subprocess.PIPE,
                text=True,
            )
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


def lines(tmp_path: Path, number: int) -> list[dict[str, object]]:
    text = (tmp_path / f"out{number}.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


def wait_for(condition: object, what: str) -> None:
    deadline = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(0.02)


def test_a_watch_killed_again_and_again_ends_with_the_store_equal_to_the_folder(
    notes: Path, tmp_path: Path, watching: object
):
    random = Random(7)
    for life in range(3):
        process = watching()
        for n in range(40):
            name = f"{random.choice('abc')}/{random.randrange(12)}.md"
            write(
                notes, {name: f"# {n}\n\nText {random.randrange(5)} of {life}. [[{random.randrange(12)}]]\n"}
            )
            if random.random() < 0.3:
                (notes / name).rename(notes / f"{life}-{n}.md")
        if life:
            wait_for(lambda life=life: lines(tmp_path, life), "a line")
        time.sleep(random.random() * 0.3)
        process.kill()
        process.wait()
    with Memory.open(tmp_path / "store", embedder=None) as memory:
        keep(memory, notes)
        assert held(memory, notes) == expected(notes, {".md"})
        assert memory.verify().exact
        head = memory.store.log.head
        keep(memory, notes)
        assert memory.store.log.head == head


def test_a_watch_tells_what_happens_and_ends_well_when_interrupted(
    notes: Path, tmp_path: Path, watching: object
):
    write(notes, {"a.md": "# A\n\nalpha\n"})
    process = watching("--every", "3600")

    def told(what: str, path: str = "") -> bool:
        return any(line["what"] == what and line.get("path", "") == path for line in lines(tmp_path, 0))

    wait_for(lambda: told("watching"), "the first look")
    write(notes, {"b.md": "# B\n\nSee [[a]].\n"})
    wait_for(lambda: told("ingested", "b.md"), "the new file")
    wait_for(lambda: told("linked"), "its link")
    draft = notes / ".b.md.tmp"
    draft.write_text("# B\n\nSee [[a]] again.\n")
    draft.replace(notes / "b.md")
    wait_for(lambda: told("revised", "b.md"), "the save")
    (notes / "b.md").rename(notes / "c.md")
    wait_for(lambda: told("moved", "c.md"), "the rename")
    (notes / "a.md").unlink()
    wait_for(lambda: told("forgotten", "a.md"), "the deletion")
    write(notes, {"a.md": "# A\n\nalpha\n"})
    wait_for(lambda: told("restored", "a.md"), "the return")
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=WAIT_S)
    assert (process.returncode, errors[:19]) == (0, "recollect: stopped;")
    report = lines(tmp_path, 0)[-1]
    assert {name: report[name] for name in ("ingested", "moved", "forgotten", "restored", "chunks", "unchanged")} == {
        "ingested": 2, "moved": 1, "forgotten": 1, "restored": 1, "chunks": 2, "unchanged": 0,
    }  # fmt: skip


def test_a_folder_that_goes_and_comes_back_is_followed_again(notes: Path, tmp_path: Path, watching: object):
    write(notes, {"a.md": "alpha"})
    watching("--every", "3600")
    wait_for(lambda: any(line["what"] == "watching" for line in lines(tmp_path, 0)), "the first look")
    notes.rename(tmp_path / "away")
    wait_for(lambda: any(line["what"] == "paused" for line in lines(tmp_path, 0)), "the pause")
    (tmp_path / "away").rename(notes)
    wait_for(lambda: any(line["what"] == "resumed" for line in lines(tmp_path, 0)), "the end of the pause")
    write(notes, {"b.md": "beta"})
    wait_for(lambda: any(line.get("path") == "b.md" for line in lines(tmp_path, 0)), "the new file")
    assert not any(line["what"] == "forgotten" for line in lines(tmp_path, 0))


def test_polling_follows_without_events(notes: Path, tmp_path: Path, watching: object):
    watching("--poll")
    wait_for(lambda: lines(tmp_path, 0), "the first look")
    write(notes, {"a.md": "alpha"})
    wait_for(lambda: any(line.get("path") == "a.md" for line in lines(tmp_path, 0)), "the new file")


def test_a_burst_of_files_is_held_and_a_second_look_writes_nothing(notes: Path, tmp_path: Path):
    for n in range(BURST):
        folder = notes / str(n // 250)
        folder.mkdir(exist_ok=True)
        (folder / f"{n}.md").write_text(f"# Note {n}\n\nText of note {n}.\n")
    with Memory.open(tmp_path / "store", embedder=None) as memory:
        report = keep(memory, notes)
        assert (report.files, report.ingested) == (BURST, BURST)
        assert held(memory, notes) == expected(notes, {".md"})
        head = memory.store.log.head
        assert keep(memory, notes).unchanged == BURST
        assert memory.store.log.head == head
        (notes / "0").rename(notes / "moved")
        assert keep(memory, notes).moved == 250


def test_the_last_report_counts_the_files_that_came_and_went_meanwhile(
    notes: Path, memory: Memory, monkeypatch: pytest.MonkeyPatch
):
    write(
        notes, {"a.md": "alpha", "b.md": "beta", "c.md": "gamma", "old/d.md": "delta", "old/e.md": "epsilon"}
    )
    root = notes.resolve()

    def changed_paths(*_: object, **__: object) -> Iterator[set[str] | None]:
        write(notes, {"new.md": "new", "bad.md": "---\n[\n---\n", "p.png": "x", "q.png": "x"})
        yield {str(root / name) for name in ("new.md", "bad.md", "p.png", "q.png")}
        (notes / "a.md").rename(notes / "renamed.md")
        yield {str(root / "renamed.md")}
        shutil.rmtree(notes / "old")
        (notes / "p.png").unlink()
        yield {str(root / "old"), str(root / "p.png")}
        write(notes, {"bad.md": "mended", "worse.md": "---\n[\n---\n"})
        yield {str(root / "bad.md"), str(root / "worse.md")}

    monkeypatch.setattr("recollect.interfaces.folders.watcher.changed_paths", changed_paths)
    report = memory.watch(notes, timing=AT_ONCE)
    present = {"renamed.md", "b.md", "c.md", "new.md", "bad.md", "worse.md"}
    assert {path.name for path in notes.glob("*.md")} == present
    assert (report.files, report.chunks) == (len(present), len(present) - 1)
    assert report.skipped == {"no text format by its name": 1}
    assert [trouble.path for trouble in report.quarantined] == ["worse.md"]


class TestReports:
    def run(self, tmp_path: Path, *arguments: str) -> tuple[int, str, str]:
        environment = {"RECOLLECT_STORE": str(tmp_path / "store"), "RECOLLECT_EMBEDDER": "none"}
        result = CliRunner().invoke(main, ["watch", *arguments], env=environment)
        return result.exit_code, result.stdout, result.stderr

    def test_once_prints_a_table_or_one_document(self, notes: Path, tmp_path: Path):
        write(notes, {"a.md": "alpha", "b.md": "---\n[\n---\n", "c.png": "x"})
        code, out, _ = self.run(tmp_path, str(notes), "--once")
        assert code == 0
        assert "1 ingested" in out
        assert "1 no text format by its name" in out
        assert "b.md: front matter is not YAML" in out
        code, out, _ = self.run(tmp_path, str(notes), "--once", "--json")
        report = json.loads(out)
        assert (code, report["files"], report["chunks"], report["unchanged"]) == (0, 2, 1, 1)
        assert [trouble["path"] for trouble in report["quarantined"]] == ["b.md"]

    def test_a_paused_folder_is_exit_1_and_degraded(self, notes: Path, tmp_path: Path):
        write(notes, {"a.md": "alpha"})
        self.run(tmp_path, str(notes), "--once")
        notes.rename(tmp_path / "away")
        code, out, _ = self.run(tmp_path, str(notes), "--once", "--json")
        assert code == 1
        assert "is gone" in json.loads(out)["degraded"][0]

    def test_a_missing_folder_is_exit_2(self, tmp_path: Path):
        code, out, errors = self.run(tmp_path, str(tmp_path / "nowhere"), "--once")
        assert (code, out) == (2, "")
        assert errors == f"recollect: there is no folder {tmp_path / 'nowhere'}\n"

    def test_a_watch_dreams_by_the_clock(self, notes: Path, tmp_path: Path, watching: object):
        write(notes, {"a.md": "alpha"})
        watching("--dream-every", "1s")
        wait_for(lambda: any(line["what"] == "dreamed" for line in lines(tmp_path, 0)), "a dream")
