"""The weights of `recollect`, chosen on some questions and judged on others.

Choosing looks at thousands of settings, so it is done in numpy on the columns that the engine's own sheet has
before the first weight counts (`Columns`); judging is done by the engine with the formula that has the chosen
weights. `tests/bench` holds the two against each other.

    score = (1 − words) · vector + words · words(d)                          weigh
    score = score + max(before · score(before), after · score(after))        reply
    score = score + gather · (best three of the session) / 3                 gather
    score = score + labels · labels(d) + time · in_span(d) + metadata(d)     boost
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt
from quality.data import Asked, Store
from quality.measures import TOP, Floats, ideal

from recollect.query.formula import Formula
from recollect.query.ranking import Ranking, rank
from recollect.query.stages.scoring import Boost, Weigh
from recollect.query.stages.sessions import Gather, Reply

Places = npt.NDArray[np.int64]


class Weights(NamedTuple):
    words: float
    before: float
    after: float
    gather: float
    labels: float
    time: float


class Grid(NamedTuple):
    """The values that are tried for each weight; every combination is."""

    words: tuple[float, ...]
    before: tuple[float, ...]
    after: tuple[float, ...]
    gather: tuple[float, ...]
    labels: tuple[float, ...]
    time: tuple[float, ...]

    def settings(self) -> list[Weights]:
        return [Weights(*values) for values in itertools.product(*self)]

    def edges(self, chosen: Weights) -> list[str]:
        """The weights that were chosen at the end of what was tried (0 is no edge: there is nothing below it)."""
        return [
            name
            for name, value, tried in zip(self._fields, chosen, self, strict=True)
            if len(tried) > 1 and (value == max(tried) or (value == min(tried) and value > 0.0))
        ]


class Columns(NamedTuple):
    """What one question's candidates have before any weight counts; `before` and `after` are places, or -1."""

    vector: Floats
    words: Floats
    labels: Floats
    in_span: Floats
    metadata: Floats
    before: Places
    after: Places
    session: Places
    gains: Floats
    right: int


def with_weights(formula: Formula, weights: Weights) -> Formula:
    """The formula with these numbers instead of its own."""
    stages = []
    for stage in formula.stages:
        match stage:
            case Weigh():
                shares = {"vector": 1.0 - weights.words, "words": weights.words}
                stages.append(msgspec.structs.replace(stage, weights=shares))
            case Reply():
                stages.append(msgspec.structs.replace(stage, before=weights.before, after=weights.after))
            case Gather():
                stages.append(msgspec.structs.replace(stage, share=weights.gather))
            case Boost(amounts={"labels": _, "in_span": _}):
                amounts = {"labels": weights.labels, "in_span": weights.time}
                stages.append(msgspec.structs.replace(stage, amounts=amounts))
            case _:
                stages.append(stage)
    return msgspec.structs.replace(formula, stages=tuple(stages))


def weights_of(formula: Formula) -> Weights:
    """The numbers that a formula has."""
    (weigh,) = (stage for stage in formula.stages if isinstance(stage, Weigh))
    (reply,) = (stage for stage in formula.stages if isinstance(stage, Reply))
    (gather,) = (stage for stage in formula.stages if isinstance(stage, Gather))
    (boost,) = (s for s in formula.stages if isinstance(s, Boost) and "labels" in s.amounts)
    return Weights(
        words=weigh.weights["words"],
        before=reply.before,
        after=reply.after,
        gather=gather.share,
        labels=boost.amounts["labels"],
        time=boost.amounts["in_span"],
    )


