"""The facade as its callers see it."""

from __future__ import annotations

import math
from datetime import UTC, datetime

import numpy as np
import pytest

from recollect.engine.embedding.embedder import EmbedderMismatch
from recollect.events.errors import HeadMoved, InvalidInput, RecollectError, UnknownMemory
from recollect.interfaces.python.memory import Memory
from recollect.query import formula as formulas

AUTH = "Auth sessions live in Postgres, not Redis"
QUESTION = "where are auth sessions stored?"


def ids(answer) -> list[str]:
    return [hit.id for hit in answer.hits]


def head(memory: Memory) -> int:
    return memory.status().head


def test_what_was_remembered_is_recalled_with_its_content_and_factors(memory):
    a = memory.remember(AUTH, kind="decision", tags=["auth"], importance=0.8)
    memory.remember("Deploys happen on Tuesdays")
    answer = memory.recall(QUESTION, k=5)
    assert answer.hits[0].id == a
    assert answer.hits[0].content == AUTH
    assert answer.hits[0].rank == 1
    assert answer.hits[0].factors["lexical.rank"] == 1.0
    assert answer.formula.startswith("recollect@")
    assert answer.degraded == ()


def test_a_hit_carries_what_is_known_of_its_memory_at_the_basis(memory):
    a = memory.remember(
        AUTH,
        kind="decision",
        tags=["auth", "db"],
        project="shop",
        session="s1",
        source="notes.md",
        at="2026-01-01",
    )
    before = head(memory)
    memory.revise(a, AUTH + " any more", project="store", tags=["auth"])
    hit = memory.recall(QUESTION).hits[0]
    assert (hit.kind, hit.at, hit.project) == ("decision", "2026-01-01T00:00:00.000000Z", "store")
    assert (hit.session, hit.source, hit.tags, hit.revision) == ("s1", "notes.md", ("auth",), 2)
    then = memory.at(before).recall(QUESTION).hits[0]
    assert (then.project, then.tags, then.revision) == ("shop", ("auth", "db"), 1)


def test_an_argument_that_there_is_not_is_a_type_error_that_names_it(memory):
    a = memory.remember(AUTH)
    for call in (
        lambda: memory.recall(QUESTION, kk=2),
        lambda: memory.at(head(memory)).recall(QUESTION, kk=2),
        lambda: memory.explain(QUESTION, a, kk=2),
        lambda: memory.revise(a, kk=2),
    ):
        with pytest.raises(TypeError, match="argument 'kk'") as raised:
            call()
        assert isinstance(raised.value, InvalidInput)


def test_a_limit_gives_the_memories_made_last_in_order_of_birth(memory):
    late = memory.remember("late", at="2026-03-01")
    memory.remember("early", at="2026-01-01")
    middle = memory.remember("middle", at="2026-02-01")
    assert [memo.id for memo in memory.memories(limit=2)] == [late, middle]
    assert [memo.id for memo in memory.memories(at=head(memory), limit=1)] == [late]
    assert len(memory.memories(limit=99)) == 3
    with pytest.raises(InvalidInput, match="limit is 0"):
        memory.memories(limit=0)


def test_a_score_is_the_documents_arithmetic(memory):
    a = memory.remember(AUTH, at="2026-01-01")
    answer = memory.recall(QUESTION, now="2026-01-31", formula="reverie")
    expected = (1 / (30 + 1) + 1 / (30 + 1)) * (1 + 0.3 * math.exp(-30 / 30))
    assert ids(answer) == [a]
    assert answer.hits[0].factors["recency_boost"] == 1 + 0.3 * math.exp(-30 / 30)
    assert answer.hits[0].score == float(f"{expected:.12g}")


def test_an_answer_names_its_basis_its_formula_and_its_recall(memory):
    memory.remember(AUTH)
    before = head(memory)
    answer = memory.recall(QUESTION)
    assert answer.basis == before
    assert memory.history(ids(answer)[0])[-1].summary.startswith("returned")
    assert answer.id == f"r{before + 2}"  # the formula is adopted first
    assert memory.recall(QUESTION).id == f"r{before + 4}"


