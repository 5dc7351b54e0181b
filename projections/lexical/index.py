"""lexical: full-text search with BM25 over the rows alive at any seq.

Reads      the rows that `documents` gives birth to, each with its text or the row it repeats
State      the forward index and the postings of all rows ever born, with their term frequencies
Invariant  an answer at seq S depends on the events up to S alone: neither on later ones, nor on block
           sizes, nor on checkpoints, nor on questions asked before

Postings only grow. Rows are numbered by birth, so what was born by S is a prefix of every list, and what had
died by S is a prefix of the dead postings: N, df, lengths and visibility are those of S, at the price of a live query.
Reading moves added rows into the arrays and uses scratch space, so only one thread at a time may read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import msgspec
import numpy as np

from recollect.events.errors import InvalidInput
from recollect.projections.columns import (
    BoolArray,
    FloatArray,
    Int32Array,
    IntArray,
    Saved,
    State,
)
from recollect.projections.documents import Documents, NewRow
from recollect.projections.lexical.analyzers import ANALYZERS, FOLLOWS_PYTHON, PYTHON_UNICODE
from recollect.projections.lexical.bm25 import VARIANTS, Bm25, average_okapi_idf
from recollect.projections.lexical.forward import DeadPostings, ForwardIndex
from recollect.projections.lexical.frequencies import DocumentFrequencies
from recollect.projections.lexical.matches import Admit, LexicalHits, Matches, Room, TermMatch, Texts
from recollect.projections.lexical.postings import (
    PostingList,
    Postings,
    TermPostings,
)

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


# A word, how many rows alive at a seq hold it, and what reads these postings.
_Living = tuple[str, int, Callable[[], TermPostings]]


class Lexical:
    name = "lexical"
    version = 1

    def __init__(self, documents: Documents, analyzer: str = "unicode61-cjk/2") -> None:
        if analyzer not in ANALYZERS:
            raise InvalidInput(f"no analyzer is named {analyzer!r}; choose one of {', '.join(ANALYZERS)}")
        self.analyzer = analyzer
        self._documents = documents
        self._forward = ForwardIndex(ANALYZERS[analyzer])
        self._postings = Postings(self._forward)
        self._frequencies = DocumentFrequencies(self._forward)
        self._dead_postings = DeadPostings(self._forward)
        self._graves = Postings(self._dead_postings)
        self._room = Room(0)
        self._last: tuple[tuple[str, int, Bm25], Matches] | None = None
        self._last_living: tuple[tuple[tuple[str, ...], int], list[_Living]] | None = None

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
        if not forward.size:
            return [None] * len(rows)
        firsts = forward.tokens.take(forward.offsets[rows], mode="clip").tolist()
        return [
            terms[first] if n else None
            for first, n in zip(firsts, forward.lengths[rows].tolist(), strict=True)
        ]

    def statistics(self, at: int) -> CorpusStatistics:
        """Count and total length of the rows alive at `at`."""
        self._bury()
        born, died = self._documents.rows_born(at), self._documents.rows_dead(at)
        total_length = int(self._forward.offsets[born] - self._dead_postings.offsets[died])
        return CorpusStatistics(born - died, total_length)

    def document_frequencies(self, terms: Sequence[str], *, at: int) -> tuple[int, list[int]]:
        """How many rows are alive at `at`, and how many of them hold each term."""
        held = {term: count for term, count, _ in self._living(terms, at)}
        return self.statistics(at).N, [held[term] for term in terms]

    def term_counts(self, terms: Sequence[str], rows: Int32Array | IntArray) -> tuple[Int32Array, Int32Array]:
        """How often each term stands in each row (terms × rows), and how many terms each row has."""
        self._forward.settle()
        number_of = self._forward.vocabulary.get
        wanted = rows.astype(np.int64)
        found = self._forward.frequencies(wanted, [number_of(term, -1) for term in terms])
        return found, self._forward.lengths[wanted]

    def mean_length(self, *, at: int) -> float:
        """How many terms the rows alive at `at` have on average."""
        return _average_length(self.statistics(at))

    def search(self, query: str, *, at: int, bm25: Bm25, top: int, admit: Admit | None = None) -> LexicalHits:
        """The `top` best rows alive at `at` that hold a term of the query, best first, ties by memory id.

        A row that `admit` rejects is never returned but still counts in the statistics.
        """
        matches = self._match(query, at, bm25)
        if len(self._room) < self._forward.rows:
            self._room = Room(self._forward.rows * 5 // 4)
        return matches.best(top, self._room, self._ids_of, admit)

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
        """The matches of a query, cached for the last query: the stages of one formula repeat it."""
        key = (query, at, bm25)
        if self._last is not None and self._last[0] == key:
            return self._last[1]
        corpus = self.statistics(at)
        words = self._forward.analyze(query)
        terms = {
            word: TermMatch(word, self._idf(df, corpus, at, bm25), df, read)
            for word, df, read in self._living(words, at)
        }
        matches = Matches(
            [terms[word] for word in words],
            lengths=self._forward.lengths,
            average_length=_average_length(corpus),
            bm25=bm25,
            texts=Texts(self._forward, partial(self._documents.alive, seq=at)),
        )
        self._last = (key, matches)
        return matches

    def _living(self, words: Sequence[str], at: int) -> list[_Living]:
        """Each different word, how many rows alive at `at` hold it, and what reads these postings; the last are kept."""
        distinct = tuple(dict.fromkeys(words))
        if self._last_living is None or self._last_living[0] != (distinct, at):
            self._last_living = (distinct, at), self._find_living(distinct, at)
        return self._last_living[1]

    def _find_living(self, distinct: tuple[str, ...], at: int) -> list[_Living]:
        number_of = self._forward.vocabulary.get
        numbers = [number_of(word, -1) for word in distinct]
        born, died = self._documents.rows_born(at), self._documents.rows_dead(at)
        lists = self._postings.lists(numbers, born)
        if not died:
            return [(word, found.count, found.joined) for word, found in zip(distinct, lists, strict=True)]
        self._bury()
        graves = self._graves.lists(numbers, died)
        return [
            (word, found.count - dead.count, partial(self._without_dead, found, at))
            for word, found, dead in zip(distinct, lists, graves, strict=True)
        ]

    def _without_dead(self, found: PostingList, at: int) -> TermPostings:
        postings = found.joined()
        alive = np.flatnonzero(self._documents.died.take(postings.rows) > at)
        return TermPostings(postings.rows.take(alive), postings.tfs.take(alive))

    def _idf(self, df: int, corpus: CorpusStatistics, at: int, bm25: Bm25) -> float:
        def average() -> float:
            documents = self._documents
            born, died = documents.rows_born(at), documents.rows_dead(at)
            counts = self._frequencies.counts_at(born, died, documents.death_rows)
            return average_okapi_idf(counts, corpus.N, bm25.log)

        return VARIANTS[bm25.family][0](df, corpus.N, bm25, average) if df else 0.0

    def _ids_of(self, rows: IntArray) -> list[str]:
        ids = self._documents.ids.values
        return [ids[memory] for memory in self._documents.memory_of[rows].tolist()]

    def _bury(self) -> None:
        """Bring the dead postings up to the latest death."""
        self._forward.settle()
        fresh = self._documents.death_rows[self._dead_postings.rows :]
        if len(fresh):
            self._dead_postings.bury(fresh)
            if self._dead_postings.size >= self._graves.full_at:
                self._graves.absorb()

    # --- checkpoints -----------------------------------------------------------------------------

    def dump(self) -> State:
        unicode = {"unicode": PYTHON_UNICODE.encode()} if self.analyzer in FOLLOWS_PYTHON else {}
        return {
            "analyzer": self.analyzer.encode(),
            **unicode,
            **self._forward.dump(),
            **self._postings.dump(),
        }

    @staticmethod
    def usable(analyzer: str, state: State) -> bool:
        """Whether an index of a checkpoint holds the terms that this Python gives."""
        return analyzer not in FOLLOWS_PYTHON or state.get("unicode") == PYTHON_UNICODE.encode()

    def load(self, state: Saved) -> None:
        """Take over a checkpoint; `documents` must have been loaded from the same one."""
        assert state["analyzer"] == self.analyzer.encode(), "a checkpoint of another analyzer"
        self._forward.load(state)
        self._postings.load(state)
        self._frequencies = DocumentFrequencies(self._forward)
        self._dead_postings = DeadPostings(self._forward)
        self._graves = Postings(self._dead_postings)
        self._last = self._last_living = None


def _average_length(corpus: CorpusStatistics) -> float:
    return corpus.total_length / corpus.N if corpus.N else 0.0
