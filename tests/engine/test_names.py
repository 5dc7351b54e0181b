"""Ids may be shortened to a beginning that only one has; a wrong one is told what is near."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect import Memory
from recollect.events.errors import InvalidInput, UnknownMemory


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path / "store", embedder=None) as opened:
        opened.remember("the release train leaves on Thursday", id="train")
        opened.remember("the night train leaves on Monday", id="train-night")
        opened.remember("lunch is at noon", id="lunch-01")
        yield opened


def test_every_operation_takes_a_beginning_that_only_one_id_has(memory: Memory) -> None:
    recall = str(memory.recall("lunch noon").id)
    assert memory.get("lunch").id == "lunch-01"
    assert memory.at("now").get("lu").id == "lunch-01"
    assert memory.history("lun") == memory.history("lunch-01")
    assert memory.why(recall, "lunch").id == memory.why_not(recall, "lunch").id == "lunch-01"
    assert memory.explain("lunch", "lunch").id == "lunch-01"
    assert memory.bisect("lunch", "lunch").id == "lunch-01"
    assert memory.why_changed("lunch", "lunch", "@3").id == "lunch-01"
    assert memory.ranks("lunch", "lunch").id == "lunch-01"
    assert [row.id for row in memory.recalls(held="lunch")] == [recall]
    memory.access(["lunch"])
    memory.rate("lunch", "helpful")
    memory.link("lunch", "train-n", "supports")
    memory.unlink("lunch", "train-n")
    memory.revise("lunch", "lunch is at one")
    assert memory.get("lunch-01").content == "lunch is at one"
    assert memory.get("lunch-01").state.used_count == 1
    memory.supersede("train-n", "lunch")
    memory.restore("train-n")
    assert memory.get("train-night").visible


def test_a_whole_id_wins_over_longer_ones(memory: Memory) -> None:
    assert memory.get("train").id == "train"
    memory.rate("train", "helpful")
    assert memory.get("train-night").state.helpful_count == 0


def test_a_beginning_of_several_is_refused_with_the_candidates(memory: Memory) -> None:
    head = memory.status().head
    for ask in (lambda: memory.get("tr"), lambda: memory.rate("tr", "helpful"), lambda: memory.show("tr")):
        with pytest.raises(InvalidInput, match="begin with 'tr': train, train-night; write more of it"):
            ask()
    assert memory.status().head == head


def test_forget_and_erase_take_whole_ids_only(memory: Memory) -> None:
    head = memory.status().head
    for ask in (
        lambda: memory.forget("lunch"),
        lambda: memory.erase("lunch"),
        lambda: memory.erase(["lunch"]),
    ):
        with pytest.raises(UnknownMemory, match="did you mean lunch-01"):
            ask()
    assert memory.status().head == head


def test_an_id_to_remember_is_never_taken_for_a_longer_one(memory: Memory) -> None:
    assert memory.remember("another lunch", id="lunch") == "lunch"
    assert memory.get("lunch").content == "another lunch"


def test_a_wrong_id_is_told_what_is_near_and_a_recall_what_shows_it(memory: Memory) -> None:
    with pytest.raises(UnknownMemory, match="no memory has the id 'trainn' as of @3; did you mean train"):
        memory.get("trainn")
    recall = memory.recall("lunch").id
    with pytest.raises(UnknownMemory, match=f"it is a recall: `recollect show {recall}` shows it"):
        memory.get(str(recall))