def test_a_recall_that_is_not_tracked_counts_no_access_and_one_not_recorded_writes_nothing(memory):
    a = memory.remember(AUTH)
    memory.recall(QUESTION, track=False)
    assert memory.get(a).state.access_count == 0
    before = head(memory)
    assert memory.recall(QUESTION, record=False).id is None
    assert head(memory) == before
    memory.recall(QUESTION)
    assert memory.get(a).state.access_count == 1


def test_an_unrelated_store_and_an_empty_one_answer_with_nothing(open_memory):
    empty = open_memory("empty")
    assert empty.recall("anything").hits == ()
    words_only = open_memory("words", embedder=None)
    words_only.remember(AUTH)
    answer = words_only.recall("zebra")
    assert answer.hits == ()
    assert answer.degraded == ("vector: no embedder, ranked by words only",)


@pytest.mark.parametrize("formula", formulas.names())
def test_without_an_embedder_a_formula_ranks_by_words_or_says_that_it_finds_nothing(
    open_memory, formula: str
):
    memory = open_memory("words", embedder=None, formula=formula)
    memory.remember(AUTH)
    answer = memory.recall(QUESTION)
    if formula in ("engram", "engram-legacy", "memorysync"):
        said = f"vector: no embedder, formula {formula!r} finds nothing without a vector"
        assert (answer.hits, answer.degraded) == ((), (said,))
    else:
        said = "vector: no embedder, ranked by words only"
        assert (len(answer.hits), answer.degraded) == (1, (said,))
    assert said in memory.status().degraded


@pytest.mark.parametrize(
    "query",
    [
        "",
        "   ",
        "the of and",
        "?!…",
        "🦊",
        "会议记录",
        "مرحبا",
        "100%_\"'",
        "NEAR(a b)",
        "-rf",
        "x" * 10_000,
        "a\x00b",
    ],
)
def test_odd_questions_get_an_answer_and_never_an_error(memory, query: str):
    memory.remember(AUTH)
    memory.remember("运行 rm -rf 之前要小心 🦊")
    before = head(memory)
    answer = memory.recall(query)
    assert answer.basis == before
    assert len(answer.hits) <= 2
    assert memory.verify().exact


def test_flags_paths_other_scripts_and_emoji_are_found_by_words_alone(open_memory):
    memory = open_memory(embedder=None)
    flag = memory.remember("Never run rm -rf on the build host")
    path = memory.remember("The entry point is src/app/main.py")
    chinese = memory.remember("数据库迁移在星期二")
    fox = memory.remember("The mascot is a 🦊")
    for query, expected in (("rm -rf", flag), ("src/app/main.py", path), ("数据库", chinese), ("🦊", fox)):
        assert ids(memory.recall(query, k=1)) == [expected], query


def test_a_known_id_is_an_upsert_and_revisions_count(memory):
    assert memory.remember(AUTH, id="auth") == "auth"
    memory.remember("Auth sessions live in DynamoDB", id="auth")
    assert memory.get("auth").content == "Auth sessions live in DynamoDB"
    assert memory.get("auth").state.revision_count == 2
    assert memory.revise("auth", "Auth sessions live in Cassandra", importance=0.9) == 3
    assert memory.get("auth").state.importance == 0.9
    assert ids(memory.recall("Cassandra", filters={"kinds": ["note"]})) == ["auth"]
    then = memory.recall("Postgres", formula="reverie")
    assert then.hits[0].factors.get("lexical") is None  # the old text no longer matches


def test_revise_changes_only_what_is_named_and_none_clears(memory):
    a = memory.remember(AUTH, project="web", tags=["auth"], priority=4)
    memory.revise(a, project=None)
    state = memory.get(a).state
    assert (state.project, state.tags, state.priority) == (None, ("auth",), 4)
    assert memory.get(a).content == AUTH


def test_a_forgotten_memory_no_longer_answers_until_it_is_restored(memory):
    a = memory.remember(AUTH)
    memory.forget(a, "moved")
    assert memory.recall(QUESTION).hits == ()
    assert memory.get(a).hidden_because == "forgotten: moved"
    with pytest.raises(InvalidInput, match="restore it first"):
        memory.access(a)
    memory.restore(a)
    assert ids(memory.recall(QUESTION)) == [a]
    with pytest.raises(InvalidInput, match="nothing to restore"):
        memory.restore(a)


