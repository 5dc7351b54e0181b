"""The catalogue of factors: the signature of a factor is its schema.

Positional parameters name the inputs it reads (see `inputs`); keyword-only parameters with a default are what
a formula may set, with their bounds; keyword-only parameters without one are dials (see `dials`). Adding a factor
is one function in `factors/` and one line here. A factor's behaviour never changes under its name: another
behaviour is another version of it, `name/2` (see `versions`). A factor that computes exp or log takes them as a
positional-only parameter and has two versions: with the C library's, and with our own.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import cache, partial, wraps
from typing import get_type_hints

import msgspec

from recollect.projections.columns import FloatArray
from recollect.query.factors.cluster_boost import cluster_boost
from recollect.query.factors.cluster_similarity import cluster_similarity
from recollect.query.factors.consolidation_quality import consolidation_quality
from recollect.query.factors.contextual_boost import contextual_boost
from recollect.query.factors.depth_weight import depth_weight
from recollect.query.factors.feedback_factor import feedback_factor
from recollect.query.factors.floored_decay import floored_decay
from recollect.query.factors.half_life_recency import half_life_recency
from recollect.query.factors.high_importance import high_importance
from recollect.query.factors.hot_relevance import hot_relevance
from recollect.query.factors.idle_decay import idle_decay
from recollect.query.factors.importance_bonus import importance_bonus
from recollect.query.factors.intent_recency import intent_recency
from recollect.query.factors.laplace_count import laplace_count
from recollect.query.factors.log_degree import log_degree
from recollect.query.factors.log_usage import log_usage
from recollect.query.factors.preference_boost import preference_boost
from recollect.query.factors.priority_factor import priority_factor
from recollect.query.factors.recency_boost import recency_boost
from recollect.query.factors.recency_share import recency_share
from recollect.query.factors.session_spread import session_spread
from recollect.query.factors.similarity import similarity
from recollect.query.factors.stability import stability
from recollect.query.factors.strength import strength
from recollect.query.factors.temporal_fit import temporal_fit
from recollect.query.factors.text_relevance import text_relevance
from recollect.query.factors.thompson_boost import thompson_boost
from recollect.query.factors.type_weight import type_weight
from recollect.query.factors.word_overlap_boost import word_overlap_boost
from recollect.query.portable_math import LIBM, PORTABLE, Elementary
from recollect.query.versions import unversioned

Factor = Callable[..., FloatArray]
Parameter = float | int | bool | str | dict[str, float] | list[float]


def _with(math: Elementary, function: Factor) -> Factor:
    """The factor that computes with these; signature and docstring are the function's."""

    @wraps(function)
    def factor(*inputs: FloatArray, **parameters: Parameter) -> FloatArray:
        return function(math, *inputs, **parameters)

    factor.__signature__ = inspect.signature(partial(function, math))  # type: ignore[attr-defined]
    return factor


_EXACT: tuple[Factor, ...] = (
    strength,
    depth_weight,
    similarity,
    importance_bonus,
    high_importance,
    laplace_count,
    cluster_similarity,
    text_relevance,
    type_weight,
    feedback_factor,
    priority_factor,
    thompson_boost,
    consolidation_quality,
    hot_relevance,
    word_overlap_boost,
    preference_boost,
    contextual_boost,
    cluster_boost,
    temporal_fit,
)
_ELEMENTARY: tuple[Factor, ...] = (
    recency_boost,
    session_spread,
    stability,
    recency_share,
    half_life_recency,
    intent_recency,
    log_usage,
    idle_decay,
    log_degree,
    floored_decay,
)

FACTORS: dict[str, Factor] = {
    **{function.__name__: function for function in _EXACT},
    **{function.__name__: _with(LIBM, function) for function in _ELEMENTARY},
    **{f"{function.__name__}/2": _with(PORTABLE, function) for function in _ELEMENTARY},
}

# A candidate may have no value of these factors although it has all of their inputs.
GIVES_NONE = frozenset({"high_importance", "hot_relevance"})


@cache
def inputs_of(name: str) -> tuple[str, ...]:
    """The inputs that a factor reads, in order."""
    parameters = inspect.signature(FACTORS[name]).parameters.values()
    return tuple(p.name for p in parameters if p.kind is not p.KEYWORD_ONLY)


@cache
def dials_of(name: str) -> tuple[str, ...]:
    """The dials that a factor reads: its keyword-only parameters without a default."""
    parameters = inspect.signature(FACTORS[name]).parameters.values()
    return tuple(p.name for p in parameters if p.kind is p.KEYWORD_ONLY and p.default is p.empty)


@cache
def _schema(name: str) -> type[msgspec.Struct]:
    hints = get_type_hints(FACTORS[name], include_extras=True)
    fields = [
        (p.name, hints[p.name], p.default)
        for p in inspect.signature(FACTORS[name]).parameters.values()
        if p.kind is p.KEYWORD_ONLY and p.default is not p.empty
    ]
    return msgspec.defstruct(unversioned(name), fields, frozen=True, kw_only=True, forbid_unknown_fields=True)


def complete(name: str, given: Mapping[str, Parameter]) -> dict[str, Parameter]:
    """The parameters of a factor with every default filled in; msgspec.ValidationError if one is wrong."""
    return msgspec.to_builtins(msgspec.convert(dict(given), _schema(name)))  # type: ignore[no-any-return]


def describe(name: str) -> str:
    """The first line of a factor's docstring."""
    return (inspect.getdoc(FACTORS[name]) or "").split("\n", 1)[0]
