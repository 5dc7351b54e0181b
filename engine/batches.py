"""Split a sequence into batches of a bounded weight."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def batches(items: Iterable[T], weight: Callable[[T], int], *, full: int) -> Iterator[list[T]]:
    """Yield the items in order, in lists; a list ends with the item that brings its weight to `full`."""
    batch: list[T] = []
    weighs = 0
    for item in items:
        batch.append(item)
        weighs += weight(item)
        if weighs >= full:
            yield batch
            batch, weighs = [], 0
    if batch:
        yield batch
