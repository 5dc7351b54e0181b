"""doctor finds each thing that can be wrong, fixes what is safe, and never cuts what was acknowledged."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from recollect.engine.doctor import Diagnosis, doctor
from recollect.engine.embedding.store_embedder import Embedding
from recollect.engine.recall_models import Models
from recollect.engine.scrubbing import scrub_next
from recollect.engine.store import Store
from recollect.events.disk import WRITER_LOCK
from recollect.events.errors import InvalidInput, RecollectError
from recollect.events.scrub import sealed_segments
from recollect.events.segment_log import SegmentLog
from recollect.interfaces.cli import erase as cli_erase
from recollect.interfaces.cli.app import main
from recollect.interfaces.python.memory import Memory
from recollect.interfaces.python.opening import OpenStore
from recollect.projections import checkpoints
from recollect.projections.vectors.sealing import Sealer, SealPolicy

Open = Callable[..., Memory]


@pytest.fixture
def folder(open_memory: Open, tmp_path: Path) -> Path:
    """A store with every kind of file, closed."""
    memory = open_memory()
    memory.remember_many([{"content": f"note {n} about tea", "id": f"n{n}"} for n in range(12)])
    sealer = Sealer(memory.store.projections.vectors, memory.store._publish_shard, policy=SealPolicy(block=4))
    while sealer.step():
        pass
    memory.recall("tea")
    memory.store.checkpoint()
    memory.close()
    return tmp_path / "store"


def severities(found: Diagnosis) -> list[str]:
    return [problem.severity for problem in found.problems]


def files(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def damage(folder: Path, text: bytes) -> Path:
    """Flip a bit in the payload that holds this text."""
    (path,) = [path for path in (folder / "log").glob("*.seg") if text in path.read_bytes()]
    data = bytearray(path.read_bytes())
    data[data.index(text)] ^= 1
    path.write_bytes(bytes(data))
    return path


def test_a_healthy_store_is_healthy_and_looking_changes_nothing(folder: Path):
    before = files(folder)
    found = doctor(folder)
    assert (found.healthy, found.problems, found.notes) == (True, (), ())
    assert files(folder) == before


def test_a_directory_without_a_log_is_refused(tmp_path: Path):
    with pytest.raises(InvalidInput, match="there is no store"):
        doctor(tmp_path)


def test_a_damaged_checkpoint_is_found_and_deleted(folder: Path):
    (path,) = (folder / "cache/checkpoints").glob("*.checkpoint")
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))
    found = doctor(folder)
    assert severities(found) == ["cache"]
    assert path.exists()
    fixed = doctor(folder, fix=True)
    assert fixed.healthy
    assert [problem.where for problem in fixed.fixed] == [str(path)]
    assert not path.exists()


def test_a_checkpoint_that_is_whole_but_not_what_the_log_gives_is_found(folder: Path):
    (path,) = (folder / "cache/checkpoints").glob("*.checkpoint")
    with Memory.open(folder, embedder=None) as memory:
        projections = memory.store.projections
        state = projections.dump()
        state["documents|died"] = state["documents|died"].copy()
        state["documents|died"][3] = 7
        key = checkpoints.key_of(projections.versions())
        seq = int(path.stem)
        checkpoints.save(path.parent, key=key, seq=seq, chain=memory.store.log.chain_at(seq), state=state)
    found = doctor(folder)
    assert severities(found) == ["cache"]
    assert "documents|died" in found.problems[0].what


def test_shards_that_are_damaged_or_unheard_of_are_found(folder: Path):
    (path,) = (folder / "cache/shards").glob("*.hnsw")
    stray = path.with_stem("0" * 64)
    data = path.read_bytes()
    path.write_bytes(data[:-1])
    stray.write_bytes(b"")
    assert severities(doctor(folder)) == ["cache", "cache"]
    stray.unlink()
    other = path.with_stem("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
    other.write_bytes(b"")  # named after its bytes
    path.write_bytes(data)
    found = doctor(folder, fix=True)
    assert "no event speaks of this shard" in found.fixed[0].what
    assert (found.healthy, path.exists(), other.exists()) == (True, True, False)


def test_an_erasure_that_was_not_carried_out_is_found_and_finished(
    folder: Path, monkeypatch: pytest.MonkeyPatch
):
    with Memory.open(folder, embedder=None) as memory, monkeypatch.context() as patch:
        patch.setattr(Store, "_finish_erasures", lambda *_: None)
        with pytest.raises(
            RecollectError, match="the erasure is not finished: the payload of @5 is still there"
        ):
            memory.erase("n3")
    found = doctor(folder)
    assert "erasure" in severities(found)
    fixed = doctor(folder, fix=True)
    assert fixed.healthy
    assert all(b"note 3 about tea" not in data for data in files(folder).values())


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo])
def test_a_lock_that_is_no_file_is_a_problem_because_nothing_can_be_written(
    folder: Path, make: Callable[[Path], None]
):
    lock = folder / "log" / WRITER_LOCK
    lock.unlink()
    make(lock)
    assert severities(doctor(folder, fix=True)) == ["lock"]
    assert lock.exists()


def test_old_leftovers_are_found_and_young_ones_may_still_be_in_the_making(folder: Path):
    left = [
        folder / "cache/checkpoints/9.1.tmp",
        folder / "cache/shards/a.building",
        folder / "log/erase.intent.new",
    ]
    for path in left:
        path.write_bytes(b"x")
    assert doctor(folder).healthy
    for path in left:
        os.utime(path, (0, 0))
    assert severities(doctor(folder)) == ["leftover"] * 3
    assert doctor(folder, fix=True).healthy
    assert not any(path.exists() for path in left)


@pytest.mark.parametrize("put", [Path.mkdir, lambda path: path.symlink_to("/nowhere/at/all")])
def test_something_else_in_the_place_of_a_shard_is_one_problem(folder: Path, put: Callable[[Path], None]):
    path = next((folder / "cache/shards").glob("*.hnsw"))
    path.unlink()
    put(path)
    found = doctor(folder)
    assert [(problem.severity, problem.where) for problem in found.problems] == [("cache", str(path))]


def test_a_seal_of_rows_that_the_log_does_not_have_is_a_problem_until_fix_retires_it(folder: Path):
    with Memory.open(folder, embedder="hash") as memory:
        seals = memory.store.projections.vectors.every_seal()
        wrong = msgspec.structs.replace(seals[-1], count=1, digest="0" * 64, rows="")
        memory.store.append([wrong], actor="recollect")
        seq = memory.status().head
    (problem,) = doctor(folder).problems
    assert (problem.severity, problem.shard) == ("shard", wrong.digest)
    assert f"the shard sealed at @{seq} numbers other rows than the log has" in problem.what
    assert doctor(folder, fix=True).healthy
    with Memory.open(folder, embedder="hash") as memory:
        assert memory.store.event(seq + 1).fact.digest == wrong.digest


def test_a_seal_of_rows_of_which_one_was_erased_is_no_problem(folder: Path):
    with Memory.open(folder, embedder="hash") as memory:
        seals = memory.store.projections.vectors.every_seal()
        wrong = msgspec.structs.replace(seals[-1], count=1, digest="0" * 64, rows="")
        memory.store.append([wrong], actor="recollect")
        memory.erase("n5")
    assert doctor(folder).healthy


def test_a_seal_of_a_process_that_had_lost_a_row_is_a_problem_whatever_was_erased_in_its_block(folder: Path):
    with Memory.open(folder, embedder="hash") as memory:
        seal = memory.store.projections.vectors.every_seal()[-1]
        wrong = msgspec.structs.replace(
            seal, end_row=seal.end_row - 1, count=seal.count - 1, digest="0" * 64, rows="1" * 64
        )  # its last row has another number, and was born at the same basis
        memory.store.append([wrong], actor="recollect")
        memory.erase("n5")
    found = doctor(folder)
    assert [(problem.severity, problem.shard) for problem in found.problems] == [("shard", wrong.digest)]
    assert doctor(folder, fix=True).healthy


def test_beside_a_shard_of_a_newer_program_the_rest_is_examined_and_its_file_is_left(folder: Path):
    with Memory.open(folder, embedder="hash") as memory:
        seal = memory.store.projections.vectors.every_seal()[-1]
        newer = msgspec.structs.replace(seal, builder="hnswlib-9.9/ip/of a newer program", digest="0" * 64)
        memory.store.append([newer], actor="recollect")
    file, stray = (folder / "cache/shards" / f"{digest * 64}.hnsw" for digest in "01")
    file.write_bytes(b"an index of a newer format")
    stray.write_bytes(b"")
    (folder / "log/active.index.new").write_bytes(b"")
    os.utime(folder / "log/active.index.new", (0, 0))
    assert severities(doctor(folder)) == ["missing", "cache", "leftover"]
    fixed = doctor(folder, fix=True)
    assert (fixed.healthy, file.exists(), stray.exists()) == (True, True, False)


def test_an_unfinished_tail_that_was_set_aside_is_a_note(folder: Path):
    (segment,) = (folder / "log").glob("*.seg")
    (folder / "log/head").unlink()
    with segment.open("ab") as file:
        file.write(b"the beginning of a write")
    Memory.open(folder, embedder=None).close()
    found = doctor(folder)
    (lost,), (aside,) = found.problems, found.notes
    assert ("it was missing or unreadable" in lost.what, "was set aside" in aside) == (True, True)


@pytest.mark.parametrize("torn", [b"\x5a" * 40, bytes(40)], ids=["garbled", "zeroed"])
def test_a_torn_slot_of_the_head_file_is_a_note_until_somebody_writes(folder: Path, torn: bytes):
    head = folder / "log/head"
    data = head.read_bytes()
    head.write_bytes(data[:1024] + torn + data[1024 + len(torn) :])
    found = doctor(folder)
    assert found.healthy
    (note,) = found.notes
    assert f"{head}: 1 of its slots cannot be read" in note
    with Memory.open(folder, embedder="hash") as memory:
        for n in range(3):
            memory.remember(f"more {n}")
    assert doctor(folder).notes == ()


def test_damage_is_named_never_cut_and_what_came_before_is_salvaged(folder: Path, tmp_path: Path):
    path = damage(folder, b"note 7 about tea")
    before = files(folder)
    found = doctor(folder, fix=True)
    assert severities(found) == ["damage"]
    assert str(path) in found.problems[0].where
    assert "salvage" in found.problems[0].remedy
    assert files(folder) == before
    saved = doctor(folder, salvage=tmp_path / "new").salvaged
    assert saved is not None
    with SegmentLog.open(folder / "log", read_only=True) as old, SegmentLog.open(tmp_path / "new/log") as new:
        assert new.head == saved.head
        assert new.chain_at(new.head) == old.chain_at(saved.head)
    assert doctor(tmp_path / "new").healthy
    with pytest.raises(InvalidInput, match="exists already"):
        doctor(folder, salvage=tmp_path / "new")


def test_a_batch_that_is_damaged_in_part_is_left_out_as_a_whole(open_memory: Open, tmp_path: Path):
    memory = open_memory()
    memory.remember("alone", id="one")
    head = memory.status().head
    memory.remember_many(["in a batch of three", "the second of them", "the third"])
    memory.close()
    damage(tmp_path / "store", b"the second of them")
    saved = doctor(tmp_path / "store", salvage=tmp_path / "new").salvaged
    assert saved is not None
    assert saved.head == head
    with Memory.open(tmp_path / "new", embedder=None) as copy:
        assert [memo.id for memo in copy.memories()] == ["one"]


def test_the_twin_on_an_open_store_says_the_same(folder: Path):
    with Memory.open(folder, embedder=None) as memory:
        assert memory.doctor().healthy
    with Memory.open(":memory:", embedder=None) as nowhere, pytest.raises(InvalidInput, match="in memory"):
        nowhere.doctor()


# --- the command lines -------------------------------------------------------------------------------


def run(*arguments: str, store: Path, **options: object) -> object:
    return CliRunner().invoke(main, [*arguments, "--store", str(store), "--embedder", "hash"], **options)


def test_the_command_says_what_is_wrong_and_exits_with_one(folder: Path, tmp_path: Path):
    healthy = run("doctor", store=folder)
    assert (healthy.exit_code, "healthy" in healthy.output) == (0, True)
    damage(folder, b"note 7 about tea")
    hurt = run("doctor", "--salvage", str(tmp_path / "new"), store=folder)
    assert hurt.exit_code == 1
    for words in ("acknowledged data is damaged", "--salvage NEW_DIR", "salvaged", "1 problem"):
        assert words in hurt.output
    found = msgspec.json.decode(run("doctor", "--json", store=folder).output, type=Diagnosis)
    assert not found.healthy
    nowhere = run("doctor", store=tmp_path / "nowhere")
    assert (nowhere.exit_code, "there is no store" in nowhere.output) == (2, True)


def test_the_message_of_a_damaged_store_names_the_doctor(folder: Path):
    damage(folder, b"note 7 about tea")
    for path in (folder / "cache/checkpoints").glob("*"):
        path.unlink()
    refused = run("remember", "more", store=folder)
    assert refused.exit_code == 2
    assert "recollect doctor" in refused.output


def test_erase_wants_ids_or_conditions_and_a_yes(folder: Path):
    for arguments in (["erase"], ["erase", "n1", "--where", "project=p"], ["erase", "n1"]):
        refused = run(*arguments, store=folder)
        assert refused.exit_code == 2, arguments
    for condition in ("project", "colour=red", "project="):
        assert run("erase", "--where", condition, "--yes", store=folder).exit_code == 2
    assert "0" not in run("erase", "--where", "project=none", "--yes", store=folder).output
    assert run("erase", "--where", "project=none", "--yes", store=folder).exit_code == 1
    with Memory.open(folder, embedder=None) as memory:
        assert memory.get("n1").visible


def test_erase_shows_what_it_would_do_and_does_it(folder: Path):
    dry = run("erase", "n1", "n2", "--dry-run", store=folder)
    assert (dry.exit_code, "would erase  n1, n2" in dry.output) == (0, True)
    done = json.loads(run("erase", "n1", "n2", "--yes", "--json", store=folder).output)
    assert (done["ids"], done["dry_run"]) == (["n1", "n2"], False)
    again = run("erase", "n1", "--yes", store=folder)
    assert (again.exit_code, f"erased at @{done['at'] - 1}" in again.output) == (2, True)
    checked = run("verify", store=folder)
    assert checked.exit_code == 0
    assert checked.output.startswith("attested  ")


def test_erase_asks_on_a_terminal(folder: Path, monkeypatch: pytest.MonkeyPatch):
    class Terminal:
        @staticmethod
        def isatty() -> bool:
            return True

    class System:
        stdin = Terminal

    monkeypatch.setattr(cli_erase, "sys", System)
    refused = run("erase", "n1", store=folder, input="n\n")
    assert (refused.exit_code, "nothing was erased" in refused.output) == (2, True)
    assert run("erase", "n1", store=folder, input="y\n").exit_code == 0
    with Memory.open(folder, embedder=None) as memory:
        assert not memory.get("n1").visible


def test_scrubbing_finds_what_has_rotted_in_a_sealed_segment_and_says_how_much_it_read(tmp_path: Path):
    store = tmp_path / "store"
    with SegmentLog.open(store / "log", segment_bytes=600) as log:
        opened = Store(log, folder=store, clock=lambda: 1_763_000_000_000_000, analyzers=[])
        memory = Memory(OpenStore(opened, Embedding(None, None), None, Models()), "")
        for n in range(12):
            memory.remember(f"note {n} about tea", id=f"n{n}")
    found = doctor(store, scrub=True)
    assert found.healthy
    assert found.scrubbed is not None
    sealed = sealed_segments(store / "log")
    assert found.scrubbed.segments == len(sealed) > 2
    assert found.scrubbed.bytes == sum(path.stat().st_size for path in sealed)
    content = bytearray(sealed[1].read_bytes())
    content[-170] ^= 1  # in the stored index, which only looking up an id would need
    sealed[1].write_bytes(bytes(content))
    found = doctor(store, scrub=True)
    assert str(sealed[1]) in found.problems[0].where


def test_a_server_scrubs_one_segment_at_a_time_and_its_status_says_what_was_found(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    store = tmp_path / "store"
    with SegmentLog.open(store / "log", segment_bytes=600) as log:
        opened = Store(log, folder=store, clock=lambda: 1_763_000_000_000_000, analyzers=[])
        memory = Memory(OpenStore(opened, Embedding(None, None), None, Models()), "")
        for n in range(12):
            memory.remember(f"note {n} about tea", id=f"n{n}")
        sealed = sealed_segments(store / "log")
        whole = {path: path.read_bytes() for path in sealed}
        damage(store, b"note 1 ")
        for _ in range(2):  # two rounds: found twice, said once
            last, names = "", []
            while last := scrub_next(opened, last):
                names.append(last)
            assert names == [path.name for path in sealed]
        assert ["scrubbing found damage" in problem for problem in memory.status().degraded].count(True) == 1
        assert [record.levelname for record in caplog.records] == ["ERROR"]
        for path, content in whole.items():
            path.write_bytes(content)
            scrub_next(opened, "" if path == sealed[0] else sealed[sealed.index(path) - 1].name)
        assert not any("scrubbing found damage" in problem for problem in memory.status().degraded)


def test_a_file_of_another_store_among_the_segments_is_moved_away_by_the_advice_and_costs_nothing(
    folder: Path, open_memory: Open, tmp_path: Path
):
    with open_memory(tmp_path / "other") as other:
        other.remember("a note of another store")
    (stray,) = (tmp_path / "other" / "log").glob("*.seg")
    odd = folder / "log" / f"{1:020}-ffffffff.seg"
    odd.write_bytes(stray.read_bytes())
    (found,) = [one for one in doctor(folder).problems if one.severity == "damage"]
    assert "a second file claims the events from @1 on" in found.what
    assert found.where.startswith(str(odd))
    assert found.remedy.startswith("move the one that does not belong there to another directory")
    odd.rename(tmp_path / odd.name)
    assert doctor(folder).healthy
