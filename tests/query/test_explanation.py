"""Explanations: they reproduce the score, name the reason of every miss, and their way out works."""

from __future__ import annotations

import math

import msgspec
import pytest
from formula_strategies import DAY, IDS, NOW, World, formulas, view_of, worlds
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.events.errors import UnknownMemory
from recollect.events.facts import (
    Accessed,
    Context,
    Downscaled,
    DreamBegan,
    DreamEnded,
    Filters,
    Forgotten,
    Ingested,
    Linked,
    Pruned,
    Pruning,
    Question,
    Revised,
    ShardSealed,
    Superseded,
)
from recollect.events.grid import quantize, to_bytes
from recollect.projections.portable_math import round12
from recollect.projections.vectors.index import Vectors
from recollect.projections.vectors.nearest import Search
from recollect.query.catalogue import range_of
from recollect.query.explain.case import Case
from recollect.query.explain.contributions import contributions
from recollect.query.explain.counterfactual import with_weight
from recollect.query.explain.explaining import explain
from recollect.query.explanation import Explanation, reproduce
from recollect.query.formula import Formula, build, built_in, names
from recollect.query.ranking import rank

LAWS = settings(max_examples=80)


def explain_all(world: World, formula: Formula) -> list[Explanation]:
    known = [id_ for id_ in IDS if world.view.documents.ids.find(id_) >= 0]
    return [explain(world.question, world.view, formula, id_) for id_ in known]


# --- laws ------------------------------------------------------------------------------------------


def check_reproduced(world: World, formula: Formula) -> None:
    ranking = rank(world.question, world.view, formula)
    answered = dict(zip(ranking.ids, ranking.scores, strict=True))
    for explanation in explain_all(world, formula):
        if explanation.rank is not None:
            assert ranking.ids[explanation.rank - 1] == explanation.id
            assert explanation.score == answered[explanation.id]
            assert explanation.dropped_at is None
        else:
            assert explanation.id not in answered
            assert explanation.dropped_at is not None
        assert reproduce(explanation, formula) == explanation.score
        for part in explanation.stages:
            assert part.scored or part.before == part.after


@LAWS
@given(worlds, formulas())
def test_the_stages_applied_to_what_they_read_give_the_score_bit_for_bit(world: World, formula: Formula):
    check_reproduced(world, formula)


@pytest.mark.parametrize("name", names())
@settings(LAWS, max_examples=15)
@given(worlds)
def test_every_built_in_formula_is_reproduced_bit_for_bit(name: str, world: World):
    check_reproduced(world, built_in(name))


def check_parts(world: World, formula: Formula) -> None:
    """Every candidate's parts sum to its score; rounding errors are measured against the largest part."""
    case = Case(world.question, world.view, formula, world.view.documents.ids.values[0])
    for place in case.ranking.order:
        steps = case.steps(place)
        amounts = [part.amount for part in contributions(formula.stages, steps)]
        if not steps or not math.isfinite(steps[-1].after):
            continue
        sizes = [abs(value) for step in steps for value in (step.before, step.after) if math.isfinite(value)]
        assert abs(math.fsum(amounts) - steps[-1].after) <= 1e-9 * max(1.0, *sizes)


@LAWS
@given(worlds, formulas())
def test_the_parts_of_a_score_sum_to_it(world: World, formula: Formula):
    if world.view.documents.ids.values:
        check_parts(world, formula)


@pytest.mark.parametrize("name", names())
@settings(LAWS, max_examples=15)
@given(worlds)
def test_the_parts_of_a_score_of_every_built_in_formula_sum_to_it(name: str, world: World):
    if world.view.documents.ids.values:
        check_parts(world, built_in(name))


@settings(LAWS, max_examples=30)
@given(worlds, formulas())
def test_an_explanation_survives_json(world: World, formula: Formula):
    for explanation in explain_all(world, formula)[:3]:
        again = msgspec.json.decode(msgspec.json.encode(explanation), type=Explanation)
        assert again == explanation
        assert reproduce(again, formula) == explanation.score


