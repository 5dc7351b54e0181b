"""What is copied out of a store holds nothing that was erased by then, is known to `erase`, and replaces no file."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from datetime import timedelta
from pathlib import Path
from unittest import mock

import duckdb
import pytest
from click.testing import CliRunner, Result

from recollect.engine import fixture as fixtures
from recollect.engine.copies import exclusive, known_copies
from recollect.engine.doctor import doctor
from recollect.engine.store import Progress, Store
from recollect.engine.unfinished_files import UnfinishedFile, unfinished_file
from recollect.events.disk import RealDisk, WriterLock
from recollect.events.errors import InvalidInput, LogBusy, RecollectError
from recollect.events.segment_log import SegmentLog
from recollect.interfaces.cli.app import main
from recollect.interfaces.python.memory import Memory
from recollect.projections.vectors.sealing import Sealer, SealPolicy
from recollect.replay.fork import fork_replay

Open = Callable[..., Memory]
SECRET = "xylophone"


def fixture(memory: Memory, path: Path, progress: Progress | None = None, *, redact: bool = False) -> object:
    """A fixture of the newest recall; `progress` is called when it is written and not yet in its place."""
    make = fixtures.make_fixture

    def made(*arguments: object, **options: object) -> object:
        done = make(*arguments, **options)  # type: ignore[arg-type]
        if progress:
            progress(1, 1)
        return done

    with mock.patch.object(fixtures, "make_fixture", made):
        return memory.fixture(memory.recalls().recalls[0].id, path, redact=redact)


COPIES: dict[str, Callable[[Memory, Path, Progress | None], object]] = {
    "jsonl": lambda m, path, p: m.export(path / "log.jsonl", progress=p),
    "parquet": lambda m, path, p: m.export(path / "tables", progress=p),
    "markdown": lambda m, path, p: m.export(path / "pages", format="markdown", progress=p),
    "fork": lambda m, path, p: m.fork(path / "fork", progress=p),
    "closed loop": lambda m, path, p: m.fork(path / "loop", formula="omega", closed_loop=True, progress=p),
    "comparison": lambda m, path, p: m.compare("omega", "reverie", html=path / "report.html", progress=p),
    "salvage": lambda m, path, p: doctor(m.store.folder, salvage=path / "rescued", progress=p),
    "fixture": lambda m, path, p: fixture(m, path / "fixture", p),
    "junit": lambda m, path, p: m.check(junit=path / "report.xml", progress=p),
}
every_copy = pytest.mark.parametrize("kind", COPIES)


@pytest.fixture
def filled(open_memory: Open) -> Memory:
    memory = open_memory()
    memory.remember_many([{"content": f"note {n} about tea", "id": f"n{n}"} for n in range(12)])
    memory.remember(f"{SECRET} and tea", id="a")
    memory.remember("a later note about tea", id="late")
    for question in ("tea", f"{SECRET} tea"):
        recall = memory.recall(question, k=20).id
    memory.expect(str(recall), "a", absent=True, note=f"{SECRET} and tea was told in confidence")
    sealer = Sealer(memory.store.projections.vectors, memory.store._publish_shard, policy=SealPolicy(block=4))
    while sealer.step():
        pass
    return memory


def holding(folder: Path) -> list[str]:
    """The files, and the cells of tables, that hold the secret; the question that names it is not erased."""
    found = []
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        if path.suffix == ".parquet":
            rows = duckdb.sql(f"SELECT * FROM '{path}'").fetchall()
            found += [path.name for row in rows for cell in row if f"{SECRET} and" in str(cell)]
        elif f"{SECRET} and".encode() in path.read_bytes():
            found.append(path.name)
    return found


def once(work: Callable[[], object]) -> Progress:
    """A progress callback that does something the first time: a hook in the middle of the copying."""
    left = [work]

    def progress(_: int, __: int) -> None:
        if left:
            left.pop()()

    return progress


# --- erasures meanwhile ------------------------------------------------------------------------------


@every_copy
def test_a_copy_that_is_finished_after_an_erasure_holds_nothing_of_it(
    filled: Memory, open_memory: Open, tmp_path: Path, kind: str
):
    COPIES[kind](filled, tmp_path / "before", None)
    assert holding(tmp_path / "before")
    refused = kind == "fixture"  # the recall saw what is gone
    with pytest.raises(InvalidInput, match="no fixture can") if refused else nullcontext():
        COPIES[kind](filled, tmp_path / "out", once(lambda: open_memory().erase("a")))
    assert holding(tmp_path / "out") == []
    vectors = [path.stem for path in (tmp_path / "out").rglob("*.hnsw")]
    assert set(vectors) <= filled.store.projections.vectors.digests


@pytest.mark.parametrize("after", [2, 13, 15])
@pytest.mark.parametrize("closed_loop", [False, True])
def test_a_fork_is_whole_wherever_an_erasure_met_it(
    filled: Memory,
    open_memory: Open,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    after: int,
    closed_loop: bool,
):
    """Before the erased memory was lived again, just then, and after it."""
    monkeypatch.setattr(fork_replay, "_PROGRESS_EVERY", after)
    monkeypatch.setattr(fork_replay, "_WINDOW", 1)
    filled.fork(
        tmp_path / "out/fork", closed_loop=closed_loop, progress=once(lambda: open_memory().erase("a"))
    )
    assert holding(tmp_path / "out") == []
    copy = open_memory("out/fork")
    assert copy.verify().verdict == "attested"
    assert copy.doctor().healthy
    assert [memo.id for memo in copy.memories()] == [memo.id for memo in filled.memories()]


@pytest.mark.parametrize("redact", [False, True])
def test_a_fixture_beside_an_erasure_by_another_process_is_made_again_or_refused(
    filled: Memory, open_memory: Open, tmp_path: Path, redact: bool
):
    """Made again, where its recall never saw what went; else it could not come out as it was recorded."""
    filled.remember("told after the recall", id="after")

    def erased(id_: str) -> Callable[[], object]:
        erase = ["-m", "recollect", "erase", id_, "--yes", "--store", str(tmp_path / "store")]
        command = [sys.executable, *erase]
        return lambda: erasures.append(subprocess.run(command, check=True, capture_output=True))

    erasures: list[object] = []
    fixture(filled, tmp_path / "out/first", once(erased("after")), redact=redact)
    with pytest.raises(InvalidInput, match="no fixture can"):
        fixture(filled, tmp_path / "out/second", once(erased("a")), redact=redact)
    assert len(erasures) == 2
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["first"]
    assert [Path(copy.path).name for copy in known_copies(tmp_path / "store")] == ["first"]
    with open_memory("out/first", embedder=None) as copy:
        assert copy.verify().exact
        assert copy.doctor().healthy


def test_a_fixture_of_a_recall_that_was_erased_meanwhile_is_refused(
    filled: Memory, open_memory: Open, tmp_path: Path
):
    def retain() -> None:
        open_memory().retain(recalls=timedelta(microseconds=1))

    with pytest.raises(InvalidInput, match="is not the id of a recorded recall"):
        fixture(filled, tmp_path / "out/fixture", once(retain))
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize("name", ["fork", "loop", "rescued"])
def test_a_store_that_was_copied_beside_an_erasure_is_whole(
    filled: Memory, open_memory: Open, tmp_path: Path, name: str
):
    kind = {"loop": "closed loop", "rescued": "salvage"}.get(name, name)
    COPIES[kind](filled, tmp_path / "out", once(lambda: open_memory().erase("a")))
    copy = open_memory(f"out/{name}")
    # A closed loop asked its questions itself, and its own answers were not attested before the erasure.
    assert copy.verify().verdict == ("partly" if name == "loop" else "attested")
    assert copy.get("a").erased_at is not None
    assert {hit.id for hit in copy.recall("tea", k=20).hits} == {*(f"n{n}" for n in range(12)), "late"}
    assert copy.doctor().healthy


def test_an_exported_log_comes_back_with_the_erasure(filled: Memory, open_memory: Open, tmp_path: Path):
    filled.export(tmp_path / "log.jsonl", progress=once(lambda: open_memory().erase("a")))
    copy = open_memory("copy")
    copy.import_(tmp_path / "log.jsonl")
    assert copy.get("a").erased_at == open_memory().get("a").erased_at
    assert copy.verify().verdict == "attested"


def test_where_erasures_never_end_the_last_attempt_keeps_other_writers_out(
    filled: Memory, open_memory: Open, tmp_path: Path
):
    other, erased = open_memory(), ["n1", "n2", "n3"]
    locked: list[bool] = []

    def hook(_: int, __: int) -> None:
        lock = WriterLock(RealDisk(), tmp_path / "store/log/writer.lock", timeout_s=0)
        locked.append(not lock.is_free())
        if erased:
            other.erase(erased.pop())

    filled.export(tmp_path / "log.jsonl", progress=hook)
    assert locked == [False, False, False, True]
    text = (tmp_path / "log.jsonl").read_text()
    assert not any(f"note {n} about" in text for n in (1, 2, 3))


def test_an_erasure_finds_every_copy_that_was_finished_before_it(
    filled: Memory, open_memory: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """It cannot come between the last look at the log and the copy's being in its place."""
    put = UnfinishedFile.put
    refused = []

    def put_late(self: UnfinishedFile, place: Path, *, overwrite: bool) -> None:
        lock = WriterLock(RealDisk(), tmp_path / "store/log/writer.lock", timeout_s=0)
        with pytest.raises(LogBusy), lock.held():
            pass
        refused.append(place.name)
        put(self, place, overwrite=overwrite)

    monkeypatch.setattr(UnfinishedFile, "put", put_late)
    filled.export(tmp_path / "log.jsonl")
    assert refused == [
        "copies",
        "copies",
        "log.jsonl",
        "copies",
    ]  # unfinished, in its place, no longer unfinished
    assert [copy.path for copy in filled.erase("a").copies] == [str(tmp_path / "log.jsonl")]


