"""Documents: which row of which memory is alive at which position."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from strategies import log_of, logs

from recollect.events.envelope import Recorded
from recollect.events.facts import (
    Erased,
    Forgotten,
    Ingested,
    Pruned,
    Pruning,
    Redacted,
    Reembedded,
    Restored,
    Revised,
    Superseded,
)
from recollect.projections.columns import NEVER, State
from recollect.projections.documents import Documents, NewRow

TEA = Ingested(id="tea", content="green tea", at=0)


def fold(log: list[Recorded]) -> Documents:
    documents = Documents()
    for recorded in log:
        documents.apply(recorded)
    return documents


def births(log: list[Recorded]) -> list[list[NewRow]]:
    documents = Documents()
    return [documents.apply(recorded) for recorded in log]


def living(documents: Documents, seq: int) -> dict[str, tuple[int, int]]:
    """id -> (row, seq of its text) of everything that is alive at `seq`."""
    rows = documents.rows_of(np.arange(documents.memories), seq).tolist()
    return {
        documents.ids.values[memory]: (row, documents.source(row))
        for memory, row in enumerate(rows)
        if row >= 0
    }


def copied(state: State) -> State:
    return {name: value if isinstance(value, bytes) else value.copy() for name, value in state.items()}


def test_an_ingested_memory_lives_from_its_seq_on():
    documents = fold(log_of(TEA))
    assert [living(documents, seq) for seq in (0, 1, 9)] == [{}, {"tea": (0, 1)}, {"tea": (0, 1)}]


def test_a_second_ingest_of_an_id_replaces_the_row_and_the_past_keeps_the_old_one():
    documents = fold(log_of(TEA, TEA))
    assert [living(documents, seq) for seq in (1, 2)] == [{"tea": (0, 1)}, {"tea": (1, 2)}]
    assert documents.died.tolist() == [2, NEVER]


def test_a_revision_of_the_text_alone_copies_the_vector_and_the_other_way_round():
    log = log_of(
        TEA, Revised(id="tea", at=0, content="black tea"), Revised(id="tea", at=0, vector=b"\x01\x00")
    )
    assert births(log) == [
        [NewRow(0, "green tea", -1, None, -1)],
        [NewRow(1, "black tea", -1, None, 0)],
        [NewRow(2, None, 1, b"\x01\x00", -1)],
    ]
    assert living(fold(log), 3) == {"tea": (2, 2)}


def test_a_revision_of_neither_text_nor_vector_gives_no_row():
    assert births(log_of(TEA, Revised(id="tea", at=0, importance=1.0)))[1] == []


def test_a_hidden_memory_that_is_revised_stays_hidden_and_comes_back_in_its_new_text():
    log = log_of(TEA, Forgotten(id="tea"), Revised(id="tea", at=0, content="oolong"), Restored(id="tea"))
    documents = fold(log)
    assert [living(documents, seq) for seq in (2, 3)] == [{}, {}]
    assert living(documents, 4) == {"tea": (2, 3)}
    assert births(log)[3] == [NewRow(2, None, 1, None, 1)]


def test_everything_that_hides_a_memory_ends_its_row():
    hiding = (
        Forgotten(id="tea"),
        Superseded(old="tea", new="x"),
        Erased(id="tea", seqs=(1,)),
        Pruned(dream="d", items=(Pruning(id="tea", reason="stale"),)),
    )
    for fact in hiding:
        documents = fold(log_of(TEA, fact))
        assert (living(documents, 1), living(documents, 2)) == ({"tea": (0, 1)}, {})


def test_an_erased_memory_cannot_be_restored_but_its_id_can_be_ingested_anew():
    erased = Erased(id="tea", seqs=(1,))
    assert living(fold(log_of(TEA, erased, Restored(id="tea"))), 3) == {}
    again = fold(log_of(TEA, erased, TEA, Forgotten(id="tea"), Restored(id="tea")))
    assert living(again, 5) == {"tea": (2, 3)}


def test_a_visible_memory_that_is_restored_keeps_its_row():
    assert births(log_of(TEA, Restored(id="tea")))[1] == []


def test_a_new_vector_keeps_the_text_and_the_last_of_two_in_one_event_counts():
    log = log_of(
        TEA, Reembedded(embedder="e", vectors=(("tea", b"\x01\x00"), ("tea", b"\x02\x00"), ("no", b"")))
    )
    assert births(log)[1] == [NewRow(1, None, 0, b"\x02\x00", -1)]
    assert living(fold(log), 2) == {"tea": (1, 1)}


def test_events_about_unknown_ids_and_redacted_events_change_nothing():
    log = log_of(
        Revised(id="no", at=0, content="x"),
        Forgotten(id="no"),
        Restored(id="no"),
        Redacted(type="memory.ingested"),
    )
    assert births(log) == [[], [], [], []]


@given(logs())
def test_the_documents_at_a_seq_are_those_of_the_log_up_to_it(log):
    whole, prefix = fold(log), Documents()
    for recorded in log:
        prefix.apply(recorded)
        seq = recorded.seq
        assert living(whole, seq) == living(prefix, seq)
        assert whole.rows_born(seq) == prefix.rows
        assert whole.rows_dead(seq) == len(prefix.death_rows)
        rows = np.arange(prefix.rows)
        assert whole.alive(rows, seq).tolist() == prefix.alive(rows, seq).tolist()


@given(logs())
def test_a_memory_has_at_most_one_living_row(log):
    documents = fold(log)
    for seq in range(len(log) + 1):
        alive = documents.alive(np.arange(documents.rows), seq)
        owners = documents.memory_of[alive].tolist()
        assert len(owners) == len(set(owners))


@given(logs(), st.integers(0, 30))
def test_a_checkpoint_and_the_rest_of_the_log_give_what_the_whole_log_gives(log, cut):
    loaded = fold(log)  # what it held before must leave no trace
    loaded.load(copied(fold(log[:cut]).dump()))
    for recorded in log[cut:]:
        loaded.apply(recorded)
    whole = fold(log).dump()
    assert {name: bytes(value) for name, value in loaded.dump().items()} == {
        name: bytes(value) for name, value in whole.items()
    }


def test_an_erasure_is_remembered_by_a_checkpoint():
    log = log_of(TEA, Erased(id="tea", seqs=(1,)), Restored(id="tea"))
    loaded = Documents()
    loaded.load(copied(fold(log[:2]).dump()))
    assert loaded.apply(log[2]) == []
