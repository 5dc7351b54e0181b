"""Counts in words: 1 memory, 2 memories."""

from __future__ import annotations


def counted(count: int, noun: str) -> str:
    """A number and its noun, in the plural unless it is 1."""
    plural = f"{noun.removesuffix('y')}ies" if noun.endswith("y") and noun != "day" else f"{noun}s"
    return f"{count:,} {noun if count == 1 else plural}"