def test_erase_lists_the_copies_that_may_hold_what_went(filled: Memory, tmp_path: Path):
    head = filled.status().head
    for copy_to in COPIES.values():
        copy_to(filled, tmp_path / "out", None)
    (tmp_path / "out" / "log.jsonl").unlink()
    filled.remember("later than every copy", id="b")
    assert filled.erase("b").copies == ()
    would, done = filled.erase("a", dry_run=True), filled.erase("a")
    names = {
        "tables": "parquet",
        "pages": "markdown",
        "fork": "fork",
        "loop": "fork",
        "report.html": "comparison",
        "fixture": "fixture",
        "report.xml": "junit",
    }
    assert {Path(copy.path).name: copy.kind for copy in done.copies} == {**names, "rescued": "salvage"}
    assert {copy.upto for copy in done.copies if copy.kind != "fixture"} == {head}
    assert would.copies == done.copies


@pytest.mark.parametrize(("redact", "kind"), [(False, "fixture"), (True, "redacted fixture")])
def test_erase_lists_a_fixture_by_what_it_holds(filled: Memory, tmp_path: Path, redact: bool, kind: str):
    """What was told up to its recall, and up to the last expectation in it, whose note may quote what went."""
    recall = filled.recalls().recalls[0].id
    filled.remember(f"{SECRET} and told after the recall", id="after")
    fixture(filled, tmp_path / "out", redact=redact)
    assert filled.erase("after", dry_run=True).copies == ()
    filled.expect(recall, "after", absent=True, note=f"{SECRET} and not asked for")
    fixture(filled, tmp_path / "noted", redact=redact)
    assert [Path(copy.path).name for copy in filled.erase("after").copies] == ["noted"]
    assert all(bool(holding(tmp_path / name)) is not redact for name in ("out", "noted"))
    report = filled.erase("a")
    assert [(Path(copy.path).name, copy.kind) for copy in report.copies] == [("out", kind), ("noted", kind)]
    assert report.receipt is not None
    assert f"the {kind} of this store at {tmp_path}/out" in report.receipt.text