def test_accesses_count_per_session(memory):
    a = memory.remember(AUTH, session="one")
    for session in ("one", "two", "two", "three"):
        memory.access(a, session)
    state = memory.get(a).state
    assert (state.access_count, state.session_spread, state.used_count) == (4, 3, 4)


def test_an_expired_memory_no_longer_answers(memory, clock):
    a = memory.remember(AUTH, expires_at=(clock.now + 60_000_000) / 1e6)
    assert ids(memory.recall(QUESTION)) == [a]
    clock.now += 120_000_000
    assert memory.recall(QUESTION).hits == ()


def test_filters_hold(memory):
    a = memory.remember(AUTH, project="web", kind="decision", tags=["auth", "db"])
    b = memory.remember(AUTH + " still", project="app")
    assert ids(memory.recall(QUESTION, filters={"project": "app"})) == [b]
    assert ids(memory.recall(QUESTION, filters={"kinds": "decision"})) == [a]
    assert ids(memory.recall(QUESTION, filters={"tags": ["db", "x"]})) == [a]
    assert ids(memory.recall(QUESTION, filters={"exclude": [a]})) == [b]
    with pytest.raises(InvalidInput, match="unknown filters entry 'colour'"):
        memory.recall(QUESTION, filters={"colour": "red"})


def test_the_past_answers_with_its_own_corpus_state_and_clock(memory):
    a = memory.remember(AUTH)
    first = memory.recall(QUESTION)
    for n in range(50):
        memory.remember(f"auth sessions note {n} stored somewhere")
    memory.forget(a)
    then = memory.at(first.basis).recall(QUESTION, now=first.now)
    assert [(h.id, h.score) for h in then.hits] == [(h.id, h.score) for h in first.hits]
    assert then.id is None
    assert memory.at(first.basis).get(a).visible
    assert len(memory.at(first.basis).memories()) == 1
    assert a not in ids(memory.recall(QUESTION, k=100))


def test_the_past_is_found_by_seq_by_time_and_by_phrase(memory, clock):
    memory.remember("one")
    moment = datetime.fromtimestamp(clock.now / 1e6, UTC)
    seq = head(memory)
    clock.now += 3 * 86_400_000_000
    memory.remember("two")
    for when in (seq, f"@{seq}", moment.isoformat(), moment, "2 days ago"):
        assert [m.content for m in memory.at(when).memories()] == ["one"], when
    with pytest.raises(InvalidInput, match="ends at"):
        memory.at(10_000)


def test_reading_the_past_writes_nothing(memory):
    memory.remember(AUTH)
    memory.recall(QUESTION)
    before = head(memory)
    memory.at(2).recall(QUESTION)
    memory.at("1 hour ago").memories()
    memory.verify()
    assert head(memory) == before


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"content": ""}, "content is empty"),
        ({"content": " \n"}, "content is empty"),
        ({"content": 7}, "content must be text"),
        ({"content": "x" * 1_000_001}, "at most 1,000,000"),
        ({"content": "é" * 600_000}, "bytes"),
        ({"content": "a\ud800"}, "lone surrogate"),
        ({"importance": float("nan")}, "importance"),
        ({"importance": float("inf")}, "importance"),
        ({"importance": 1.5}, "from 0 to 1"),
        ({"importance": "high"}, "must be a number"),
        ({"priority": 9}, "from 1 to 5"),
        ({"priority": 2.5}, "whole number"),
        ({"tags": "auth"}, "list of texts"),
        ({"tags": [""]}, "tags entry"),
        ({"id": " x"}, "space around it"),
        ({"at": "next moon"}, "is not a time"),
        ({"valid_from": "2026-02-01", "valid_to": "2026-01-01"}, "wrong order"),
    ],
)
def test_a_refused_memory_says_why_and_leaves_nothing_behind(memory, arguments: dict, complaint: str):
    memory.remember("something")
    before = head(memory)
    with pytest.raises(InvalidInput, match=complaint):
        memory.remember(**{"content": AUTH, **arguments})
    with pytest.raises(InvalidInput, match=complaint):
        memory.remember_many(["fine", {"content": AUTH, **arguments}])
    assert head(memory) == before


@pytest.mark.parametrize("k", [0, -1, 2.5, True, 100_000])
def test_a_wrong_k_is_refused(memory, k: object):
    with pytest.raises(InvalidInput, match="k is"):
        memory.recall(QUESTION, k=k)