@LAWS
@given(worlds, formulas())
def test_what_hard_filters_refuse_never_appears_whatever_the_stages(world: World, formula: Formula):
    view, question = world.view, world.question
    seen = set(rank(question, view, formula).sheet.memories.tolist())
    for memory in range(view.documents.memories):
        state = view.lifecycle.state(memory, view.seq)
        refusal = view.lifecycle.refusal(memory, seq=view.seq, now=question.now, filters=question.filters)
        if state.hidden or refusal:
            assert memory not in seen


@settings(LAWS, max_examples=40)
@given(worlds, formulas())
def test_a_counterfactual_holds_when_it_is_carried_out(world: World, formula: Formula):
    for explanation in explain_all(world, formula):
        if explanation.counterfactual:
            assert_lifted(world, formula, explanation)


def assert_lifted(world: World, formula: Formula, explanation: Explanation) -> None:
    change = explanation.counterfactual
    assert change is not None
    if change.kind == "weight":
        question, changed = with_weight(
            world.question, formula, change.number - 1, change.name, change.needed
        )
        order = ranked_ids(World(world.view, question), changed)
        assert order.index(explanation.id) < order.index(change.above)
        return
    rival = explain(world.question, world.view, formula, change.above)
    stages = list(explanation.stages)
    part = stages[change.number - 1]
    assert part.reads[change.name] == change.current
    stages[change.number - 1] = msgspec.structs.replace(
        part, reads={**part.reads, change.name: change.needed}
    )
    lifted = reproduce(msgspec.structs.replace(explanation, stages=tuple(stages)), formula)
    assert lifted == change.score
    assert lifted > rival.score


def ranked_ids(world: World, formula: Formula) -> list[str]:
    ranking = rank(world.question, world.view, formula)
    ids = world.view.documents.ids.values
    return [ids[ranking.sheet.memories[place]] for place in ranking.order]


@settings(LAWS, max_examples=30)
@given(st.permutations(range(5)), formulas())
def test_equal_memories_rank_by_id_whatever_order_they_came_in(order: list[int], formula: Formula):
    def scored(sequence: list[int]) -> list[tuple[str, float]]:
        facts = [Ingested(id=f"m{n}", content="auth session", at=DAY) for n in sequence]
        ranking = rank(Question(text="auth", now=NOW, k=5), view_of(facts), formula)
        return list(zip(ranking.ids, ranking.scores, strict=True))

    assert scored(order) == scored([0, 1, 2, 3, 4])


# --- a small store, read by hand ---------------------------------------------------------------------

EAST, NORTH = to_bytes(quantize([1, 0, 0, 0])), to_bytes(quantize([0, 1, 0, 0]))
BOTH = to_bytes(quantize([1, 1, 0, 0]))


def kept(id_: str, content: str, **fields: object) -> Ingested:
    return Ingested(id=id_, content=content, **{"at": DAY, "embedder": "tiny", **fields})


def recipe(*stages: dict[str, object]) -> Formula:
    return build({"name": "test", "stages": list(stages)}, origin="test")


LEXICAL: dict[str, object] = {"op": "retrieve", "channel": "lexical", "top": 5}
VECTOR: dict[str, object] = {"op": "retrieve", "channel": "vector", "top": 5}
FUSE: dict[str, object] = {"op": "fuse", "channels": ["lexical"], "k": 60.0}
WORDS = recipe(LEXICAL, FUSE)


def ask(*facts: object, formula: Formula = WORDS, about: str, **question: object) -> Explanation:
    fields = {"text": "auth", "now": NOW, **question}
    return explain(Question(**fields), view_of(list(facts)), formula, about)


def test_a_hit_says_how_its_words_and_its_vector_were_found():
    explanation = ask(
        kept("a", "auth session auth", vector=EAST),
        kept("b", "session", vector=NORTH),
        formula=recipe(LEXICAL, VECTOR, {"op": "fuse", "channels": ["lexical", "vector"], "k": 30.0}),
        about="a",
        vector=BOTH,
    )
    words, meaning = explanation.channels
    (term,) = words.terms
    assert (words.rank, words.found, words.depth) == (1, 1, 5)
    assert (term.term, term.tf, term.df, term.N, term.length) == ("auth", 2, 1, 2, 3)
    assert round12(term.contribution) == words.value
    assert meaning.source == "tail"
    assert meaning.value == pytest.approx(1 / math.sqrt(2), abs=1e-3)
    assert explanation.score == round12(1 / (30 + 1) + 1 / (30 + 1))
    assert explanation.sentence.startswith(
        "Ranked 1st of 2: words matched 'auth' (1st by words, 1st by meaning)"
    )


