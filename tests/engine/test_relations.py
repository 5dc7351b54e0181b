"""Judging and relating memories through the facade."""

from __future__ import annotations

import pytest

from recollect.events.errors import InvalidInput, UnknownMemory


@pytest.fixture
def pair(memory):
    memory.remember("Deploys happen on Tuesdays", id="old")
    memory.remember("Deploys happen on Wednesdays", id="new")
    return memory


def test_ratings_add_up(pair):
    recall = pair.recall("deploys").id
    pair.rate("new", "helpful", recall=recall)
    pair.rate("new", "helpful", session="s1")
    pair.rate("old", "outdated")
    assert pair.get("new").state.feedback == 2
    assert pair.get("old").state.feedback == -2


def test_edges_come_and_go_and_the_past_keeps_them(pair):
    seq = pair.link("new", "old", "supports", 0.5)
    pair.link("new", "old", "extends")
    pair.unlink("new", "old", "extends")
    pair.unlink("new", "old")
    graph, number = pair.store.projections.graph, pair.store.projections.documents.ids.find("new")
    assert [(edge.kind, edge.weight) for edge in graph.edges_of(number, seq)] == [("supports", 0.5)]
    assert graph.edges_of(number, pair.status().head) == []


def test_only_an_edge_that_stands_can_be_taken_away(pair):
    pair.link("new", "old", "supports", 0.0)
    pair.link("new", "old", "extends")
    head = pair.status().head
    for complaint, call in (
        ("no edge from 'old' to 'new'; there is nothing to unlink", lambda: pair.unlink("old", "new")),
        (
            "no edge 'cites' from 'new' to 'old', only extends, supports;",
            lambda: pair.unlink("new", "old", "cites"),
        ),
    ):
        with pytest.raises(InvalidInput, match=complaint):
            call()
    assert pair.status().head == head
    assert pair.unlink("new", "old", "supports") == head + 1
    assert pair.unlink("new", "old") == head + 2
    with pytest.raises(InvalidInput, match="nothing to unlink"):
        pair.unlink("new", "old")


def test_a_superseded_memory_loses_to_the_one_that_took_its_place_until_it_is_restored(pair):
    pair.supersede("old", "new", "moved by a day")
    assert [hit.id for hit in pair.recall("when do deploys happen?").hits] == ["new"]
    assert pair.get("old").hidden_because == "superseded by 'new': moved by a day"
    pair.restore("old")
    assert {hit.id for hit in pair.recall("when do deploys happen?").hits} == {"old", "new"}


def test_what_makes_no_sense_is_refused_and_leaves_nothing_behind(pair):
    before = pair.status().head
    for error, complaint, call in (
        (InvalidInput, "and itself", lambda: pair.link("old", "old", "supports")),
        (InvalidInput, "weight", lambda: pair.link("old", "new", "supports", float("nan"))),
        (InvalidInput, "weight", lambda: pair.link("old", "new", "supports", -1.0)),
        (InvalidInput, "kind", lambda: pair.link("old", "new", "")),
        (InvalidInput, "no edge from 'old' to 'new'; there is nothing", lambda: pair.unlink("old", "new")),
        (InvalidInput, "verdict", lambda: pair.rate("old", "meh")),
        (InvalidInput, "recorded recall", lambda: pair.rate("old", "helpful", recall="r1")),
        (UnknownMemory, "ghost", lambda: pair.supersede("old", "ghost")),
    ):
        with pytest.raises(error, match=complaint):
            call()
    assert pair.status().head == before
