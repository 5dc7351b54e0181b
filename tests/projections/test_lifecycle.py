"""Lifecycle: the state of a memory at any position, and where each value comes from."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import DAY, log_of, logs

from recollect.events.envelope import Recorded
from recollect.events.facts import (
    Accessed,
    Consolidated,
    Downscaled,
    Erased,
    Forgotten,
    Ingested,
    Placed,
    Placement,
    Promoted,
    Promotion,
    Pruned,
    Pruning,
    Question,
    Rated,
    Recalled,
    Reembedded,
    Restored,
    Revised,
    StabilityChange,
    Stabilized,
    StrengthChange,
    Superseded,
)
from recollect.projections.columns import State
from recollect.projections.documents import Documents
from recollect.projections.lifecycle.lifecycle import Lifecycle
from recollect.projections.lifecycle.state import EVENTS_MAX, LifecycleState

TEA = Ingested(id="tea", content="green tea", at=5 * DAY, session="s0")


class Folded:
    """Documents and lifecycle over one log."""

    def __init__(self, log: list[Recorded] = ()) -> None:
        self.documents = Documents()
        self.lifecycle = Lifecycle(self.documents)
        for recorded in log:
            self.apply(recorded)

    def apply(self, recorded: Recorded) -> None:
        self.documents.apply(recorded)
        self.lifecycle.apply(recorded)

    def states(self, seq: int) -> dict[str, LifecycleState]:
        """The state of every memory that was born by `seq`."""
        return {
            id_: self.lifecycle.state(memory, seq)
            for memory, id_ in enumerate(self.documents.ids.values)
            if self.documents.newest_row(memory, seq) >= 0
        }

    def dump(self) -> tuple[State, State]:
        return copied(self.documents.dump()), copied(self.lifecycle.dump())

    def load(self, dumped: tuple[State, State]) -> None:
        self.documents.load(dumped[0])
        self.lifecycle.load(dumped[1])


def copied(state: State) -> State:
    return {name: value if isinstance(value, bytes) else value.copy() for name, value in state.items()}


def tea(*facts, seq: int | None = None) -> LifecycleState:
    log = log_of(TEA, *facts)
    return Folded(log).states(len(log) if seq is None else seq)["tea"]


def accessed(
    session: str | None, *, at: int = 6 * DAY, how: str = "used", recall: int | None = None
) -> Accessed:
    return Accessed(ids=("tea",), at=at, session=session, how=how, recall=recall)


def strengthened(after: float) -> Consolidated:
    return Consolidated(dream="d", changes=(StrengthChange(id="tea", before=0.0, after=after),))


def test_a_new_memory_has_the_defaults():
    assert tea() == LifecycleState(
        importance=0.5, priority=None, kind="note", tags=(), entities=(), project=None, session="s0", source=None,
        importance_tag=None, key=None, trust=1.0, embedder=None, created_at=5 * DAY, updated_at=5 * DAY,
        valid_from=None, valid_to=None, expires_at=None, revision_count=1, access_count=0, used_count=0,
        injected_count=0, session_spread=1, last_access_at=None, last_recall=None, feedback=0, helpful_count=0,
        unhelpful_count=0, outdated_count=0, strength=1.0, stability=1.0, depth_score=2,
        consolidation_status="staged", layer="", visibility="visible", hidden_reason="", superseded_by=None,
    )  # fmt: skip


def test_every_trait_of_an_ingest_is_kept():
    full = Ingested(
        id="x", content="", at=DAY, embedder="e", kind="decision", importance=0.75, priority=3, tags=("b", "a", "b"),
        entities=("E",), project="p", session="s", source="cli", valid_from=2 * DAY, valid_to=3 * DAY,
        expires_at=4 * DAY, importance_tag="Explicit", key="k", trust=0.5,
    )  # fmt: skip
    state = Folded(log_of(full)).states(1)["x"]
    assert (state.tags, state.entities) == (("a", "b"), ("E",))
    for name in set(Ingested.__struct_fields__) - {
        "id",
        "content",
        "at",
        "vector",
        "tags",
        "entities",
        "said_by",
    }:
        assert getattr(state, name) == getattr(full, name)


def test_ingesting_an_id_again_is_a_revision_that_keeps_when_and_where_it_was_created():
    again = Ingested(id="tea", content="black tea", at=9 * DAY, session="s9", importance=0.9)
    state = tea(again)
    assert (state.created_at, state.session) == (5 * DAY, "s0")
    assert (state.updated_at, state.importance, state.revision_count) == (9 * DAY, 0.9, 1 + 1)


def test_a_revision_changes_what_is_set_and_clears_what_is_none():
    state = tea(
        Revised(id="tea", at=7 * DAY, project="p", tags=("x",), priority=2, expires_at=9 * DAY),
        Revised(id="tea", at=6 * DAY, project=None, priority=None),
    )
    assert (state.project, state.priority, state.tags, state.expires_at) == (None, None, ("x",), 9 * DAY)
    assert (state.revision_count, state.updated_at, state.created_at) == (1 + 2, 6 * DAY, 5 * DAY)


def test_a_new_embedder_is_no_revision():
    state = tea(Reembedded(embedder="e2", vectors=(("tea", b""),)))
    assert (state.embedder, state.revision_count, state.updated_at) == ("e2", 1, 5 * DAY)


def test_every_kind_of_access_counts_once_per_event_and_the_latest_time_stays():
    state = tea(
        accessed(None, how="returned", at=8 * DAY, recall=7),
        accessed(None, how="injected", at=6 * DAY),
        Accessed(ids=("tea", "tea", "unknown"), at=7 * DAY, how="used"),
    )
    assert (state.access_count, state.used_count, state.injected_count) == (3, 1, 1)
    assert (state.last_access_at, state.last_recall) == (8 * DAY, 7)


def test_a_recall_by_itself_is_no_access():
    question = Question(text="tea", now=6 * DAY)
    assert tea(Recalled(question=question, basis=1, formula="f", ids=("tea",), scores=(1.0,))) == tea()


def test_the_spread_counts_distinct_named_sessions_with_that_of_creation():
    facts = [accessed(session) for session in ("s0", "s1", None, "s1", "s2")]
    spreads = [tea(*facts, seq=seq).session_spread for seq in range(1, 7)]
    assert spreads == [1, 1, 1 + 1, 1 + 1, 1 + 1, 1 + 2]


def test_the_spread_of_a_memory_without_sessions_is_one():
    log = log_of(
        Ingested(id="x", content="", at=0),
        Accessed(ids=("x",), at=0),
        Accessed(ids=("x",), at=0, session="s"),
    )
    assert [Folded(log).states(seq)["x"].session_spread for seq in (1, 2, 3)] == [max(1, 0), max(1, 0), 1]


def test_feedback_adds_one_for_helpful_and_takes_one_or_two():
    verdicts = ("helpful", "helpful", "unhelpful", "outdated")
    state = tea(*(Rated(id="tea", verdict=verdict, at=0) for verdict in verdicts))
    assert state.feedback == 1 + 1 - 1 - 2
    assert (state.helpful_count, state.unhelpful_count, state.outdated_count) == (2, 1, 1)


def test_dreams_write_strength_stability_status_depth_and_layer():
    state = tea(
        strengthened(0.7),
        Stabilized(dream="d", changes=(StabilityChange(id="tea", before=1.0, after=2.5),)),
        Placed(
            dream="d",
            changes=(
                Placement(id="tea", status_before="staged", status="archived", depth_before=2, depth=1),
            ),
        ),
        Promoted(
            dream="d", changes=(Promotion(id="tea", layer_before="", layer="kb", depth_before=1, depth=3),)
        ),
    )
    assert (state.strength, state.stability, state.depth_score) == (0.7, 2.5, 3)
    assert (state.consolidation_status, state.layer) == ("archived", "kb")


def test_downscales_reach_every_memory_from_its_birth_or_its_last_set_strength_on():
    down = Downscaled(dream="d", factor=0.5, floor=0.2)
    log = log_of(down, TEA, down, strengthened(0.8), down, down, Ingested(id="new", content="", at=0))
    strengths = [Folded(log).states(seq)["tea"].strength for seq in range(2, 7)]
    assert strengths == [1.0, 1.0 * 0.5, 0.8, 0.8 * 0.5, max(0.2, 0.8 * 0.5 * 0.5)]
    assert Folded(log).states(7)["new"].strength == 1.0


def test_the_tag_that_a_memory_had_at_a_downscale_decides_its_factor():
    down = Downscaled(dream="d", factor=0.5, tagged_factor=0.75)
    state = tea(
        down,
        Revised(id="tea", at=0, importance_tag="Explicit"),
        down,
        Revised(id="tea", at=0, importance_tag=None),
        down,
    )
    assert state.strength == 0.5 * 0.75 * 0.5


@pytest.mark.parametrize(
    ("fact", "visibility", "words"),
    [
        (Forgotten(id="tea", reason="wrong"), "forgotten", "forgotten: wrong"),
        (Superseded(old="tea", new="oolong"), "superseded", "superseded by 'oolong'"),
        (Pruned(dream="d", items=(Pruning(id="tea", reason="stale"),)), "pruned", "pruned: stale"),
        (Erased(id="tea", seqs=(1,), reason="asked"), "erased", "erased: asked"),
    ],
)
def test_what_hides_a_memory_is_said_with_its_reason(fact, visibility, words):
    state = tea(fact)
    assert (state.visibility, state.hidden) == (visibility, words)


def test_restoring_shows_a_memory_again_unless_it_was_erased():
    assert tea(Forgotten(id="tea", reason="x"), Restored(id="tea")) == tea()
    erased = tea(Erased(id="tea", seqs=(1,)), Restored(id="tea"), Forgotten(id="tea"))
    assert erased.visibility == "erased"
    assert tea(Erased(id="tea", seqs=(1,)), TEA).visibility == "visible"


def test_provenance_names_the_event_since_which_a_value_stands_and_all_that_a_counter_counts():
    log = log_of(
        TEA,
        Revised(id="tea", at=0, importance=0.9),
        accessed("s1"),
        Revised(id="tea", at=0, importance=0.9, tags=("x",)),
        accessed("s1", how="returned"),
        Downscaled(dream="d", factor=0.5),
        strengthened(0.4),
        Downscaled(dream="d", factor=0.5),
        Rated(id="tea", verdict="helpful", at=0),
        Forgotten(id="tea"),
    )
    lifecycle = Folded(log).lifecycle
    found = lifecycle.provenance(0, 9)
    assert (found["importance"], found["tags"], found["kind"]) == ((2,), (4,), (1,))
    assert (found["revision_count"], found["updated_at"]) == ((1, 2, 4), (2,))
    assert (found["access_count"], found["used_count"], found["session_spread"]) == ((3, 5), (3,), (1, 3))
    assert (found["strength"], found["feedback"], found["stability"]) == ((7, 8), (9,), ())
    assert (found["visibility"], lifecycle.provenance(0, 10)["visibility"]) == ((), (10,))
    assert set(found) == set(LifecycleState.__struct_fields__)
    assert lifecycle.history(0) == [1, 2, 3, 4, 5, 7, 9, 10]


def test_provenance_of_a_counter_is_cut_to_the_newest_and_the_counter_is_the_total():
    log = log_of(TEA, *(accessed("s") for _ in range(EVENTS_MAX + 20)))
    folded = Folded(log)
    assert folded.lifecycle.provenance(0, 60)["access_count"] == tuple(range(60 - EVENTS_MAX + 1, 60 + 1))
    assert folded.lifecycle.state(0, 60).access_count == 59


def test_asking_for_one_column_reads_no_other_history():
    folded = Folded(log_of(TEA, Downscaled(dream="d", factor=0.5), accessed("s1")))
    columns = folded.lifecycle.at(np.array([0]), 3)
    assert columns.access_count.tolist() == [1]
    computed = {name for name in vars(columns) if not name.startswith("_")}
    assert computed == {"memories", "seq", "access_count"}
    assert set(columns._nodes) == {"usage"}


def test_a_memory_before_its_birth_has_neutral_columns():
    folded = Folded(log_of(Downscaled(dream="d", factor=0.5), TEA, accessed("s1")))
    columns = folded.lifecycle.at(np.array([0]), 1)
    assert (columns.access_count[0], columns.session_spread[0], columns.strength[0]) == (0, 1, 1.0)
    assert columns.texts(columns.kind) == [None]


def test_memories_are_counted_by_status():
    placed = Placement(id="tea", status_before="staged", status="consolidated", depth_before=2, depth=2)
    folded = Folded(log_of(TEA, Ingested(id="x", content="", at=0), Placed(dream="d", changes=(placed,))))
    both = np.array([0, 1])
    assert folded.lifecycle.count_by_status(both, 2) == {"staged": 2, "consolidated": 0, "archived": 0}
    assert folded.lifecycle.count_by_status(both, 3) == {"staged": 1, "consolidated": 1, "archived": 0}


@given(logs())
def test_the_state_at_a_seq_is_that_of_the_log_up_to_it(log):
    whole, prefix = Folded(log), Folded()
    for recorded in log:
        prefix.apply(recorded)
        assert whole.states(recorded.seq) == prefix.states(recorded.seq)


@settings(max_examples=40)
@given(logs())
def test_the_provenance_at_a_seq_is_that_of_the_log_up_to_it(log):
    whole, prefix = Folded(log), Folded()
    for recorded in log:
        prefix.apply(recorded)
        for memory in range(prefix.documents.memories):
            found = whole.lifecycle.provenance(memory, recorded.seq)
            assert found == prefix.lifecycle.provenance(memory, recorded.seq)
            assert all(seq <= recorded.seq for seqs in found.values() for seq in seqs)


@given(logs())
def test_many_memories_at_once_have_the_values_of_each_alone(log):
    folded = Folded(log)
    seq, memories = len(log), np.arange(folded.documents.memories)
    columns = folded.lifecycle.at(memories, seq)
    for memory in memories.tolist():
        state = folded.lifecycle.state(memory, seq)
        for name in (
            "strength",
            "importance",
            "access_count",
            "session_spread",
            "feedback",
            "revision_count",
        ):
            assert getattr(columns, name)[memory] == getattr(state, name)
        assert columns.texts(columns.kind)[memory] == state.kind
        assert columns.members(columns.tags)[memory] == state.tags


@settings(max_examples=60)
@given(logs())
def test_a_memory_is_visible_exactly_while_it_has_a_living_row(log):
    folded = Folded(log)
    for seq in range(len(log) + 1):
        for id_, state in folded.states(seq).items():
            memory = folded.documents.ids.find(id_)
            alive = folded.documents.rows_of(np.array([memory]), seq)[0] >= 0
            assert (state.visibility == "visible") == alive


@given(logs(), st.integers(0, 30))
def test_a_checkpoint_and_the_rest_of_the_log_give_what_the_whole_log_gives(log, cut):
    loaded, whole = Folded(log), Folded(log)
    loaded.load(Folded(log[:cut]).dump())  # over what it held before
    for recorded in log[cut:]:
        loaded.apply(recorded)
    for seq in {0, cut, len(log)}:
        assert loaded.states(seq) == whole.states(seq)
    for memory in range(whole.documents.memories):
        assert loaded.lifecycle.history(memory) == whole.lifecycle.history(memory)
    assert msgspec.msgpack.encode(as_bytes(loaded)) == msgspec.msgpack.encode(as_bytes(whole))


def as_bytes(folded: Folded) -> dict[str, bytes]:
    return {name: bytes(value) for name, value in folded.lifecycle.dump().items()}
