"""The weights of `recollect`, chosen on some questions and judged on others.

Choosing looks at hundreds of settings, so it is done in numpy on the columns that the engine's own sheet has before the
first weight counts (`Columns`); judging is done by the engine with the formula that has the chosen weights.
`tests/bench` holds the two against each other.

    score = (1 − words) · vector + words · words(d) + topic · topic(d)                        weigh
    score = score − asking · asking(d)                                                        boost
    score = score + max((asked or before) · score(before), after · score(after))              exchange
    score = score + gather · (best three of the session) / 3                                  gather
    score = score + label · under_label(d) + asker · by_asker(d)
                  + span · in_span(d) + time · tells_time(d) + metadata(d)                    boost
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt
from quality.data import Asked, Store
from quality.measures import TOP, Floats, ideal

from recollect.query.formula import Formula
from recollect.query.ranking import rank
from recollect.query.sheet import Reads
from recollect.query.stages.scoring import Boost, Weigh
from recollect.query.stages.sessions import Exchange, Gather

Places = npt.NDArray[np.int64]
METADATA = ("half_life_recency", "importance", "log_usage")


class Weights(NamedTuple):
    words: float
    topic: float
    asking: float
    asked: float
    before: float
    after: float
    gather: float
    label: float
    asker: float
    span: float
    time: float


# The values that are tried for each weight. Searches begin at half words, half meaning, nothing else, and in the middle.
GRID: dict[str, tuple[float, ...]] = {
    "words": (0.2, 0.3, 0.35, 0.4, 0.5, 0.6),
    "topic": (0.0, 0.08, 0.15, 0.2, 0.3),
    "asking": (0.0, 0.05, 0.1, 0.15),
    "asked": (0.0, 0.2, 0.4, 0.6, 0.7, 0.8),
    "before": (0.0, 0.1, 0.2, 0.3, 0.4),
    "after": (0.0, 0.15, 0.3, 0.4),
    "gather": (0.0, 0.15, 0.3, 0.45),
    "label": (0.0, 0.2, 0.4, 0.6, 0.8),
    "asker": (0.0, 0.2, 0.4, 0.6),
    "span": (0.0, 0.2, 0.4, 0.6),
    "time": (0.0, 0.1, 0.2, 0.3, 0.4),
}
STARTS = (Weights(0.5, *(0.0,) * 10), Weights(*(values[len(values) // 2] for values in GRID.values())))


class Columns(NamedTuple):
    """What one question's candidates have before any weight counts; `before` and `after` are places, or -1."""

    vector: Floats
    words: Floats
    topic: Floats
    asking: Floats
    asked: Floats
    talks: Floats
    before: Places
    after: Places
    session: Places
    starts: Places
    label: Floats
    asker: Floats
    span: Floats
    time: Floats
    metadata: Floats
    gains: Floats
    right: int


def with_weights(formula: Formula, weights: Weights) -> Formula:
    """The formula with these numbers instead of its own."""
    stages = []
    for stage in formula.stages:
        match stage:
            case Weigh():
                shares = {"vector": 1.0 - weights.words, "words": weights.words, "topic": weights.topic}
                stages.append(msgspec.structs.replace(stage, weights=shares))
            case Exchange():
                stages.append(
                    msgspec.structs.replace(
                        stage, asked=weights.asked, before=weights.before, after=weights.after
                    )
                )
            case Gather():
                stages.append(msgspec.structs.replace(stage, share=weights.gather))
            case Boost(amounts={"asking": _}):
                stages.append(msgspec.structs.replace(stage, amounts={"asking": -weights.asking}))
            case Boost(amounts={"under_label": _}):
                amounts = {
                    "under_label": weights.label, "by_asker": weights.asker, "in_span/2": weights.span,
                    "tells_time": weights.time,
                }  # fmt: skip
                stages.append(msgspec.structs.replace(stage, amounts=amounts))
            case _:
                stages.append(stage)
    return msgspec.structs.replace(formula, stages=tuple(stages))


def weights_of(formula: Formula) -> Weights:
    """The numbers that a formula has."""
    (weigh,) = (stage for stage in formula.stages if isinstance(stage, Weigh))
    (exchange,) = (stage for stage in formula.stages if isinstance(stage, Exchange))
    (gather,) = (stage for stage in formula.stages if isinstance(stage, Gather))
    boosts = {
        name: amount
        for stage in formula.stages
        if isinstance(stage, Boost)
        for name, amount in stage.amounts.items()
    }
    return Weights(
        words=weigh.weights["words"],
        topic=weigh.weights["topic"],
        asking=-boosts["asking"],
        asked=exchange.asked,
        before=exchange.before,
        after=exchange.after,
        gather=gather.share,
        label=boosts["under_label"],
        asker=boosts["by_asker"],
        span=boosts["in_span/2"],
        time=boosts["tells_time"],
    )


