"""Cross-validation: weights chosen without the questions that judge them, three ways.

its own       within one collection, the other conversations (or folds of claims) choose
both          the other parts of both collections choose, each collection counting half; so were the default's chosen
the other     the whole of the other collection chooses; weights that it cannot see stay at the file's

The numpy grid chooses, the engine judges.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from quality.controls import by_formula
from quality.data import Asked, Store
from quality.judging import by_metric, means
from quality.measures import COLUMNS, NDCG, Floats, interval, scores_of
from quality.results import FoldResult, Tuning, Validation
from quality.tuning import Grid, Weights, best_without, columns_of, table_of, weights_of, with_weights

from recollect.query.formula import Formula

GRID = Grid(
    words=(0.2, 0.3, 0.4, 0.5, 0.6, 0.8),
    before=(0.0, 0.2, 0.4, 0.6, 0.8),
    after=(0.0, 0.15, 0.3, 0.45, 0.6),
    gather=(0.0, 0.25, 0.5, 0.75, 1.0),
    labels=(0.0, 0.4, 0.8, 1.2, 2.0, 3.2),
    time=(0.0, 0.15, 0.3, 0.6, 1.0),
)
CLAIM_FOLDS = 5


class Examined(NamedTuple):
    """A collection's questions, the part each belongs to, and nDCG@10 under every setting of the grid."""

    name: str
    pairs: list[tuple[Store, Asked]]
    parts: list[str]
    table: Floats
    seen: tuple[str, ...]
    """The weights that make a difference here."""


def examine(name: str, stores: Sequence[Store], formula: Formula, *, sessions: bool) -> Examined:
    pairs = [(store, asked) for store in stores for asked in store.asked]
    found = [columns_of(store, asked, formula) for store, asked in pairs]
    if sessions:
        return Examined(
            name, pairs, [store.name for store, _ in pairs], table_of(found, GRID), Weights._fields
        )
    still = GRID._replace(before=(0.0,), after=(0.0,), gather=(0.0,), time=(0.0,))
    small = table_of(found, still).reshape(len(found), len(GRID.words), 1, len(GRID.labels), 1)
    inner = len(GRID.before) * len(GRID.after) * len(GRID.gather)
    table = np.repeat(np.repeat(small, inner, axis=2), len(GRID.time), axis=4).reshape(len(found), -1)
    parts = [f"claims {n % CLAIM_FOLDS + 1}" for n in range(len(pairs))]
    return Examined(name, pairs, parts, table, ("words", "labels"))


def tuned(formula: Formula, locomo: Sequence[Store], scifact: Sequence[Store]) -> Tuning:
    one, two = (
        examine("locomo-dev", locomo, formula, sessions=True),
        examine("scifact", scifact, formula, sessions=False),
    )
    settings, adopted = GRID.settings(), weights_of(formula)
    validations = [
        validation
        for own, other in ((one, two), (two, one))
        for validation in (
            _validated(own, "the other parts of itself", formula, _best_without(own)),
            _validated(own, "the other parts of both", formula, _best_without(own, other)),
            _validated(
                own, f"all of {other.name}", formula, lambda _, other=other: _transferred(other, adopted)
            ),
        )
    ]
    together = one.table.mean(axis=0) + two.table.mean(axis=0)
    return Tuning(
        grid=GRID._asdict(),
        settings=len(settings),
        adopted=adopted._asdict(),
        best_on_all=settings[int(np.argmax(together))]._asdict(),
        numpy_against_engine=max(_difference(one, formula), _difference(two, formula)),
        validations=tuple(validations),
    )


def _best_without(own: Examined, other: Examined | None = None) -> Callable[[str], Weights]:
    """The best setting on all parts but one; with `other`, on the mean of that and of the whole other collection."""
    table = None if other is None else other.table
    return lambda held_out: GRID.settings()[best_without(own.table, own.parts, held_out, table)]


def _transferred(other: Examined, adopted: Weights) -> Weights:
    best = GRID.settings()[int(np.argmax(other.table.mean(axis=0)))]
    return adopted._replace(**{name: getattr(best, name) for name in other.seen})


def _validated(own: Examined, on: str, formula: Formula, choose: Callable[[str], Weights]) -> Validation:
    folds, judged = [], []
    for name in sorted(set(own.parts)):
        chosen = choose(name)
        values = _engine(own, formula, chosen, name)
        judged.append(values)
        folds.append(
            FoldResult(
                held_out=name,
                questions=len(values),
                chosen={weight: getattr(chosen, weight) for weight in own.seen},
                at_edge=tuple(weight for weight in GRID.edges(chosen) if weight in own.seen),
                means=means(values),
            )
        )
    values = np.concatenate(judged)
    low, high = interval(values)
    return Validation(
        collection=own.name,
        chosen_on=on,
        folds=tuple(folds),
        means=means(values),
        low=by_metric(low),
        high=by_metric(high),
        fold_deviation=_deviation([fold.means for fold in folds]),
    )


def _engine(own: Examined, formula: Formula, chosen: Weights, part: str) -> Floats:
    """What the engine makes of one part with these weights."""
    answer = by_formula(with_weights(formula, chosen))
    return np.array(
        [
            scores_of(answer(store, asked), asked.right)
            for (store, asked), name in zip(own.pairs, own.parts, strict=True)
            if name == part
        ]
    )


def _deviation(folds: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """The standard deviation of the folds' means."""
    return {column: float(np.std([fold[column] for fold in folds], ddof=1)) for column in COLUMNS}


def _difference(own: Examined, formula: Formula) -> float:
    """The largest difference of a question's nDCG@10 between the numpy model and the engine."""
    place = GRID.settings().index(weights_of(formula))
    parts = sorted(set(own.parts))
    engine = np.concatenate([_engine(own, formula, weights_of(formula), part)[:, NDCG] for part in parts])
    order = [n for part in parts for n, name in enumerate(own.parts) if name == part]
    return float(np.abs(own.table[order, place] - engine).max())
