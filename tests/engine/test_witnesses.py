"""A log that was cut, rewritten or forked is noticed by whatever remembers more: a checkpoint, a cache, a record of copies."""

from __future__ import annotations

import json
import os
import shutil
from base64 import b64decode, b64encode
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest
import tampering
from click.testing import CliRunner
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from recollect.engine.doctor import doctor
from recollect.engine.store import Store
from recollect.engine.witnesses import beside
from recollect.events.disk import RealDisk
from recollect.events.errors import InvalidInput, RecollectError
from recollect.events.head import HeadFile
from recollect.interfaces.cli.app import main
from recollect.interfaces.python.memory import Memory

Open = Callable[..., Memory]


@pytest.fixture
def store(tmp_path: Path, open_memory: Open) -> Path:
    memory = open_memory()
    for n in range(8):
        memory.remember(f"note {n} about tea", id=f"n{n}")
    memory.recall("tea")
    memory.close()
    assert memory.store.folder is not None
    return memory.store.folder


@pytest.fixture
def kept(store: Path, tmp_path: Path) -> Path:
    with Memory.open(store, embedder="hash") as memory:
        memory.checkpoint(tmp_path / "kept")
    return tmp_path / "kept"


def verdict(store: Path, **options: object) -> str:
    with Memory.open(store, embedder="hash") as memory:
        return memory.verify(**options).verdict


def test_what_another_process_appended_and_left_a_witness_of_meanwhile_is_no_cut(
    store: Path, tmp_path: Path, open_memory: Open
):
    memory, other = open_memory(), open_memory()
    log, head = memory.store.log, memory.store.log.head
    other.remember("meanwhile", id="new")
    other.store.checkpoint()
    other.export(tmp_path / "copy.jsonl")
    assert log.head == head  # as a verification knew it when it began
    assert beside(log, store, store / "cache") == []
    assert log.head == other.status().head


def test_a_checkpoint_is_origin_size_and_root_in_the_form_of_a_signed_note(store: Path):
    with Memory.open(store, embedder="hash") as memory:
        made = memory.checkpoint()
        log, head = memory.store.log, memory.status().head
        origin = f"recollect.log/{log.chain_at(1).hex()[:16]}"
        root = b64encode(log.chain_at(head)).decode()
    assert made.note == str(made) == f"{origin}\n{head}\n{root}\n\n"
    assert (made.origin, made.size, made.root, made.signed_by) == (origin, head, root, ())


def test_the_command_prints_the_note_and_writes_it(store: Path, tmp_path: Path):
    def run(*arguments: str) -> tuple[int, str]:
        done = CliRunner().invoke(main, [*arguments, "--store", str(store)])
        return done.exit_code, done.output

    status, note = run("checkpoint")
    assert (status, run("checkpoint", "--out", str(tmp_path / "kept"))) == (0, (0, note))
    assert (tmp_path / "kept").read_text("utf-8") == note
    assert json.loads(run("checkpoint", "--json")[1])["note"] == note
    status, said = run("verify", "--against", str(tmp_path / "kept"))
    assert (status, f"agrees with {tmp_path / 'kept'}" in said) == (0, True)
    tampering.cut(store, 2)
    status, said = run("verify", "--against", str(tmp_path / "kept"))
    assert (status, said.startswith("differs  "), "events were cut from its end" in said) == (1, True, True)
    status, said = run("checkpoint", "--out", str(tmp_path / "kept"))
    assert (status, "was left as it is" in said, (tmp_path / "kept").read_text("utf-8")) == (2, True, note)
    (tmp_path / "other").write_text("hello\n")
    for arguments in (("checkpoint", "--out"), ("verify", "--against")):
        status, said = run(*arguments, str(tmp_path / "other"))
        assert (status, "is not a checkpoint of a log" in said) == (2, True)


def test_a_log_that_only_grew_agrees_with_an_earlier_checkpoint_also_after_erasures_and_in_a_copy(
    store: Path, kept: Path, tmp_path: Path
):
    with Memory.open(store, embedder="hash") as memory:
        memory.remember("more")
        memory.erase("n1")
        assert memory.verify(against=kept).verdict == "attested"
        memory.export(tmp_path / "log.jsonl")
    with Memory.open(tmp_path / "copy", embedder="hash") as copy:
        copy.import_(tmp_path / "log.jsonl")
        assert copy.verify(against=kept).verdict == "attested"


def test_a_cut_log_differs_from_a_checkpoint(store: Path, kept: Path):
    tampering.cut(store, 2)
    assert verdict(store, against=kept) == "differs"


