"""What holds for every built-in formula: exact in the past, explained by its steps, hard filters to the end."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import DAY, DIMENSIONS, EMBEDDERS, logs

from recollect.events.envelope import Recorded
from recollect.events.facts import Context, EmbedderAdopted, Filters, Question
from recollect.events.grid import quantize, to_bytes
from recollect.projections.view import Projections
from recollect.query.formula import built_in, names
from recollect.query.ranking import Ranking, rank
from recollect.query.stages.stage import ScoringStage

SYSTEMS = [name for name in names() if name.split("-")[0] in ("reverie", "mnemosyne", "engram", "memorysync")]
QUESTION = Question(
    text="why is the tea blue today",
    now=20 * DAY,
    vector=to_bytes(quantize(np.arange(1.0, DIMENSIONS + 1.0))),
    embedder="tiny",
    session="s1",
    k=20,
    context=Context(tags=("red",), entities=("blue",)),
)


def folded(log: list[Recorded], formula: str) -> Projections:
    projections = Projections(built_in(formula).analyzers)
    for recorded in log:
        projections.apply(recorded)
    return projections


def comparable(log: list[Recorded]) -> bool:
    """Whether the question's vector belongs to the space of every embedder in the log."""
    adopted = [r.fact for r in log if isinstance(r.fact, EmbedderAdopted)]
    return all(fact.dimensions == DIMENSIONS and fact.name in EMBEDDERS for fact in adopted)


def told(ranking: Ranking) -> tuple[object, ...]:
    return ranking.ids, ranking.scores, ranking.sheet.facts


@pytest.mark.parametrize("formula", SYSTEMS)
@settings(max_examples=25)
@given(log=logs(min_size=8, max_size=40).filter(comparable), data=st.data())
def test_a_ranking_of_the_past_equals_that_of_the_prefix(formula: str, log: list[Recorded], data):
    seq = data.draw(st.integers(1, len(log)))
    recipe = built_in(formula)
    live = rank(QUESTION, folded(log, formula).at(seq, 0), recipe)
    assert told(live) == told(rank(QUESTION, folded(log[:seq], formula).at(seq, 0), recipe))


@pytest.mark.parametrize("formula", SYSTEMS)
@settings(max_examples=15)
@given(log=logs(min_size=8, max_size=40).filter(comparable))
def test_every_step_can_be_done_again_for_one_candidate_alone(formula: str, log: list[Recorded]):
    recipe = built_in(formula)
    sheet = rank(QUESTION, folded(log, formula).at(len(log), 0), recipe).sheet
    for step in sheet.steps:
        stage = recipe.stages[step.stage]
        assert isinstance(stage, ScoringStage)
        for place in range(len(sheet)):
            one = slice(place, place + 1)
            again = stage.combine(
                step.before[one], {name: values[one] for name, values in step.reads.items()}
            )
            assert again.tobytes() == step.after[one].tobytes()


@pytest.mark.parametrize("formula", SYSTEMS)
@settings(max_examples=15)
@given(log=logs(min_size=8, max_size=40).filter(comparable))
def test_nothing_hidden_expired_or_out_of_scope_is_returned(formula: str, log: list[Recorded]):
    projections = folded(log, formula)
    question = Question(
        text=QUESTION.text, now=QUESTION.now, vector=QUESTION.vector, k=20, filters=Filters(project="alpha")
    )
    view = projections.at(len(log), 0)
    for id_ in rank(question, view, built_in(formula)).ids:
        memory = projections.documents.ids.find(id_)
        state = projections.lifecycle.state(memory, len(log))
        assert state.visibility == "visible"
        assert state.project == "alpha"
        assert state.expires_at is None or state.expires_at > question.now
