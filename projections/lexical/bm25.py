"""BM25 in the variants that people compare with, each a pair of small functions.

A term's contribution to a row's score is idf · weight, summed over the terms of the query in query order; a
term that the query repeats counts again. idf sees the corpus as of a seq, weight sees one row:

    N  rows alive       df  those that hold the term      tf  the term's frequency in the row
    L  the row's length over the average length            V  terms alive in the corpus

A term that no living row holds has the idf 0 in every variant. Everything but the logarithm is elementwise float64
in the order written here. Version 1 of a variant takes the logarithm of the C library, which differs in the last
bit between machines; version 2 (`fts5/2`) our own, so its scores are the same bits everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal, NamedTuple, get_args

import msgspec

from recollect.events.errors import InvalidInput
from recollect.projections import portable_math
from recollect.projections.columns import FloatArray, Int32Array

Family = Literal["fts5", "okapi", "plus", "l", "lucene"]
Variant = Literal[
    "fts5", "okapi", "plus", "l", "lucene", "fts5/2", "okapi/2", "plus/2", "l/2", "lucene/2"
]  # fmt: skip
Log = Callable[[float], float]

DEFAULT_VARIANT: Variant = "fts5"

OF_THE_VARIANT = -math.inf  # stands for the variant's own default until the parameters are built


class Bm25(msgspec.Struct, frozen=True, kw_only=True):
    """A variant and its parameters; what is not given is the variant's default."""

    variant: Variant = DEFAULT_VARIANT
    k1: float = OF_THE_VARIANT
    b: float = OF_THE_VARIANT
    delta: float = OF_THE_VARIANT
    epsilon: float = OF_THE_VARIANT

    def __post_init__(self) -> None:
        if self.variant not in get_args(Variant):
            choices = ", ".join(get_args(Variant))
            raise InvalidInput(f"{self.variant!r} is no BM25 variant; choose one of {choices}")
        for name, default in DEFAULTS[self.family]._asdict().items():
            if getattr(self, name) == OF_THE_VARIANT:
                msgspec.structs.force_setattr(self, name, default)
        for name, highest in (("k1", math.inf), ("b", 1.0), ("delta", math.inf), ("epsilon", math.inf)):
            value = getattr(self, name)
            if not (0.0 <= value <= highest and math.isfinite(value)):
                limit = f"between 0 and {highest:g}" if math.isfinite(highest) else "finite and not negative"
                raise InvalidInput(f"{name} of BM25 must be {limit}, not {value!r}")

    @property
    def family(self) -> Family:
        """The variant without its version."""
        return self.variant.partition("/")[0]  # type: ignore[return-value]

    @property
    def log(self) -> Log:
        return portable_math.log if self.variant.endswith("/2") else math.log


class Defaults(NamedTuple):
    k1: float
    b: float
    delta: float = 0.0
    epsilon: float = 0.0


DEFAULTS: dict[Family, Defaults] = {
    "fts5": Defaults(k1=1.2, b=0.75),
    "okapi": Defaults(k1=1.5, b=0.75, epsilon=0.25),
    "plus": Defaults(k1=1.5, b=0.75, delta=1.0),
    "l": Defaults(k1=1.5, b=0.75, delta=0.5),
    "lucene": Defaults(k1=0.9, b=0.4),
}

Idf = Callable[[int, int, Bm25, Callable[[], float]], float]
Weight = Callable[[Int32Array, FloatArray, Bm25], FloatArray]


# --- idf: how much a term distinguishes ------------------------------------------------------------


def fts5_idf(df: int, N: int, bm25: Bm25, _average: Callable[[], float]) -> float:
    """ln((N - df + 1/2) / (df + 1/2)), or 1e-6 if that is not positive: SQLite's bm25()."""
    idf = bm25.log((N - df + 0.5) / (df + 0.5))
    return idf if idf > 0.0 else 1e-6


