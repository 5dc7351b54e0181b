"""The law of the engine: the view at S is the same however it was come by, and depends on nothing after S."""

from __future__ import annotations

import tempfile
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import DIMENSIONS, log_of, logs

from recollect.events.envelope import Recorded
from recollect.events.facts import EmbedderAdopted, Ingested, Question
from recollect.events.grid import quantize, to_bytes
from recollect.projections import checkpoints
from recollect.projections.lexical.bm25 import Bm25
from recollect.projections.view import Projections
from recollect.query.formula import built_in
from recollect.query.ranking import rank

ANALYZER = "unicode61-cjk/2"
QUERY_VECTOR = quantize(np.arange(1.0, DIMENSIONS + 1.0))
QUERY = "tea blue naive"


def folded(events: list[Recorded], projections: Projections | None = None) -> Projections:
    projections = projections or Projections([ANALYZER])
    for recorded in events[projections.position :]:
        projections.apply(recorded)
    return projections


def through_a_checkpoint(events: list[Recorded], cut: int) -> Projections:
    """Folded up to the cut, saved, loaded, and folded on."""
    first = folded(events[:cut])
    with tempfile.TemporaryDirectory() as folder:
        path = checkpoints.save(Path(folder), key="test", seq=cut, chain=b"", state=first.dump())
        found = checkpoints.load(path, key="test")
        assert found is not None
    again = Projections()
    again.load(found.state, position=found.seq)
    return folded(events, again)


def picture(projections: Projections, seq: int) -> dict[str, object]:
    """Everything that a query could see at `seq`."""
    documents, lexical = projections.documents, projections.lexicals[ANALYZER]
    born = [m for m in range(documents.memories) if documents.newest_row(m, seq) >= 0]
    memories = np.array(born, dtype=np.int64)
    scores = {}
    for variant in ("fts5", "okapi", "plus", "l", "lucene"):
        hits = lexical.search(QUERY, at=seq, bm25=Bm25(variant=variant), top=50)
        scores[variant] = (hits.rows.tolist(), hits.scores.tolist())
    nearest = (
        projections.vectors.search(QUERY_VECTOR, at=seq, top=50)
        if same_dimensions(projections, seq)
        else None
    )
    question = Question(text=QUERY, now=10**15, vector=to_bytes(QUERY_VECTOR) if nearest else None, k=20)
    ranking = rank(question, projections.at(seq, 0), built_in("reverie"))
    return {
        "ids": [documents.ids.values[m] for m in born],
        "rows": documents.rows_of(memories, seq).tolist(),
        "lexical": scores,
        "vectors": nearest and (nearest.rows.tolist(), nearest.dots.tolist(), nearest.cosines.tolist()),
        "lifecycle": [projections.lifecycle.state(m, seq) for m in born],
        "edges": [projections.graph.edges_of(m, seq) for m in born],
        "engine": (
            projections.adoptions.formula_in_force(seq),
            projections.adoptions.embedder(seq),
            projections.adoptions.last_dream(seq),
        ),
        "ranking": (ranking.ids, ranking.scores),
    }


def same_dimensions(projections: Projections, seq: int) -> bool:
    """Random logs adopt embedders of other dimensions too; those refuse this query."""
    adopted = projections.adoptions.embedder(seq)
    return adopted is None or adopted.dimensions == DIMENSIONS


@settings(max_examples=60)
@given(events=logs(), data=st.data())
def test_the_live_view_the_rebuilt_prefix_and_checkpoint_plus_tail_are_equal(events: list[Recorded], data):
    seq = data.draw(st.integers(0, len(events)))
    cut = data.draw(st.integers(0, len(events)))
    live = picture(folded(events), seq)
    assert picture(folded(events[:seq]), seq) == live
    assert picture(through_a_checkpoint(events, cut), seq) == live


@settings(max_examples=60)
@given(events=logs(), cut=st.integers(0, 30))
def test_folding_in_runs_equals_folding_one_by_one(events: list[Recorded], cut: int):
    births = log_of(*(Ingested(id=f"new{n}", content=f"tea cup {n}", at=n) for n in range(cut)))
    events = [*births, *(msgspec.structs.replace(e, seq=e.seq + cut) for e in events)]
    one_by_one, in_runs = folded(events), Projections([ANALYZER])
    for _ in in_runs.apply_all(events):
        pass
    assert in_runs.position == one_by_one.position
    expected, found = one_by_one.dump(), in_runs.dump()
    assert {k: bytes(v) for k, v in found.items()} == {k: bytes(v) for k, v in expected.items()}


@settings(max_examples=20)
@given(events=logs())
def test_an_index_added_later_equals_one_that_was_there_from_the_start(events: list[Recorded]):
    late = folded(events, Projections())
    late.index(ANALYZER, events)
    assert picture(late, len(events)) == picture(folded(events), len(events))


def test_an_event_out_of_order_is_our_mistake():
    recorded = Recorded(2, 0, b"", "", "", 1, b"", EmbedderAdopted(name="x", dimensions=2, probe=b""))
    with pytest.raises(AssertionError):
        Projections().apply(recorded)


@settings(max_examples=30)
@given(events=logs(min_size=5))
def test_a_projection_ignores_every_fact_that_it_does_not_say_it_reads(events: list[Recorded]):
    projections = folded(events)
    for part in projections._parts():
        if part is projections.marks:
            continue  # it is fed with rows, as the lexical indexes are
        before = {key: bytes(value) for key, value in part.dump().items()}
        for recorded in events:
            if type(recorded.fact) not in part.reads:
                again = msgspec.structs.replace(recorded, seq=recorded.seq + len(events))
                seq = getattr(part, "seq", None)
                part.apply(again)
                if seq is not None:
                    part.seq = seq
        assert {key: bytes(value) for key, value in part.dump().items()} == before, part.name