def columns_of(store: Store, asked: Asked, formula: Formula) -> Columns:
    ranking = rank(asked.question, store.view, formula)
    boosts = _boosts(ranking, formula)
    sheet, conversations = ranking.sheet, store.view.conversations
    ids = store.view.documents.ids.values
    place = {memory: n for n, memory in enumerate(sheet.memories.tolist())}
    before, after = conversations.neighbours(sheet.memories)
    return Columns(
        vector=np.nan_to_num(sheet.columns["vector"]),
        words=np.nan_to_num(sheet.columns["words"]),
        labels=sheet.columns["labels"],
        in_span=boosts.pop("in_span"),
        metadata=sum((values for name, values in boosts.items() if name != "labels"), np.zeros(len(sheet))),
        before=np.array([place.get(memory, -1) for memory in before.tolist()], dtype=np.int64),
        after=np.array([place.get(memory, -1) for memory in after.tolist()], dtype=np.int64),
        session=conversations.of(sheet.memories).astype(np.int64),
        gains=np.array([float(ids[memory] in asked.right) for memory in sheet.memories.tolist()]),
        right=len(asked.right),
    )


def _boosts(ranking: Ranking, formula: Formula) -> dict[str, Floats]:
    """What the boosts of the formula read, by name; metadata times its amount."""
    found = {"in_span": np.zeros(len(ranking.sheet))}
    for step in ranking.sheet.steps:
        stage = formula.stages[step.stage]
        if isinstance(stage, Boost):
            for name, amount in stage.amounts.items():
                found[name] = step.reads[name] * (1.0 if name in {"labels", "in_span"} else amount)
    return found


def scores(columns: Columns, grid: Grid) -> Floats:
    """settings × candidates, in the order of `grid.settings()`."""
    share = np.array(grid.words)[:, None]
    score = (1.0 - share) * columns.vector + share * columns.words
    padded = np.concatenate((score, np.zeros((len(score), 1))), axis=1)
    left = np.array(grid.before)[:, None, None] * padded[:, None, None, columns.before]
    right = np.array(grid.after)[:, None] * padded[:, None, None, columns.after]
    score = (score[:, None, None, :] + np.maximum(left, right)).reshape(-1, score.shape[1])
    level = np.zeros_like(score)
    for session in np.unique(columns.session[columns.session >= 0]):
        members = np.flatnonzero(columns.session == session)
        best = np.sort(score[:, members], axis=1)[:, ::-1][:, :3]
        level[:, members] = best.sum(axis=1, keepdims=True) / 3
    score = (score[:, None, :] + np.array(grid.gather)[:, None] * level[:, None, :]).reshape(
        -1, score.shape[1]
    )
    score = score[:, None, :] + np.array(grid.labels)[:, None] * columns.labels + columns.metadata
    score = score.reshape(-1, score.shape[2])
    return (score[:, None, :] + np.array(grid.time)[:, None] * columns.in_span).reshape(-1, score.shape[1])


def ndcg(columns: Columns, grid: Grid) -> Floats:
    """nDCG@10 of one question under every setting."""
    if not len(columns.gains):
        return np.zeros(len(grid.settings()))
    if len(grid.time) > 1 and not columns.in_span.any():
        # Most questions name no time, and any weight of it is as good as another.
        return np.repeat(ndcg(columns, grid._replace(time=(0.0,))), len(grid.time))
    found = scores(columns, grid)
    top = np.argpartition(-found, min(TOP, found.shape[1]) - 1, axis=1)[:, :TOP]
    order = np.take_along_axis(top, np.argsort(-np.take_along_axis(found, top, axis=1), axis=1), axis=1)
    discounts = 1.0 / np.log2(np.arange(order.shape[1]) + 2.0)
    return (columns.gains[order] * discounts).sum(axis=1) / ideal(columns.right)


def best_without(table: Floats, parts: Sequence[str], held_out: str, other: Floats | None = None) -> int:
    """The setting that is best on the questions of all parts but one. `table` is questions × settings.

    With the table of another collection, on the mean of that and of all of its questions.
    """
    level = table[np.array(parts) != held_out].mean(axis=0)
    return int(np.argmax(level if other is None else (level + other.mean(axis=0)) / 2))


def table_of(found: Iterable[Columns], grid: Grid) -> Floats:
    return np.array([ndcg(columns, grid) for columns in found])
