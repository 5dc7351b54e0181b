"""Verdicts per kind: as of any seq, by the kind that a memory had when it was judged, through checkpoints."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from strategies import log_of

from recollect.events.facts import AnyFact, Ingested, Rated, Revised
from recollect.projections.documents import Documents
from recollect.projections.lifecycle.lifecycle import Lifecycle

MEMORIES = ("m0", "m1")
KINDS = ("tip", "fact")
facts = st.one_of(
    st.builds(Rated, id=st.sampled_from((*MEMORIES, "ghost")), verdict=st.sampled_from(("helpful", "unhelpful", "outdated")), at=st.just(0)),
    st.builds(Revised, id=st.sampled_from(MEMORIES), at=st.just(0), kind=st.sampled_from(KINDS)),
)  # fmt: skip


def folded(told: list[AnyFact]) -> Lifecycle:
    documents = Documents()
    lifecycle = Lifecycle(documents)
    for recorded in log_of(*told):
        documents.apply(recorded)
        lifecycle.apply(recorded)
    return lifecycle


def counted(told: list[AnyFact]) -> dict[str, tuple[int, int]]:
    kinds, counts = {}, dict.fromkeys(KINDS, (0, 0))
    for fact in told:
        if isinstance(fact, Rated) and fact.id in kinds:
            helpful, other = counts[kinds[fact.id]]
            praised = fact.verdict == "helpful"
            counts[kinds[fact.id]] = (helpful + praised, other + (not praised))
        elif isinstance(fact, Ingested | Revised):
            kinds[fact.id] = str(fact.kind)
    return {kinds[id_]: counts[kinds[id_]] for id_ in kinds}


def seen(lifecycle: Lifecycle, seq: int) -> dict[str, tuple[int, int]]:
    columns = lifecycle.at(np.arange(len(MEMORIES)), seq)
    rows = zip(columns.texts(columns.kind), columns.kind_helpful, columns.kind_unhelpful, strict=True)
    return {str(kind): (int(helpful), int(other)) for kind, helpful, other in rows}


@given(st.lists(facts, max_size=25), st.data())
def test_the_counts_at_a_seq_are_those_of_the_ratings_before_it(drawn: list[AnyFact], data: st.DataObject):
    told = [Ingested(id=id_, content="x", at=0, kind=KINDS[n]) for n, id_ in enumerate(MEMORIES)] + drawn
    lifecycle = folded(told)
    seq = data.draw(st.integers(len(MEMORIES), len(told)))
    assert seen(lifecycle, seq) == counted(told[:seq])
    loaded = Lifecycle(Documents())
    loaded.load(lifecycle.dump())
    assert seen(loaded, seq) == counted(told[:seq])
