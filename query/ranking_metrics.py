"""How two rankings differ, and how good one is: pure functions on lists of ids, best first.

Between two rankings `a` (before) and `b` (after), every one says "no change" exactly (0.0 or 1.0) for equal
lists: churn, Jaccard, rank-biased overlap, Kendall's tau-b and the mean change of rank. Against judgements:
reciprocal rank, nDCG, recall, and the share of the answer without a judgement; these agree with trec_eval.

A list holds an id once. The two lists may have different lengths: an id that a list does not hold stands, for
tau-b and for the change of rank, just behind that list's last place, level with all others that it lacks.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

Ids = Sequence[str]


# --- between two rankings --------------------------------------------------------------------------


def churn_at(a: Ids, b: Ids, k: int) -> float:
    """The share of b's first k that are not among a's first k; 1 if b lost everything that a had."""
    before, after = set(a[:k]), set(b[:k])
    if not after:
        return 1.0 if before else 0.0
    return len(after - before) / len(after)


def jaccard_at(a: Ids, b: Ids, k: int) -> float:
    """|A ∩ B| / |A ∪ B| of the first k; 1 if both are empty."""
    before, after = set(a[:k]), set(b[:k])
    union = before | after
    return len(before & after) / len(union) if union else 1.0


def rbo(a: Ids, b: Ids, p: float) -> float:
    """Rank-biased overlap, extrapolated: RBO_ext of Webber, Moffat & Zobel 2010, equation 32.

    With s <= l the lengths of the shorter and the longer list and X_d their overlap at depth d:

        (1-p)/p · (Σ_{d=1..l} X_d/d · p^d + Σ_{d=s+1..l} X_s(d-s)/(s·d) · p^d) + ((X_l - X_s)/l + X_s/s) · p^l

    It weighs the first places most: at p = 0.9 the first ten hold 86 %, at p = 0.5 the first two 89 %.
    1 for two empty lists, 0 if one is empty.
    """
    assert 0.0 < p < 1.0, p
    if list(a) == list(b):
        return 1.0
    if not a or not b:
        return 0.0
    shorter, longer = sorted((len(a), len(b)))
    overlap = _overlaps(a, b)
    at_shorter, at_longer = overlap[shorter - 1], overlap[longer - 1]
    seen = [overlap[d - 1] / d * p**d for d in range(1, longer + 1)]
    unseen = [at_shorter * (d - shorter) / (shorter * d) * p**d for d in range(shorter + 1, longer + 1)]
    rest = ((at_longer - at_shorter) / longer + at_shorter / shorter) * p**longer
    return (1.0 - p) / p * math.fsum(seen + unseen) + rest


def _overlaps(a: Ids, b: Ids) -> list[int]:
    """How many ids the first d places of both lists share, for d = 1, 2, … up to the longer one's length."""
    found: list[int] = []
    seen_a: set[str] = set()
    seen_b: set[str] = set()
    for depth in range(max(len(a), len(b))):
        seen_a.update(a[depth : depth + 1])
        seen_b.update(b[depth : depth + 1])
        found.append(len(seen_a & seen_b))
    return found


def kendall_tau_b(a: Ids, b: Ids) -> float:
    """Kendall's tau-b over all ids of both lists: (concordant - discordant) / √(untied in a · untied in b).

    1 for the same order, -1 for the reverse; 0 where one list orders nothing that can be compared.
    """
    if list(a) == list(b):
        return 1.0
    pairs = list(_places(a, b).values())
    agreement = untied_a = untied_b = 0
    for i, (a_i, b_i) in enumerate(pairs):
        for a_j, b_j in pairs[i + 1 :]:
            in_a, in_b = _sign(a_i - a_j), _sign(b_i - b_j)
            agreement += in_a * in_b
            untied_a += in_a * in_a
            untied_b += in_b * in_b
    return agreement / math.sqrt(untied_a * untied_b) if untied_a and untied_b else 0.0


def _sign(number: int) -> int:
    return (number > 0) - (number < 0)


def mean_abs_rank_change(a: Ids, b: Ids) -> float:
    """The mean of |place in b - place in a| over all ids of both lists; 0 for two empty lists."""
    changes = [abs(after - before) for before, after in _places(a, b).values()]
    return sum(changes) / len(changes) if changes else 0.0


def _places(a: Ids, b: Ids) -> dict[str, tuple[int, int]]:
    """Every id of both lists with its place (1, 2, …) in each; where it is missing, just behind the last of the longer list."""
    in_a = {id_: place for place, id_ in enumerate(a, 1)}
    in_b = {id_: place for place, id_ in enumerate(b, 1)}
    behind = max(len(a), len(b)) + 1
    return {id_: (in_a.get(id_, behind), in_b.get(id_, behind)) for id_ in dict.fromkeys((*a, *b))}


# --- against judgements ----------------------------------------------------------------------------


def reciprocal_rank(ids: Ids, relevant: Collection[str]) -> float:
    """1 / the place of the first relevant id; 0 without a relevant id."""
    return next((1.0 / place for place, id_ in enumerate(ids, 1) if id_ in relevant), 0.0)


def ndcg_at(ids: Ids, gains: Mapping[str, float], k: int) -> float:
    """DCG of the first k over that of the best order: DCG = Σ gain / log2(place + 1), Järvelin & Kekäläinen 2002.

    A gain below 0 counts as 0. 0 if nothing has a gain.
    """
    best = _dcg(sorted((gain for gain in gains.values() if gain > 0.0), reverse=True)[:k])
    return _dcg([max(gains.get(id_, 0.0), 0.0) for id_ in ids[:k]]) / best if best else 0.0


def _dcg(gains: Sequence[float]) -> float:
    return math.fsum(gain / math.log2(place + 1) for place, gain in enumerate(gains, 1))


def recall_at(ids: Ids, relevant: Collection[str], k: int) -> float:
    """The share of the relevant ids that are among the first k; 0 if no id is relevant."""
    return len(set(ids[:k]) & set(relevant)) / len(set(relevant)) if relevant else 0.0


def unjudged_at(ids: Ids, judged: Collection[str], k: int) -> float:
    """The share of the first k without a judgement; 0 for an empty answer."""
    top = ids[:k]
    return sum(id_ not in judged for id_ in top) / len(top) if top else 0.0
