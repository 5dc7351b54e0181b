"""A store on several machines behaves as one in a directory: the same rankings, erasures that reach every replica."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest
from click.testing import CliRunner

from recollect.engine.copies import known_copies
from recollect.engine.replicate import replicate
from recollect.events.errors import InvalidInput, StillBehind
from recollect.events.packs.pack_log import PackLog
from recollect.interfaces.cli.app import main
from recollect.interfaces.python.memory import Memory


@pytest.fixture
def shared(tmp_path: Path) -> str:
    return f"file://{tmp_path}/shared?mirror={tmp_path}"


def test_two_replicas_rank_the_same_bits(shared: str) -> None:
    with Memory.open(f"{shared}/a", embedder="hash") as a, Memory.open(f"{shared}/b", embedder="hash") as b:
        for number in range(30):
            (a if number % 2 else b).remember(f"note {number} about tea {number % 5}", id=f"m{number}")
        a.recall("tea 3")
        b.recall("tea 4")
        asked = [
            [(hit.id, hit.score) for hit in one.recall("note tea 2", record=False, now="2030-01-01").hits]
            for one in (a, b)
        ]
        assert asked[0] == asked[1]
        assert len(asked[0]) == 10
        for one in (a, b):
            assert one.verify().exact
            assert one.verify().checked == 2
        assert a.store.log.chain_at(a.store.log.head) == b.store.log.chain_at(a.store.log.head)


def test_an_erasure_reaches_every_replica_and_leaves_nothing_in_any_file(shared: str, tmp_path: Path) -> None:
    secret = "the safe opens with 31-07-94"
    with Memory.open(f"{shared}/a", embedder="hash") as a, Memory.open(f"{shared}/b", embedder="hash") as b:
        a.remember(secret, id="s")
        assert b.recall("safe", record=False).hits[0].id == "s"
        key = b.store.log.base._keys.get(2)  # type: ignore[attr-defined]
        a.erase("s")
        assert b.get("s").content == "[erased]"
        assert b.recall("safe", record=False).hits == ()
    for path in tmp_path.rglob("*"):
        held = b"" if path.is_dir() else path.read_bytes()
        assert secret.encode() not in held, path
        assert key[:32] not in held, path


def test_status_names_the_place_its_copies_and_how_far_behind_this_replica_is(shared: str) -> None:
    with Memory.open(f"{shared}/a", embedder="none") as memory:
        memory.remember("tea")
        status = memory.status()
    assert status.store == shared.partition("?")[0]
    assert (status.replication, status.behind) == ("none: one directory, synced", 0)


def test_the_command_line_takes_a_url_as_its_store(shared: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOLLECT_EMBEDDER", "hash")
    missing = CliRunner().invoke(main, ["recall", "tea", "--store", f"{shared}/a"])
    assert missing.exit_code == 2
    assert "there is no store at" in missing.output
    monkeypatch.setenv("RECOLLECT_STORE", f"{shared}/a")
    assert CliRunner().invoke(main, ["remember", "tea with lemon"]).exit_code == 0
    found = CliRunner().invoke(main, ["recall", "lemon", "--json", "--store", f"{shared}/b"])
    assert json.loads(found.stdout)["hits"][0]["content"] == "tea with lemon"
    assert CliRunner().invoke(main, ["verify"]).exit_code == 0
    assert "one directory" in CliRunner().invoke(main, ["status"]).output


def test_a_mirror_is_not_opened_as_a_store_of_its_own(shared: str, tmp_path: Path) -> None:
    with Memory.open(f"{shared}/a", embedder="none") as memory:
        memory.remember("tea")
    with pytest.raises(InvalidInput, match="the mirror of a log on other machines"):
        Memory.open(tmp_path / "a", embedder="none")
    refused = CliRunner().invoke(main, ["doctor", "--store", str(tmp_path / "a")])
    assert refused.exit_code == 2, refused.output


def test_doctor_examines_the_replica_and_asks_the_engine(
    shared: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Memory.open(f"{shared}/a", embedder="hash") as memory:
        memory.remember("tea", id="t")
        memory.recall("tea")
        assert memory.doctor().healthy
    done = CliRunner().invoke(main, ["doctor", "--store", f"{shared}/a"])
    assert (done.exit_code, "healthy" in done.output) == (0, True), done.output
    assert "copies on other machines were not" in " ".join(done.output.split())
    refused = CliRunner().invoke(main, ["doctor", "--fix", "--store", f"{shared}/a"])
    assert (refused.exit_code, "its engine repairs its copies" in refused.output) == (2, True)
    missing = CliRunner().invoke(main, ["doctor", "--store", f"file://{tmp_path}/none?mirror={tmp_path}/n"])
    assert (missing.exit_code, "there is no store at" in missing.output) == (2, True)
    for box in (tmp_path / "shared" / "box").glob("*/*"):
        box.unlink()
    (tmp_path / "a" / "cache" / "keys").unlink()
    monkeypatch.setitem(PackLog.open.__func__.__kwdefaults__, "patience_s", 0.1)
    with Memory.open(f"{shared}/a", embedder="none") as memory:
        found = memory.doctor()
    assert {problem.severity for problem in found.problems} == {"damage"}
    assert "its key is gone" in found.problems[0].what


def test_a_basis_that_a_local_log_does_not_have_is_refused_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recollect.engine.read_your_writes.await_seq", lambda *_: pytest.fail("it waited"))
    with Memory.open(tmp_path / "local", embedder="hash") as memory:
        memory.remember("tea")
        with pytest.raises(InvalidInput, match="the log ends at @2, so no answer can know of @99"):
            memory.recall("tea", basis="@99")


def test_an_answer_knows_what_it_was_told_to_know_or_is_refused(
    shared: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Memory.open(f"{shared}/a", embedder="hash") as a, Memory.open(f"{shared}/b", embedder="hash") as b:
        a.remember("tea", id="t")
        head = a.store.log.head
        waiting = threading.Timer(0.2, a.remember, ("lemon tea",), {"id": "l"})
        waiting.start()
        answer = b.recall("lemon", basis=head + 1, record=False)
        waiting.join()
        assert (answer.basis, answer.hits[0].id) == (head + 1, "l")
        monkeypatch.setattr("recollect.engine.read_your_writes.await_seq.__defaults__", (0.1,))
        with pytest.raises(StillBehind, match=f"@{head + 9} is not here yet: this replica is at @{head + 1}"):
            b.recall("lemon", basis=f"@{head + 9}")
        with pytest.raises(InvalidInput, match="does not know of"):
            b.at(head).recall("lemon", basis=head + 1)
        with pytest.raises(InvalidInput, match="basis is a seq"):
            b.recall("lemon", basis="yesterday")


def test_the_command_line_refuses_to_answer_older(shared: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recollect.engine.read_your_writes.await_seq.__defaults__", (0.1,))
    monkeypatch.setenv("RECOLLECT_EMBEDDER", "hash")
    monkeypatch.setenv("RECOLLECT_STORE", f"{shared}/a")
    assert CliRunner().invoke(main, ["remember", "tea"]).exit_code == 0
    assert CliRunner().invoke(main, ["recall", "tea", "--basis", "@2"]).exit_code == 0
    late = CliRunner().invoke(main, ["recall", "tea", "--basis", "@99"])
    assert (late.exit_code, "@99 is not here yet" in late.output) == (2, True)


def test_an_exported_log_leaves_and_reaches_a_store_at_a_url_by_way_of_a_directory(
    shared: str, tmp_path: Path
) -> None:
    file, second = tmp_path / "log.jsonl", f"file://{tmp_path}/second?mirror={tmp_path}/second-mirror"
    with Memory.open(f"{shared}/a", embedder="hash") as memory:
        memory.remember("auth sessions live in Postgres", id="auth")
        with pytest.raises(InvalidInput, match="recollect replicate URL DIRECTORY`, and export that store"):
            memory.export(file)
        assert known_copies(memory.store.folder) == []
    replicate(f"{shared}/a", str(tmp_path / "here"))
    with Memory.open(tmp_path / "here", embedder="hash") as memory:
        memory.export(file)
    with (
        Memory.open(f"{shared}/a", embedder="hash") as memory,
        pytest.raises(InvalidInput, match="into a new store in a directory"),
    ):
        memory.import_(file)
    with Memory.open(tmp_path / "imported", embedder="hash") as memory:
        memory.import_(file)
    replicate(str(tmp_path / "imported"), second)
    with Memory.open(second, embedder="hash") as memory:
        assert memory.get("auth").content == "auth sessions live in Postgres"
