"""The receipt of an erasure: the chain before and after, what went, whether keys were destroyed, what may remain."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path

import pytest
from click.testing import CliRunner
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from recollect.engine.receipt import ErasureReceipt
from recollect.events.errors import InvalidInput, RecollectError
from recollect.interfaces.cli.app import main
from recollect.interfaces.python.memory import Memory


@pytest.fixture(params=["directory", "packs"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "packs":
        return f"file://{tmp_path}/shared?mirror={tmp_path}/mirror"
    return str(tmp_path / "store")


@pytest.fixture
def signing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ed25519PrivateKey:
    key = Ed25519PrivateKey.generate()
    (tmp_path / "key.pem").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    monkeypatch.setenv("RECOLLECT_SIGNING_KEY", str(tmp_path / "key.pem"))
    return key


def receipt_from(memory: Memory) -> ErasureReceipt:
    memory.remember("the safe opens with 31-07-94", id="s")
    memory.remember("tea is at four", id="t")
    receipt = memory.erase("s", reason="asked").receipt
    assert receipt is not None
    return receipt


def test_a_receipt_has_the_chain_before_and_after_the_seqs_and_the_digests(place: str) -> None:
    with Memory.open(place, embedder="hash") as memory:
        receipt = receipt_from(memory)
        log = memory.store.log
        head = log.head
        assert (receipt.before_seq, receipt.after_seq) == (head - 1, head)
        assert receipt.before == b64encode(log.chain_at(head - 1)).decode()
        assert receipt.after == b64encode(log.chain_at(head)).decode()
        (gone,) = receipt.erased
        header = next(log.frames(gone.seq - 1, gone.seq)).header
        assert gone.digest == header.digest.hex()
        assert log.overwritten(gone.seq)
        assert f"erased @{gone.seq} sha256:{gone.digest}\n" in receipt.text


def test_a_receipt_says_whether_keys_were_destroyed_and_what_may_remain_for_how_long(place: str) -> None:
    with Memory.open(place, embedder="hash") as memory:
        receipt = receipt_from(memory)
    encrypted = place.startswith("file:")
    assert receipt.keys_destroyed is encrypted
    assert ("keys destroyed" if encrypted else "keys none") in receipt.text
    assert any("until they next catch up" in one for one in receipt.may_remain) is encrypted
    assert all("until" in one or "for as long as" in one for one in receipt.may_remain)


def test_a_copy_that_the_store_knows_of_is_in_the_receipt(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "store", embedder="hash") as memory:
        memory.remember("the safe opens with 31-07-94", id="s")
        memory.export(tmp_path / "log.jsonl")
        receipt = memory.erase("s").receipt
    assert receipt is not None
    assert (
        f"may remain: the jsonl of this store at {tmp_path}/log.jsonl, until it is erased in or deleted\n"
        in receipt.text
    )


def test_verify_checks_a_receipt_as_it_checks_a_checkpoint(place: str, tmp_path: Path) -> None:
    with Memory.open(place, embedder="hash") as memory:
        (tmp_path / "kept").write_text(receipt_from(memory).text, "utf-8")
        memory.remember("more")
        assert memory.verify(against=tmp_path / "kept").contradictions == ()
    with Memory.open(tmp_path / "other", embedder="hash") as other:
        for n in range(9):
            other.remember(f"note {n}")
        assert other.verify(against=tmp_path / "kept").verdict == "differs"


def test_what_a_receipt_names_and_is_there_again_is_a_contradiction(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Memory.open(tmp_path / "store", embedder="hash") as memory:
        receipt = receipt_from(memory)
        (tmp_path / "kept").write_text(receipt.text, "utf-8")
        monkeypatch.setattr(memory.store.log, "overwritten", lambda seq: seq != receipt.erased[0].seq)
        (found,) = memory.verify(against=tmp_path / "kept").contradictions
    assert found.seq == receipt.erased[0].seq
    assert "is there again" in found.problem


def test_a_receipt_is_signed_by_the_key_that_the_environment_names(
    place: str, tmp_path: Path, signing: Ed25519PrivateKey
) -> None:
    with Memory.open(place, embedder="hash") as memory:
        receipt = receipt_from(memory)
        (tmp_path / "kept").write_text(receipt.text, "utf-8")
        assert memory.verify(against=tmp_path / "kept").contradictions == ()
        assert receipt.signed_by == (receipt.text.partition("\n")[0],)
        changed = receipt.text.replace("keys ", "all keys ")
        (tmp_path / "changed").write_text(changed, "utf-8")
        (found,) = memory.verify(against=tmp_path / "changed").contradictions
    assert "its signature is not of this text" in found.problem
    text, _, line = receipt.text.partition("\n\n")
    assert line.startswith("— recollect.log/")
    assert text.count("\n") >= 6


def test_a_key_that_cannot_be_used_is_refused_before_anything_is_gone(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECOLLECT_SIGNING_KEY", str(tmp_path / "missing.pem"))
    with Memory.open(place, embedder="hash") as memory:
        memory.remember("tea", id="t")
        head = memory.status().head
        with pytest.raises(InvalidInput, match="cannot be read"):
            memory.erase("t")
        assert memory.status().head == head
        assert memory.get("t").content == "tea"


def test_a_key_that_is_still_in_its_box_means_no_receipt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = f"file://{tmp_path}/shared?mirror={tmp_path}/mirror"
    with Memory.open(where, embedder="hash") as memory:
        memory.remember("tea", id="t")
        monkeypatch.setattr(memory.store.log.base, "_destroy", lambda _place, _seqs: None)
        with pytest.raises(RecollectError, match="the key of @2 is still there"):
            memory.erase("t")


def test_the_command_prints_the_receipt_and_keeps_it_where_it_is_told(place: str, tmp_path: Path) -> None:
    with Memory.open(place, embedder="hash") as memory:
        memory.remember("tea", id="t")
    kept = tmp_path / "receipt"
    told = ["erase", "t", "--yes", "--receipt", str(kept), "--store", place]
    done = CliRunner().invoke(main, told)
    assert done.exit_code == 0, done.output
    printed = [line.strip() for line in done.output.partition("receipt, not signed:\n")[2].splitlines()]
    assert printed == [line.strip() for line in kept.read_text("utf-8").rstrip().splitlines()]
    again = CliRunner().invoke(main, told)
    assert (again.exit_code, "nothing was erased" in again.output) == (2, True)
