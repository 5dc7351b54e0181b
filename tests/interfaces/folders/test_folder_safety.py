"""What must never happen: a mass delete, a second copy, a resurrected memory, a loop over a broken file."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

import pytest
from kept_folder import expected, facts_after, held, ids_at, keep, keeper_of, write

from recollect.events.facts import Recalled
from recollect.interfaces.folders.folder import Folder
from recollect.interfaces.folders.lease import FolderBusy, lease
from recollect.interfaces.folders.reading import Timing, settle
from recollect.interfaces.folders.scan import stamp_at
from recollect.interfaces.python.memory import Memory

NOTES = {f"{n}.md": f"# N{n}\n\nText {n}.\n" for n in range(6)}


class TestTheRoot:
    def test_when_it_vanishes_nothing_is_forgotten_and_it_is_said(
        self, notes: Path, memory: Memory, tmp_path: Path
    ):
        write(notes, NOTES)
        keep(memory, notes)
        head = memory.store.log.head
        notes.rename(tmp_path / "elsewhere")
        report = keep(memory, notes)
        assert memory.store.log.head == head
        assert "is gone; its 6 files are kept" in report.degraded[0]
        (tmp_path / "elsewhere").rename(notes)
        assert keep(memory, notes).degraded == ()
        assert memory.store.log.head == head

    def test_when_an_empty_place_is_left_of_it_nothing_is_forgotten(
        self, notes: Path, memory: Memory, tmp_path: Path
    ):
        write(notes, NOTES)
        keep(memory, notes)
        notes.rename(tmp_path / "disk")
        notes.mkdir()  # what an unmounted disk leaves: another inode, and empty
        head = memory.store.log.head
        report = keep(memory, notes)
        assert memory.store.log.head == head
        assert "another folder than before" in report.degraded[0]
        shutil.rmtree(tmp_path / "store" / "cache")
        assert "holds none of the 6 files" in keep(memory, notes).degraded[0]
        assert memory.store.log.head == head
        assert keep(memory, notes, accept_root=True).forgotten == 6

    def test_a_new_copy_of_the_folder_is_recognised_by_its_files(
        self, notes: Path, memory: Memory, tmp_path: Path
    ):
        write(notes, NOTES)
        keep(memory, notes)
        shutil.copytree(notes, tmp_path / "clone")
        notes.rename(tmp_path / "old")
        (tmp_path / "clone").rename(notes)
        (notes / "0.md").unlink()
        report = keep(memory, notes)
        assert (report.degraded, report.forgotten, report.unchanged) == ((), 1, 5)

    def test_an_emptied_folder_that_is_the_same_folder_is_empty(self, notes: Path, memory: Memory):
        write(notes, NOTES)
        keep(memory, notes)
        for path in notes.iterdir():
            path.unlink()
        assert keep(memory, notes).forgotten == 6


class TestGrace:
    def test_a_file_gone_for_less_than_the_grace_period_is_kept(self, notes: Path, memory: Memory):
        write(notes, NOTES)
        sync = keeper_of(memory, notes, grace_s=60)
        sync.step()
        head = memory.store.log.head
        (notes / "0.md").unlink()
        sync.step({"0.md"})
        assert sync.waiting == {"0.md"}
        write(notes, {"0.md": NOTES["0.md"]})
        sync.step()
        assert sync.waiting == set()
        assert memory.store.log.head == head

    def test_a_rename_told_in_two_halves_within_the_grace_period_is_a_rename(
        self, notes: Path, memory: Memory
    ):
        write(notes, NOTES)
        sync = keeper_of(memory, notes, grace_s=60)
        sync.step()
        ids = ids_at(memory, notes, "0.md")
        (notes / "0.md").rename(notes.parent / "away.md")
        sync.step({"0.md"})
        (notes.parent / "away.md").rename(notes / "new.md")
        sync.step({"new.md"})
        assert ids_at(memory, notes, "new.md") == ids

    def test_one_run_waits_for_the_grace_period_and_then_forgets(self, notes: Path, memory: Memory):
        write(notes, NOTES)
        keep(memory, notes)
        (notes / "0.md").unlink()
        report = keep(memory, notes, timing=Timing(settle_s=0, grace_s=0.05))
        assert (report.forgotten, report.waiting) == (1, 0)


class TestSettling:
    def test_a_file_is_waited_for_while_it_grows_but_not_for_ever(self, notes: Path):
        write(notes, {"grows.md": "x", "still.md": "x"})
        stamps = {name: stamp_at(str(notes), name) for name in ("grows.md", "still.md")}
        now, growing = 0.0, True

        class Growing(Timing, frozen=True):
            def sleep(self, seconds: float) -> None:
                nonlocal now
                now += seconds
                if growing or now < 1:
                    with (notes / "grows.md").open("a") as file:
                        file.write("x")

        growing = False
        settled = settle(str(notes), stamps, Growing(clock=lambda: now))
        assert settled["grows.md"].size == 1 + 4  # four writes before 1 s, at 0.2 s each
        growing, now = True, 0.0
        assert settle(str(notes), settled, Growing(clock=lambda: now)).keys() == settled.keys()
        assert now == pytest.approx(10.0, abs=0.3)

    def test_a_file_that_vanishes_meanwhile_is_left_out(self, notes: Path):
        write(notes, {"a.md": "x"})
        stamps = {"a.md": stamp_at(str(notes), "a.md")}
        (notes / "a.md").unlink()
        assert settle(str(notes), stamps, Timing(settle_s=0.01)) == {}


class TestTrouble:
    def test_a_broken_file_is_quarantined_said_and_tried_again_only_when_it_changes(
        self, notes: Path, memory: Memory, monkeypatch: pytest.MonkeyPatch
    ):
        write(notes, {"a.md": "good", "b.md": "---\ntitle: a: b\n---\nx"})
        (trouble,) = keep(memory, notes).quarantined
        assert trouble.path == "b.md"
        assert "not YAML" in trouble.reason
        read = []
        monkeypatch.setattr(
            "recollect.interfaces.folders.reading.chunks_of", lambda path, data: read.append(path) or ()
        )
        (again,) = keep(memory, notes).quarantined
        assert again == trouble
        assert "b.md" not in read
        monkeypatch.undo()
        write(notes, {"b.md": "mended"})
        report = keep(memory, notes)
        assert (report.quarantined, report.ingested) == ((), 1)

    def test_a_file_that_breaks_keeps_its_last_good_text(self, notes: Path, memory: Memory):
        write(notes, {"a.md": "good"})
        keep(memory, notes)
        write(notes, {"a.md": "---\n[\n---\nx"})
        report = keep(memory, notes)
        assert (len(report.quarantined), report.chunks, report.forgotten) == (1, 1, 0)

    @pytest.mark.parametrize(
        ("broken", "reason"),
        [(b"\0" * 60, "it is binary now"), (b"x" * 101, "it is over 100 bytes now")],
        ids=["binary", "too large"],
    )
    def test_a_file_that_turns_binary_or_too_large_keeps_its_last_good_text(
        self, notes: Path, memory: Memory, broken: bytes, reason: str
    ):
        write(notes, {"a.md": "good", "b.md": "other"})
        keep(memory, notes, max_bytes=100)
        head = memory.store.log.head
        write(notes, {"a.md": broken})
        for _ in range(2):
            report = keep(memory, notes, max_bytes=100)
            assert [(trouble.path, trouble.reason) for trouble in report.quarantined] == [("a.md", reason)]
            assert (report.files, report.chunks, report.skipped) == (2, 2, {})
        assert memory.store.log.head == head
        write(notes, {"a.md": "better"})
        assert keep(memory, notes, max_bytes=100).revised == 1
        write(notes, {"a.md": broken})
        keep(memory, notes, max_bytes=100)
        (notes / "a.md").unlink()
        assert keep(memory, notes, max_bytes=100).forgotten == 1

    def test_files_of_an_unreadable_folder_do_not_count_as_gone(
        self, notes: Path, memory: Memory, monkeypatch: pytest.MonkeyPatch
    ):
        import os

        write(notes, {"a.md": "one", "locked/b.md": "two"})
        keep(memory, notes)
        real = os.scandir

        def refuse(path: object) -> object:
            if str(path).endswith("locked"):
                raise PermissionError(13, "Permission denied")
            return real(path)

        monkeypatch.setattr(os, "scandir", refuse)
        report = keep(memory, notes)
        assert report.forgotten == 0
        assert "locked cannot be read (Permission denied)" in report.degraded[0]


class TestOthers:
    def test_a_memory_that_the_user_forgot_stays_forgotten_while_its_text_follows_the_file(
        self, notes: Path, memory: Memory
    ):
        write(notes, {"a.md": "first", "b.md": "x"})
        keep(memory, notes)
        (id_,) = ids_at(memory, notes, "a.md")
        memory.forget(id_, "not useful")
        head = memory.store.log.head
        keep(memory, notes)
        assert memory.store.log.head == head
        write(notes, {"a.md": "second"})
        keep(memory, notes)
        assert (memory.get(id_).visible, memory.get(id_).content) == (False, "a\n\nsecond")
        (notes / "a.md").unlink()
        keep(memory, notes)
        write(notes, {"a.md": "third"})
        keep(memory, notes)
        assert memory.get(id_).visible

    def test_an_erased_memory_does_not_come_back(self, notes: Path, tmp_path: Path):
        write(notes, {"a.md": "secret", "b.md": "x"})
        with Memory.open(tmp_path / "store", embedder=None) as memory:
            keep(memory, notes)
            (id_,) = ids_at(memory, notes, "a.md")
            memory.erase(id_)
            keep(memory, notes)
            assert ids_at(memory, notes, "a.md") == set()
        shutil.rmtree(tmp_path / "store" / "cache")
        with Memory.open(tmp_path / "store", embedder=None) as memory:
            keep(memory, notes)
            assert ids_at(memory, notes, "a.md") == set()
            head = memory.store.log.head
            assert keep(memory, notes).ingested == 0
            assert memory.store.log.head == head

    def test_a_text_changed_by_hand_follows_its_file_again(self, notes: Path, memory: Memory):
        write(notes, {"a.md": "from the file"})
        keep(memory, notes)
        (id_,) = ids_at(memory, notes, "a.md")
        memory.revise(id_, "by hand")
        keep(memory, notes)
        assert memory.get(id_).content == "a\n\nfrom the file"

    def test_recalls_during_a_run_neither_stop_it_nor_make_it_write_twice(
        self, notes: Path, memory: Memory, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setattr("recollect.interfaces.folders.writing._BATCH", 2)
        write(notes, NOTES)
        embed = memory._writer.embed

        def and_recall(facts: object) -> object:
            memory.recall("text")
            return embed(facts)

        monkeypatch.setattr(memory._writer, "embed", and_recall)
        keep(memory, notes)
        assert held(memory, notes) == expected(notes, {".md"})
        assert sum(isinstance(fact, Recalled) for fact in facts_after(memory, 0)) == 3

    def test_two_watchers_at_once_without_a_lease_hold_everything_once(
        self, notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        from contextlib import nullcontext

        monkeypatch.setattr("recollect.interfaces.folders.folder_sync.lease", lambda *_, **__: nullcontext())
        monkeypatch.setattr("recollect.interfaces.folders.writing._BATCH", 3)
        write(notes, {f"{n}.md": f"# N{n}\n\nText {n % 7}. See [[{n + 1}]]\n" for n in range(40)})
        memories = [Memory.open(tmp_path / "store", embedder="hash") for _ in range(2)]
        threads = [threading.Thread(target=keep, args=(memory, notes)) for memory in memories]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(600)
        for memory in memories:
            assert held(memory, notes) == expected(notes, {".md"})
            memory.close()

    def test_the_lease_is_one_at_a_time(self, notes: Path, tmp_path: Path):
        folder, cache = Folder(str(notes)), tmp_path / "store" / "cache"
        cache.mkdir(parents=True)
        with (
            lease(folder, cache),
            pytest.raises(FolderBusy, match="another watcher"),
            lease(folder, cache, wait_s=0.1),
        ):
            pass
        with lease(folder, cache, wait_s=0):
            pass
