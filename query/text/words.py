"""The words of questions and memories, as the lexical index holds them.

A ranking has no texts, only the terms of the index: that is what it compares, so case, accents, width and
script are already settled.
"""

from __future__ import annotations

from functools import lru_cache

from recollect.projections.lexical.analyzers import terms_of

# What OMEGA keeps out of its full-text queries: operators, function words, SQL and shell words.
STOP_WORDS = frozenset(
    (
        "and", "or", "not", "near", "for", "from", "the", "with", "that", "this", "have", "has", "was", "are",
        "been", "were", "will", "can", "may", "select", "where", "insert", "delete", "update", "into", "values",
        "set", "join", "like", "between", "null", "grep", "find", "cat", "echo", "eval", "exec", "content",
    )
)  # fmt: skip


@lru_cache(maxsize=256)
def words_of(text: str, analyzer: str) -> tuple[str, ...]:
    """The words of a text that are long enough to mean something, each once, in order."""
    return tuple(filter(counts, terms_of(text, analyzer)))


def keywords_of(text: str, analyzer: str) -> tuple[str, ...]:
    """The words of a text without stop words; all its words if nothing else is left."""
    words = words_of(text, analyzer)
    return tuple(word for word in words if word not in STOP_WORDS) or words


# Words that mean the same for an overlap: one suffix is taken off, once, and three letters must be left.
#
# Only words in Latin letters have such suffixes; all others stay as they are. A word counts if it has three
# characters, or fewer where one says more: from U+1100 on (Hangul, kana, Han, pictographs), where the analyzer
# gives characters and pairs of them as words.

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