def okapi_idf(df: int, N: int, bm25: Bm25, average: Callable[[], float]) -> float:
    """ln(N - df + 1/2) - ln(df + 1/2), or epsilon · its average over V if that is negative: BM25Okapi."""
    idf = raw_okapi_idf(df, N, bm25.log)
    return idf if idf >= 0.0 else bm25.epsilon * average()


def raw_okapi_idf(df: int, N: int, log: Log) -> float:
    return log(N - df + 0.5) - log(df + 0.5)


def plus_idf(df: int, N: int, bm25: Bm25, _average: Callable[[], float]) -> float:
    """ln((N + 1) / df): BM25Plus of rank_bm25."""
    return bm25.log((N + 1) / df)


def l_idf(df: int, N: int, bm25: Bm25, _average: Callable[[], float]) -> float:
    """ln(N + 1) - ln(df + 1/2): BM25L of rank_bm25."""
    return bm25.log(N + 1) - bm25.log(df + 0.5)


def lucene_idf(df: int, N: int, bm25: Bm25, _average: Callable[[], float]) -> float:
    """ln(1 + (N - df + 1/2) / (df + 1/2)): Lucene's BM25Similarity."""
    return bm25.log(1.0 + (N - df + 0.5) / (df + 0.5))


# --- weight: what a term adds to a row's score -----------------------------------------------------


def okapi_weight(tf: Int32Array, L: FloatArray, bm25: Bm25) -> FloatArray:
    """tf (k1 + 1) / (tf + k1 (1 - b + b L)): SQLite's bm25() and BM25Okapi."""
    return tf * (bm25.k1 + 1.0) / (tf + bm25.k1 * (1.0 - bm25.b + bm25.b * L))


def plus_weight(tf: Int32Array, L: FloatArray, bm25: Bm25) -> FloatArray:
    """delta + tf (k1 + 1) / (k1 (1 - b + b L) + tf): BM25Plus, which gives delta for an absent term too."""
    return bm25.delta + tf * (bm25.k1 + 1.0) / (bm25.k1 * (1.0 - bm25.b + bm25.b * L) + tf)


def l_weight(tf: Int32Array, L: FloatArray, bm25: Bm25) -> FloatArray:
    """tf (k1 + 1) (c + delta) / (k1 + c + delta) with c = tf / (1 - b + b L): BM25L as rank_bm25 has it."""
    c = tf / (1.0 - bm25.b + bm25.b * L)
    return tf * (bm25.k1 + 1.0) * (c + bm25.delta) / (bm25.k1 + c + bm25.delta)


def lucene_weight(tf: Int32Array, L: FloatArray, bm25: Bm25) -> FloatArray:
    """tf / (tf + k1 (1 - b + b L)): without the factor k1 + 1, which changes no order."""
    return tf / (tf + bm25.k1 * (1.0 - bm25.b + bm25.b * L))


VARIANTS: dict[Family, tuple[Idf, Weight]] = {
    "fts5": (fts5_idf, okapi_weight),
    "okapi": (okapi_idf, okapi_weight),
    "plus": (plus_idf, plus_weight),
    "l": (l_idf, l_weight),
    "lucene": (lucene_idf, lucene_weight),
}


def absent_weight(bm25: Bm25) -> float:
    """The weight of a term for a row that lacks it but has another term of the query; the same for every row."""
    return bm25.delta if bm25.family == "plus" else 0.0


def surplus_limit(bm25: Bm25) -> float:
    """The most by which a row's weight can exceed the absent weight: the limit for ever larger tf."""
    limits = {
        "fts5": bm25.k1 + 1.0,
        "okapi": bm25.k1 + 1.0,
        "plus": bm25.k1 + 1.0,
        "l": math.inf,
        "lucene": 1.0,
    }
    return limits[bm25.family]


def average_okapi_idf(df_counts: dict[int, int], N: int, log: Log) -> float:
    """The mean of the unfloored Okapi idf over V, from how many terms have each df >= 1."""
    total = math.fsum(count * raw_okapi_idf(df, N, log) for df, count in df_counts.items())
    return total / sum(df_counts.values())
