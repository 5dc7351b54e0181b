"""Corpora for tests of the lexical projection: folded from a log, or as plain texts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from strategies import log_of

from recollect.events.envelope import Recorded
from recollect.events.facts import Ingested
from recollect.projections.documents import Documents
from recollect.projections.lexical.index import Lexical, LexicalHits
from recollect.projections.lexical.postings import Postings


def fold(log: Iterable[Recorded], documents: Documents, lexical: Lexical) -> None:
    for recorded in log:
        for new in documents.apply(recorded):
            lexical.add(new)


def laid_out(documents: Documents, block_tokens: int, fanout: int) -> Lexical:
    """An index whose postings stand in smaller blocks than usual."""
    lexical = Lexical(documents)
    lexical._postings = Postings(lexical._forward, block_tokens=block_tokens, fanout=fanout)
    lexical._graves = Postings(lexical._dead_postings, block_tokens=block_tokens, fanout=fanout)
    return lexical


def corpus(texts: Sequence[str], analyzer: str = "unicode61-cjk/2") -> tuple[Documents, Lexical]:
    """One memory per text, born at the seqs 1, 2, 3, …; ids sort like the rows."""
    documents = Documents()
    lexical = Lexical(documents, analyzer)
    fold(
        log_of(*(Ingested(id=f"m{row:05}", content=text, at=0) for row, text in enumerate(texts))),
        documents,
        lexical,
    )
    return documents, lexical


def pairs(hits: LexicalHits) -> list[tuple[int, float]]:
    return list(zip(hits.rows.tolist(), hits.scores.tolist(), strict=True))