@settings(LAWS, max_examples=30)
@given(worlds)
def test_the_contributions_of_the_words_add_up_to_the_value_of_the_channel(world: World):
    for explanation in explain_all(world, built_in("reverie")):
        for part in explanation.channels:
            if part.channel == "lexical" and part.rank is not None:
                total = 0.0
                for term in part.terms:
                    total += term.contribution
                assert round12(total) == part.value


def test_a_vector_in_a_sealed_shard_names_the_shard(monkeypatch: pytest.MonkeyPatch):
    sealed = ShardSealed(first_row=0, end_row=1, basis=2, count=1, digest="d1", builder="b")
    monkeypatch.setattr(Vectors, "shards_at", lambda *_: [sealed])
    formula = recipe(VECTOR, {"op": "fuse", "channels": ["vector"]})
    facts = [kept("a", "auth", vector=EAST), kept("b", "auth", vector=NORTH)]
    sources = [ask(*facts, formula=formula, about=id_, vector=EAST).channels[0].source for id_ in "ab"]
    assert sources == ["d1", "tail"]


def test_a_near_memory_that_the_approximate_index_passed_over_is_said_to_be(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Search, "visible", lambda search, rows: rows == 1)
    formula = recipe({**VECTOR, "top": 1}, {"op": "fuse", "channels": ["vector"]})
    facts = [kept("a", "auth", vector=EAST), kept("b", "auth", vector=NORTH)]
    drop = ask(*facts, formula=formula, about="a", vector=EAST).dropped_at
    assert (drop.had, drop.needed) == (1.0, 0.0)
    assert "the approximate index passed it over" in drop.reason


def test_stages_show_what_they_read_and_what_they_did_to_the_score():
    formula = recipe(LEXICAL, FUSE, {"op": "multiply", "factor": "recency_boost", "boost": 0.3})
    explanation = ask(kept("a", "auth", at=NOW - 30 * DAY), formula=formula, about="a")
    retrieve, fuse, multiply = explanation.stages
    assert retrieve.wrote["lexical.rank"] == 1.0
    assert (fuse.before, fuse.after) == (None, 1 / (60 + 1))
    assert multiply.inputs == {"age_days": 30.0}
    assert multiply.reads == {"recency_boost": 1 + 0.3 * math.exp(-1)}
    assert multiply.after == 1 / (60 + 1) * (1 + 0.3 * math.exp(-1))


def test_margins_name_the_neighbours_and_what_decided():
    facts = [kept(id_, "auth " + "filler " * n) for n, id_ in enumerate(("a", "b", "c"))]
    b = ask(*facts, about="b")
    assert (b.rank, b.candidates) == (2, 3)
    assert (b.above.id, b.above.score) == ("a", round12(1 / 61))
    assert (b.below.id, b.below.rank) == ("c", 3)
    assert b.above.margin == round12(round12(1 / 61) - round12(1 / 62))
    assert not b.tie_break
    assert f"below {b.above.id}" in b.sentence


def test_a_tie_is_decided_by_the_id_and_said_to_be():
    formula = recipe(LEXICAL, {"op": "weigh", "weights": {"importance": 1.0}})
    b = ask(kept("a", "auth"), kept("b", "auth"), formula=formula, about="b")
    assert (b.rank, b.above.decided_by, b.tie_break) == (2, "id", True)
    assert b.counterfactual is not None
    assert b.counterfactual.needed > b.counterfactual.current


def test_a_tie_break_stage_that_fires_is_said_to_decide():
    tie_break = {"op": "tie-break", "sigma": 1.0, "by": ["importance"]}
    formula = recipe(LEXICAL, FUSE, tie_break)
    facts = [kept("a", "auth", importance=0.1), kept("b", "auth session", importance=0.9)]
    a = ask(*facts, formula=formula, about="a")
    assert (a.rank, a.above.decided_by, a.tie_break) == (2, "importance", True)
    assert a.facts["tiebreak_applied"] == "true"
    assert a.counterfactual is None


