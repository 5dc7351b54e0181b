"""What holds for omega on every log: it depends on the prefix alone, explains itself, and lets nothing slip."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import DAY, DIMENSIONS, IDS, logs

from recollect.events.envelope import Recorded
from recollect.events.facts import Context, Effects, Expansion, Filters, Question, Reranked
from recollect.events.grid import quantize, to_bytes
from recollect.projections.view import Projections
from recollect.query.formula import built_in
from recollect.query.ranking import Ranking, rank
from recollect.query.stages.stage import ScoringStage

OMEGA = built_in("omega")
VECTOR = to_bytes(quantize(np.arange(1.0, DIMENSIONS + 1.0)))
LAWS = settings(max_examples=40)

questions = st.builds(
    Question,
    text=st.sampled_from(
        ["tea cup blue moon", "explain tea", "which moon", "tea_cup", "blue moon last 20 days", "the", ""]
    ),
    now=st.integers(0, 40).map(lambda days: days * DAY),
    k=st.integers(1, 4),
    filters=st.builds(Filters, project=st.sampled_from([None, "alpha"])),
    context=st.builds(
        Context,
        tags=st.sampled_from([(), ("red",)]),
        surface=st.sampled_from([None, "PLANNING"]),
        since=st.sampled_from([None, 5 * DAY]),
    ),
    effects=st.sampled_from(
        [
            Effects(),
            Effects(expansions=(Expansion(text="moon", vector=None),)),
            Effects(reranked=Reranked(model="x", scores={"m0": 3.0, "m1": -1.0})),
        ]
    ),
)


def folded(events: list[Recorded]) -> Projections:
    projections = Projections(OMEGA.analyzers)
    for recorded in events:
        projections.apply(recorded)
    return projections


def asked(question: Question, projections: Projections, seq: int) -> Ranking:
    """With a vector, if the embedder in force has vectors of the question's dimensions."""
    adopted = projections.adoptions.embedder(seq)
    if adopted is not None and adopted.dimensions == DIMENSIONS:
        question = Question(
            text=question.text, now=question.now, k=question.k, vector=VECTOR,
            filters=question.filters, context=question.context, effects=question.effects,
        )  # fmt: skip
    return rank(question, projections.at(seq, 0), OMEGA)


@LAWS
@given(logs(max_size=40), questions, st.data())
def test_a_ranking_of_the_past_is_the_ranking_of_the_prefix(
    log: list[Recorded], question: Question, data: st.DataObject
):
    seq = data.draw(st.integers(0, len(log)))
    whole, prefix = folded(log), folded(log[:seq])
    then, now = asked(question, whole, seq), asked(question, prefix, seq)
    assert (then.ids, then.scores) == (now.ids, now.scores)


@LAWS
@given(logs(max_size=40), questions)
def test_every_step_can_be_done_again_for_one_candidate_alone(log: list[Recorded], question: Question):
    ranking = asked(question, folded(log), len(log))
    for step in ranking.sheet.steps:
        stage = OMEGA.stages[step.stage]
        assert isinstance(stage, ScoringStage)
        for place in range(len(step.after)):
            one = {name: values[place : place + 1] for name, values in step.reads.items()}
            again = stage.combine(step.before[place : place + 1], one)
            np.testing.assert_array_equal(again, step.after[place : place + 1])


@LAWS
@given(logs(max_size=40), questions)
def test_scores_are_in_order_between_0_and_1_and_nothing_hidden_is_among_them(
    log: list[Recorded], question: Question
):
    projections = folded(log)
    ranking = asked(question, projections, len(log))
    assert list(ranking.scores) == sorted(ranking.scores, reverse=True)
    assert all(0.0 <= score <= 1.0 for score in ranking.scores)
    assert set(ranking.ids) <= set(IDS)
    for id_ in ranking.ids:
        memory = projections.documents.ids.find(id_)
        state = projections.lifecycle.state(memory, len(log))
        assert state.hidden is None
        assert state.feedback > -3
        assert (
            projections.lifecycle.refusal(memory, seq=len(log), now=question.now, filters=question.filters)
            is None
        )
