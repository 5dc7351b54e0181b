"""Words that mean the same for an overlap: one suffix is taken off, once, and three letters must be left.

Only words in Latin letters have such suffixes; all others stay as they are. A word counts if it has three
characters, or fewer where one says more: from U+1100 on (Hangul, kana, Han, pictographs), where the analyzer
gives characters and pairs of them as words.
"""

from __future__ import annotations

from functools import lru_cache

_CHARACTERS_MIN = 3
_DENSE_FROM = "\u1100"


def counts(word: str) -> bool:
    """Whether a word is long enough to mean something."""
    return len(word) >= _CHARACTERS_MIN or word[:1] >= _DENSE_FROM


def stem(word: str, suffixes: tuple[str, ...]) -> str:
    """The word without the first suffix of the list that it ends in."""
    if word.isascii() and word.isalpha():
        for suffix in suffixes:
            if word.endswith(suffix) and len(word) - len(suffix) >= _CHARACTERS_MIN:
                return word.removesuffix(suffix)
    return word


@lru_cache(maxsize=4096)
def family(word: str, suffixes: tuple[str, ...]) -> tuple[str, ...]:
    """All words with the same stem: the stem itself, or with a suffix that is taken off again."""
    root = stem(word, suffixes)
    return tuple(other for other in (root, *(root + s for s in suffixes)) if stem(other, suffixes) == root)
