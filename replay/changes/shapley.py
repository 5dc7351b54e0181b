"""Shapley values: a difference between two states shared out fairly among the groups of inputs that changed.

A group's share is what it changes when it is replaced, averaged over all orders in which the groups can be
replaced one after another (Shapley 1953). The shares of all groups add up to the whole difference.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import TypeVar

Player = TypeVar("Player")
Worth = Callable[[frozenset[Player]], float]


def shapley(players: Sequence[Player], worth: Worth[Player]) -> dict[Player, float]:
    """share(p) = Σ over the sets S without p of |S|! (n - |S| - 1)! / n! · (worth(S + p) - worth(S))."""
    n = len(players)
    shares: dict[Player, float] = {}
    for player in players:
        others = [other for other in players if other != player]
        terms: list[float] = []
        for size in range(n):
            weight = math.factorial(size) * math.factorial(n - size - 1) / math.factorial(n)
            for members in combinations(others, size):
                before = frozenset(members)
                terms.append(weight * (worth(before | {player}) - worth(before)))
        shares[player] = math.fsum(terms)
    return shares