def test_a_log_without_head_file_and_caches_is_never_exact_until_a_checkpoint_accepts_it(
    store: Path, tmp_path: Path
):
    tampering.cut(store, 2)
    shutil.rmtree(store / "cache", ignore_errors=True)
    assert HeadFile(RealDisk(), store / "log" / "head").missing_at(9) == 9
    with Memory.open(store, embedder="hash") as memory:
        report = memory.verify()
        assert (report.verdict, [one.witness for one in report.contradictions]) == (
            "differs",
            ["the head file"],
        )
        assert "the head file contradicts it" in report.sentence
        assert any("the head file" in line for line in memory.status().degraded)
    (problem,) = doctor(store).problems
    assert "it was missing or unreadable when the log ended at" in problem.what
    with Memory.open(store, embedder="hash") as memory:  # the head file is there again, and remembers
        memory.remember("written later")
        assert memory.verify().verdict == "differs"
        memory.checkpoint(tmp_path / "accepted")
        assert memory.verify(against=tmp_path / "accepted").verdict == "exact"
    assert verdict(store) == "differs"


def test_a_new_log_and_one_after_a_crash_before_its_first_mark_have_lost_no_head(tmp_path: Path):
    Memory.open(tmp_path / "new", embedder="hash").close()
    (tmp_path / "new" / "log" / "head").write_bytes(b"")  # created durably, never written
    with Memory.open(tmp_path / "new", embedder="hash") as memory:
        memory.remember("first")
        assert memory.verify().verdict == "exact"
    assert doctor(tmp_path / "new").healthy


def zeroed(head: Path) -> None:
    head.write_bytes(bytes(head.stat().st_size))


LOST: dict[str, Callable[[Path], object]] = {
    "deleted": Path.unlink, "emptied": lambda head: head.write_bytes(b""), "zeroed": zeroed,
    "garbage": lambda head: head.write_bytes(b"\x5a" * 2000),
}  # fmt: skip


@pytest.mark.parametrize("lose", LOST.values(), ids=LOST)
def test_a_cut_log_whose_head_file_is_lost_is_never_exact_nor_healthy(
    store: Path, lose: Callable[[Path], object]
):
    head, before = store / "log" / "head", (store / "log" / "head").read_bytes()
    tampering.cut(store, 2)
    shutil.rmtree(store / "cache", ignore_errors=True)
    head.write_bytes(before)
    lose(head)
    for _ in ("found", "made anew"):
        found = doctor(store, fix=True)
        assert [(one.severity, one.where) for one in found.problems] == [("witness", str(head))]
        assert "whether events were cut from its end cannot be seen" in found.problems[0].what
        assert verdict(store) == "differs"


def test_a_head_file_that_is_emptied_beside_an_open_store_is_noted_by_its_next_write(store: Path):
    with Memory.open(store, embedder="hash") as memory:
        (store / "log" / "head").write_bytes(b"")
        memory.remember("written later")
        assert memory.verify().verdict == "differs"


def test_salvage_counts_what_is_lost_by_everything_that_remembers_more(store: Path, tmp_path: Path):
    with Memory.open(store, embedder="hash") as memory:
        had = memory.status().head
        memory.export(tmp_path / "log.jsonl")

    def salvaged(name: str) -> tuple[int, int, bool]:
        saved = doctor(store, salvage=tmp_path / name).salvaged
        assert saved is not None
        return saved.head, saved.lost, saved.at_least

    head = (store / "log" / "head").read_bytes()
    assert salvaged("whole") == (had, 0, False)
    tampering.cut(store, 3)
    assert salvaged("known by the copy") == (had - 3, 3, True)
    (store / "log" / "head").write_bytes(head)
    assert salvaged("known by the head file") == (had - 3, 3, False)
    (store / "log" / "head").write_bytes(b"")
    (store / "copies").unlink()
    shutil.rmtree(store / "cache", ignore_errors=True)
    assert salvaged("known by nothing") == (had - 3, 0, True)
    said = CliRunner().invoke(main, ["doctor", "--salvage", str(tmp_path / "asked"), "--store", str(store)])
    assert "whether later ones are lost cannot be seen" in said.output


@pytest.fixture
def put_back(store: Path, tmp_path: Path) -> Path:
    """A store that grew, with two cached checkpoints, whose log was then replaced by an older copy."""
    shutil.copytree(store / "log", tmp_path / "older")
    with Memory.open(store, embedder="hash") as memory:
        for n in range(2):
            memory.remember_many([f"later {n}.{m} about xylophones" for m in range(5)])
            memory.store.checkpoint()
    shutil.rmtree(store / "log")
    shutil.copytree(tmp_path / "older", store / "log")
    return store


