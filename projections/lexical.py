"""lexical: full-text search with BM25 over the rows alive at any seq.

Reads      the rows that `documents` gives birth to, each with its text or the row it repeats
State      the forward index and the postings of all rows ever born, with their term frequencies
Invariant  an answer at seq S depends on the events up to S alone: neither on later ones, nor on block
           sizes, nor on checkpoints, nor on questions asked before

Postings only grow. Rows are numbered by birth, so what was born by S is a prefix of every list, and what had
died by S is one comparison: N, df, lengths and visibility are those of S, at the price of a live query.
Reading settles what was added since and uses scratch space of its own: one thread at a time.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from recollect.events.errors import InvalidInput
from recollect.projections.analyzers import ANALYZERS
from recollect.projections.bm25 import VARIANTS, Bm25, average_okapi_idf
from recollect.projections.columns import (
    BoolArray,
    Column,
    FloatArray,
    Int32Array,
    IntArray,
    State,
    state_bytes,
)
from recollect.projections.documents import Documents, NewRow
from recollect.projections.forward import ForwardIndex
from recollect.projections.frequencies import DocumentFrequencies
from recollect.projections.matches import Admit, LexicalHits, Matches, TermMatch
from recollect.projections.postings import BLOCK_TOKENS, FANOUT, Postings, TermPostings

__all__ = ["Admit", "CorpusStatistics", "Lexical", "LexicalHits", "TermDetail"]


class CorpusStatistics(msgspec.Struct, frozen=True):
    """The rows alive at a seq: how many, and how many terms they hold in all."""

    N: int
    total_length: int


class TermDetail(msgspec.Struct, frozen=True, kw_only=True):
    """One term of the query and what it did for one row.

    The contributions to a row that matches, added in order, are its score before rounding.
    """

    term: str
    tf: int
    df: int
    N: int
    idf: float
    length: int
    average_length: float
    contribution: float


class Lexical:
    name = "lexical"
    version = 1

    def __init__(
        self,
        documents: Documents,
        analyzer: str = "unicode61-cjk/1",
        *,
        block_tokens: int = BLOCK_TOKENS,
        fanout: int = FANOUT,
    ) -> None:
        if analyzer not in ANALYZERS:
            raise InvalidInput(f"no analyzer is named {analyzer!r}; choose one of {', '.join(ANALYZERS)}")
        self.analyzer = analyzer
        self._documents = documents
        self._forward = ForwardIndex(ANALYZERS[analyzer])
        self._postings = Postings(self._forward, block_tokens=block_tokens, fanout=fanout)
        self._frequencies = DocumentFrequencies(self._forward)
        self._dead_lengths: Column[np.int64] = Column(np.int64)
        self._dead_lengths.append(0)
        self._sums: FloatArray = np.zeros(0)

    # --- folding ---------------------------------------------------------------------------------

    def add(self, new: NewRow) -> None:
        forward = self._forward
        assert new.row == forward.rows, "rows come in order of birth, each once"
        if new.text is None:
            forward.copy(new.text_of)
        else:
            forward.add(new.text)
        if forward.size >= self._postings.full_at:
            self._postings.absorb()

    def add_many(self, texts: list[str]) -> None:
        """Rows that were born one after the other with these texts."""
        self._forward.add_many(texts)
        if self._forward.size >= self._postings.full_at:
            self._postings.absorb()

    # --- reading ---------------------------------------------------------------------------------

    def terms_of(self, row: int) -> list[str]:
        """The terms of a row, in the order of its text."""
        self._forward.settle()
        terms = self._forward.vocabulary.terms
        return [terms[number] for number in self._forward.tokens_of(row).tolist()]

    def holding(self, rows: Int32Array, groups: Sequence[Sequence[str]]) -> BoolArray:
        """Per row and group of terms: whether the row holds a term of the group."""
        self._forward.settle()
        return self._forward.holding(rows, groups)

    def first_terms(self, rows: Int32Array | IntArray) -> list[str | None]:
        """The first term of each row's text; None for a text without terms."""
        self._forward.settle()
        forward, terms = self._forward, self._forward.vocabulary.terms
        starts, lengths = forward.offsets[rows].tolist(), forward.lengths[rows].tolist()
        return [terms[forward.tokens[s]] if n else None for s, n in zip(starts, lengths, strict=True)]

    def statistics(self, at: int) -> CorpusStatistics:
        """Count and total length of the rows alive at `at`."""
        self._bury()
        born, died = self._documents.rows_born(at), self._documents.rows_dead(at)
        total_length = int(self._forward.offsets[born] - self._dead_lengths[died])
        return CorpusStatistics(born - died, total_length)

    def search(self, query: str, *, at: int, bm25: Bm25, top: int, admit: Admit | None = None) -> LexicalHits:
        """The `top` best rows alive at `at` that hold a term of the query, best first, ties by memory id.

        A row that `admit` rejects is never returned but counts in the statistics all the same.
        """
        matches = self._match(query, at, bm25)
        if len(self._sums) < self._forward.rows:
            self._sums = np.zeros(self._forward.rows * 5 // 4)
        return matches.best(top, self._sums, self._ids_of, admit)

    def score_rows(self, query: str, rows: Int32Array | IntArray, *, at: int, bm25: Bm25) -> FloatArray:
        """The scores that `search` gives to these rows; 0.0 for a row that does not match or is not alive."""
        return self._match(query, at, bm25).scores(rows.astype(np.int64))

    def explain(self, query: str, row: int, *, at: int, bm25: Bm25) -> tuple[TermDetail, ...]:
        """Every term of the query in order, absent ones too, with the numbers behind its contribution."""
        matches = self._match(query, at, bm25)
        if not matches.terms:
            return ()
        corpus = self.statistics(at)
        rows = np.array([row], dtype=np.int64)
        tfs = matches.frequencies(rows)
        contributions = matches.contributions(tfs, rows)
        return tuple(
            TermDetail(
                term=term.term,
                tf=tf,
                df=term.df,
                N=corpus.N,
                idf=term.idf,
                length=int(self._forward.lengths[row]),
                average_length=_average_length(corpus),
                contribution=contribution,
            )
            for term, tf, contribution in zip(
                matches.terms, tfs[:, 0].tolist(), contributions[:, 0].tolist(), strict=True
            )
        )

    # --- one query at one seq --------------------------------------------------------------------

    def _match(self, query: str, at: int, bm25: Bm25) -> Matches:
        corpus = self.statistics(at)
        words = self._forward.analyze(query)
        found = self._living_postings(words, at)
        idfs = {word: self._idf(len(postings.rows), corpus, at, bm25) for word, postings in found.items()}
        terms = {word: _term_match(word, idfs[word], postings) for word, postings in found.items()}
        return Matches(
            [terms[word] for word in words],
            lengths=self._forward.lengths,
            average_length=_average_length(corpus),
            bm25=bm25,
        )

    def _living_postings(self, words: list[str], at: int) -> dict[str, TermPostings]:
        """The postings of each different word, without the rows that are not alive at `at`."""
        number_of = self._forward.vocabulary.get
        distinct = list(dict.fromkeys(words))
        numbers = [number_of(word, -1) for word in distinct]
        all_postings = self._postings.of(numbers, self._documents.rows_born(at))
        if self._documents.rows_dead(at):
            died = self._documents.died
            all_postings = [_without_dead(postings, died, at) for postings in all_postings]
        return dict(zip(distinct, all_postings, strict=True))

    def _idf(self, df: int, corpus: CorpusStatistics, at: int, bm25: Bm25) -> float:
        def average() -> float:
            documents = self._documents
            born, died = documents.rows_born(at), documents.rows_dead(at)
            return average_okapi_idf(self._frequencies.counts_at(born, died, documents.death_rows), corpus.N)

        return VARIANTS[bm25.variant][0](df, corpus.N, bm25, average) if df else 0.0

    def _ids_of(self, rows: IntArray) -> list[str]:
        ids = self._documents.ids.values
        return [ids[memory] for memory in self._documents.memory_of[rows].tolist()]

    def _bury(self) -> None:
        """Bring the running total of the lengths of dead rows up to the latest death."""
        self._forward.settle()
        fresh = self._documents.death_rows[len(self._dead_lengths) - 1 :]
        if len(fresh):
            total = self._dead_lengths[len(self._dead_lengths) - 1]
            self._dead_lengths.extend(total + np.cumsum(self._forward.lengths[fresh], dtype=np.int64))

    # --- checkpoints -----------------------------------------------------------------------------

    def dump(self) -> State:
        return {"analyzer": self.analyzer.encode(), **self._forward.dump(), **self._postings.dump()}

    def load(self, state: State) -> None:
        """Take over a checkpoint; `documents` must have been loaded from the same one."""
        assert state_bytes(state, "analyzer") == self.analyzer.encode(), "a checkpoint of another analyzer"
        self._forward.load(state)
        self._postings.load(state)
        self._frequencies = DocumentFrequencies(self._forward)
        self._dead_lengths.load(np.zeros(1, dtype=np.int64))


def _average_length(corpus: CorpusStatistics) -> float:
    return corpus.total_length / corpus.N if corpus.N else 0.0


def _without_dead(postings: TermPostings, died: IntArray, at: int) -> TermPostings:
    alive = np.flatnonzero(died.take(postings.rows) > at)
    if len(alive) == len(postings.rows):
        return postings
    return TermPostings(postings.rows.take(alive), postings.tfs.take(alive))


def _term_match(word: str, idf: float, postings: TermPostings) -> TermMatch:
    return TermMatch(word, len(postings.rows), idf, postings.rows.astype(np.int64), postings.tfs)
