"""Learning from recorded questions: what counts how much, that the search sees what `rank` gives, and what it finds."""

from __future__ import annotations

import math
import random
from statistics import stdev

import pytest
from formula_strategies import formulas, worlds
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from recollect.events.envelope import Recorded
from recollect.events.facts import (
    Accessed,
    AnyFact,
    ExpectationWithdrawn,
    Expected,
    Question,
    Rated,
    Recalled,
)
from recollect.query.formula import built_in, parse
from recollect.query.free_numbers import FreeNumber, every_weight
from recollect.query.ranking import NotFinite, rank
from recollect.replay.compare.recorded_questions import Asked
from recollect.replay.tune.evidence import Judged, judged_questions, weight_of
from recollect.replay.tune.resumed import begin, go_on, order_of
from recollect.replay.tune.search import PULL, Estimate, grid, search
from recollect.replay.tune.tuning import (
    QUESTIONS_MIN,
    TooThin,
    estimate,
    halves,
    require_enough,
    utility,
    with_values,
)

SHOWN = tuple(f"m{n}" for n in range(1, 13))


def asked(seq: int = 5) -> Asked:
    question = Question(text="q", now=0)
    recorded = Recalled(question=question, basis=1, formula="", ids=SHOWN, scores=(0.0,) * len(SHOWN))
    return Asked(f"r{seq}", question, 1, b"", recorded, seq)


def gains(*facts: AnyFact) -> dict[str, float]:
    events = [Recorded(n, 0, b"", "", "", 1, b"", fact) for n, fact in enumerate(facts, 10)]
    found = judged_questions([asked()], events)
    return found[0].gains if found else {}


# --- what counts how much --------------------------------------------------------------------------


def test_a_use_counts_by_the_rank_it_was_seen_at_and_no_more_than_five():
    assert gains(Accessed(ids=("m1", "m4", "m12"), at=0, recall=5)) == {"m1": 1.0, "m4": 4.0, "m12": 5.0}
    assert [weight_of(rank) for rank in (1, 2, 5, 11, None)] == [1.0, 2.0, 5.0, 5.0, 1.0]


def test_only_what_was_used_of_this_answer_counts():
    assert gains(Accessed(ids=("m1",), at=0, recall=6)) == {}
    assert gains(Accessed(ids=("m1",), at=0, recall=5, how="injected")) == {}
    assert gains(Accessed(ids=("m1",), at=0)) == {}


def test_a_rating_outweighs_a_use_and_the_last_one_counts():
    used = Accessed(ids=("m2", "m3"), at=0, recall=5)
    assert gains(used, Rated(id="m2", verdict="helpful", at=0, recall=5)) == {"m2": 2.0 * 2, "m3": 1.0 * 3}
    blamed = [Rated(id="m2", verdict=verdict, at=0, recall=5) for verdict in ("helpful", "outdated")]
    assert gains(used, *blamed) == {"m2": -1.0 * 2, "m3": 1.0 * 3}


def test_what_is_expected_was_not_found_by_looking_and_counts_once():
    assert gains(Expected(recall=5, id="m9", at=0, top=3)) == {"m9": 2.0}
    assert gains(Expected(recall=5, id="m9", at=0, absent=True)) == {"m9": -1.0}
    assert gains(Expected(recall=5, id="m9", at=0, above="m1")) == {"m9": 1.0, "m1": -1.0}
    assert gains(Expected(recall=5, id="m9", at=0, top=3), ExpectationWithdrawn(expected=10)) == {}


def test_the_weights_undo_the_bias_of_a_reader_who_looks_at_rank_r_with_probability_1_over_r():
    draw = random.Random(3)
    relevant = {1: 0.3, 2: 0.1, 3: 0.2, 5: 0.4}
    rounds, found = 40_000, dict.fromkeys(relevant, 0.0)
    for _ in range(rounds):
        (rank,) = draw.choices(list(relevant), list(relevant.values()))
        if draw.random() < 1.0 / rank:
            found[rank] += weight_of(rank)
    for rank, share in relevant.items():
        assert found[rank] / rounds == pytest.approx(share, abs=0.02)


def test_how_good_an_order_is():
    worth = {"a": 2.0, "b": -1.0, "gone": 1.0}
    expected = (2.0 / math.log2(1 + 1) - 1.0 / math.log2(1 + 3)) / (2.0 + 1.0 + 1.0)
    assert utility(["a", "x", "b"], worth) == pytest.approx(expected)
    assert Judged(asked(), worth).weight == 2.0 + 1.0 + 1.0