def test_a_copy_made_after_an_erasure_is_not_said_to_hold_it(filled: Memory, tmp_path: Path):
    filled.export(tmp_path / "then", format="markdown", at="@5")
    filled.erase("a")
    filled.export(tmp_path / "log.jsonl")
    (then, log) = known_copies(tmp_path / "store")
    assert then.upto == 5 < then.checked < log.checked == log.upto
    assert [Path(copy.path).name for copy in filled.erase("n1").copies] == ["then", "log.jsonl"]


def test_the_command_names_the_copies(filled: Memory, tmp_path: Path):
    filled.export(tmp_path / "log.jsonl")
    filled.close()
    said = run(tmp_path / "store", "erase", "a", "--yes")
    assert "1 copy may hold it and must be erased in or deleted:" in said.stdout
    assert f"{tmp_path}/log.jsonl (jsonl of " in said.stdout
    found = json.loads(run(tmp_path / "store", "erase", "n1", "--yes", "--json").stdout)
    assert [copy["path"] for copy in found["copies"]] == [str(tmp_path / "log.jsonl")]


def test_a_copy_that_cannot_be_noted_says_so(filled: Memory, tmp_path: Path):
    (tmp_path / "store" / "copies").mkdir()
    (note,) = filled.export(tmp_path / "log.jsonl").degraded
    assert "`erase` will not list it" in note
    assert filled.compare("omega", "reverie", html=tmp_path / "report.html").degraded == (note,)
    assert filled.check(junit=tmp_path / "report.xml").degraded == (note,)
    recall = filled.recalls().recalls[0].id
    assert filled.fixture(recall, tmp_path / "fixture").degraded == (note,)
    for command in (["check", "--junit"], ["fixture", recall, "--out"]):
        said = run(tmp_path / "store", *command, str(tmp_path / "out" / command[0]))
        assert "`erase` will not list it" in " ".join(said.stdout.split())
    said = run(tmp_path / "store", "compare", "omega", "reverie", "--html", str(tmp_path / "again.html"))
    assert "`erase` will not list it" in " ".join(said.stdout.split())


