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
    """A fold of one collection that was held out, and how the engine did on it with what the others chose."""

    questions: int
    means: Values


class Validation(msgspec.Struct, frozen=True, kw_only=True):
    """One collection: its folds, the means over all questions, the deviation of nDCG@10 over the folds."""

    collection: str
    folds: tuple[FoldResult, ...]
    means: Values
    low: Values
    high: Values
    fold_deviation: float


class Tuning(msgspec.Struct, frozen=True, kw_only=True):
    """`chosen` and `at_edge` have an entry per fold."""

    grid: dict[str, tuple[float, ...]]
    adopted: Values
    chosen: tuple[Values, ...]
    at_edge: tuple[tuple[str, ...], ...]
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


class Updates(msgspec.Struct, frozen=True, kw_only=True):
    """Of so many questions about what changed, how often the later message stood before the earlier one, and first."""

    formula: str
    pairs: int
    later_first: int
    on_top: int


class Renamed(msgspec.Struct, frozen=True, kw_only=True):
    """The default on a collection, or its first groups, as it is and with ids, sessions and speakers called otherwise."""

    collection: str
    groups: int
    questions: int
    ndcg: float
    renamed: float
    p_value: float


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
    updates: tuple[Updates, ...]
    example: str
    renamed: tuple[Renamed, ...] = ()
