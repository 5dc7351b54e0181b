"""A store goes out as lines of text and comes back hash for hash; what does not fit is refused, nothing half done."""

from __future__ import annotations

import base64
import errno
import json
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from travel_world import histories, world

from recollect.engine import transfer as transferring
from recollect.engine.embedding.embedder import EmbedderMismatch
from recollect.events.envelope import encode
from recollect.events.errors import InvalidInput
from recollect.events.facts import Forgotten
from recollect.events.frame import GENESIS, Frame, encode_meta
from recollect.events.segment_log import SegmentLog
from recollect.events.transfer import NotImportable, export_lines, import_lines
from recollect.interfaces.python.memory import Memory

Open = Callable[..., Memory]


def chain(memory: Memory) -> str:
    log = memory._store.log
    return log.chain_at(log.head).hex()


def filled(open_memory: Open, name: str = "store") -> Memory:
    memory = open_memory(name)
    memory.remember_many([f"note {n} über Tee" for n in range(20)])
    memory.remember("auth sessions live in postgres", id="a", importance=0.1 + 0.2, tags=["x"])
    memory.recall("auth sessions", session="s")
    memory.forget("a", "no longer true")
    return memory


def one_frame(type_: str, payload: bytes, *, version: int = 1) -> Frame:
    return Frame.build(
        kind=1, flags=0, version=version, seq=1, durable_seq=0, at=7, id_=bytes(16), position=0, batch=1, digest=None,
        meta=encode_meta(type_, "me"), body=bytes(range(16)) + payload, chain=GENESIS,
    )  # fmt: skip


@settings(max_examples=10)
@given(history=histories)
def test_an_exported_log_comes_back_with_the_same_hash_events_and_answers(history):
    with tempfile.TemporaryDirectory() as folder:
        with world(Path(folder) / "one", history) as one:
            done = one.export(Path(folder) / "log.jsonl")
            events = list(one._store.log.read())
            assert (done.head, done.chain) == (one._store.log.head, chain(one))
            answer = one.recall("auth", record=False, now="2026-01-01").hits
        with Memory.open(Path(folder) / "two", embedder="hash") as two:
            assert two.import_(Path(folder) / "log.jsonl").events == len(events)
            assert chain(two) == done.chain
            assert list(two._store.log.read()) == events
            assert two.recall("auth", record=False, now="2026-01-01").hits == answer
            assert two.verify().exact


def test_importing_again_writes_nothing(open_memory: Open, tmp_path: Path):
    filled(open_memory).export(tmp_path / "log.jsonl")
    copy = open_memory("copy")
    first = copy.import_(tmp_path / "log.jsonl")
    files = {path: path.read_bytes() for path in (tmp_path / "copy").rglob("*.seg")}
    again = copy.import_(tmp_path / "log.jsonl")
    assert (first.events, again.events) == (first.head, 0)
    assert {path: path.read_bytes() for path in (tmp_path / "copy").rglob("*.seg")} == files
    copy.remember("of its own")
    assert copy.import_(tmp_path / "log.jsonl").events == 0  # the file is a prefix of this store


def test_an_import_that_was_cut_short_goes_on_where_it_stopped(open_memory: Open, tmp_path: Path):
    memory = filled(open_memory)
    memory.export(tmp_path / "log.jsonl")
    whole = (tmp_path / "log.jsonl").read_bytes()
    (tmp_path / "cut.jsonl").write_bytes(whole[:-20])
    copy = open_memory("copy")
    with pytest.raises(NotImportable, match=r"cut\.jsonl: the file ends at @\d+"):
        copy.import_(tmp_path / "cut.jsonl")
    have = copy.status().head
    assert 0 < have < memory.status().head
    assert copy.import_(tmp_path / "log.jsonl").events == memory.status().head - have
    assert chain(copy) == chain(memory)


def test_a_grown_log_is_exported_again_and_only_the_rest_is_imported(open_memory: Open, tmp_path: Path):
    memory, copy = filled(open_memory), open_memory("copy")
    memory.export(tmp_path / "log.jsonl")
    copy.import_(tmp_path / "log.jsonl")
    memory.remember("one more")
    memory.export(tmp_path / "log.jsonl", overwrite=True)
    assert copy.import_(tmp_path / "log.jsonl").events == 1
    assert chain(copy) == chain(memory)


def test_another_store_is_refused_and_stays_as_it_was(open_memory: Open, tmp_path: Path):
    filled(open_memory).export(tmp_path / "log.jsonl")
    other = open_memory("other")
    other.remember("something else")
    before = chain(other)
    with pytest.raises(InvalidInput, match="import into a new store"):
        other.import_(tmp_path / "log.jsonl")
    assert chain(other) == before