def test_the_events_behind_each_input_are_named():
    formula = recipe(
        LEXICAL,
        FUSE,
        {"op": "multiply", "factor": "strength"},
        {"op": "multiply", "factor": "stability"},
        {"op": "multiply", "factor": "session_spread"},
        {"op": "multiply", "factor": "recency_boost"},
    )
    explanation = ask(  # the embedder is adopted at @1
        kept("a", "auth", session="s0"),  # @2
        Accessed(ids=("a",), at=2 * DAY, session="s1"),  # @3
        DreamBegan(dream="d", basis=3, now=2 * DAY),  # @4
        Downscaled(dream="d", factor=0.5),  # @5
        DreamEnded(dream="d"),  # @6
        Revised(id="a", at=3 * DAY, content="auth cookie"),  # @7
        Accessed(ids=("a",), at=4 * DAY, session="s2"),  # @8
        formula=formula,
        about="a",
    )
    assert explanation.provenance == {
        "content": (7,),
        "strength": (5,),
        "idle_days": (8,),
        "stability": (),
        "session_spread": (2, 3, 6),
        "age_days": (7,),
    }


# --- misses ------------------------------------------------------------------------------------------


def test_an_unknown_memory_is_an_error():
    with pytest.raises(UnknownMemory, match="nobody"):
        ask(kept("a", "auth"), about="nobody")


@pytest.mark.parametrize(
    ("facts", "question", "reason"),
    [
        ([Forgotten(id="a", reason="wrong")], {}, "forgotten: wrong"),
        ([Superseded(old="a", new="b")], {}, "superseded by 'b'"),
        ([Pruned(dream="d", items=(Pruning(id="a", reason="stale"),))], {}, "pruned: stale"),
        ([Revised(id="a", at=DAY, expires_at=2 * DAY)], {}, "expired at 1970-01-03T00:00:00"),
        ([], {"filters": Filters(project="alpha")}, "project is None, the question asked for 'alpha'"),
        ([], {"filters": Filters(exclude=("a",))}, "excludes it by its id"),
    ],
)
def test_what_no_stage_may_see_is_refused_in_words(facts: list, question: dict, reason: str):
    explanation = ask(kept("a", "auth"), kept("b", "auth"), *facts, about="a", **question)
    assert explanation.rank is None
    assert explanation.score is None
    assert explanation.dropped_at.number == 0
    assert reason in explanation.dropped_at.reason
    assert explanation.sentence == f"Not in the answer: {explanation.dropped_at.reason}."


def test_a_memory_that_was_born_later_is_said_to_be():
    view = view_of([kept("a", "auth"), kept("late", "auth")])  # @2 and @3
    past = view.projections.at(2, view.time)
    explanation = explain(Question(text="auth", now=NOW), past, WORDS, "late")
    assert explanation.dropped_at.reason == (
        "not yet born: it was remembered at @3, the question was asked of @2"
    )
    assert explanation.provenance == {}


def test_a_memory_without_a_word_of_the_question_was_not_found():
    explanation = ask(kept("a", "auth"), kept("b", "deploy"), about="b")
    drop = explanation.dropped_at
    assert (drop.number, drop.had, drop.needed) == (1, None, explanation.channels[0].last)
    assert drop.reason == "no word of the question is in it"
    assert {part.state for part in explanation.stages} == {"never saw it"}


def test_a_memory_beyond_the_depth_of_a_channel_has_its_value_and_the_last_one_found():
    formula = recipe({**LEXICAL, "top": 1}, FUSE)
    explanation = ask(kept("a", "auth"), kept("b", "auth deploy deploy"), formula=formula, about="b")
    (part,) = explanation.channels
    assert (part.rank, part.found, part.depth) == (None, 1, 1)
    assert 0 < explanation.dropped_at.had < explanation.dropped_at.needed == part.last
    assert explanation.dropped_at.number == 1


