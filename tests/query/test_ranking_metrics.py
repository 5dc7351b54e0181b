"""Every metric against hand arithmetic, against reference libraries, and against the laws it must keep."""

from __future__ import annotations

import json
import math
from pathlib import Path

import ir_measures
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ir_measures import RR, Judged, R, nDCG
from scipy.stats import kendalltau

from recollect.query.ranking_metrics import (
    churn_at,
    jaccard_at,
    kendall_tau_b,
    mean_abs_rank_change,
    ndcg_at,
    rbo,
    recall_at,
    reciprocal_rank,
    unjudged_at,
)

rankings = st.lists(st.sampled_from("abcdefghijkl"), max_size=8, unique=True)
shares = st.sampled_from((0.1, 0.5, 0.9, 0.98))

QRELS = """
q1 0 d1 2
q1 0 d2 0
q1 0 d3 1
q1 0 d9 3
q2 0 d4 1
q2 0 d5 1
q3 0 d1 0
q3 0 d2 -1
q4 0 d7 1
"""
RUN = """
q1 Q0 d2 1 9.5 tag
q1 Q0 d1 2 9.1 tag
q1 Q0 d8 3 8.0 tag
q1 Q0 d3 4 7.5 tag
q2 Q0 d5 1 3.0 tag
q3 Q0 d1 1 2.0 tag
q3 Q0 d2 2 1.0 tag
q4 Q0 d1 1 5.0 tag
q4 Q0 d2 2 4.0 tag
q4 Q0 d3 3 3.0 tag
q4 Q0 d4 4 2.0 tag
q4 Q0 d5 5 1.5 tag
q4 Q0 d7 6 1.0 tag
"""


def judgements() -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for line in QRELS.split("\n"):
        if line:
            query, _, document, grade = line.split()
            found.setdefault(query, {})[document] = int(grade)
    return found


def answers() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in RUN.split("\n"):
        if line:
            query, _, document, *_ = line.split()
            found.setdefault(query, []).append(document)
    return found


# --- by hand ---------------------------------------------------------------------------------------


def test_churn_is_the_share_of_the_new_top_that_is_new():
    assert churn_at("abcde", "abxye", 5) == 2 / 5
    assert churn_at("abcde", "edcba", 5) == 0.0
    assert churn_at("abcde", "fbcde", 1) == 1.0
    assert churn_at("ab", "abcd", 4) == 2 / 4


def test_losing_the_whole_answer_is_a_churn_of_one_and_two_empty_answers_are_no_churn():
    assert churn_at("abc", "", 5) == 1.0
    assert churn_at("", "", 5) == 0.0
    assert churn_at("", "ab", 5) == 1.0


def test_jaccard_is_intersection_over_union():
    assert jaccard_at("abc", "bcd", 3) == 2 / 4
    assert jaccard_at("abc", "bcd", 1) == 0.0
    assert jaccard_at("", "", 3) == 1.0


def test_rbo_of_two_swapped_places_follows_the_papers_sum():
    p = 0.9
    # X_1 = 0, X_2 = 2, X_3 = 3; even lists, so the rest is X_3 / 3 · p³
    expected = (1 - p) / p * (0 / 1 * p + 2 / 2 * p**2 + 3 / 3 * p**3) + 3 / 3 * p**3
    assert rbo("abc", "bac", p) == pytest.approx(expected, abs=1e-15)


def test_rbo_of_uneven_lists_extrapolates_the_shorter_one():
    p = 0.5
    # s = 2, l = 4, X = 1, 2, 2, 2: identical as far as both can be seen
    seen = 1 / 1 * p + 2 / 2 * p**2 + 2 / 3 * p**3 + 2 / 4 * p**4
    unseen = 2 * (3 - 2) / (2 * 3) * p**3 + 2 * (4 - 2) / (2 * 4) * p**4
    expected = (1 - p) / p * (seen + unseen) + ((2 - 2) / 4 + 2 / 2) * p**4
    assert rbo("ab", "abcd", p) == pytest.approx(expected, abs=1e-15)
    assert expected == pytest.approx(1.0)


def test_tau_b_counts_pairs_and_ties():
    assert kendall_tau_b("abcd", "bacd") == (5 - 1) / math.sqrt(6 * 6)
    # d is missing from the first, a from the second; places of a, b, c, d: 1 2 3 4 and 4 1 2 3
    assert kendall_tau_b("abc", "bcd") == (3 - 3) / 6
    # places (a, b, c): 1 2 2 (b and c both missing) and 1 2 3: 2 agree, 1 tied in the first
    assert kendall_tau_b("a", "abc") == 2 / math.sqrt(2 * 3)