def test_a_changed_line_is_found_and_named(open_memory: Open, tmp_path: Path):
    filled(open_memory).export(tmp_path / "log.jsonl")
    lines = (tmp_path / "log.jsonl").read_text("utf-8").splitlines(keepends=True)
    place = next(n for n, line in enumerate(lines) if "postgres" in line)
    lines[place] = lines[place].replace("postgres", "redis")
    (tmp_path / "forged.jsonl").write_text("".join(lines), "utf-8")
    copy = open_memory("copy")
    with pytest.raises(NotImportable, match=f"line {place + 1} is not an event: the chain breaks"):
        copy.import_(tmp_path / "forged.jsonl")
    assert all("redis" not in memo.content for memo in copy.memories())


def test_lines_that_are_missing_or_doubled_are_found(open_memory: Open, tmp_path: Path):
    filled(open_memory).export(tmp_path / "log.jsonl")
    lines = (tmp_path / "log.jsonl").read_bytes().splitlines(keepends=True)
    for wrong in (lines[:5] + lines[6:], lines[:5] + lines[4:], lines[1:], [b"{}\n"], [], [b"\xff\n"]):
        (tmp_path / "wrong.jsonl").write_bytes(b"".join(wrong))
        with pytest.raises(NotImportable):
            open_memory("copy").import_(tmp_path / "wrong.jsonl")


def test_facts_are_readable_and_an_erased_payload_stays_gone(open_memory: Open, tmp_path: Path):
    memory = filled(open_memory)
    seq = memory.history("a")[0].seq
    memory._store.log.erase([seq])
    memory.export(tmp_path / "log.jsonl")
    text = (tmp_path / "log.jsonl").read_text("utf-8")
    assert "postgres" not in text
    lines = [json.loads(line) for line in text.splitlines()]
    assert lines[2]["fact"]["content"] == "note 0 über Tee"
    assert set(lines[seq]["erased"]) == {"digest", "bytes"}
    copy = open_memory("copy")
    copy.import_(tmp_path / "log.jsonl")
    assert chain(copy) == chain(memory)
    assert copy._store.log.get(seq) == memory._store.log.get(seq)
    assert copy._store.log.base.verify_chain() == []
    (finding,) = copy._store.log.verify_chain()
    assert (finding.seq, finding.problem) == (seq, "its payload was overwritten, and no erasure names it")


def test_an_event_of_a_newer_program_comes_back_bit_for_bit(tmp_path: Path):
    frame = one_frame("memory.dreamt_of", b"\x01\x02\xff", version=9)
    with SegmentLog.open(tmp_path / "one") as one, SegmentLog.open(tmp_path / "two") as two:
        one.append_frames([frame])
        assert import_lines(two, list(export_lines(one))) == 1
        assert (two.chain_at(1), two.get(1)) == (one.chain_at(1), one.get(1))
        assert two.status().unknown_types == {"memory.dreamt_of": 1}


def test_a_payload_that_its_fact_does_not_give_back_is_carried_as_bytes(tmp_path: Path):
    """A payload with its fields in another order is the same fact, but not the same bytes."""
    payload = msgspec.msgpack.encode({"id": "a", "type": "memory.forgotten"})
    assert payload != encode(Forgotten(id="a"))
    frame = one_frame("memory.forgotten", payload)
    with SegmentLog.open(tmp_path / "one") as one, SegmentLog.open(tmp_path / "two") as two:
        one.append_frames([frame])
        lines = list(export_lines(one))
        assert base64.b64decode(json.loads(lines[1])["payload"]) == payload
        import_lines(two, lines)
        assert two.chain_at(1) == one.chain_at(1)
        assert two.get(1) == one.get(1)


def test_the_formula_and_the_embedder_come_along(open_memory: Open, tmp_path: Path):
    memory = open_memory(formula="reverie-budget")
    memory.remember("tea", id="a")
    answer = memory.recall("tea")
    memory.export(tmp_path / "log.jsonl")
    copy = open_memory("copy")
    copy.import_(tmp_path / "log.jsonl")
    assert copy.recall("tea", record=False).formula == answer.formula
    with pytest.raises(EmbedderMismatch):
        open_memory("third", embedder=lambda texts: [[1.0]] * len(texts)).import_(tmp_path / "log.jsonl")


def test_parquet_goes_into_a_directory(open_memory: Open, tmp_path: Path):
    done = filled(open_memory).export(tmp_path / "tables")
    assert done.format == "parquet"
    assert {path.name for path in (tmp_path / "tables").iterdir()} >= {
        "memories.parquet",
        "memory_history.parquet",
    }


