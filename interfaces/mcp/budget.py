"""How much of an answer a model is given: whole hits, best first, as long as the whole answer fits.

Tokens are estimated from characters, so that a budget means the same for every model: four ASCII characters a token,
two of the alphabets of two bytes in UTF-8 (Greek, Cyrillic, Arabic, …), one of the others (Chinese, Japanese, Korean,
…), and two tokens for what stands beyond the basic plane (emoji). Tokenizers give English about as much and are
rarely above it. The whole answer counts: its first and last lines, its notes, and for a tool the JSON as well, whichever
of text and JSON is longer. A hit is never cut: one that does not fit is skipped, and the next one is tried.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

CHARACTERS_PER_TOKEN = 4

T = TypeVar("T")


def tokens_of(text: str) -> int:
    """The estimate, rounded up."""
    quarters = len(text) if text.isascii() else sum(map(_quarters, text))
    return -(-quarters // CHARACTERS_PER_TOKEN)


def _quarters(character: str) -> int:
    code = ord(character)
    return 1 if code < 0x80 else 2 if code < 0x800 else 4 if code < 0x10000 else 8


def fit(
    items: Sequence[T], whole: Callable[[tuple[T, ...]], int], least: Callable[[T], int], *, tokens_max: int
) -> tuple[T, ...]:
    """The items, in order, whose answer as a `whole` takes at most so many tokens.

    `least` is the fewest tokens that an item can take: a cheap check before the whole answer is measured.
    """
    kept: tuple[T, ...] = ()
    taken = 0
    for item in items:
        own = least(item)
        if taken + own <= tokens_max and whole((*kept, item)) <= tokens_max:
            kept, taken = (*kept, item), taken + own - 1  # of each text, a part of a token may be shared
    return kept
