"""Cross-validation: weights chosen without the questions that judge them, over all collections at once.

Five folds. A fold holds out a fifth of every collection: conversations and chats whole, questions of LongMemEval and
claims of SciFact by their number. What remains chooses, and the worst collection decides: the objective is the
smallest margin to the collections' targets, plus a fifth of their mean so that the others are not indifferent. Searches
begin at half words, half meaning, with every other weight at 0, and in the middle of the grid, and change one weight at
a time. The numpy
model chooses, the engine judges what was held out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from quality.controls import by_formula
from quality.data import Asked, Store
from quality.judging import by_metric, means
from quality.measures import NDCG, Floats, interval, scores_of
from quality.prose import TARGETS
from quality.results import FoldResult, Tuning, Validation
from quality.tuning import (
    GRID,
    Columns,
    Weights,
    at_edge,
    climb,
    columns_of,
    mean_of,
    ndcg,
    weights_of,
    with_weights,
)

from recollect.query.formula import Formula

FOLDS = 5
MEAN_SHARE = 0.2


class Examined(NamedTuple):
    """A collection's questions, the fold that holds each out, and what the engine's sheet has of them."""

    name: str
    pairs: list[tuple[Store, Asked]]
    folds: list[int]
    columns: list[Columns]

    def without(self, fold: int) -> list[Columns]:
        return [columns for columns, own in zip(self.columns, self.folds, strict=True) if own != fold]


def examine(name: str, stores: Sequence[Store], formula: Formula) -> Examined:
    """Where there are as many stores as folds or a few times more, stores are held out whole."""
    pairs = [(store, asked) for store in stores for asked in store.asked]
    whole = FOLDS <= len(stores) < len(pairs)
    number = {store.name: n for n, store in enumerate(stores)}
    folds = [(number[store.name] if whole else n) % FOLDS for n, (store, _) in enumerate(pairs)]
    return Examined(name, pairs, folds, [columns_of(store, asked, formula) for store, asked in pairs])


def chosen_without(examined: Sequence[Examined], fold: int) -> Weights:
    """What all but one fold of every collection choose."""
    training = {one.name: one.without(fold) for one in examined}
    return climb(lambda weights: worst_first({name: mean_of(c, weights) for name, c in training.items()}))


def tuned(formula: Formula, examined: Sequence[Examined], chosen: Sequence[Weights]) -> Tuning:
    """The weights that were chosen without each fold, and how the engine does on it with them."""
    return Tuning(
        grid=GRID,
        adopted=weights_of(formula)._asdict(),
        chosen=tuple(weights._asdict() for weights in chosen),
        at_edge=tuple(at_edge(weights) for weights in chosen),
        numpy_against_engine=max(_difference(one, formula) for one in examined),
        validations=tuple(_validated(one, formula, chosen) for one in examined),
    )


def worst_first(found: Mapping[str, float]) -> float:
    """The smallest margin to the targets, and a little of the mean."""
    margins = [value - TARGETS[name] for name, value in found.items()]
    return min(margins) + MEAN_SHARE * sum(margins) / len(margins)


def _validated(own: Examined, formula: Formula, chosen: Sequence[Weights]) -> Validation:
    judged = [_engine(own, formula, weights, fold) for fold, weights in enumerate(chosen)]
    values = np.concatenate(judged)
    low, high = interval(values)
    return Validation(
        collection=own.name,
        folds=tuple(FoldResult(questions=len(fold), means=means(fold)) for fold in judged),
        means=means(values),
        low=by_metric(low),
        high=by_metric(high),
        fold_deviation=float(np.std([fold[:, NDCG].mean() for fold in judged], ddof=1)),
    )


def _engine(own: Examined, formula: Formula, weights: Weights, fold: int) -> Floats:
    """What the engine makes of one fold with these weights."""
    answer = by_formula(with_weights(formula, weights))
    return np.array(
        [
            scores_of(answer(store, asked), asked.right)
            for (store, asked), held_out in zip(own.pairs, own.folds, strict=True)
            if held_out == fold
        ]
    )


def _difference(own: Examined, formula: Formula) -> float:
    """The largest difference of a question's nDCG@10 between the numpy model and the engine."""
    weights, answer = weights_of(formula), by_formula(formula)
    return max(
        abs(ndcg(columns, weights) - scores_of(answer(store, asked), asked.right)[NDCG])
        for (store, asked), columns in zip(own.pairs, own.columns, strict=True)
    )