def test_paths_that_make_no_sense_are_refused(open_memory: Open, tmp_path: Path):
    memory = filled(open_memory)
    for path, reason in (
        (tmp_path / "log.csv", "cannot tell the format"),
        (tmp_path / "a.jsonl", "is a directory"),
    ):
        (tmp_path / "a.jsonl").mkdir(exist_ok=True)
        with pytest.raises(InvalidInput, match=reason):
            memory.export(path)
    with pytest.raises(InvalidInput, match="there is no file"):
        memory.import_(tmp_path / "nowhere.jsonl")


def test_tables_do_not_go_where_a_file_or_a_directory_is_in_the_way(open_memory: Open, tmp_path: Path):
    memory = filled(open_memory)
    (tmp_path / "file").touch()
    (tmp_path / "tables" / "memories.parquet").mkdir(parents=True)
    with pytest.raises(InvalidInput, match="file is not a directory"):
        memory.export(tmp_path / "file")
    with pytest.raises(InvalidInput, match=r"memories\.parquet is no regular file"):
        memory.export(tmp_path / "tables")
    assert [path.name for path in (tmp_path / "tables").iterdir()] == ["memories.parquet"]


def test_what_is_no_regular_file_is_not_replaced_by_one(open_memory: Open, tmp_path: Path):
    os.mkfifo(tmp_path / "pipe.jsonl")
    with pytest.raises(InvalidInput, match="is no regular file"):
        filled(open_memory).export(tmp_path / "pipe.jsonl")
    assert (tmp_path / "pipe.jsonl").is_fifo()


def test_an_export_that_fails_leaves_the_old_file_and_nothing_else(
    open_memory: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    memory = filled(open_memory)
    out = tmp_path / "out"
    memory.export(out / "log.jsonl")
    before = (out / "log.jsonl").read_bytes()

    def lines(*_: object, **__: object) -> Iterator[bytes]:
        yield b"{}\n"
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(out))

    monkeypatch.setattr(transferring, "export_lines", lines)
    with pytest.raises(OSError, match="No space left"):
        memory.export(out / "log.jsonl", overwrite=True)
    assert [path.name for path in out.iterdir()] == ["log.jsonl"]
    assert (out / "log.jsonl").read_bytes() == before


def test_progress_is_reported(open_memory: Open, tmp_path: Path):
    filled(open_memory).export(tmp_path / "log.jsonl")
    seen: list[tuple[int, int]] = []
    copy = open_memory("copy")
    done = copy.import_(tmp_path / "log.jsonl", progress=lambda n, total: seen.append((n, total)))
    assert seen[-1] == (done.head, done.head)


def test_an_import_into_memory_works_too(open_memory: Open, tmp_path: Path):
    memory = filled(open_memory)
    memory.export(tmp_path / "log.jsonl")
    with Memory.open(":memory:", embedder="hash") as copy:
        copy.import_(tmp_path / "log.jsonl")
        assert chain(copy) == chain(memory)


@pytest.mark.parametrize("inside", [".", "log", "log/00000000000000000001.seg", "tables", "new/pages"])
@pytest.mark.parametrize("format_", ["jsonl", "parquet", "markdown"])
def test_nothing_is_exported_into_the_store_itself(tmp_path: Path, inside: str, format_: str):
    with Memory.open(tmp_path / "store", embedder="hash") as memory:
        memory.remember("auth sessions", id="a")
        before = files_under(tmp_path)
        with pytest.raises(InvalidInput, match="lies in the store itself"):
            memory.export(tmp_path / "store" / inside, format=format_)
        assert files_under(tmp_path) == before


def files_under(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("path", ["", "  ", "-"])
def test_what_is_no_place_is_refused(tmp_path: Path, path: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    with Memory.open(":memory:", embedder="hash") as memory, pytest.raises(InvalidInput, match="is no place"):
        memory.export(path)
    assert list(tmp_path.iterdir()) == []


def test_behind_a_link_the_file_that_it_leads_to_is_written(tmp_path: Path):
    (tmp_path / "real.jsonl").write_text("old")
    (tmp_path / "link.jsonl").symlink_to("real.jsonl")
    with Memory.open(tmp_path / "store", embedder="hash") as memory:
        memory.remember("auth sessions", id="a")
        with pytest.raises(InvalidInput, match="exists already"):
            memory.export(tmp_path / "link.jsonl")
        memory.export(tmp_path / "link.jsonl", overwrite=True)
    assert (tmp_path / "link.jsonl").is_symlink()
    assert "auth sessions" in (tmp_path / "real.jsonl").read_text()
