"""A sequence in portions of a bounded weight."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def portions(items: Iterable[T], weight: Callable[[T], int], *, full: int) -> Iterator[list[T]]:
    """The items in order; a portion ends with the item by which it weighs `full`."""
    portion: list[T] = []
    weighs = 0
    for item in items:
        portion.append(item)
        weighs += weight(item)
        if weighs >= full:
            yield portion
            portion, weighs = [], 0
    if portion:
        yield portion
