"""How good two rankings are by judgements: nDCG, MRR and recall of both, their differences, and whether they are luck."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean

from recollect.query.ranking_metrics import ndcg_at, recall_at, reciprocal_rank, unjudged_at
from recollect.replay.compare.comparison import JudgedMetric
from recollect.replay.compare.judgements import Gains
from recollect.replay.compare.sides import Pair
from recollect.replay.compare.significance import bootstrap_interval, randomisation_p


def judge(graded: Sequence[tuple[Pair, Gains]], k: int) -> dict[str, JudgedMetric]:
    if not graded:
        return {}

    def measure(metric: Callable[[Sequence[str], Gains], float]) -> JudgedMetric:
        return _metric([(metric(pair.a.ids, gains), metric(pair.b.ids, gains)) for pair, gains in graded])

    return {
        f"ndcg@{k}": measure(lambda ids, gains: ndcg_at(ids, gains, k)),
        "mrr": measure(lambda ids, gains: reciprocal_rank(ids, relevant(gains))),
        f"recall@{k}": measure(lambda ids, gains: recall_at(ids, relevant(gains), k)),
    }


def relevant(gains: Mapping[str, float]) -> set[str]:
    return {id_ for id_, gain in gains.items() if gain > 0.0}


def _metric(values: Sequence[tuple[float, float]]) -> JudgedMetric:
    differences = [after - before for before, after in values]
    low, high = bootstrap_interval(differences)
    return JudgedMetric(
        a=fmean(before for before, _ in values),
        b=fmean(after for _, after in values),
        delta=fmean(differences),
        low=low,
        high=high,
        p_value=randomisation_p(differences),
        wins=sum(difference > 0.0 for difference in differences),
        ties=sum(difference == 0.0 for difference in differences),
        losses=sum(difference < 0.0 for difference in differences),
    )


def judged_names(k: int) -> tuple[str, ...]:
    """The flat names of the judged metrics."""
    deltas = (f"delta_ndcg@{k}", "delta_mrr", f"delta_recall@{k}")
    return (*deltas, "win", "tie", "loss", "p_value", f"unjudged@{k}_a", f"unjudged@{k}_b")


def flat_metrics(
    graded: Sequence[tuple[Pair, Gains]], judged: Mapping[str, JudgedMetric], k: int
) -> dict[str, float]:
    """The judged metrics under the flat names that limits and programs use."""
    if not judged:
        return {}
    quality = judged[f"ndcg@{k}"]
    return {
        **{f"delta_{name}": metric.delta for name, metric in judged.items()},
        "win": float(quality.wins),
        "tie": float(quality.ties),
        "loss": float(quality.losses),
        "p_value": quality.p_value,
        f"unjudged@{k}_a": fmean(unjudged_at(pair.a.ids, gains, k) for pair, gains in graded),
        f"unjudged@{k}_b": fmean(unjudged_at(pair.b.ids, gains, k) for pair, gains in graded),
    }