def test_a_history_tells_of_links_on_both_sides_and_of_their_end(memory):
    a, b, c = (memory.remember(text) for text in ("tea", "kettle", "cup"))
    memory.link(a, b, "supports")
    memory.unlink(a, b)
    for linked in (a, b):
        assert [event.type for event in memory.history(linked)][-2:] == ["edge.linked", "edge.unlinked"]
    assert {event.type for event in memory.history(c)} == {"memory.ingested"}


def test_unknown_names_are_refused(memory):
    for call in (
        lambda: memory.get("nobody"),
        lambda: memory.history("nobody"),
        lambda: memory.forget("nobody"),
        lambda: memory.access("nobody"),
        lambda: memory.revise("nobody", "x"),
    ):
        with pytest.raises(UnknownMemory, match="nobody"):
            call()
    with pytest.raises(InvalidInput, match="one of returned, injected, used"):
        memory.access(memory.remember("x"), how="seen")
    with pytest.raises(InvalidInput, match="no argument 'colour'"):
        memory.remember_many([{"content": "x", "colour": "red"}])
    with pytest.raises(InvalidInput, match="no embedder named"):
        Memory.open(":memory:", embedder="word2vec")


def test_another_embedder_is_refused_with_the_way_out(open_memory):
    open_memory().remember(AUTH)
    with pytest.raises(EmbedderMismatch, match="reembed"):
        open_memory(embedder=lambda texts: np.ones((len(texts), 8)))
    assert ids(open_memory(embedder=None).recall("Postgres"))


def test_the_same_name_with_other_vectors_is_refused(open_memory):
    def embed(texts):
        return np.arange(1.0, 9.0) * np.ones((len(texts), 1))

    open_memory(embedder=embed).remember(AUTH)

    def other(texts):
        return np.arange(8.0, 0.0, -1.0) * np.ones((len(texts), 1))

    other.__qualname__ = embed.__qualname__
    with pytest.raises(EmbedderMismatch, match="cosine"):
        open_memory(embedder=other).recall(QUESTION)


def test_an_embedder_that_gives_nan_is_refused_and_nothing_is_written(open_memory):
    memory = open_memory(embedder=lambda texts: np.full((len(texts), 8), np.nan))
    with pytest.raises(InvalidInput):
        memory.remember(AUTH)
    assert head(memory) == 0


def test_another_formula_comes_into_force_with_its_first_recall_and_the_past_keeps_its_own(
    open_memory, tmp_path
):
    memory = open_memory()
    memory.remember(AUTH)
    first = memory.recall(QUESTION)
    mine = tmp_path / "mine.toml"
    mine.write_text(
        'name = "mine"\nstages = [{ op = "retrieve", channel = "lexical" }, { op = "fuse", channels = ["lexical"] }]',
        "utf-8",
    )
    other = open_memory(formula=str(mine))
    second = other.recall(QUESTION)
    assert second.formula.startswith("mine@")
    assert second.hits[0].score == float(f"{1 / (60 + 1):.12g}")
    assert open_memory().recall(QUESTION).formula == second.formula
    assert other.at(first.basis + 1).recall(QUESTION).formula == first.formula
    assert other.verify().exact


def test_status_says_what_is_there(memory):
    memory.remember(AUTH)
    a = memory.remember("two")
    memory.forget(a)
    memory.recall(QUESTION)
    status = memory.status()
    assert (status.memories, status.visible, status.recalls) == (2, 1, 1)
    assert status.by_status["staged"] == 1
    assert status.embedder.name == "hash/1"
    assert status.degraded == ()


def test_a_file_is_not_a_store(tmp_path):
    path = tmp_path / "file"
    path.write_text("x")
    with pytest.raises(InvalidInput, match="is a file"):
        Memory.open(path, embedder=None)


# --- what is refused, and leaves nothing behind ------------------------------------------------------


