"""Words that mean the same for an overlap: one suffix is taken off, once, and three letters must be left.

Only words in Latin letters have such suffixes; all others stay as they are. A word counts if it has three
characters, or fewer where one says more: from U+1100 on (Hangul, kana, Han, pictographs), where the analyzer
gives characters and pairs of them as words.
"""

from __future__ import annotations

from functools import lru_cache

_CHARACTERS_MIN = 3
_DENSE_FROM = "\u1100"
_STEMS_MAX = 1 << 16


class Stems(dict[str, str]):
    """Stems of the words met lately, by the first suffix of the list that a word ends in."""

    def __init__(self, suffixes: tuple[str, ...]) -> None:
        super().__init__()
        self._suffixes = suffixes

    def __missing__(self, word: str) -> str:
        if len(self) >= _STEMS_MAX:
            self.clear()
        self[word] = stem = self._stem(word)
        return stem

    def _stem(self, word: str) -> str:
        if not (word.isascii() and word.isalpha()):
            return word
        for suffix in self._suffixes:
            if word.endswith(suffix) and len(word) - len(suffix) >= _CHARACTERS_MIN:
                return word.removesuffix(suffix)
        return word


@lru_cache(maxsize=16)
def stems_of(suffixes: tuple[str, ...]) -> Stems:
    """The stems by this list of suffixes; kept, since every question needs them."""
    return Stems(suffixes)


def counts(word: str) -> bool:
    """Whether a word is long enough to mean something."""
    return len(word) >= _CHARACTERS_MIN or word[:1] >= _DENSE_FROM
