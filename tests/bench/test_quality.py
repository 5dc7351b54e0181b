"""The evaluation's own arithmetic: metrics, intervals, tests, the choice of weights, the cache, the report."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import ir_measures
import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))

from quality import data, results, variants
from quality.controls import by_formula, by_substring
from quality.embeddings import embedded
from quality.judging import collection_result, judge
from quality.measures import COLUMNS, NDCG, interval, p_value, scores_of
from quality.prose import TARGETS
from quality.renamed import NAMES, called_otherwise
from quality.report import page
from quality.tuning import GRID, STARTS, Weights, at_edge, climb, columns_of, ndcg, weights_of, with_weights
from quality.validating import worst_first

from recollect.query.formula import built_in, parse

DAY = 86_400_000_000
START = STARTS[0]


# --- metrics -----------------------------------------------------------------------------------------


def test_metrics_of_an_answer_are_the_textbook_arithmetic():
    found = scores_of(["x", "a", "y", "b"], frozenset({"a", "b", "c"}))
    ideal = 1 / math.log2(2) + 1 / math.log2(3) + 1 / math.log2(4)
    assert found == pytest.approx([0 / 3, 2 / 3, 2 / 3, 1 / 2, (1 / math.log2(3) + 1 / math.log2(5)) / ideal])


def test_an_empty_answer_scores_nothing():
    assert scores_of([], frozenset({"a"})) == [0.0] * len(COLUMNS)


@given(
    st.lists(st.sampled_from("abcdefghijklmnop"), unique=True, max_size=10),
    st.frozensets(st.sampled_from("abcdefghijklmnop"), min_size=1),
)
def test_metrics_agree_with_ir_measures(ids: list[str], right: frozenset[str]):
    qrels = [ir_measures.Qrel("q", id_, 1) for id_ in sorted(right)]
    run = [ir_measures.ScoredDoc("q", id_, -float(place)) for place, id_ in enumerate(ids)]
    named = [
        ir_measures.R @ 1,
        ir_measures.R @ 5,
        ir_measures.R @ 10,
        ir_measures.RR @ 10,
        ir_measures.nDCG @ 10,
    ]
    theirs = ir_measures.calc_aggregate(named, qrels, run) if run else dict.fromkeys(named, 0.0)
    assert scores_of(ids, right) == pytest.approx([theirs[measure] for measure in named])


# --- how sure ----------------------------------------------------------------------------------------


def test_the_interval_of_equal_values_is_a_point_and_of_others_holds_the_mean():
    assert interval(np.full(9, 0.25), resamples=50) == pytest.approx((0.25, 0.25))
    values = np.linspace(0.0, 1.0, 101)
    low, high = interval(values, resamples=400)
    assert low < 0.5 < high
    assert high - low == pytest.approx(2 * 1.96 * values.std() / math.sqrt(101), rel=0.2)


def test_the_test_finds_a_difference_where_there_is_one_and_none_where_not():
    rng = np.random.default_rng(1)
    a = rng.random(200)
    assert p_value(a + 0.2, a, resamples=500) == 1 / 501
    assert p_value(a, a, resamples=500) == 1.0
    noise = rng.normal(size=200)
    assert p_value(a + noise - noise.mean(), a, resamples=500) > 0.9


def test_the_test_of_two_questions_is_exact():
    """Of the four signs two give a difference as large: p is about one half."""
    assert p_value(np.array([1.0, 1.0]), np.zeros(2), resamples=4000) == pytest.approx(0.5, abs=0.05)


# --- choosing weights --------------------------------------------------------------------------------


def test_the_collection_that_is_furthest_below_its_target_decides():
    even = worst_first({"locomo-dev": 0.70, "scifact": 0.74})
    assert even == pytest.approx(0.01 + 0.2 * 0.01)
    assert worst_first({"locomo-dev": 0.69, "scifact": 0.76}) < even


def test_climbing_finds_the_top_of_a_hill_without_ridges_and_begins_at_words_and_meaning():
    top = Weights(0.3, 0.15, 0.1, 0.6, 0.2, 0.3, 0.3, 0.4, 0.4, 0.4, 0.2)
    assert climb(lambda weights: -sum((a - b) ** 2 for a, b in zip(weights, top, strict=True))) == top
    assert climb(lambda weights: 0.0) == START == Weights(0.5, *(0.0,) * 10)


def test_a_choice_at_the_end_of_the_grid_is_told_and_nothing_is_below_0():
    assert at_edge(START._replace(words=0.2, gather=max(GRID["gather"]))) == ("words", "gather")


def test_the_weights_of_the_default_lie_inside_the_grid():
    adopted = weights_of(built_in("recollect"))
    assert all(value in GRID[name] for name, value in adopted._asdict().items())
    assert at_edge(adopted) == ()


# --- a small collection ------------------------------------------------------------------------------

TURNS = [
    ("Ann: I adopted a puppy from the shelter", "s1"),
    ("Bob: lovely! what is its name?", "s1"),
    ("Ann: Biscuit, and it sleeps all day", "s1"),
    ("Bob: my garden is full of tomatoes", "s2"),
    ("Ann: Bob, can I have some tomatoes?", "s2"),
    ("Bob: of course, come by on Sunday", "s2"),
    ("Ann: the puppy ate my shoes", "s3"),
    ("Bob: Biscuit is a menace", "s3"),
]
QUESTIONS = [
    ("What is the name of Ann's puppy?", {"2", "7"}),
    ("When may Ann get tomatoes?", {"5"}),
    ("What did Ann say on 1970-01-03?", {"2"}),
]


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> data.Store:
    def letters(texts: list[str]) -> np.ndarray:
        return np.array([[t.lower().count(c) + 0.1 for c in "abcdefghijklmnop"] for t in texts], np.float32)

    monkeypatch.setattr(data, "embedded", letters)
    lines = [
        {
            "_id": str(n),
            "text": text,
            "ts": f"1970-01-{n + 1:02}T00:00:00",
            "session": session,
            "speaker": text[:3],
        }
        for n, (text, session) in enumerate(TURNS)
    ]
    probes = [
        data.Probe(f"q{n}", text, frozenset(right), "kind") for n, (text, right) in enumerate(QUESTIONS)
    ]
    (found,) = data._stored(
        {"small": data.memories(lines)}, {"small": probes}, ["english/2", "unicode61-cjk/2"]
    )
    return found


SETTINGS = [
    START,
    weights_of(built_in("recollect")),
    Weights(0.2, 0.3, 0.15, 0.8, 0.4, 0.1, 0.45, 0.2, 0.6, 0.6, 0.4),
]


@pytest.mark.parametrize("weights", SETTINGS)
def test_the_numpy_model_ranks_as_the_engine_does(store, weights: Weights):
    formula = built_in("recollect")
    engine = judge(by_formula(with_weights(formula, weights)), [store])[:, NDCG]
    assert [ndcg(columns_of(store, asked, formula), weights) for asked in store.asked] == pytest.approx(
        engine
    )


def test_the_small_collection_has_speakers_and_a_question_that_names_a_time(store):
    found = [columns_of(store, asked, built_in("recollect")) for asked in store.asked]
    assert [float(columns.span.sum()) for columns in found] == [0.0, 0.0, 1.0]
    assert all(columns.label.any() and columns.asked.any() and columns.asking.any() for columns in found)


def test_rows_become_memories_as_the_importer_makes_them():
    line = {"_id": "a", "text": "hello", "ts": "2024-01-02T03:04:05", "role": "human", "session": "s"}
    (memory,) = data.memories([line])
    assert (memory.id, memory.content, memory.tags, memory.session) == ("a", "hello", ("user",), "s")
    (spoken,) = data.memories([{"_id": "b", "text": "hello", "ts": "2024-01-02T03:04:05", "speaker": "Ann"}])
    assert (spoken.content, spoken.entities, spoken.tags) == ("Ann: hello", ("Ann",), ())
    assert spoken.at == data.micros("2024-01-02T03:04:05")


def test_what_is_called_otherwise_keeps_its_words_and_its_right_answers():
    lines = [
        {
            "_id": "c|1",
            "group": "c",
            "session": "s_1",
            "speaker": "Ann",
            "text": "Ann: hello Bob",
            "ts": "2024-01-02",
        },
        {
            "_id": "c|2",
            "group": "c",
            "session": "s_1",
            "speaker": "bob",
            "text": "bob: Annual report, ANN",
            "ts": "2024-01-02",
        },
    ]
    questions = [{"_id": "q", "group": "c", "text": "What did Bob tell Ann?"}]
    turns, asked, right = called_otherwise(lines, questions, {"q": frozenset({"c|2"})})
    ann, bob = NAMES[:2]
    assert [turn["text"] for turn in turns] == [f"{ann}: hello {bob}", f"{bob}: Annual report, {ann}"]
    assert [turn["speaker"] for turn in turns] == [ann, bob]
    assert asked[0]["text"] == f"What did {bob} tell {ann}?"
    assert asked[0]["group"] == turns[0]["group"] == turns[1]["group"] != "c"
    assert turns[0]["session"] == turns[1]["session"] != "s_1"
    assert right == {"q": frozenset({turns[1]["_id"]})}
    assert turns[1]["_id"] != "c|2"


def test_with_weights_changes_the_weights_and_nothing_else():
    formula = built_in("recollect")
    weights = Weights(0.25, 0.5, 0.125, 0.75, 0.25, 0.125, 0.5, 0.25, 0.5, 0.25, 0.125)
    assert weights_of(with_weights(formula, weights)) == weights
    assert with_weights(formula, weights_of(formula)).text == formula.text


def test_the_substring_control_counts_words_inside_words(store):
    puppy, *_ = store.asked
    answer = by_substring()(store, puppy)
    assert answer[0] == "6"  # ann, the, puppy; later than the others with as many


def test_every_variant_differs_from_the_default_and_is_a_formula():
    digests = {variants.variant(change).digest for change in variants.CHANGES}
    assert len(digests) == len(variants.CHANGES)
    assert built_in("recollect").digest not in digests


# --- the cache and the page --------------------------------------------------------------------------


def test_a_text_is_embedded_once_whatever_asks_for_it(tmp_path: Path, capsys):
    asked: list[str] = []

    def embed(texts):
        asked.extend(texts)
        return np.array([[float(len(text)), 1.0] for text in texts], np.float32)

    cache = tmp_path / "cache.npz"
    first = embedded(["one", "three", "one"], cache=cache, embed=embed)
    again = embedded(["three", "seven!", "one"], cache=cache, embed=embed)
    assert asked == ["one", "three", "seven!"]
    assert first[:, 0].tolist() == [3, 5, 3]
    assert again[:, 0].tolist() == [5, 6, 3]
    assert not list(tmp_path.glob("*.part*"))


def test_the_page_has_every_ranking_and_says_where_the_default_is_not_ahead(store):
    control = parse(
        'name = "vectors"\nstages = [{ op = "retrieve", channel = "vector" }, '
        '{ op = "weigh", weights = { vector = 1.0 } }]',
        origin="vectors",
    )
    formulas = [built_in("recollect"), built_in("reverie")]
    small = collection_result("locomo-dev", "a small one", [store], formulas, [control])
    main = [msgspec.structs.replace(small, name=name) for name in TARGETS]
    other = msgspec.structs.replace(small, name="elsewhere")
    ours = next(row.means for row in small.rows if row.name == "recollect")
    fold = results.FoldResult(questions=1, means=ours)
    validations = tuple(
        results.Validation(
            collection=name, folds=(fold, fold), means=ours, low=ours, high=ours, fold_deviation=0.0
        )
        for name in TARGETS
    )
    found = results.Quality(
        date="2026-01-01", machine="m", commit="c", formula="recollect@0", embedder="e", resamples=10,
        collections=(*main, other),
        tuning=results.Tuning(
            grid={"words": (0.1, 0.4)}, adopted={"words": 0.4}, chosen=({"words": 0.4},) * 2, at_edge=((), ("words",)),
            numpy_against_engine=0.0, validations=validations,
        ),
        variants=(),
        floor=tuple(
            results.Floor(what=f"{name}, its own questions", related=True, questions=1, silent=0.5) for name in TARGETS
        ),
        updates=(results.Updates(formula="recollect", pairs=20, later_first=12, on_top=7),),
        renamed=(results.Renamed(collection="beam-dev", groups=2, questions=36, ndcg=0.5, renamed=0.49, p_value=0.7),),
        example="$ recollect compare",
    )  # fmt: skip
    again_read = msgspec.json.decode(msgspec.json.encode(found), type=results.Quality)
    shown = page(again_read)
    assert "| beam-dev | 2 | 36 | 0.500 | 0.490 | -0.010 | 0.70 |" in shown
    assert all(f"| {name} |" in shown for name in ("**recollect**", "reverie", "*vectors*", "*substring*"))
    assert f"{ours['nDCG@10']:.3f}" in shown
    assert "not significantly" in shown  # three questions prove nothing
    assert "**no**" in shown  # half of all answers are empty
    assert "| 12 of 20 | 7 of 20 |" in shown