def test_mean_rank_change_puts_a_missing_id_just_behind_the_last_place():
    # a 1→1, b 2→4 (missing from the second), c 3→2, d 4 (missing from the first)→3
    assert mean_abs_rank_change("abc", "acd") == (0 + 2 + 1 + 1) / 4
    assert mean_abs_rank_change("abc", "") == (3 + 2 + 1) / 3
    assert mean_abs_rank_change("abc", "b") == (3 + 1 + 1) / 3


def test_ndcg_weighs_by_the_logarithm_of_the_place():
    gains = {"a": 3.0, "b": 1.0, "c": -2.0}
    ideal = 3 / math.log2(2) + 1 / math.log2(3)
    assert ndcg_at("cab", gains, 3) == (3 / math.log2(3) + 1 / math.log2(4)) / ideal
    assert ndcg_at("cab", gains, 1) == 0.0
    assert ndcg_at("ab", gains, 5) == 1.0
    assert ndcg_at("ab", {}, 5) == 0.0


def test_recall_reciprocal_rank_and_unjudged_share():
    assert recall_at("abcd", {"b", "d", "z"}, 3) == 1 / 3
    assert recall_at("abcd", set(), 3) == 0.0
    assert reciprocal_rank("abcd", {"c", "d"}) == 1 / 3
    assert reciprocal_rank("abcd", {"z"}) == 0.0
    assert unjudged_at("abcd", {"a", "d"}, 3) == 2 / 3
    assert unjudged_at("", {"a"}, 3) == 0.0


# --- against the reference libraries ---------------------------------------------------------------


def reference(measure: object) -> dict[str, float]:
    qrels = ir_measures.read_trec_qrels(QRELS.strip())
    run = ir_measures.read_trec_run(RUN.strip())
    return {metric.query_id: metric.value for metric in ir_measures.iter_calc([measure], qrels, run)}


@pytest.mark.parametrize("k", [1, 3, 5, 10])
def test_ndcg_recall_and_judged_agree_with_trec_eval(k: int):
    qrels, run = judgements(), answers()
    ours = {q: {i: float(g) for i, g in qrels[q].items()} for q in qrels}
    relevant = {q: {i for i, g in qrels[q].items() if g > 0} for q in qrels}
    assert {q: ndcg_at(run[q], ours[q], k) for q in run} == pytest.approx(reference(nDCG @ k), abs=1e-12)
    assert {q: recall_at(run[q], relevant[q], k) for q in run} == pytest.approx(reference(R @ k), abs=1e-12)
    assert {q: 1 - unjudged_at(run[q], qrels[q], k) for q in run} == pytest.approx(
        reference(Judged @ k), abs=1e-12
    )


def test_reciprocal_rank_agrees_with_trec_eval():
    qrels, run = judgements(), answers()
    relevant = {q: {i for i, g in qrels[q].items() if g > 0} for q in qrels}
    assert {q: reciprocal_rank(run[q], relevant[q]) for q in run} == pytest.approx(reference(RR))


@pytest.mark.parametrize(
    ("a", "b", "p", "expected"), json.loads(Path(__file__).with_name("rbo_reference.json").read_text("utf-8"))
)
def test_rbo_agrees_with_the_rbo_package(a: str, b: str, p: float, expected: float):
    """Values of rbo 0.1.3 (`RankingSimilarity.rbo_ext`), stored because that package holds numpy below 2."""
    assert rbo(a, b, p) == pytest.approx(expected, abs=1e-12)


@given(rankings, rankings)
def test_tau_b_agrees_with_scipy_over_the_union(a: list[str], b: list[str]):
    union = sorted({*a, *b})
    in_a = [a.index(id_) if id_ in a else len(a) for id_ in union]
    in_b = [b.index(id_) if id_ in b else len(b) for id_ in union]
    expected = 1.0 if a == b else (kendalltau(in_a, in_b).statistic if a and b and len(union) > 1 else 0.0)
    assert kendall_tau_b(a, b) == pytest.approx(0.0 if math.isnan(expected) else expected, abs=1e-12)


# --- laws ------------------------------------------------------------------------------------------


@given(rankings, shares, st.integers(1, 10))
def test_equal_rankings_show_no_change_at_all(a: list[str], p: float, k: int):
    assert churn_at(a, a, k) == mean_abs_rank_change(a, a) == 0.0
    assert jaccard_at(a, a, k) == rbo(a, a, p) == kendall_tau_b(a, a) == 1.0


@given(rankings, rankings, shares, st.integers(1, 10))
def test_similarities_do_not_care_which_ranking_comes_first(a: list[str], b: list[str], p: float, k: int):
    assert jaccard_at(a, b, k) == jaccard_at(b, a, k)
    assert rbo(a, b, p) == pytest.approx(rbo(b, a, p), abs=1e-12)
    assert kendall_tau_b(a, b) == pytest.approx(kendall_tau_b(b, a), abs=1e-12)
    assert mean_abs_rank_change(a, b) == mean_abs_rank_change(b, a)
    assert -1e-12 <= rbo(a, b, p) <= 1 + 1e-12