def test_doctor_names_what_an_older_log_lacks_and_fix_leaves_the_witnesses(put_back: Path):
    before = sorted((put_back / "cache/checkpoints").iterdir())
    found = doctor(put_back, fix=True)
    assert [one.severity for one in found.problems] == ["witness"] * 2
    assert all("events were cut from its end" in one.what for one in found.problems)
    assert sorted((put_back / "cache/checkpoints").iterdir()) == before
    assert verdict(put_back) == "differs"


def test_an_erasure_in_an_older_log_empties_the_checkpoints_of_the_newer_one_and_they_still_bear_witness(
    put_back: Path,
):
    def holding(word: bytes) -> list[str]:
        return [path.name for path in put_back.rglob("*") if path.is_file() and word in path.read_bytes()]

    assert len(holding(b"xylophones")) == 2
    with Memory.open(put_back, embedder="hash") as memory:
        memory.erase("n3")
        assert holding(b"xylophones") == []
        assert memory.verify().verdict == "differs"
    Memory.open(put_back, embedder="hash").close()
    assert verdict(put_back) == "differs"
    assert {one.severity for one in doctor(put_back, fix=True).problems} == {"witness"}


def test_fix_finishes_an_erasure_in_an_older_log_and_what_bore_witness_still_does(
    put_back: Path, monkeypatch: pytest.MonkeyPatch
):
    with Memory.open(put_back, embedder="hash") as memory, monkeypatch.context() as patch:
        patch.setattr(Store, "_finish_erasures", lambda *_: None)
        with pytest.raises(RecollectError, match="the erasure is not finished"):
            memory.erase("n3")
    assert "erasure" in {one.severity for one in doctor(put_back).problems}
    assert {one.severity for one in doctor(put_back, fix=True).problems} == {"witness"}
    assert verdict(put_back) == "differs"


def test_an_older_log_gets_a_checkpoint_of_its_own_beside_those_of_the_newer_one(put_back: Path):
    with Memory.open(put_back, embedder="hash") as memory:
        made = memory.store.checkpoint()
        assert made is not None
        assert made.is_file()


def test_a_rewritten_log_differs_from_a_checkpoint(store: Path, kept: Path):
    tampering.rewrite_history(store, b"note 7 about", b"note 8 about")
    with Memory.open(store, embedder="hash") as memory:
        assert memory.verify().damage == ()
        report = memory.verify(against=kept)
    assert (report.verdict, report.exact) == ("differs", False)
    assert any("events were rewritten" in one.problem for one in report.contradictions)


def test_a_fork_differs_from_a_checkpoint_of_the_other(store: Path, kept: Path, tmp_path: Path):
    shutil.copytree(store, tmp_path / "fork")
    for folder, words in ((store, "this way"), (tmp_path / "fork", "that way")):
        with Memory.open(folder, embedder="hash") as memory:
            memory.remember(words)
    assert verdict(tmp_path / "fork", against=kept) == "exact"  # they agree as far as it goes
    with Memory.open(store, embedder="hash") as memory:
        memory.checkpoint(kept)
    assert verdict(tmp_path / "fork", against=kept) == "differs"
    assert verdict(store, against=kept) == "exact"


def test_a_log_of_another_origin_differs(tmp_path: Path, kept: Path):
    with Memory.open(tmp_path / "other", embedder="hash") as other:
        for n in range(20):
            other.remember(f"something else {n}")
        problems = [one.problem for one in other.verify(against=kept).contradictions]
    assert any("it is of the log recollect.log/" in problem for problem in problems)


@pytest.mark.parametrize("how", ["cut", "rewritten"])
def test_a_cached_checkpoint_that_knows_more_is_noticed_unasked(store: Path, how: str):
    with Memory.open(store, embedder="hash") as memory:
        memory.store.checkpoint()
    if how == "cut":
        tampering.cut(store, 2)
    else:
        tampering.rewrite_history(store, b"note 7 about", b"note 8 about")
    with Memory.open(store, embedder="hash") as memory:
        report = memory.verify()
        witnesses = {one.witness for one in report.contradictions} - {"the head file"}
        assert (report.verdict, len(witnesses)) == ("differs", 1)
        assert "the cached checkpoint" in report.sentence
        assert any("the cached checkpoint" in line for line in memory.status().degraded)