@pytest.mark.parametrize("items", ["abc", b"abc", {"content": "x"}])
def test_remember_many_refuses_a_single_item(memory, items):
    before = memory.store.log.head
    with pytest.raises(InvalidInput, match="put it in a list"):
        memory.remember_many(items)
    assert memory.store.log.head == before


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda m: m.remember_many([5]), "a text or a mapping"),
        (lambda m: m.remember("x", importance=10**400), "from 0 to 1"),
        (lambda m: m.remember("x", at="3000 years ago"), "outside the years 1 to 9999"),
        (lambda m: m.recall("x", now="3000 years ago"), "outside the years 1 to 9999"),
        (lambda m: m.recall("x", formula=5), "neither a name, nor a path"),
        (lambda m: m.recall("x", formula=""), "is not built in"),
        (lambda m: m.recall("x", formula="reverie@0123456789ab"), "is not one formula of this log"),
        (lambda m: m.access(None), "must be a list of texts"),
        (lambda m: m.access("a", recall=12), "they look like 'r12'"),
        (lambda m: m.why(12, "a"), "they look like 'r12'"),
        (lambda m: m.revise("a", valid_to="2025-12-31"), "wrong order"),
        (lambda m: m.revise("a", valid_from="2026-03-02", valid_to="2026-03-01"), "wrong order"),
    ],
)
def test_invalid_arguments_are_refused_with_the_value_and_write_nothing(memory, call, said):
    memory.remember("alpha", id="a", valid_from="2026-01-01")
    before = memory.store.log.head
    with pytest.raises(RecollectError, match=said):
        call(memory)
    assert memory.store.log.head == before


def test_a_whole_number_of_numpy_is_a_whole_number(memory):
    memory.remember("alpha", id="a")
    memory.remember("alpha too", id="b")
    assert len(memory.recall("alpha", k=np.int64(1)).hits) == 1


def test_a_formula_of_the_log_is_named_with_its_digest(memory):
    memory.remember("alpha", id="a")
    label = memory.recall("alpha", formula="reverie").formula
    assert label.startswith("reverie@")
    assert memory.recall("alpha", formula=label).formula == label
    assert memory.at("now").recall("alpha", formula=label).formula == label


@pytest.mark.parametrize(
    "call",
    [
        lambda memory, place: Memory.open(place, embeder="hash"),
        lambda memory, place: memory.erase("a", dryrun=True),
        lambda memory, place: memory.dream(setings={}),
        lambda memory, place: memory.verify(attested=True),
        lambda memory, place: memory.compare("reverie", "omega", lst=1),
        lambda memory, place: memory.fork(place, closedloop=True),
        lambda memory, place: memory.doctor(fixed=True),
        lambda memory, place: memory.export(place, fmt="markdown"),
        lambda memory, place: memory.import_(place, fmt="mem0"),
        lambda memory, place: memory.retain(recall="1d"),
        lambda memory, place: memory.recalls(grp="alpha"),
        lambda memory, place: memory.bisect("alpha", "a", untilrank=1),
        lambda memory, place: memory.ranks("a", "alpha", point=3),
        lambda memory, place: memory.expect("r2", "a", frst=True),
        lambda memory, place: memory.check(frmula="omega"),
        lambda memory, place: memory.proposals(accepted=("p1-1",)),
        lambda memory, place: memory.tune("recollect", outs=place),
        lambda memory, place: memory.watch(place, onse=True),
        lambda memory, place: memory.mcp(profil="audit"),
        lambda memory, place: memory.mcp(profile="none", files=True),
        lambda memory, place: memory.mcp(profile="none", embedder="hash"),
        lambda memory, place: memory.serve(prt=0),
    ],
)
def test_a_misspelt_keyword_is_refused_and_nothing_is_written(memory, tmp_path, call):
    memory.remember("alpha", id="a")
    head = memory.status().head
    with pytest.raises(TypeError, match="argument '"):
        call(memory, tmp_path / "place")
    assert memory.status().head == head
    assert not (tmp_path / "place").exists()


@pytest.mark.parametrize("path", ["", "  "])
def test_a_store_needs_a_name(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidInput, match="names no directory"):
        Memory.open(path, embedder=None)
    assert list(tmp_path.iterdir()) == []


def test_a_conditional_write_is_refused_when_the_log_has_moved(memory):
    memory.remember("alpha", id="a")
    before = memory.store.log.head
    items = [{"content": f"text {number}", "id": f"n{number}"} for number in range(600)]
    assert memory.remember_many(items, expect=before)[-1] == "n599"
    with pytest.raises(HeadMoved):
        memory.remember_many(["too late"], expect=before)
    assert memory.store.log.head == before + 600
