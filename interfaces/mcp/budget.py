"""How much of an answer a model is given: whole hits, from the best on, while they fit.

A token is taken as four characters, rounded up: `ceil(characters / 4)` of a hit's text as it is shown. Real
tokenizers give English fewer tokens than that and code or other scripts more; the rule is here so that a budget
means the same for every model. A hit is never cut: the first that does not fit ends the list, so what is shown is
always the beginning of the ranking.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

CHARACTERS_PER_TOKEN = 4

T = TypeVar("T")


class Fitted(NamedTuple):
    """How many of the first hits fit, and the tokens that they take."""

    kept: int
    tokens: int


def tokens_of(text: str) -> int:
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def fit(items: Sequence[T], show: Callable[[T], str], *, tokens_max: int) -> Fitted:
    """The longest beginning of the list whose texts take at most so many tokens together."""
    taken = 0
    for count, item in enumerate(items):
        cost = tokens_of(show(item))
        if taken + cost > tokens_max:
            return Fitted(count, taken)
        taken += cost
    return Fitted(len(items), taken)
