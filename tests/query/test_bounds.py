"""What a question and a formula may cost, and that no number of a ranking decides by accident."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import msgspec
import numpy as np
import pytest
from formula_strategies import World, formulas, worlds
from hypothesis import event, example, given, settings
from hypothesis import strategies as st

from recollect.engine.validate import QUERY_CHARACTERS_MAX
from recollect.events.errors import InvalidInput
from recollect.events.facts import FormulaAdopted, Recalled
from recollect.interfaces.python.memory import Memory
from recollect.projections.lexical import matches
from recollect.query.formula import Formula, InvalidFormula, build, built_in, from_canonical, load, parse
from recollect.query.ranking import NotFinite, rank

RETRIEVE = {"op": "retrieve", "channel": "lexical"}
WEIGH = {"op": "weigh", "weights": {"lexical": 1.0}}


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory.open(":memory:", embedder="hash") as opened:
        yield opened


def formula_of(*stages: dict[str, object], **fields: object) -> Formula:
    return build({"name": "mine", "stages": list(stages), **fields}, origin="mine")


def only_recall(memory: Memory) -> Recalled:
    log = memory.store.log
    (recalled,) = [event.fact for event in log.read(0, log.head) if isinstance(event.fact, Recalled)]
    return recalled


# --- questions ---------------------------------------------------------------------------------------


def test_a_question_that_is_too_long_is_refused_with_its_length_at_every_door(memory: Memory, tmp_path: Path):
    memory.remember("tea", id="m")
    long = "x" * (QUERY_CHARACTERS_MAX + 1)
    said = "query has 10,001 characters; at most 10,000 are taken"
    questions = tmp_path / "questions.txt"
    questions.write_text(f"short\n{long}\n", "utf-8")
    doors: list[Callable[[], object]] = [
        lambda: memory.recall(long),
        lambda: memory.at("now").recall(long),
        lambda: memory.explain(long, "m"),
        lambda: memory.ranks("m", long),
        lambda: memory.compare("engram", "reverie", queries=str(questions)),
    ]
    for door in doors:
        with pytest.raises(InvalidInput, match=said):
            door()
    assert memory.status().recalls == 0


def test_a_recorded_question_replays_whatever_its_length(memory: Memory):
    memory.remember("tea leaves", id="m")
    memory.recall("tea")
    recalled = only_recall(memory)
    question = msgspec.structs.replace(recalled.question, text="tea " * 30_000)
    ranking = rank(question, memory.store.view(), built_in("recollect"))
    again = msgspec.structs.replace(
        recalled, question=question, ids=ranking.ids, scores=ranking.scores, basis=ranking.basis
    )
    memory.store.append([again])
    assert memory.verify().exact


def calls_of(work: Callable[[], object]) -> int:
    """How many functions of Python the work calls."""
    count = 0

    def counting(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(counting)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def test_the_work_of_a_question_grows_with_its_length_and_not_with_its_square(memory: Memory):
    words = [f"w{n}" for n in range(1_600)]
    memory.remember_many([" ".join(words[n::200]) for n in range(200)])

    def ask(count: int) -> int:
        question = " ".join(words[:count])
        return calls_of(lambda: memory.recall(question, formula="reverie", record=False))

    ask(10)
    assert ask(1_600) < 3 * ask(800)


@pytest.mark.parametrize("formula", ["recollect", "reverie", "omega"])
def test_no_bit_depends_on_how_many_rows_are_scored_at_once(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, formula: str
):
    memory.remember_many([f"tea leaf {n} {n % 7} green" for n in range(300)])

    def scores() -> tuple[float, ...]:
        answer = memory.recall("green tea leaf 3 5 tea", k=50, formula=formula, record=False, now=2e9)
        return tuple(hit.score for hit in answer.hits)

    whole = scores()
    monkeypatch.setattr(matches, "_CELLS_AT_ONCE", 13)
    memory.remember("something else")
    memory.forget(memory.remember("another", id="x"))
    again = scores()
    monkeypatch.undo()
    assert again == scores()
    assert len(whole) == 50


# --- what a formula may ask for ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"stages": [RETRIEVE] + [{"op": "multiply", "factor": "strength"}] * 100}, "has 101 stages"),
        ({"stages": [{**RETRIEVE, "top": 10_001}]}, r"stage 1 \(retrieve lexical .*has top = 10,001"),
        ({"stages": [{**RETRIEVE, "k1": 1e300}]}, r"has k1 = 1e\+300"),
        ({"stages": [{**RETRIEVE, "per_hit": 1_001}]}, "has per_hit = 1,001"),
        ({"stages": [{**RETRIEVE, "expanded": {"first": 21}}]}, "21 rewritings"),
        ({"stages": [{"op": "expand", "hops": 11}]}, "has hops = 11"),
        ({"stages": [{"op": "expand", "reach": 10_001}]}, "has reach = 10,001"),
        ({"stages": [{"op": "rerank", "top": 1_001}]}, "has top = 1,001"),
        ({"stages": [{"op": "deduplicate", "by": "text", "among": 1_001}]}, "has among = 1,001"),
        ({"stages": [{"op": "exclude", "kinds": ["k"] * 1_001}]}, "1,001 entries in kinds"),
        ({"name": "n" * 201, "stages": [RETRIEVE]}, "name of at most 200"),
        ({"stages": [{"op": ["multiply"], "factor": "strength"}]}, "stage 1"),
        ({"stages": [{"op": "multiply", "factor": ["strength"]}]}, "stage 1"),
        ({"stages": [{"op": "multiply", "factor": "strength", "parameters": "x"}]}, "stage 1"),
        ({"stages": [{**WEIGH, "weights": {"lexical": math.inf}}]}, "stage 1"),
        ({"stages": [{**WEIGH, "weights": {"lexical": 10**400}}]}, "formula"),
    ],
)
def test_a_formula_that_asks_for_too_much_is_refused_with_its_stage(fields: dict[str, object], said: str):
    with pytest.raises(InvalidFormula, match=said):
        build({"name": "mine", **fields}, origin="mine")


def test_a_formula_of_the_log_is_held_to_no_limit_and_one_made_in_python_is(memory: Memory):
    built = build({"name": "wide", "stages": [{**RETRIEVE, "top": 50_000}, WEIGH]}, origin="x", check=False)
    with pytest.raises(InvalidFormula, match="top = 50,000"):
        memory.recall("tea", formula=built)
    memory.remember("tea")
    adopted = FormulaAdopted(name="wide", digest=built.digest, text=built.text, in_force=True)
    memory.store.append([adopted])
    assert from_canonical(built.text).label == built.label
    assert memory.recall("tea", formula=built).hits
    assert memory.verify().exact


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a = " + "[" * 20_000, "nested too deeply"),
        ("name = 'x'\nstages = [" + "{op=" * 5_000, "formula x"),
        ("a" + ".a" * 20_000 + " = 1", "more than 500 dots"),
        ("stages = [" + "1" * 5_000 + "]", "not valid TOML"),
        ("# " + "x" * 300_000, "at most 262,144"),
    ],
)
def test_a_hostile_formula_is_one_line(text: str, said: str):
    with pytest.raises(InvalidFormula, match=said) as refused:
        parse(text, origin="x")
    assert "\n" not in str(refused.value)


def test_a_formula_file_is_never_waited_for(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe.toml")
    (tmp_path / "zero.toml").symlink_to("/dev/zero")
    (tmp_path / "big.toml").write_bytes(b"#" * 300_000)
    (tmp_path / "latin.toml").write_bytes(b"name = '\xff'")
    for name, said in (
        ("pipe", "not a regular file"), ("zero", "not a regular file"), ("big", "262,144 bytes"),
        ("latin", "not valid TOML"), ("gone", "No such file"),
    ):  # fmt: skip
        with pytest.raises(InvalidFormula, match=said):
            load(tmp_path / f"{name}.toml")


# --- numbers -----------------------------------------------------------------------------------------

HUGE = {"op": "weigh", "weights": {"lexical": 1e300}}


@pytest.mark.parametrize(
    ("stages", "said"),
    [
        (
            [RETRIEVE, HUGE, {"op": "echo", "share": 1e300}, {"op": "gather", "share": 1e300}],
            r"stage 3 \(echo",
        ),
        (
            [RETRIEVE, HUGE, {"op": "multiply", "factor": "recency_boost", "boost": 1e300}],
            r"stage 3 \(multiply by recency_boost/2\) of formula 'mine' gave inf for memory 'm0'",
        ),
        (
            [
                {"op": "retrieve", "channel": "recent"},
                {"op": "look-up", "table": {}, "name": "low", "default": -1e300},
                {"op": "look-up", "table": {}, "name": "high", "default": 1e300},
                {"op": "weigh", "weights": {"low": 1e300, "high": 1e300}},
            ],
            r"stage 4 \(weigh .*gave (nan|-?inf) for memory",
        ),
    ],
)
def test_overflow_names_the_stage_the_formula_and_the_memory(
    memory: Memory, stages: list[dict[str, object]], said: str
):
    for n in range(3):
        memory.remember(f"tea leaf {n}", id=f"m{n}", session="s")
    head = memory.status().head
    with pytest.raises(NotFinite, match=said) as refused:
        memory.recall("tea", formula=formula_of(*stages))
    assert "\n" not in str(refused.value)
    assert memory.status().head == head


def test_a_dial_at_zero_is_a_named_error_and_a_factor_without_a_value_is_not(memory: Memory):
    memory.remember("tea", id="m", at="2020-01-01")
    now = memory.get("m").state.created_at
    dial = {"name": "pace", "select": "profile", "default": "all", "table": {"all": {"half_life_hours": 0.0}}}
    half_life = formula_of(RETRIEVE, WEIGH, {"op": "multiply", "factor": "intent_recency"}, dials=[dial])
    with pytest.raises(
        NotFinite, match=r"stage 3 \(multiply by intent_recency/2\) .* gave nan for memory 'm'"
    ):
        memory.recall("tea", formula=half_life, now=now / 1e6)
    absent = formula_of(
        RETRIEVE, {"op": "compute", "factor": "high_importance"},
        {"op": "weigh", "weights": {"lexical": 1.0, "high_importance": 1.0}},
    )  # fmt: skip
    assert [hit.id for hit in memory.recall("tea", formula=absent).hits] == ["m"]


def test_an_overflow_recorded_before_it_was_an_error_replays(memory: Memory):
    for n in range(3):
        memory.remember(f"tea leaf {n}", id=f"m{n}")
    formula = formula_of(RETRIEVE, HUGE, {"op": "multiply", "factor": "recency_boost", "boost": 1e300})
    memory.recall("tea")
    recalled = only_recall(memory)
    ranking = rank(recalled.question, memory.store.view(), formula, finite=False)
    assert math.inf in ranking.scores
    old = msgspec.structs.replace(
        recalled, formula=formula.digest, ids=ranking.ids, scores=ranking.scores, basis=ranking.basis
    )
    adopted = FormulaAdopted(name="mine", digest=formula.digest, text=formula.text, in_force=False)
    memory.store.append([adopted, old])
    assert memory.verify().exact
    assert memory.dream(dry_run=True) is not None


EXTREMES = st.sampled_from((0.0, 5e-324, 1e-300, 1e-9, 1.0, 1e9, 1e200, 1e300, -1e300))


def stretched(value: object, draw: Callable[[st.SearchStrategy[float]], float]) -> object:
    """The same fields with some of their numbers replaced by extreme ones."""
    if isinstance(value, dict):
        return {name: stretched(inner, draw) for name, inner in value.items()}
    if isinstance(value, list):
        return [stretched(inner, draw) for inner in value]
    return draw(EXTREMES | st.just(value)) if isinstance(value, float) else value


@settings(max_examples=60)
@given(world=worlds, formula=formulas(), data=st.data())
def test_every_number_of_a_ranking_is_finite_or_its_stage_is_named(
    world: World, formula: Formula, data: st.DataObject
):
    fields = stretched(msgspec.json.decode(formula.text), data.draw)
    assert isinstance(fields, dict)
    try:
        extreme = build(fields, origin="extreme")
        ranking = rank(world.question, world.view, extreme)
    except InvalidFormula:
        return
    except NotFinite as error:
        event(str(error).partition(")")[0])
        return
    assert all(math.isfinite(score) for score in ranking.scores)
    assert not any(np.isinf(column).any() for column in ranking.sheet.columns.values())


@given(text=st.text(st.sampled_from("[]{}=.\"'#\n ,a1op"), max_size=200))
@example(text="stages=[[[1]]]")
def test_any_text_is_a_formula_or_one_line(text: str):
    with suppress(InvalidFormula):
        parse(text, origin="x")