def test_the_channel_where_it_came_nearest_speaks():
    formula = recipe(LEXICAL, {**VECTOR, "top": 1}, {"op": "fuse", "channels": ["lexical", "vector"]})
    facts = [kept("a", "auth", vector=EAST), kept("b", "deploy", vector=BOTH)]
    drop = ask(*facts, formula=formula, about="b", vector=EAST).dropped_at
    assert (drop.number, drop.needed) == (2, 1.0)
    assert drop.had == pytest.approx(1 / math.sqrt(2), abs=1e-3)


def test_a_question_without_a_vector_is_the_reason_where_only_vectors_are_searched():
    formula = recipe(VECTOR, {"op": "fuse", "channels": ["vector"]})
    drop = ask(kept("a", "auth", vector=EAST), formula=formula, about="a").dropped_at
    assert "the question has no vector" in drop.reason


def test_a_channel_s_minimum_is_what_was_needed():
    formula = recipe(VECTOR | {"min": 0.5}, {"op": "fuse", "channels": ["vector"]})
    facts = [kept("a", "auth", vector=EAST), kept("b", "auth", vector=NORTH)]
    drop = ask(*facts, formula=formula, about="b", vector=EAST).dropped_at
    assert (drop.had, drop.needed) == (0.0, 0.5)
    assert "below the stage's minimum 0.5" in drop.reason


@pytest.mark.parametrize(
    ("stages", "number", "had", "needed", "reason"),
    [
        ([{"op": "filter", "by": "importance", "min": 0.5}], 3, 0.1, 0.5, "importance is 0.1"),
        ([{"op": "filter", "by": "age_days", "max": 5.0}], 3, 39.0, 5.0, "at most 5"),
        ([{"op": "exclude", "kinds": ["note"]}], 3, 1.0, 0.0, "leaves out its kind"),
        ([{"op": "abstain", "any_of": {"importance": 0.3}}], 3, 0.1, 0.3, "at least 0.3"),
        ([{"op": "silence", "below": {"importance": 1.0}}], 3, 0.1, 1.0, "no candidate is near enough"),
        ([{"op": "cut", "top": 1}], 3, 1 / 62, 1 / 61, "the best 1"),
        ([{"op": "cut", "tokens": 2}], 3, 3.0, 1.0, "takes 3 tokens, 1 were left"),
        ([{"op": "deduplicate", "by": "vector"}], 3, 1.0, 0.92, "says the same"),
    ],
)
def test_a_candidate_that_a_stage_dropped_has_the_number_and_what_it_needed(
    stages: list, number: int, had: float | None, needed: float | None, reason: str
):
    facts = [
        kept("a", "auth", vector=EAST, importance=0.9, at=NOW, kind="decision"),
        kept("b", "auth deploy", vector=EAST, importance=0.1),
    ]
    formula = recipe(LEXICAL, FUSE, *stages, {"op": "multiply", "factor": "strength"})
    explanation = ask(*facts, formula=formula, about="b")
    drop = explanation.dropped_at
    assert (drop.number, drop.had, drop.needed) == (number, had, needed)
    assert reason in drop.reason
    assert [part.state for part in explanation.stages] == [
        "applied", "applied", "dropped it", "after it was dropped",
    ]  # fmt: skip
    assert explanation.score == reproduce(explanation, formula) == round12(1 / 62)


def test_an_explanation_says_that_a_candidate_lacks_a_required_column():
    formula = recipe(LEXICAL, VECTOR, FUSE, {"op": "filter", "by": "vector", "required": True})
    drop = ask(kept("a", "auth"), formula=formula, about="a", vector=EAST).dropped_at
    assert (drop.number, drop.had, drop.needed) == (4, None, None)
    assert drop.reason == "it has no vector, which the stage requires"