def test_a_recorded_copy_that_went_further_is_noticed_unasked(store: Path, tmp_path: Path):
    with Memory.open(store, embedder="hash") as memory:
        memory.export(tmp_path / "log.jsonl")
    assert verdict(store) == "exact"
    tampering.cut(store, 2)
    with Memory.open(store, embedder="hash") as memory:
        found, _ = memory.verify().contradictions
        assert "the record of the copy" in found.witness


# --- signatures ------------------------------------------------------------------------------------


@pytest.fixture
def key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ed25519PrivateKey:
    private = Ed25519PrivateKey.generate()
    pem = private.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (tmp_path / "key.pem").write_bytes(pem)
    monkeypatch.setenv("RECOLLECT_SIGNING_KEY", str(tmp_path / "key.pem"))
    return private


def test_a_checkpoint_is_signed_by_the_key_that_the_environment_names(
    store: Path, key: Ed25519PrivateKey, tmp_path: Path
):
    with Memory.open(store, embedder="hash") as memory:
        made = memory.checkpoint(tmp_path / "kept")
        assert memory.verify(against=tmp_path / "kept").notes == ()
    text, _, line = made.note.partition("\n\n")
    mark, name, value = line.split()
    assert (mark, name, made.signed_by) == ("—", made.origin, (made.origin,))
    public = key.public_key()
    blob = b64decode(value)
    assert blob[:4] == sha256(name.encode() + b"\n\x01" + public.public_bytes_raw()).digest()[:4]
    public.verify(blob[4:], text.encode() + b"\n")  # raises if it is not


def test_a_checkpoint_that_was_changed_or_signed_by_another_is_not_believed(
    store: Path, key: Ed25519PrivateKey, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    kept = tmp_path / "kept"
    with Memory.open(store, embedder="hash") as memory:
        made = memory.checkpoint(kept)
        smaller = b64encode(memory.store.log.chain_at(3)).decode()
    kept.write_text(made.note.replace(f"\n{made.size}\n{made.root}", f"\n3\n{smaller}"), "utf-8")
    tampering.cut(store, 2)
    with Memory.open(store, embedder="hash") as memory:
        found, head = memory.verify(against=kept).contradictions
        assert head.witness == "the head file"  # what is not believed accepts nothing
        assert "its signature is not of this text" in found.problem
        kept.write_text(f"{made.origin}\n3\n{smaller}\n\n", "utf-8")
        found, _ = memory.verify(against=kept).contradictions
        assert "it is not signed by the key" in found.problem
        monkeypatch.delenv("RECOLLECT_SIGNING_KEY")
        assert [one.witness for one in memory.verify(against=kept).contradictions] == ["the head file"]
        kept.write_text(made.note, "utf-8")
        assert "was not checked" in memory.verify(against=kept).notes[0]


def test_the_public_half_is_enough_to_verify_and_not_to_sign(
    store: Path, key: Ed25519PrivateKey, tmp_path: Path
):
    with Memory.open(store, embedder="hash") as memory:
        memory.checkpoint(tmp_path / "kept")
        encoding, form = serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        (tmp_path / "key.pem").write_bytes(key.public_key().public_bytes(encoding, form))
        assert memory.verify(against=tmp_path / "kept").verdict == "exact"
        with pytest.raises(InvalidInput, match="signing needs the private one"):
            memory.checkpoint()
        (tmp_path / "key.pem").write_text("nonsense")
        with pytest.raises(InvalidInput, match="holds no Ed25519 key"):
            memory.checkpoint()


def test_an_older_head_file_beside_a_cut_log_is_contradicted_by_the_index_of_the_last_close(
    tmp_path: Path, open_memory: Open
):
    folder = tmp_path / "store"
    with open_memory() as memory:
        memory.remember("note 1", id="n1")
    head = (folder / "log" / "head").read_bytes()
    (segment,) = (folder / "log").glob("*.seg")
    size = segment.stat().st_size
    with open_memory() as memory:
        memory.remember("note 2", id="n2")
        events = memory.store.log.head
    shutil.rmtree(folder / "cache", ignore_errors=True)
    assert doctor(folder).healthy
    (folder / "log" / "head").write_bytes(head)
    os.truncate(segment, size)

    assert verdict(folder) == "differs"
    found = doctor(folder, salvage=tmp_path / "salvaged")
    assert [(one.severity, one.where) for one in found.problems] == [("witness", "log/active.index")]
    assert found.salvaged is not None
    assert found.salvaged.head + found.salvaged.lost == events
    assert found.salvaged.at_least
