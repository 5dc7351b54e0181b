"""The words of questions and memories, as the lexical index holds them.

A ranking has no texts, only the terms of the index: that is what it compares, so case, accents, width and
script are already settled.
"""

from __future__ import annotations

from functools import lru_cache

from recollect.projections.lexical.analyzers import ANALYZERS
from recollect.query.rank_context import RankContext
from recollect.query.text.stems import counts

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
    return tuple(dict.fromkeys(word for word in ANALYZERS[analyzer](text) if counts(word)))


def keywords_of(text: str, analyzer: str) -> tuple[str, ...]:
    """The words of a text without stop words; all its words if nothing else is left."""
    words = words_of(text, analyzer)
    return tuple(word for word in words if word not in STOP_WORDS) or words


def normal_form(ctx: RankContext, row: int, analyzer: str) -> str:
    """The text of a row in normal form: its terms, joined by single spaces."""
    return " ".join(ctx.view.lexical(analyzer).terms_of(row))
