"""What an evaluation found, as it is kept in bench/results/quality.json; docs/quality.md is written from it alone."""

from __future__ import annotations

import msgspec

Values = dict[str, float]


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One ranking on one collection: means, their 95 % intervals, and p of each against `recollect`."""

    name: str
    control: bool
    means: Values
    low: Values
    high: Values
    p_values: Values


class TypeRow(msgspec.Struct, frozen=True, kw_only=True):
    """The questions of one type: how many, and the means of every ranking."""

    type: str
    questions: int
    means: dict[str, Values]


class CollectionResult(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    what: str
    stores: int
    memories: int
    questions: int
    rows: tuple[Row, ...]
    types: tuple[TypeRow, ...]


class FoldResult(msgspec.Struct, frozen=True, kw_only=True):
    """A part that was held out: what the others chose, and how the engine did on it with that choice."""

    held_out: str
    questions: int
    chosen: Values
    at_edge: tuple[str, ...]
    means: Values


class Validation(msgspec.Struct, frozen=True, kw_only=True):
    """One way of choosing without looking: the folds, the means over all questions, the spread over the folds."""

    collection: str
    chosen_on: str
    folds: tuple[FoldResult, ...]
    means: Values
    low: Values
    high: Values
    fold_deviation: Values


class Tuning(msgspec.Struct, frozen=True, kw_only=True):
    grid: dict[str, tuple[float, ...]]
    settings: int
    adopted: Values
    best_on_all: Values
    numpy_against_engine: float
    """The largest difference of a question's nDCG@10 between the two, for the adopted weights."""
    validations: tuple[Validation, ...]


class Variant(msgspec.Struct, frozen=True, kw_only=True):
    """The default with one thing changed: nDCG@10 by collection, and the difference with its p."""

    name: str
    what: str
    ndcg: Values
    delta: Values
    p_values: Values


class Floor(msgspec.Struct, frozen=True, kw_only=True):
    """How often the default answered nothing."""

    what: str
    related: bool
    questions: int
    silent: float


class Quality(msgspec.Struct, frozen=True, kw_only=True):
    date: str
    machine: str
    commit: str
    formula: str
    embedder: str
    resamples: int
    collections: tuple[CollectionResult, ...]
    tuning: Tuning
    variants: tuple[Variant, ...]
    floor: tuple[Floor, ...]
    example: str
