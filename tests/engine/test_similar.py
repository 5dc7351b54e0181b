"""What a memory resembles is said and decides nothing; what it supersedes is replaced in the same append."""

from __future__ import annotations

import math

import numpy as np
import pytest

from recollect.engine import remember as remembering
from recollect.engine.similar import SETTING
from recollect.events.errors import HeadMoved, InvalidInput, UnknownMemory
from recollect.events.facts import Ingested, Linked, Revised, Superseded
from recollect.interfaces.python.memory import Memory

QUERY = "where do auth sessions live?"


def ids(answer):
    return [hit.id for hit in answer.hits]


def kinds_since(memory, head):
    return [type(memory.store.event(seq).fact) for seq in range(head + 1, memory.status().head + 1)]


# --- similar ---------------------------------------------------------------------------------------


def test_a_memory_resembles_those_whose_vectors_are_near_and_says_how_and_since_when(memory):
    memory.remember("auth sessions live in redis", id="old")
    memory.remember("deploys happen on tuesdays", id="far")
    memory.remember("auth sessions live in postgres", id="new")
    (found,) = memory.similar("new")
    assert (found.id, found.content, found.by) == ("old", "auth sessions live in redis", "meaning")
    documents, vectors = memory.store.projections.documents, memory.store.projections.vectors
    rows = [documents.newest_row(documents.ids.find(id_), memory.status().head) for id_ in ("old", "new")]
    old, new = rows
    assert found.cosine == vectors.cosines(vectors.vector(new), np.array([old]), at=memory.status().head)[0]
    assert found.when == memory.recall("auth sessions live in redis", k=1).hits[0].at


def test_without_vectors_words_are_compared_and_that_is_said(open_memory):
    memory = open_memory(embedder=None)
    memory.remember("auth sessions live in redis", id="old")
    memory.remember("auth sessions live in postgres", id="new")
    (found,) = memory.similar("new")
    assert (found.id, found.by) == ("old", "words")
    assert found.cosine == pytest.approx(3 / math.sqrt(4 * 4))  # "in" is a stop word


def test_nothing_of_another_project_nor_what_answers_no_more_is_named(memory):
    memory.remember("auth sessions live in redis", id="other", project="shop")
    memory.remember("auth sessions live in redis", id="forgotten")
    memory.forget("forgotten")
    memory.remember("auth sessions live in redis", id="over", valid_to="2020-01-01")
    memory.remember("auth sessions live in postgres", id="new", project="web")
    assert memory.similar("new") == []


def test_a_setting_says_how_near_and_a_wrong_one_is_refused(memory, monkeypatch):
    memory.remember("auth sessions live in redis", id="old")
    memory.remember("auth sessions live in postgres", id="new")
    monkeypatch.setenv(SETTING, "1")
    assert memory.similar("new") == []
    monkeypatch.setenv(SETTING, "0.01")
    assert [one.id for one in memory.similar("new")] == ["old"]
    monkeypatch.setenv(SETTING, "off")
    assert memory.similar("new") == []
    for wrong in ("near", "0", "1.1", "nan"):
        monkeypatch.setenv(SETTING, wrong)
        with pytest.raises(InvalidInput, match=SETTING):
            memory.similar("new")
    monkeypatch.delenv(SETTING)
    with pytest.raises(UnknownMemory):
        memory.similar("nobody")


# --- supersedes ------------------------------------------------------------------------------------


def test_a_memory_takes_the_place_of_others_in_one_append(memory):
    memory.remember("auth sessions live in redis", id="a")
    memory.remember("auth sessions live in mongo", id="b")
    head = memory.status().head
    assert memory.remember("auth sessions live in postgres", id="new", supersedes=["a", "b"]) == "new"
    assert kinds_since(memory, head) == [Ingested, Superseded, Superseded]
    assert ids(memory.recall(QUERY)) == ["new"]
    assert memory.get("a").state.superseded_by == "new"
    assert memory.verify().exact


def test_a_revision_takes_the_place_of_another_memory_in_one_append(memory):
    memory.remember("auth sessions live in redis", id="a")
    memory.remember("auth sessions live in mongo", id="b")
    head = memory.status().head
    assert memory.revise("b", "auth sessions live in postgres", supersedes="a") == 2
    assert kinds_since(memory, head) == [Revised, Superseded]
    memory.remember("auth sessions live in redis again", id="c")
    assert memory.revise("c", supersedes="b") == 1
    assert ids(memory.recall(QUERY)) == ["c"]


@pytest.mark.parametrize("old", ["nobody", "forgotten", "new"])
def test_what_cannot_be_superseded_is_refused_and_nothing_is_kept(memory, old):
    memory.remember("auth sessions live in redis", id="forgotten")
    memory.forget("forgotten")
    head = memory.status().head
    with pytest.raises((InvalidInput, UnknownMemory)):
        memory.remember("auth sessions live in postgres", id="new", supersedes=old)
    with pytest.raises((InvalidInput, UnknownMemory)):
        memory.revise("forgotten", "x", supersedes=old)
    assert memory.status().head == head


def test_many_may_replace_what_was_told_before_them_in_the_same_batch(memory):
    memory.remember_many(
        [{"content": "tea", "id": "a"}, {"content": "green tea", "id": "b", "supersedes": "a"}]
    )
    assert [one.id for one in memory.memories()] == ["b"]
    with pytest.raises(HeadMoved):
        memory.remember_many([{"content": "black tea", "supersedes": "b"}], expect=1)


def test_what_was_forgotten_meanwhile_is_not_superseded(tmp_path, monkeypatch):
    """Another process forgets it after it was looked at, before the append."""
    looked = remembering._require_replaceable
    with Memory.open(tmp_path / "store", embedder="hash") as memory:
        memory.remember("auth sessions live in redis", id="old")
        meanwhile = [True]

        def then_forgotten(*given: object) -> None:
            looked(*given)
            if meanwhile:
                meanwhile.pop()
                with Memory.open(tmp_path / "store", embedder=None) as other:
                    other.forget("old")

        monkeypatch.setattr(remembering, "_require_replaceable", then_forgotten)
        with pytest.raises((InvalidInput, UnknownMemory)):
            memory.remember("auth sessions live in postgres", id="new", supersedes="old")
        assert [one.fact for one in memory.store.log.read() if isinstance(one.fact, Superseded)] == []


def test_a_link_that_supersedes_does_so_at_once(memory):
    memory.remember("auth sessions live in redis", id="old")
    memory.remember("auth sessions live in postgres", id="new")
    head = memory.status().head
    assert memory.link("new", "old", "supersedes") == head + 1
    assert kinds_since(memory, head) == [Superseded]
    assert ids(memory.recall(QUERY)) == ["new"]
    with pytest.raises(InvalidInput, match="leave the weight out"):
        memory.link("new", "old", "supersedes", weight=0.5)
    memory.remember("deploys happen on tuesdays", id="deploys")
    memory.link("new", "deploys", "supports")
    assert kinds_since(memory, memory.status().head - 1) == [Linked]
