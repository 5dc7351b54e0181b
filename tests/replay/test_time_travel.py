"""The past answers as it did: at S everything equals a store that ends at S, and looking back leaves no trace."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from travel_world import DAY, QUERY, START, Hours, histories, tell, texts, world

from recollect.engine.answers import Answer
from recollect.engine.embedding.embedder import HashEmbedder
from recollect.engine.moments import to_datetime
from recollect.events.errors import InvalidInput, UnknownMemory
from recollect.events.facts import EmbedderAdopted, Ingested, Reembedded
from recollect.interfaces.python.memory import Memory
from recollect.query import formula as formulas


@contextmanager
def prefix_of(memory: Memory, seq: int) -> Iterator[Memory]:
    """A store of its own whose log is the first `seq` events, frame by frame."""
    with Memory.open(":memory:", embedder="hash", clock=Hours()) as prefix:
        frames = list(memory._store.log.frames(0, seq))
        if frames:
            prefix._store.log.append_frames(frames)
        prefix._store.catch_up()
        yield prefix


def hits(answer: Answer) -> list[tuple[str, float, dict[str, float], str]]:
    return [(hit.id, hit.score, hit.factors, hit.content) for hit in answer.hits]


@settings(max_examples=25)
@given(history=histories, query=texts, data=st.data())
def test_as_of_equals_a_store_that_ends_there_for_every_built_in_formula(history, query, data):
    with world(":memory:", history) as memory:
        head = memory._store.log.head
        memory._store.catch_up()
        seq = memory._store.projections.adoptions.whole(data.draw(st.integers(0, head)))
        now = to_datetime(memory._store.log.time_of(seq))
        then = memory.at(seq)
        with prefix_of(memory, seq) as prefix:
            assert prefix._store.log.head == seq
            for name in formulas.names():
                past = then.recall(query, formula=name, session="s1", k=4)
                live = prefix.recall(query, formula=name, session="s1", k=4, now=now, record=False)
                assert hits(past) == hits(live), name
                assert (past.basis, past.formula, past.now) == (live.basis, live.formula, live.now)
            assert then.memories() == prefix.at(seq).memories()


@settings(max_examples=10)
@given(history=histories)
def test_looking_back_changes_neither_the_log_nor_any_later_answer(history):
    with tempfile.TemporaryDirectory() as folder:
        looked, untouched = (world(Path(folder) / name, history) for name in ("looked", "untouched"))
        with looked, untouched:
            before = {path: path.read_bytes() for path in Path(folder, "looked").rglob("*.seg")}
            look_around(looked, Path(folder))
            assert {path: path.read_bytes() for path in Path(folder, "looked").rglob("*.seg")} == before
            assert looked.status().head == untouched.status().head
            later = [to_datetime(START + 90 * DAY)] * 2
            answers = [m.recall(QUERY, now=now) for m, now in zip((looked, untouched), later, strict=True)]
            assert hits(answers[0]) == hits(answers[1])


def look_around(memory: Memory, folder: Path) -> None:
    head = memory.status().head
    memory.at(head // 2).recall(QUERY)
    memory.at(0).memories()
    list(memory.log())
    memory.sql("SELECT count(*) FROM memory_history")
    memory.export(folder / "log.jsonl")
    for memo in memory.memories()[:2]:
        memory.why_changed(QUERY, memo.id, since=0)
        memory.bisect(QUERY, memo.id, since=0, until_rank=1, every=True)
        memory.ranks(memo.id, QUERY)
        memory.get(memo.id, at=head)


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory.open(":memory:", embedder="hash", formula="reverie", clock=Hours()) as opened:
        yield opened


def test_the_answer_names_the_seq_and_the_formula_in_force_then(memory: Memory):
    memory.remember("auth session", id="a")
    memory.recall("auth")  # adopts the default formula
    before = memory.status().head
    other = formulas.built_in("reverie-budget")
    memory.adopt(other)
    assert memory.at(before).recall("auth").formula == formulas.built_in("reverie").label
    now = memory.at(memory.status().head).recall("auth")
    assert (now.formula, now.basis) == (other.label, memory.status().head)
    assert memory.at(before).recall("auth", formula="reverie-budget").formula == other.label


def test_before_a_formula_was_adopted_the_default_is_in_force_whatever_the_store_is_opened_with(
    memory: Memory,
):
    memory.remember("auth session", id="a")
    before = memory.status().head
    default = formulas.built_in("recollect").label
    assert memory.at(before).recall("auth").formula == default
    memory.recall("auth")  # adopts reverie
    assert memory.at(before).recall("auth").formula == default
    assert memory.at(before).explain("auth", "a").formula == default
    assert memory.at("now").recall("auth").formula == formulas.built_in("reverie").label


def test_valid_time_and_system_time_are_two_clocks(memory: Memory):
    memory.remember("auth lives in redis", id="old", valid_from="2026-01-01", valid_to="2026-03-01")
    first = memory.status().head
    memory.remember("auth lives in postgres", id="new", valid_from="2026-03-01")
    memory.remember("auth is hard", id="undated")

    def found(at: int, valid_at: str) -> set[str]:
        return {hit.id for hit in memory.at(at).recall("auth", filters={"valid_at": valid_at}).hits}

    head = memory.status().head
    assert found(head, "2026-02-01") == {"old", "undated"}
    assert found(head, "2026-03-01") == {"new", "undated"}
    assert found(first, "2026-03-01") == set()
    assert [memo.id for memo in memory.memories({"valid_at": "2026-02-01"}, at=head)] == ["old", "undated"]


def test_a_memory_is_unknown_before_its_birth(memory: Memory):
    memory.remember("auth", id="a")
    assert memory.get("a", at=2).content == "auth"
    with pytest.raises(UnknownMemory, match="as of @1"):
        memory.get("a", at=1)
    with pytest.raises(InvalidInput, match="ends at @2"):
        memory.at(3)


def change_embedder(memory: Memory, name: str) -> int:
    """What re-embedding writes: the adoption, and every memory's vector anew."""
    other = HashEmbedder()
    vector = memory._writer.embedding.vectors(["another text"])[0]
    vectors = tuple((memo.id, vector) for memo in memory.memories())
    return tell(
        memory,
        EmbedderAdopted(name=name, dimensions=other.dimensions, probe=vector),
        Reembedded(embedder=name, vectors=vectors),
    )