def test_a_gain_counts_as_far_as_it_is_sure():
    found = estimate([0.5, 0.5, 0.5, 0.5], [0.7, 0.5, 0.9, 0.5])
    gains = [0.2, 0.0, 0.4, 0.0]
    assert found.objective == pytest.approx((0.7 + 0.5 + 0.9 + 0.5) / 4)
    assert found.sure_gain == pytest.approx(0.6 / 4 - stdev(gains) / math.sqrt(4))
    assert estimate([0.3, 0.4], [0.3, 0.4]).sure_gain == 0.0


# --- the search ------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(world=worlds, formula=formulas(), data=st.data())
def test_a_ranking_that_is_taken_up_again_is_the_ranking(world, formula, data):
    stage = data.draw(st.integers(0, len(formula.stages)))
    try:
        ranking = rank(world.question, world.view, formula)
    except NotFinite:
        assume(False)
    begun = begin(world.question, world.view, formula, stage)
    ids = world.view.documents.ids.values
    whole = [ids[memory] for memory in ranking.sheet.memories[list(ranking.order)].tolist()]
    assert order_of(begun, formula) == whole
    assert order_of(begun, formula) == whole  # what was begun is as it was
    assert (
        order_of(go_on(begun, formula, data.draw(st.integers(stage, len(formula.stages)))), formula) == whole
    )


def peak(*at: float):
    def height(values: tuple[float, ...], _: int) -> Estimate:
        found = -sum((value - top) ** 2 for value, top in zip(values, at, strict=True))
        return Estimate(found, found)

    return height


def free(count: int) -> list[FreeNumber]:
    return [FreeNumber(stage=0, name=f"n{n}", low=0.0, high=1.0) for n in range(count)]


def test_the_search_finds_a_peak_and_is_the_same_every_time():
    found, trials = search(free(2), (0.5, 0.5), peak(0.2, 0.9))
    assert found == pytest.approx((0.2, 0.9), abs=1 / (6 * 9) + PULL)
    assert (found, trials) == search(free(2), (0.5, 0.5), peak(0.2, 0.9))
    assert [trial.best for trial in trials] == sorted(trial.best for trial in trials)


def test_numbers_that_change_nothing_stay_where_they_are():
    assert search(free(2), (0.37, 0.5), lambda values, place: Estimate(0.5, 0.0))[0] == (0.37, 0.5)


def test_the_grid_keeps_to_the_range():
    for round_ in range(3):
        for around in (0.0, 0.3, 1.0):
            assert all(0.0 <= value <= 1.0 for value in grid(free(1)[0], around, round_))


def test_without_marks_every_weight_is_free_up_to_twice_the_largest_of_its_stage():
    found = {(n.stage, n.name): (n.low, n.high) for n in every_weight(built_in("mnemosyne").stages)}
    weigh = built_in("mnemosyne").labels.index("weigh")
    assert found == {
        (weigh, "similarity"): (0.0, 1.0),
        (weigh, "text"): (0.0, 1.0),
        (weigh, "importance"): (0.0, 1.0),
    }
    text = 'name = "x"\nstages = [{op = "retrieve", channel = "lexical"}, {op = "weigh", weights = {lexical = 1.0}}, '
    text += '{op = "boost", amounts = {importance = -0.2}}]'
    assert [(n.low, n.high) for n in every_weight(parse(text, origin="x").stages)] == [
        (0.0, 2.0),
        (-0.4, 0.0),
    ]


def test_a_channel_without_a_weight_weighs_1_and_may_be_chosen():
    reverie = built_in("reverie")
    free = every_weight(reverie.stages)
    assert [(n.name, n.low, n.high) for n in free] == [("lexical", 0.0, 2.0), ("vector", 0.0, 2.0)]
    fuse = with_values(reverie, free, (1.0, 0.5)).stages[free[0].stage]
    assert fuse.weights == {"lexical": 1.0, "vector": 0.5}


# --- how much is enough ----------------------------------------------------------------------------


def test_thin_evidence_is_refused_with_how_much_more_would_do():
    with pytest.raises(
        TooThin, match=f"10 recorded questions, of which 4 are judged, .* {2 * QUESTIONS_MIN - 4} more"
    ):
        require_enough(10, 4)
    require_enough(100, 2 * QUESTIONS_MIN)


def test_the_earlier_half_chooses_and_the_later_judges():
    known = [Judged(asked(seq), {"m1": 1.0}) for seq in range(1, 42)]
    earlier, later = halves(known)
    assert [one.asked.seq for one in earlier] == list(range(1, 21))
    assert [one.asked.seq for one in later] == list(range(21, 42))