def test_a_copy_that_cannot_be_looked_for_is_listed_and_later_ones_are_noted(
    filled: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    filled.export(tmp_path / "log.jsonl")
    exists = Path.exists

    def fails(self: Path) -> bool:
        if self.name == "log.jsonl":
            raise OSError(errno.ESTALE, "Stale file handle")
        return exists(self)

    monkeypatch.setattr("recollect.engine.copies.Path.exists", fails)
    assert filled.export(tmp_path / "later", format="markdown").degraded == ()
    assert [Path(copy.path).name for copy in filled.erase("a").copies] == ["log.jsonl", "later"]


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def garbage(path: Path) -> None:
    path.write_bytes(os.urandom(5_000).replace(b"\n", b"x"))


def replaced_by(make: Callable[[Path], object]) -> Callable[[Path], None]:
    def replaced(path: Path) -> None:
        path.unlink()
        make(path)

    return replaced


@pytest.mark.parametrize(
    "damage",
    [
        cut, garbage, replaced_by(Path.mkdir), replaced_by(os.mkfifo), replaced_by(lambda p: p.symlink_to(p.name)),
        replaced_by(lambda p: p.symlink_to("/dev/zero")), replaced_by(lambda p: p.write_bytes(bytes(2**24 + 1))),
    ],
    ids=["cut", "garbage", "directory", "fifo", "symlink loop", "endless device", "too large"],
)  # fmt: skip
def test_a_record_of_copies_that_cannot_be_read_is_told_everywhere_and_kept(
    filled: Memory, tmp_path: Path, damage: Callable[[Path], None]
):
    """It used to count as none: no copy was listed, and the next note dropped what was there."""
    filled.export(tmp_path / "one.jsonl")
    record = filled.store.folder / "copies"
    damage(record)
    kept = record.read_bytes().splitlines()[-1] if record.is_file() and record.stat().st_size < 2**24 else b""
    said = str(record)
    filled.export(tmp_path / "two.jsonl")
    if kept:
        assert kept in record.read_bytes().splitlines()
        assert [Path(copy.path).name for copy in known_copies(filled.store.folder)] == ["two.jsonl"]
    assert any(said in problem for problem in filled.status().degraded)
    found = doctor(filled.store.folder)
    assert [problem.severity for problem in found.problems] == ["copies"]
    assert said in (filled.erase("n1", dry_run=True).unknown_copies or "")
    report = filled.erase("a")
    assert said in (report.unknown_copies or "")
    assert report.receipt is not None
    assert any(said in place for place in report.receipt.may_remain)
    assert said in report.receipt.text
    filled.close()
    asked = run(tmp_path / "store", "erase", "n2", "--yes")
    assert "may exist that are not listed" in " ".join(asked.stdout.split())


def test_a_copy_that_meets_erasures_forever_is_given_up_in_one_line(
    filled: Memory, open_memory: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Where the log cannot be locked, as on a disk that is read-only, other writers are not kept out."""
    other, left = open_memory(), [f"n{n}" for n in range(12)]

    @contextmanager
    def unlocked(store: Store) -> Iterator[None]:
        store.catch_up()
        yield

    monkeypatch.setattr("recollect.engine.copies.exclusive", unlocked)
    with pytest.raises(RecollectError, match="export gave up: other processes erased something"):
        filled.export(tmp_path / "log.jsonl", progress=lambda *_: other.erase(left.pop()) and None)
    assert not (tmp_path / "log.jsonl").exists()


@every_copy
def test_nothing_is_copied_while_the_log_still_holds_what_was_erased(
    filled: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
):
    def busy(*_: object) -> None:
        raise LogBusy("another process holds the lock")

    if kind == "salvage":
        pytest.skip("what was erased is overwritten in the salvaged store")
    monkeypatch.setattr(SegmentLog, "erase", busy)
    with pytest.raises(RecollectError, match="is not finished"):
        filled.erase("a")
    with pytest.raises(RecollectError, match="refused, because the log still holds what was erased"):
        COPIES[kind](filled, tmp_path / "out", None)
    assert holding(tmp_path / "out") == []


# --- files that exist ----------------------------------------------------------------------------------


def run(store: Path, *arguments: str) -> Result:
    return CliRunner().invoke(main, [*arguments, "--store", str(store)])


@pytest.mark.parametrize(
    ("arguments", "file"),
    [
        (["export", "{}/a.jsonl"], "a.jsonl"),
        (["export", "{}"], "memories.parquet"),
        (["compare", "omega", "reverie", "--html", "{}/a.html"], "a.html"),
    ],
)
def test_a_file_that_exists_is_replaced_only_on_request(
    filled: Memory, tmp_path: Path, arguments: list[str], file: str
):
    filled.close()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / file).write_text("of another program")
    command = [part.format(tmp_path / "out") for part in arguments]
    refused = run(tmp_path / "store", *command)
    assert (refused.exit_code, refused.stderr.count("\n")) == (2, 1)
    assert f"{file} exists already" in refused.stderr
    assert "--overwrite" in refused.stderr
    assert [path.name for path in (tmp_path / "out").iterdir()] == [file]
    assert (tmp_path / "out" / file).read_text() == "of another program"
    assert run(tmp_path / "store", *command, "--overwrite").exit_code == 0
    assert (tmp_path / "out" / file).read_bytes() != b"of another program"


def test_a_file_that_comes_meanwhile_is_not_replaced(filled: Memory, tmp_path: Path):
    target = tmp_path / "log.jsonl"
    with pytest.raises(InvalidInput, match="exists already"):
        filled.export(target, progress=once(lambda: target.write_text("of another program")))
    assert target.read_text() == "of another program"
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


# --- debris --------------------------------------------------------------------------------------------

_KILLED = """
import os, signal, sys
from recollect.interfaces.python.memory import Memory

memory = Memory.open(sys.argv[1], embedder="hash")
how = {"format": "markdown"} if sys.argv[3] == "markdown" else {}
memory.export(sys.argv[2], progress=lambda *_: os.kill(os.getpid(), signal.SIGKILL), **how)
"""


@pytest.mark.parametrize(
    ("format_", "name"), [("jsonl", "log.jsonl"), ("parquet", "tables"), ("markdown", "pages")]
)
def test_what_a_killed_export_left_is_gone_after_the_next(
    filled: Memory, tmp_path: Path, format_: str, name: str
):
    target = tmp_path / "out" / name
    command = [sys.executable, "-c", _KILLED, str(tmp_path / "store"), str(target), format_]
    assert subprocess.run(command, check=False).returncode == -9
    assert len(list((tmp_path / "out").rglob("*"))) > 0
    filled.erase("a")
    filled.export(target, format=format_)
    left = [path for path in (tmp_path / "out").rglob(".*") if path.name != ".recollect-export"]
    assert left == []
    assert holding(tmp_path / "out") == []


_KILLED_AT = """
import os, signal, sys, tempfile
from pathlib import Path
sys.path.insert(0, sys.argv[3])
tempfile.tempdir = sys.argv[2]
from test_copies import COPIES
from recollect.engine import salvage
from recollect.interfaces.python.memory import Memory

def kill(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

COPIES["compare"] = lambda m, path, p: m.compare(embedder="hash", progress=p)
salvage.import_lines = kill
memory = Memory.open(sys.argv[1], embedder="hash")
COPIES[sys.argv[4]](memory, Path(sys.argv[2]), None if sys.argv[4] == "salvage" else kill)
"""


@pytest.mark.parametrize("kind", [*COPIES, "compare"])
def test_erase_lists_what_a_killed_copy_left(filled: Memory, tmp_path: Path, kind: str):
    (tmp_path / "out").mkdir()
    here = str(Path(__file__).parent)
    command = [sys.executable, "-c", _KILLED_AT, str(tmp_path / "store"), str(tmp_path / "out"), here, kind]
    assert subprocess.run(command, check=False).returncode == -9
    (left,) = (tmp_path / "out").iterdir()
    filled.remember("later than the copy was begun", id="b")
    (copy,) = filled.erase("b", dry_run=True).copies
    assert (copy.path, copy.finished) == (str(left), False)
    assert filled.erase("a").copies == (copy,)
    said = run(tmp_path / "store", "erase", "n1", "--yes").stdout
    assert f"{left} ({copy.kind} of {copy.at[:19]}Z, not finished)" in said
    shutil.rmtree(left) if left.is_dir() else left.unlink()
    assert known_copies(tmp_path / "store") == []


@every_copy
def test_a_finished_copy_is_known_once(filled: Memory, tmp_path: Path, kind: str):
    """Nothing is kept of the name that it had before, also where its folder is gone."""
    COPIES[kind](filled, tmp_path / "out", None)
    (tmp_path / "out").rename(tmp_path / "elsewhere")
    (copy,) = filled.erase("a").copies
    assert copy.finished
    assert ".unfinished" not in copy.path


def test_a_fork_that_is_refused_is_not_taken_for_a_copy(filled: Memory, tmp_path: Path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter").write_text("of another program")
    with pytest.raises(InvalidInput, match="is not empty"):
        filled.fork(tmp_path / "mine")
    assert filled.erase("a").copies == ()


def test_what_another_export_is_writing_stays(filled: Memory, tmp_path: Path):
    with unfinished_file(tmp_path / "log.jsonl") as other:
        filled.export(tmp_path / "log.jsonl")
        assert other.path.exists()
    assert not other.path.exists()


def test_two_exports_do_not_write_pages_at_once(filled: Memory, open_memory: Open, tmp_path: Path):
    def other() -> None:
        with pytest.raises(InvalidInput, match="another export to"):
            open_memory().export(tmp_path / "pages", format="markdown")

    done = filled.export(tmp_path / "pages", format="markdown", progress=once(other))
    assert done.memories == done.written == 14


# --- forks ---------------------------------------------------------------------------------------------


class _Stop(Exception):
    """The making of a fork ends here."""


def test_an_unfinished_fork_is_marked_until_it_is_finished(filled: Memory, open_memory: Open, tmp_path: Path):
    def stop(_: int, __: int) -> None:
        raise _Stop

    with pytest.raises(_Stop):
        filled.fork(tmp_path / "fork", formula="omega", progress=stop)
    with open_memory("fork") as fork:
        assert any("is not finished" in note for note in fork.status().degraded)
        (problem,) = fork.doctor(fix=True).problems
        assert (problem.severity, problem.where) == ("fork", str(tmp_path / "fork"))
    with pytest.raises(InvalidInput, match="is not finished"):
        filled.compare("recorded", tmp_path / "fork")
    filled.fork(tmp_path / "fork", formula="omega")
    with open_memory("fork") as fork:
        assert fork.doctor().healthy
        assert not any("fork" in note for note in fork.status().degraded)
    assert filled.compare("recorded", tmp_path / "fork").questions == 2


def test_a_fork_says_that_it_is_one(filled: Memory, open_memory: Open, tmp_path: Path):
    head = filled.status().head
    filled.fork(tmp_path / "fork", formula="omega", closed_loop=True, since="@3")
    described = open_memory("fork").status().fork
    assert described is not None
    assert described.startswith(f"of {tmp_path}/store, up to @{head}, lived again since @3, formula omega@")
    assert described.endswith("closed loop")
    assert filled.status().fork is None
    assert "fork" in run(tmp_path / "fork", "status").stdout


def test_a_fork_of_an_earlier_version_is_a_fork(filled: Memory, open_memory: Open, tmp_path: Path):
    filled.fork(tmp_path / "fork", formula="omega")
    note = json.loads((tmp_path / "fork" / "fork.json").read_text())
    old = {name: note[name] for name in note.keys() - {"source", "upto", "finished"}}
    (tmp_path / "fork" / "fork.json").write_text(json.dumps(old))
    assert "earlier version" in str(open_memory("fork").status().fork)
    filled.fork(tmp_path / "fork", formula="omega")
    assert json.loads((tmp_path / "fork" / "fork.json").read_text()) == note


# --- the lock -------------------------------------------------------------------------------------------


def test_a_writer_waits_until_the_copy_is_in_place(filled: Memory, tmp_path: Path):
    with exclusive(filled.store):
        child = os.fork()
        if child == 0:
            lock = WriterLock(RealDisk(), tmp_path / "store/log/writer.lock", timeout_s=0)
            os._exit(0 if not lock.is_free() else 1)
        assert os.waitpid(child, 0)[1] == 0


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs a folder in which nothing can be made")
def test_a_place_where_nothing_can_be_made_is_refused_at_once(open_memory: Callable[..., Memory]):
    memory = open_memory()
    memory.remember("tea")
    with pytest.raises((OSError, RecollectError)):
        memory.export("/proc/x.jsonl")
