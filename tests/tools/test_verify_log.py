"""The verifier of one file finds a cut, a rewritten payload, a swapped event and a fork, and imports nothing of ours."""

from __future__ import annotations

import ast
import json
import shutil
import subprocess
import sys
from base64 import b64decode
from hashlib import sha256
from pathlib import Path

import pytest
import tampering

from recollect.events.envelope import draft
from recollect.events.facts import Forgotten
from recollect.events.segment_log import SegmentLog
from recollect.interfaces.python.memory import Memory

TOOL = Path(__file__).parents[2] / "tools" / "verify_log.py"


def run(*arguments: Path | str) -> tuple[int, str]:
    """In a Python that finds no package but the standard library's."""
    command = [sys.executable, "-I", "-S", str(TOOL), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    return done.returncode, done.stdout + done.stderr


def fill(store: Path, *, more: int = 0) -> None:
    with Memory.open(store, embedder="hash") as memory:
        for n in range(12):
            memory.remember(f"note {n:02d} about tea", id=f"n{n}")
        memory.recall("tea")
        memory.erase("n3")
        for n in range(more):
            memory.remember(f"more {n}")


@pytest.fixture
def store(tmp_path: Path) -> Path:
    fill(tmp_path / "store")
    return tmp_path / "store"


@pytest.fixture
def export(store: Path, tmp_path: Path) -> Path:
    with Memory.open(store, embedder=None) as memory:
        memory.export(tmp_path / "log.jsonl")
    return tmp_path / "log.jsonl"


@pytest.fixture
def checkpoint(store: Path, tmp_path: Path) -> Path:
    with Memory.open(store, embedder=None) as memory:
        memory.checkpoint(tmp_path / "checkpoint")
    return tmp_path / "checkpoint"


def test_it_imports_the_standard_library_alone():
    names = set()
    for node in ast.walk(ast.parse(TOOL.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            names.add((node.module or "").partition(".")[0])
    assert names <= sys.stdlib_module_names


def test_a_log_that_is_as_it_was_written_holds_in_segments_and_in_an_export(
    store: Path, export: Path, checkpoint: Path
):
    for log in (store, store / "log", export):
        for against in ((), ("--against", checkpoint), ("--against", export), ("--against", store)):
            status, said = run(log, *against)
            assert (status, said.startswith("holds  ")) == (0, True), said
            assert "1 of them erased" in said


def test_every_line_of_an_export_can_be_checked_by_the_bytes_in_it(export: Path):
    first, *lines = [json.loads(line) for line in export.read_text("utf-8").splitlines()]
    assert len(lines) == first["head"]
    assert [line["seq"] for line in lines if "payload" not in line] == [
        line["seq"] for line in lines if "erased" in line
    ]
    for line in lines:
        if "payload" in line:
            body = bytes.fromhex(line["salt"]) + b64decode(line["payload"])
            assert sha256(body).digest()


def test_it_finds_a_cut(store: Path, export: Path, checkpoint: Path):
    whole = store.with_name("whole")
    shutil.copytree(store, whole)
    tampering.cut(store, 3)
    assert "no erasure names it" in run(store)[1]  # the erasure is among what was cut
    for against in (checkpoint, whole, export):
        status, said = run(store, "--against", against)
        assert (status, "it was cut" in said) == (1, True)
    tampering.cut_lines(export, 3)
    status, said = run(export)
    assert (status, "promises @" in said) == (1, True)


def test_it_finds_a_cut_by_the_head_file(store: Path):
    head = (store / "log" / "head").read_bytes()
    tampering.cut(store, 3)
    (store / "log" / "head").write_bytes(head)
    status, said = run(store)
    assert (status, "was acknowledged, and the log ends at" in said) == (1, True)


def test_without_a_head_file_a_log_holds_only_against_what_was_kept(store: Path, checkpoint: Path):
    (store / "log" / "head").write_bytes(b"")
    status, said = run(store)
    assert (status, "whether events were cut from its end cannot be seen" in said) == (1, True)
    assert run(store, "--against", checkpoint)[0] == 0
    with Memory.open(store, embedder="hash") as memory:
        memory.remember("written after the checkpoint")
    assert run(store, "--against", checkpoint)[0] == 0
    (store / "log" / "head").unlink()
    assert run(store, "--against", checkpoint)[0] == 1


def test_it_finds_a_rewritten_payload_whose_checksums_were_made_right(store: Path, export: Path):
    tampering.rewrite_payload(store, b"note 07", b"nope 07")
    tampering.change_line(export, b"note 07", b"nope 07")
    for log, words in ((store, "is not the one that was recorded"), (export, "the chain breaks at @")):
        status, said = run(log)
        assert (status, words in said) == (1, True)


def test_it_finds_a_swapped_event(store: Path, export: Path):
    tampering.swap(store, 5)
    tampering.swap_lines(export, 5)
    for log in (store, export):
        status, said = run(log)
        assert (status, "stands where @5 should" in said) == (1, True)


def test_it_finds_a_rewritten_log_and_a_forked_one(
    store: Path, export: Path, checkpoint: Path, tmp_path: Path
):
    fork = tmp_path / "fork"
    shutil.copytree(store, fork)
    with Memory.open(fork, embedder="hash") as memory:
        at = memory.status().head
        memory.remember("another future")
    with Memory.open(store, embedder="hash") as memory:
        memory.remember("this future")
        memory.checkpoint(checkpoint)
    status, said = run(fork, "--against", checkpoint)
    assert (status, "it was rewritten, or is a fork" in said) == (1, True)
    status, said = run(fork, "--against", store)
    assert (status, f"the same up to @{at} and went different ways" in said) == (1, True)

    tampering.rewrite_history(fork, b"note 07", b"nope 07")
    assert run(fork)[0] == 0  # whole in itself
    status, said = run(fork, "--against", export)
    assert (status, "went different ways from there" in said) == (1, True)


def test_it_reads_sealed_segments_and_finds_one_that_is_missing(tmp_path: Path):
    with SegmentLog.open(tmp_path / "log", segment_bytes=600) as log:
        for n in range(20):
            log.append([draft(Forgotten(id=f"m{n}", reason="long enough to fill a segment"))])
    assert run(tmp_path)[0] == 0
    segments = sorted((tmp_path / "log").glob("*.seg"))
    assert len(segments) > 3
    data = bytearray(segments[1].read_bytes())
    data[-20] ^= 1
    segments[1].write_bytes(data)
    status, said = run(tmp_path)
    assert (status, "its seal is broken" in said) == (1, True)
    segments[1].unlink()
    status, said = run(tmp_path)
    assert (status, "does not continue the segment before" in said) == (1, True)


def test_what_is_no_log_is_refused_with_two(tmp_path: Path):
    (tmp_path / "text.jsonl").write_text("hello\n")
    for log in (tmp_path / "text.jsonl", tmp_path, tmp_path / "nothing"):
        status, said = run(log)
        assert (status, said.startswith("verify_log: ")) == (2, True)


def test_lines_of_an_old_export_without_payload_are_not_called_checked(export: Path):
    lines = [json.loads(line) for line in export.read_text("utf-8").splitlines()]
    for line in lines[1:]:
        if "fact" in line:
            del line["payload"]
    export.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    status, said = run(export)
    assert (status, "were not checked" in said) == (1, True)


def test_words_for_people_that_are_not_those_of_the_payload_are_found(export: Path):
    text = export.read_text("utf-8")
    export.write_text(text.replace('"content":"note 07 about tea"', '"content":"nope 07 about tea"'), "utf-8")
    status, said = run(export)
    assert (status, "is not what its payload says" in said) == (1, True)


@pytest.mark.parametrize(
    "change",
    [
        {"type": 7}, {"type": None}, {"actor": []}, {"seq": 2**70}, {"at": "now"}, {"id": "zz"}, {"batch": 1},
        {"erased": {"bytes": 2**62, "digest": "00" * 32}}, {"erased": {"bytes": -1, "digest": ""}},
        {"payload": "kZGR" * 5000}, {"salt": 1}, {"chain": None}, {"fact": []}, {"version": 2.5},
    ],
    ids=str,
)  # fmt: skip
def test_a_line_that_no_export_would_hold_is_found_and_ends_in_no_traceback(
    export: Path, change: dict[str, object]
):
    lines = export.read_text("utf-8").splitlines()
    lines[4] = json.dumps(json.loads(lines[4]) | change)
    export.write_text("\n".join(lines) + "\n", "utf-8")
    code, said = run(export)
    assert (code, "Traceback" in said, "line 5" in said) == (1, False, True)


@pytest.mark.parametrize("data", [b"", b"[" * 100_000, b"\xff\xfe\x00", b'{"recollect":"log"}', b"null"])
def test_a_file_that_does_not_begin_as_an_export_exits_with_two_and_no_traceback(tmp_path: Path, data: bytes):
    (tmp_path / "log.jsonl").write_bytes(data)
    code, said = run(tmp_path / "log.jsonl")
    assert (code, "Traceback" in said) == (2, False)


def test_an_erased_event_that_says_a_fact_is_found(export: Path):
    lines = export.read_text("utf-8").splitlines()
    place = next(n for n, line in enumerate(lines) if '"erased"' in line)
    lines[place] = json.dumps(json.loads(lines[place]) | {"fact": {"type": "memory.forgotten", "id": "n3"}})
    export.write_text("\n".join(lines) + "\n", "utf-8")
    assert run(export)[0] == 1


def test_a_checkpoint_of_another_origin_is_found(store: Path, checkpoint: Path):
    assert run(store, "--against", checkpoint)[0] == 0
    note = checkpoint.read_text("utf-8")
    checkpoint.write_text("recollect.log/0000000000000000" + note[note.index("\n") :], "utf-8")
    code, said = run(store, "--against", checkpoint)
    assert (code, "it is of the log recollect.log/0000000000000000" in said) == (1, True)


def test_a_payload_that_was_overwritten_by_hand_is_not_called_erased(store: Path):
    header, frames, seed = tampering.frames_of(tampering.only_segment(store))
    frames[8] = frames[8]._replace(body=bytes(len(frames[8].body)))
    tampering.write_frames(tampering.only_segment(store), header, frames, seed)
    status, said = run(store)
    assert (status, "the payload of @9 was overwritten, and no erasure names it" in said) == (1, True)


def test_an_erasure_that_was_erased_with_its_cluster_still_names_what_it_took(tmp_path: Path):
    with Memory.open(tmp_path / "two", embedder="hash") as memory:
        for n in range(3):
            memory.remember(f"note {n} about tea", id=f"n{n}")
        memory.link("n0", "n1", "supports")
        memory.link("n1", "n2", "supports")
        memory.erase("n0")
        memory.erase("n1")
        memory.export(tmp_path / "two.jsonl")
    for log in (tmp_path / "two", tmp_path / "two.jsonl"):
        status, said = run(log)
        assert (status, "holds" in said, " 0 of them erased" in said) == (0, True, False)
