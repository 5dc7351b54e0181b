"""Ranks over a past that was erased since: of an erased memory none is told, of the others it is said."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from travel_world import QUERY, Hours

from recollect.interfaces.python.memory import Memory
from recollect.replay.why import NothingLeftToExplain

EMBEDDER, A, B, C = 1, 2, 3, 4


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path, embedder="hash", clock=Hours()) as opened:
        for id_ in ("a", "b", "c"):
            opened.remember(f"auth session {id_}", id=id_)
        assert opened.status().head == C
        yield opened


ASKED: dict[str, Callable[..., object]] = {
    "bisect": lambda memory, id_, since, until: memory.bisect(QUERY, id_, since, until, until_rank=2),
    "scan": lambda memory, id_, since, until: memory.bisect(QUERY, id_, since, until, every=True),
    "ranks": lambda memory, id_, since, until: memory.ranks(id_, QUERY, since, until),
    "why_changed": lambda memory, id_, since, until: memory.why_changed(QUERY, id_, since or 1, until),
}
every_way = pytest.mark.parametrize("ask", ASKED.values(), ids=ASKED)


@every_way
def test_an_erased_memory_is_refused_with_the_seq_of_its_erasure(memory: Memory, ask: Callable[..., object]):
    erased = memory.erase("b").at
    for since, until in ((None, None), (A, C), (B, B), (erased, None)):
        with pytest.raises(NothingLeftToExplain, match=f"'b' was erased at @{erased}; nothing is left"):
            ask(memory, "b", since, until)


@every_way
def test_an_id_that_was_remembered_anew_is_asked_from_there_on(memory: Memory, ask: Callable[..., object]):
    erased = memory.erase("b").at
    memory.recall("something else", record=True)
    anew = memory.remember("auth session again", id="b") and memory.status().head
    with pytest.raises(NothingLeftToExplain, match=f"erased at @{erased}.*remembered anew at @{anew}"):
        ask(memory, "b", B, None)
    ask(memory, "b", erased, None)
    assert memory.bisect(QUERY, "b").since == anew
    assert memory.ranks("b", QUERY).points[0].seq == anew


@every_way
def test_of_another_memory_it_is_said_that_something_which_could_have_ranked_is_gone(
    memory: Memory, ask: Callable[..., object]
):
    assert ask(memory, "a", A, C).redacted == ""
    erased = memory.erase("b").at
    line = (
        f"a memory that could have ranked was erased at @{erased}: ranks before that are computed without it"
    )
    assert ask(memory, "a", B, C).redacted == line
    assert ask(memory, "a", C, erased).redacted == line
    assert ask(memory, "a", A, A).redacted == ""  # it was not there yet
    assert ask(memory, "a", erased, None).redacted == ""
    last = memory.erase("c").at
    assert (
        ask(memory, "a", C, None).redacted
        == f"2 memories that could have ranked were erased by @{last}: ranks before that lack them"
    )


def test_why_changed_minds_its_two_moments_and_not_what_lies_between(memory: Memory):
    memory.erase("b")
    memory.erase("c")
    assert memory.why_changed(QUERY, "a", since=A).redacted == ""