def test_the_past_of_an_embedder_that_is_gone_is_ranked_by_words_and_says_so(tmp_path: Path):
    with Memory.open(tmp_path / "store", embedder="hash", formula="reverie", clock=Hours()) as memory:
        memory.remember("auth session", id="a")
        memory.remember("unrelated", id="b")
        change_embedder(memory, "elsewhere/7")
        past = memory.at(memory.status().head).recall("auth")
        assert "'elsewhere/7'" in past.degraded[0]
        assert "words only" in past.degraded[0]
        assert all("vector" not in hit.factors for hit in past.hits)
        assert memory.at(3).recall("auth").degraded == ()


def test_a_question_about_the_past_is_embedded_by_the_embedder_of_then(tmp_path: Path):
    class Other(HashEmbedder):
        name = "other/1"

    with Memory.open(tmp_path / "store", embedder="hash", formula="reverie", clock=Hours()) as memory:
        memory.remember("auth session", id="a")
        then = memory.status().head
        vector = memory.at(then).recall("auth").hits[0].factors["vector"]
        change_embedder(memory, "other/1")
    with Memory.open(tmp_path / "store", embedder=Other(), clock=Hours()) as memory:
        again = memory.at(then).recall("auth")
        assert again.degraded == ()
        assert again.hits[0].factors["vector"] == vector


def test_an_ingest_of_the_same_text_is_seen_from_its_own_seq_on(memory: Memory):
    seq = tell(memory, Ingested(id="a", content="auth", at=START))
    assert [hit.id for hit in memory.at(seq).recall("auth").hits] == ["a"]
    assert memory.at(seq - 1).recall("auth").hits == ()
