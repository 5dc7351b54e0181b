"""A store on a disk that cannot be written to is read as it is: everything answers, nothing is written, and it says so."""

from __future__ import annotations

import errno
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from recollect.engine import store as stores
from recollect.engine.doctor import doctor
from recollect.events.disk import RealDisk, WriterLock
from recollect.events.errors import LogBusy, LogFailed, LogReadOnly
from recollect.events.segment_log import SegmentLog
from recollect.interfaces.cli.app import main
from recollect.interfaces.python.memory import Memory
from recollect.projections import checkpoints
from recollect.projections.vectors import shard_cache
from recollect.projections.vectors.sealing import Sealer, SealPolicy

Open = Callable[..., Memory]


@pytest.fixture
def folder(open_memory: Open, tmp_path: Path) -> Path:
    """A store with memories, a shard and a recorded recall, closed."""
    with open_memory() as memory:
        memory.remember_many([{"content": f"note {n} about tea", "id": f"n{n}"} for n in range(12)])
        sealer = Sealer(
            memory.store.projections.vectors, memory.store._publish_shard, policy=SealPolicy(block=4)
        )
        while sealer.step():
            pass
        memory.recall("note 3 about tea")
    return tmp_path / "store"


@contextmanager
def refused(number: int) -> Iterator[None]:
    """Whatever a store writes, in its log or beside it, is refused as by a disk mounted for reading."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError(number, "refused", "somewhere")

    plain = RealDisk.open

    def open_(disk: RealDisk, path: Path, *, write: bool = True, create: bool = False) -> int:
        return refuse() if write or create else plain(disk, path, write=False)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RealDisk, "open", open_)
        for name in ("create", "write", "truncate", "rename", "remove"):
            patch.setattr(RealDisk, name, refuse)
        patch.setattr(checkpoints, "save", refuse)
        patch.setattr(shard_cache.tempfile, "mkstemp", refuse)
        patch.setattr(stores, "_CHECKPOINT_EVERY", 1)
        yield


@pytest.fixture(params=[errno.EROFS, errno.EACCES], ids=["EROFS", "EACCES"])
def mounted(folder: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    with refused(request.param):
        yield folder


def files(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def answers(memory: Memory, target: Path) -> list[object]:
    """What a store says to everything that only reads."""
    return [
        memory.get("n3"),
        memory.history("n3"),
        memory.memories(),
        memory.recall("note 3 about tea", record=False, now="2026-01-01").hits,
        memory.at("@5").recall("note 3 about tea").hits,
        memory.sql("SELECT id, access_count FROM memories ORDER BY id").rows,
        list(memory.log()),
        memory.verify().exact,
        memory.checkpoint(),
        memory.export(target).chain,
        memory.dream(dry_run=True, now="2026-01-01"),
        memory.status().head,
    ]


def test_everything_that_reads_answers_as_before_and_nothing_is_written(
    folder: Path, open_memory: Open, tmp_path: Path
):
    with open_memory() as memory:
        expected = answers(memory, tmp_path / "before.jsonl")
    before = files(folder)
    with refused(errno.EROFS):
        with open_memory() as memory:
            assert answers(memory, tmp_path / "after.jsonl") == expected
        assert doctor(folder).healthy
    assert files(folder) == before


def test_status_says_that_nothing_can_be_written(mounted: Path, open_memory: Open):
    with open_memory() as memory:
        status = memory.status()
    assert [note for note in status.degraded if "read-only" in note] == [status.degraded[0]]
    assert (status.durable, status.unsynced_bytes) == (status.head, 0)


def test_a_write_is_refused_with_the_path(mounted: Path, open_memory: Open, tmp_path: Path):
    memory = open_memory()
    memory.export(tmp_path / "log.jsonl")
    for write in (
        lambda: memory.remember("more"),
        lambda: memory.forget("n3"),
        lambda: memory.erase("n3"),
        lambda: memory.import_(tmp_path / "log.jsonl"),
        lambda: memory.watch(tmp_path, once=True),
        memory.dream,
    ):
        with pytest.raises(LogReadOnly, match=rf"^the store is read-only: {mounted} \(.*refused.*\)$"):
            write()


def test_a_recall_that_cannot_be_recorded_is_answered_and_says_so(mounted: Path, open_memory: Open):
    memory = open_memory()
    answer = memory.recall("note 3 about tea")
    assert (answer.id, answer.hits[0].id) == (None, "n3")
    (degraded,) = answer.degraded
    assert degraded.startswith(f"this recall was not recorded: the store is read-only: {mounted} ([Errno ")
    assert memory.recall("note 3 about tea", record=False).degraded == ()


def test_a_store_that_was_opened_for_reading_is_written_to_once_the_disk_takes_it(
    folder: Path, open_memory: Open
):
    with refused(errno.EROFS):
        memory = open_memory()
        assert memory.recall("note 3 about tea").id is None
    assert memory.remember("the disk is back", id="back") == "back"
    assert memory.recall("the disk is back").id is not None
    assert not [note for note in memory.status().degraded if "read-only" in note]
    memory.close()
    assert doctor(folder).healthy


def test_a_shard_whose_file_is_gone_is_built_in_memory(folder: Path, open_memory: Open):
    with open_memory() as memory:
        expected = memory.recall("note 3 about tea", record=False, now="2026-01-01").hits
    for path in (folder / "cache/shards").glob("*.hnsw"):
        path.unlink()
    with refused(errno.EROFS), open_memory() as memory:
        assert memory.recall("note 3 about tea", record=False, now="2026-01-01").hits == expected
    assert list((folder / "cache/shards").iterdir()) == []


def test_where_there_is_no_store_none_can_be_made(tmp_path: Path):
    (tmp_path / "empty/log").mkdir(parents=True)
    with refused(errno.EROFS), pytest.raises(LogFailed, match="cannot be opened"):
        Memory.open(tmp_path / "empty", embedder=None)


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC], ids=["EIO", "ENOSPC"])
def test_a_disk_that_fails_to_write_can_still_be_read(folder: Path, open_memory: Open, number: int):
    with refused(number):
        (folder / "log/writer.lock").unlink()
        memory = open_memory()
        assert memory.get("n3").content == "note 3 about tea"
        assert memory.recall("note 3 about tea").hits[0].id == "n3"


def test_a_full_disk_without_room_for_the_lock_is_not_called_read_only(folder: Path, open_memory: Open):
    with refused(errno.ENOSPC):
        (folder / "log/writer.lock").unlink()
        memory = open_memory()
        with pytest.raises(
            LogReadOnly, match=rf"^the disk of the store is full: {folder} \(.*; make room there$"
        ):
            memory.remember("more")
        (said,) = memory.recall("note 3 about tea").degraded
        assert said.startswith(f"this recall was not recorded: the disk of the store is full: {folder}")
    assert memory.remember("more", id="more") == "more"


def run(folder: Path, *arguments: str) -> Result:
    return CliRunner().invoke(main, [*arguments, "--store", str(folder), "--embedder", "hash"])


@pytest.mark.parametrize(
    "arguments", [["status"], ["verify"], ["get", "n3"], ["log"], ["recall", "tea", "--no-record"]]
)
def test_commands_that_read_succeed(mounted: Path, arguments: list[str]):
    assert run(mounted, *arguments).exit_code == 0


def test_a_command_that_writes_says_why_not_and_a_recall_answers(mounted: Path):
    told, asked = run(mounted, "remember", "more"), run(mounted, "recall", "tea")
    assert (told.exit_code, asked.exit_code) == (2, 0)
    assert f"the store is read-only: {mounted}" in told.stderr
    assert f"not recorded: the store is read-only: {mounted}" in asked.stdout
    assert "note 3 about tea" in asked.stdout


# --- a paused process -----------------------------------------------------------------------------------

HOLDER = """
import sys
from pathlib import Path
from recollect.events.disk import RealDisk, WriterLock
with WriterLock(RealDisk(), Path(sys.argv[1]), timeout_s=10).held():
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def paused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[subprocess.Popen[bytes]]:
    """A process that was stopped while it held the store's writer lock; others do not wait for it as long as usual."""
    monkeypatch.setitem(SegmentLog.open.__func__.__kwdefaults__, "lock_timeout_s", 0.2)
    command = [sys.executable, "-c", HOLDER, folder / "log" / "writer.lock"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        holder.send_signal(signal.SIGSTOP)
        yield holder
        holder.kill()


def test_beside_a_process_that_is_paused_with_the_writers_lock_everything_reads_and_says_so(
    paused: subprocess.Popen[bytes], folder: Path, tmp_path: Path
):
    before, named = files(folder), f"(process {paused.pid})"
    with Memory.open(folder, embedder="hash") as memory:
        assert memory.get("n3").content == "note 3 about tea"
        assert memory.verify().verdict == "exact"
        assert any(named in problem for problem in memory.status().degraded)
        answer = memory.recall("note 3 about tea")
        assert (answer.id, answer.hits[0].id, answer.degraded_kinds) == (None, "n3", ("unrecorded",))
        assert named in answer.degraded[0]
        memory.export(tmp_path / "log.jsonl")
        memory.fork(tmp_path / "fork")
        with pytest.raises(LogBusy, match=re.escape(named)):
            memory.remember("another note")
        assert files(folder) == before
        paused.kill()
        paused.wait()
        memory.remember("another note")
        assert memory.recall("note 3 about tea").id is not None
        assert not any(named in problem for problem in memory.status().degraded)


def test_reading_goes_on_while_a_write_waits_for_it(
    paused: subprocess.Popen[bytes], folder: Path, monkeypatch: pytest.MonkeyPatch
):
    waiting, wait = threading.Event(), WriterLock._wait_for

    def wait_for(lock: WriterLock, descriptor: int, started_s: float) -> None:
        waiting.set()
        wait(lock, descriptor, started_s)

    with Memory.open(folder, embedder="hash") as memory, ThreadPoolExecutor(1) as pool:
        monkeypatch.setitem(SegmentLog.open.__func__.__kwdefaults__, "lock_timeout_s", 600.0)
        monkeypatch.setattr(WriterLock, "_wait_for", wait_for)
        told = pool.submit(memory.remember, "another note", id="new")
        assert waiting.wait(60)
        assert memory.recall("note 3 about tea", record=False).hits[0].id == "n3"
        assert memory.recall("note 3 about tea").degraded_kinds == ("unrecorded",)
        assert not told.done()
        paused.kill()
        assert told.result(60) == "new"


def test_a_log_that_a_recall_opened_for_writing_again_waits_for_other_writers_as_usual(
    folder: Path, open_memory: Open
):
    with refused(errno.EROFS):
        memory = open_memory()
    assert memory.recall("note 3 about tea").id is not None
    command = [sys.executable, "-c", HOLDER, folder / "log" / "writer.lock"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdin is not None
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        letting_go = threading.Timer(0.3, holder.stdin.close)
        letting_go.start()
        assert memory.remember("another note", id="new") == "new"
        letting_go.join()


@pytest.mark.parametrize(
    "command", ["get n3", "status", "verify", "recall tea", "export log.jsonl", "fork --to another"]
)
def test_no_command_that_reads_fails_beside_it(
    paused: subprocess.Popen[bytes],
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: str,
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RECOLLECT_STORE", str(folder))
    done = CliRunner().invoke(main, command.split())
    assert done.exit_code == 0, done.output
    assert CliRunner().invoke(main, ["remember", "another note"]).exit_code == 2
