"""Every variant against the program that it is named after, and against published numbers."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Sequence

import msgspec
import numpy as np
import pytest
import rank_bm25
from hypothesis import given
from hypothesis import strategies as st
from lexical_corpus import corpus, pairs

from recollect.events.errors import InvalidInput
from recollect.projections.lexical.bm25 import DEFAULTS, Bm25, Variant, average_okapi_idf
from recollect.projections.lexical.index import Lexical
from recollect.projections.portable_math import round12

# Few words and short texts: ties, idf floors and repeats are the rule.
word = st.sampled_from("abcdefgh")
corpora = st.lists(st.lists(word, min_size=1, max_size=8).map(" ".join), min_size=1, max_size=25)
queries = st.lists(word, min_size=1, max_size=6)


def everything(lexical: Lexical, query: str, texts: Sequence[str], bm25: Bm25) -> list[tuple[int, float]]:
    return pairs(lexical.search(query, at=len(texts), bm25=bm25, top=len(texts)))


# --- fts5 ----------------------------------------------------------------------------------------------


def sqlite_ranking(texts: Sequence[str], words: Sequence[str]) -> list[tuple[int, float]]:
    db = sqlite3.connect(":memory:")
    db.execute("create virtual table texts using fts5(text)")
    db.executemany("insert into texts (rowid, text) values (?, ?)", enumerate(texts))
    match = " OR ".join(f'"{word}"' for word in words)
    found = db.execute("select rowid, bm25(texts) from texts where texts match ?", [match]).fetchall()
    db.close()
    return sorted(((row, -score) for row, score in found), key=lambda hit: (-round12(hit[1]), hit[0]))


@given(corpora, queries)
def test_fts5_ranks_and_scores_as_sqlite_does(texts: list[str], words: list[str]):
    _, lexical = corpus(texts)
    ours = everything(lexical, " ".join(words), texts, Bm25(variant="fts5"))
    theirs = sqlite_ranking(texts, words)
    assert [row for row, _ in ours] == [row for row, _ in theirs]
    assert [score for _, score in ours] == pytest.approx([score for _, score in theirs], rel=1e-9)


# Of SQLite's own test suite. A text of several columns is one text here, and every query is an OR: of the
# cases with AND only the rows that hold all words are compared (their order is the same), and those that
# name a column are left out.
T1 = ["a"] * 8 + ["a a b", "b b a"]
T8 = [
    "A o o o o C o o o o o o o o", "o o B o o o C C o o o o o o o", "A o o o o o o D D o o o o o o",
    "o B o o o o o D o o o o o o", "E o G H o o o o o o o o o o o", "F o G I o J o o o o o o o o o",
    "E o o H o J o o o o o o o o o", "o o o o o o o o o o o o o o o", "o o o o o o o o o o o o o o o",
]  # fmt: skip
Y1 = ["test xyz", "test test xyz test", "test test xyz"]
MT = [
    "hello this is a test", "of trying to order by", "rank on an fts5 table", "that have periods in",
    "the table names.", "table table table",
]  # fmt: skip
SQLITE_CASES = [
    (Y1, "test tset", [1, 2, 0]),
    (Y1, "test xyz", [2, 1, 0]),
    (MT, "table", [5, 4, 2]),
    (T1, "a b", [9, 8]),
    (T8, "a", [0, 2]),
    (T8, "b", [3, 1]),
    (T8, "c", [1, 0]),
    (T8, "d", [2, 3]),
]


@pytest.mark.parametrize(("texts", "query", "order"), SQLITE_CASES)
def test_fts5_orders_the_cases_of_the_test_suite_of_sqlite(texts: list[str], query: str, order: list[int]):
    _, lexical = corpus(texts)
    ranked = [row for row, _ in everything(lexical, query, texts, Bm25(variant="fts5"))]
    assert [row for row in ranked if row in order] == order


def test_fts5_floors_the_idf_of_a_word_in_every_row():
    _, lexical = corpus(["just a few words with a / inside"])
    tf, length = 1, 7
    weight = tf * (1.2 + 1) / (tf + 1.2 * (1 - 0.75 + 0.75 * length / length))
    assert everything(lexical, "just", [""], Bm25(variant="fts5")) == [(0, round12(1e-6 * weight))]
    assert f"{1e-6 * weight:g}" == "1e-06"


# --- rank_bm25 ------------------------------------------------------------------------------------------

CLASSES = {"okapi": rank_bm25.BM25Okapi, "plus": rank_bm25.BM25Plus, "l": rank_bm25.BM25L}


@pytest.mark.parametrize("variant", CLASSES)
@given(texts=corpora, words=queries)
def test_every_matching_row_scores_as_in_rank_bm25(variant: Variant, texts: list[str], words: list[str]):
    split = [text.split() for text in texts]
    theirs = CLASSES[variant](split).get_scores(words)
    _, lexical = corpus(texts)
    rows = np.arange(len(texts))
    ours = lexical.score_rows(" ".join(words), rows, at=len(texts), bm25=Bm25(variant=variant))
    matching = [row for row in rows.tolist() if set(words) & set(split[row])]
    assert ours[matching].tolist() == pytest.approx(theirs[matching].tolist(), rel=1e-9, abs=1e-12)
    assert not ours[[row for row in rows.tolist() if row not in matching]].any()
    hits = everything(lexical, " ".join(words), texts, Bm25(variant=variant))
    assert sorted(hits) == [(row, ours[row]) for row in matching]


@given(texts=corpora, words=queries, k1=st.floats(0, 3), b=st.floats(0, 1), epsilon=st.floats(0, 1))
def test_parameters_mean_what_they_mean_in_rank_bm25(
    texts: list[str], words: list[str], k1: float, b: float, epsilon: float
):
    split = [text.split() for text in texts]
    theirs = rank_bm25.BM25Okapi(split, k1=max(k1, 0.01), b=b, epsilon=epsilon).get_scores(words)
    _, lexical = corpus(texts)
    bm25 = Bm25(variant="okapi", k1=max(k1, 0.01), b=b, epsilon=epsilon)
    ours = lexical.score_rows(" ".join(words), np.arange(len(texts)), at=len(texts), bm25=bm25)
    assert ours.tolist() == pytest.approx(theirs.tolist(), rel=1e-9, abs=1e-12)


def test_the_average_idf_is_taken_over_the_vocabulary():
    N, dfs = 4, [1, 1, 3]
    idfs = [math.log(N - df + 0.5) - math.log(df + 0.5) for df in dfs]
    assert average_okapi_idf({1: 2, 3: 1}, N, math.log) == pytest.approx(sum(idfs) / 3, rel=1e-15)


# --- lucene ---------------------------------------------------------------------------------------------

# Scores that Elasticsearch's manual prints for the query "rrf": in float32, and with a factor k1 + 1.
ELASTIC = {"rrf": 0.13963442, "rrf rrf": 0.15350538, "rrf rrf rrf": 0.15876243, "rrf rrf rrf rrf": 0.16152832}


def test_lucene_scores_as_elasticsearch_prints():
    _, lexical = corpus(list(ELASTIC))
    bm25 = Bm25(variant="lucene", k1=1.2, b=0.75)
    scores = lexical.score_rows("rrf", np.arange(4), at=4, bm25=bm25) * (1.2 + 1)
    assert scores.tolist() == pytest.approx(list(ELASTIC.values()), rel=1e-7)


# --- parameters ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", DEFAULTS)
def test_what_is_not_given_is_the_default_of_the_variant(variant: Variant):
    k1, b, delta, epsilon = DEFAULTS[variant]
    assert Bm25(variant=variant) == Bm25(variant=variant, k1=k1, b=b, delta=delta, epsilon=epsilon)
    assert Bm25(variant=variant, b=0.5).k1 == k1


@pytest.mark.parametrize("variant", CLASSES)
def test_the_defaults_are_those_of_rank_bm25(variant: Variant):
    model = CLASSES[variant]([["a"]])
    parameters = {"k1", "b", "delta", "epsilon"} & vars(model).keys()
    assert {name: getattr(model, name) for name in parameters} == {
        name: getattr(Bm25(variant=variant), name) for name in parameters
    }


def test_parameters_survive_the_wire():
    bm25 = Bm25(variant="okapi", b=0.5)
    assert msgspec.json.decode(msgspec.json.encode(bm25), type=Bm25) == bm25


@pytest.mark.parametrize(
    ("name", "value"), [("k1", -1.0), ("b", 1.5), ("delta", math.nan), ("epsilon", math.inf)]
)
def test_a_parameter_out_of_range_is_refused(name: str, value: float):
    with pytest.raises(InvalidInput, match=f"{name} of BM25 must be .*, not {value}"):
        Bm25(**{name: value})


def test_an_unknown_variant_is_refused_with_the_known_ones():
    with pytest.raises(InvalidInput, match="'bm26' is no BM25 variant; choose one of fts5, okapi"):
        Bm25(variant="bm26")


@pytest.mark.parametrize("variant", DEFAULTS)
@pytest.mark.parametrize(("k1", "b"), [(0.0, 0.0), (0.0, 1.0), (1.2, 1.0)])
def test_extreme_parameters_give_finite_scores(variant: Variant, k1: float, b: float):
    texts = ["a b", "", "b c c", "a"]
    _, lexical = corpus(texts)
    rows = np.arange(4)
    scores = lexical.score_rows("a c", rows, at=4, bm25=Bm25(variant=variant, k1=k1, b=b))
    assert np.isfinite(scores).all()
    assert scores[1] == 0.0