def test_a_derived_memory_stands_below_its_source_and_the_explanation_says_so():
    formula = recipe(LEXICAL, FUSE, {"op": "multiply", "factor": "session_spread"}, {"op": "derived_from"})
    facts = [
        kept("source", "auth " + "filler " * 9),
        kept("summary", "auth"),
        Linked(a="summary", b="source", kind="derived_from"),
    ]
    summary = ask(*facts, formula=formula, about="summary")
    assert (summary.rank, summary.above.id, summary.above.decided_by) == (2, "source", "derivation")
    assert summary.score > summary.above.score
    assert summary.tie_break
    assert summary.counterfactual is None
    assert "behind source by derivation" in summary.sentence
    cut = ask(*facts, formula=formula, about="summary", k=1)
    assert "by derivation behind source" in cut.dropped_at.reason


def test_a_shortcut_drops_what_lacks_its_column_and_the_stages_it_jumps_over_are_said_to_be():
    formula = recipe(
        LEXICAL,
        {"op": "retrieve", "channel": "vector", "top": 5},
        {"op": "shortcut", "column": "lexical", "to": "end", "min": 0.0},
        {"op": "fuse", "channels": ["lexical", "vector"]},
        {"op": "multiply", "factor": "strength", "label": "end", "enabled": True},
    )
    facts = [kept("a", "auth", vector=EAST), kept("b", "deploy", vector=EAST)]
    hit = ask(*facts, formula=formula, about="a", vector=EAST)
    assert [part.state for part in hit.stages] == [
        "applied", "applied", "applied", "jumped over", "applied",
    ]  # fmt: skip
    assert hit.facts["shortcut"] == "lexical"
    miss = ask(*facts, formula=formula, about="b", vector=EAST)
    assert (miss.dropped_at.number, miss.dropped_at.had) == (3, None)


def test_a_disabled_stage_is_said_to_be():
    formula = recipe(LEXICAL, FUSE, {"op": "multiply", "factor": "strength", "enabled": False})
    assert ask(kept("a", "auth"), formula=formula, about="a").stages[2].state == "disabled"


def test_a_stage_that_a_dial_leaves_out_is_said_to_be():
    fields = {
        "name": "test",
        "stages": [LEXICAL, FUSE, {"op": "multiply", "factor": "strength", "when": "aging"}],
        "dials": [{"name": "mode", "select": "profile", "table": {"calm": {"aging": 0.0}}}],
    }
    formula = build(fields, origin="test")
    calm = ask(kept("a", "auth"), formula=formula, about="a", context=Context(profile="calm"))
    assert (calm.stages[2].state, calm.facts["mode"]) == ("left out by a dial", "calm")
    assert ask(kept("a", "auth"), formula=formula, about="a").stages[2].state == "applied"


def test_what_came_in_below_k_needs_the_score_of_the_last_hit():
    facts = [kept(id_, "auth " + "filler " * n) for n, id_ in enumerate(("a", "b", "c"))]
    formula = recipe(LEXICAL, FUSE, {"op": "multiply", "factor": "session_spread"})
    c = ask(*facts, formula=formula, about="c", k=1)
    drop = c.dropped_at
    assert (drop.number, drop.title) == (4, "the best 1")
    assert (drop.had, drop.needed) == (round12(1 / 63), round12(1 / 61))
    assert drop.reason.startswith("it came in at 3 of 3")
    assert (c.counterfactual.name, c.counterfactual.above) == ("session_spread", "a")
    assert c.counterfactual.needed == pytest.approx((1 / 61) / (1 / 63), rel=1e-9)


def test_what_edges_brought_in_but_nothing_scored_is_said_to_have_no_score():
    formula = recipe(LEXICAL, {"op": "weigh", "weights": {"lexical": 1.0}}, {"op": "expand", "hops": 1})
    facts = [kept("a", "auth"), kept("b", "deploy"), Linked(a="a", b="b", kind="related")]
    b = ask(*facts, formula=formula, about="b")
    assert (b.rank, b.score) == (None, None)
    assert "no stage gave it a score" in b.dropped_at.reason
    assert [part.state for part in b.stages] == ["before it came", "before it came", "applied"]


# --- counterfactuals -----------------------------------------------------------------------------------


def test_the_factor_that_would_have_done_is_the_ratio_of_the_scores():
    formula = recipe(LEXICAL, FUSE, {"op": "multiply", "factor": "session_spread"})
    facts = [kept("a", "auth"), kept("b", "auth session")]
    change = ask(*facts, formula=formula, about="b").counterfactual
    assert (change.kind, change.number, change.name, change.current) == ("factor", 3, "session_spread", 1.0)
    assert change.needed == pytest.approx((1 / 61) / (1 / 62), rel=1e-9)