def columns_of(store: Store, asked: Asked, formula: Formula) -> Columns:
    ranking = rank(asked.question, store.view, formula)
    sheet, conversations = ranking.sheet, store.view.conversations
    reads: Reads = {}
    for step in sheet.steps:
        stage = formula.stages[step.stage]
        if isinstance(stage, Boost | Exchange):
            reads |= {f"{stage.__struct_config__.tag} {name}": values for name, values in step.reads.items()}
    nothing = np.zeros(len(sheet))
    before, after = (sheet.places(memories) for memories in conversations.neighbours(sheet.memories))
    sessions = conversations.of(sheet.memories).astype(np.int64)
    starts = np.flatnonzero(np.diff(np.sort(sessions), prepend=-1))
    # `exchange` reads 0 of both neighbours where a memory has a role; any candidate has a positive score.
    talks = (reads.get("exchange before", nothing) != 0) | (reads.get("exchange after", nothing) != 0)
    ids = store.view.documents.ids.values
    return Columns(
        vector=np.nan_to_num(sheet.column("vector")),
        words=np.nan_to_num(sheet.column("words")),
        topic=np.nan_to_num(sheet.column("topic")),
        asking=reads.get("boost asking", nothing),
        asked=reads.get("exchange asked", nothing),
        talks=talks.astype(np.float64),
        before=before,
        after=after,
        session=sessions,
        starts=starts,
        label=reads.get("boost under_label", nothing),
        asker=reads.get("boost by_asker", nothing),
        span=reads.get("boost in_span/2", nothing),
        time=reads.get("boost tells_time", nothing),
        metadata=_metadata(formula, reads, nothing),
        gains=np.array([float(ids[memory] in asked.right) for memory in sheet.memories.tolist()])
        * sheet.kept,
        right=len(asked.right),
    )


def _metadata(formula: Formula, reads: Reads, nothing: Floats) -> Floats:
    amounts = {n: a for s in formula.stages if isinstance(s, Boost) for n, a in s.amounts.items()}
    return sum((amounts[name] * reads.get(f"boost {name}", nothing) for name in METADATA), nothing)


def scores(columns: Columns, weights: Weights) -> Floats:
    """The score of each candidate."""
    score = (1.0 - weights.words) * columns.vector + weights.words * columns.words
    score = score + weights.topic * columns.topic - weights.asking * columns.asking
    padded = np.append(score, 0.0)
    share = np.where(columns.asked > 0.0, weights.asked, weights.before)
    beside = np.maximum(share * padded[columns.before], weights.after * padded[columns.after])
    score = score + columns.talks * beside
    if weights.gather and len(columns.starts):
        score = score + weights.gather * _session_level(columns, score)
    score = score + weights.label * columns.label + weights.asker * columns.asker + columns.metadata
    return score + weights.span * columns.span + weights.time * columns.time


def _session_level(columns: Columns, score: Floats) -> Floats:
    """The sum of the best three of each candidate's session, over three; 0 without a session."""
    order = np.lexsort((-score, columns.session))
    lengths = np.diff(columns.starts, append=len(order))
    totals = sum(
        np.where(lengths > place, score[order[np.minimum(columns.starts + place, len(order) - 1)]], 0.0)
        for place in range(3)
    )
    level = np.zeros(len(score))
    level[order[columns.starts[0] :]] = np.repeat(totals / 3, lengths)
    return level


def ndcg(columns: Columns, weights: Weights) -> float:
    """nDCG@10 of one question."""
    if not columns.gains.any():
        return 0.0
    found = scores(columns, weights)
    top = np.argpartition(-found, min(TOP, len(found)) - 1)[:TOP]
    order = top[np.argsort(-found[top], kind="stable")]
    discounts = 1.0 / np.log2(np.arange(len(order)) + 2.0)
    return float((columns.gains[order] * discounts).sum() / ideal(columns.right))


def climb(objective: Callable[[Weights], float], *, rounds: int = 3) -> Weights:
    """The best setting that changing one weight at a time leads to from any of the starts; of equals the first."""
    found = [_climbed(objective, start, rounds) for start in STARTS]
    return max(found, key=lambda one: one[1])[0]


def _climbed(objective: Callable[[Weights], float], start: Weights, rounds: int) -> tuple[Weights, float]:
    best, value = start, objective(start)
    for _ in range(rounds):
        before = best
        for name, tried in GRID.items():
            for amount in tried:
                candidate = best._replace(**{name: amount})
                if candidate != best and (found := objective(candidate)) > value + 1e-9:
                    best, value = candidate, found
        if best == before:
            break
    return best, value


def at_edge(chosen: Weights) -> tuple[str, ...]:
    """The weights that were chosen at the end of what was tried (0 is no edge: there is nothing below it)."""
    return tuple(
        name
        for name, value in chosen._asdict().items()
        if value == max(GRID[name]) or (value == min(GRID[name]) and value > 0.0)
    )


def mean_of(found: Sequence[Columns], weights: Weights) -> float:
    return sum(ndcg(columns, weights) for columns in found) / len(found)