@pytest.mark.parametrize(("k", "rival"), [(1, "a"), (2, "b"), (3, "c"), (9, "c")])
def test_the_one_to_pass_is_the_next_above_or_the_last_hit(k: int, rival: str):
    formula = recipe(LEXICAL, FUSE, {"op": "multiply", "factor": "session_spread"})
    facts = [kept(id_, "auth " + "filler " * n) for n, id_ in enumerate("abcd")]
    assert ask(*facts, formula=formula, about="d", k=k).counterfactual.above == rival


def test_no_stage_from_before_it_came_is_held_against_a_memory():
    formula = recipe(LEXICAL, FUSE, {"op": "expand", "decay": 0.5})
    facts = [kept("a", "auth"), kept("b", "deploy"), Linked(a="a", b="b", kind="related", weight=1.0)]
    b = ask(*facts, formula=formula, about="b")
    assert b.score == round12(0.5 / 61)
    assert (b.counterfactual.number, b.counterfactual.name) == (3, "graph")
    assert b.counterfactual.needed == pytest.approx(1 / 61, rel=1e-9)
    assert [part.state for part in b.stages] == ["before it came", "before it came", "applied"]


def test_a_factor_does_not_leave_the_range_that_it_states():
    assert range_of("strength", {}) == (0.0, 1.0)
    assert range_of("recency_boost", {"boost": 0.3}) == (1.0, 1.3)
    assert range_of("depth_weight", {"episodic": 0.8, "intermediate": 1.0, "semantic": 1.2}) == (0.8, 1.2)
    assert range_of("session_spread", {}) == (1.0, math.inf)
    formula = recipe(LEXICAL, FUSE, {"op": "multiply", "factor": "strength"})
    facts = [kept("a", "auth"), kept("b", "auth session")]
    # Strength is at most 1, and the first rank by words would only draw level.
    assert ask(*facts, formula=formula, about="b").counterfactual is None


def test_a_weight_is_changed_where_it_is_written():
    formula = recipe(
        LEXICAL, VECTOR,
        {"op": "fuse", "channels": ["lexical", "vector"], "k": 60.0, "weights": {"lexical": 1.1}},
    )  # fmt: skip
    facts = [kept("a", "auth", vector=NORTH), kept("b", "auth auth deploy deploy deploy", vector=EAST)]
    world = World(view_of(facts), Question(text="auth", now=NOW, vector=EAST))
    b = explain(world.question, world.view, formula, "b")
    assert b.rank == 2
    assert (b.counterfactual.kind, b.counterfactual.name, b.counterfactual.current) == (
        "weight", "lexical.weight", 1.1,
    )  # fmt: skip
    # w/61 + 1/62 < w/62 + 1/61 below w = 1: less of a change than the vector's weight from 1 to 1.1
    assert b.counterfactual.needed == pytest.approx(1.0, rel=1e-6)
    assert b.counterfactual.needed < 1.0
    assert_lifted(world, formula, b)


def test_the_weight_that_a_question_brings_is_changed_in_the_question():
    formula = recipe(
        LEXICAL, {"op": "weigh", "weights": {"importance": 1.0, "lexical": 1.0}, "overridable": True}
    )
    facts = [
        kept("a", "auth auth session", importance=0.1),
        kept("b", "auth deploy session", importance=0.2),
        kept("c", "deploy"),
        kept("d", "deploy"),
        kept("e", "deploy"),
    ]
    question = Question(text="auth", now=NOW, context=Context(weights={"lexical": 0.5, "importance": 0.1}))
    world = World(view_of(facts), question)
    b = explain(question, world.view, formula, "b")
    change = b.counterfactual
    assert change is not None
    if change.kind == "weight":
        assert change.current == question.context.weights[change.name.removesuffix(".weight")]
    assert_lifted(world, formula, b)


def test_nothing_is_above_the_first():
    assert ask(kept("a", "auth"), about="a").counterfactual is None
