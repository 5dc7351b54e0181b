"""A view that never was: each group of inputs to one memory's score taken from one of two moments.

Which moment each group comes from is a `Mix`. The parts:

    edits       the memory's own text, vector and traits (importance, tags, dates, …), and whether it is born
    lifecycle   its own accesses, feedback, strength, stability, depth, status, and whether it is hidden
    corpus      the statistics that the other memories give: N, df, average length
    others      which other memories are there, with their texts, vectors, lifecycles and edges
    embedder    the space that vectors are compared in; a memory that was embedded again keeps its text

(The formula and the clock belong to the question's side and need no view.) The memory's own share in the corpus
statistics comes with its text. Where all parts come from one moment the view answers as that moment's does.
Edges and clusters, also those of the memory itself, count among the others.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from typing import NamedTuple

import numpy as np

from recollect.events.grid import GridArray
from recollect.projections.adoptions import Adoption, Adoptions
from recollect.projections.columns import NEVER, BoolArray, FloatArray, Int32Array, IntArray
from recollect.projections.documents import Documents
from recollect.projections.lexical.bm25 import Bm25
from recollect.projections.lexical.index import Admit, CorpusStatistics, Lexical
from recollect.projections.lexical.matches import Matches, TermMatch
from recollect.projections.lexical.postings import TermPostings
from recollect.projections.lifecycle.affinity import Labels
from recollect.projections.lifecycle.lifecycle import Lifecycle, LifecycleColumns
from recollect.projections.lifecycle.recent_access import RecentAccess
from recollect.projections.vectors.index import Vectors
from recollect.projections.vectors.nearest import VectorHits
from recollect.projections.view import Projections, View

_SETTLED = -1


class Mix(NamedTuple):
    """The seq that each part comes from."""

    edits: int
    lifecycle: int
    corpus: int
    others: int
    embedder: int


class HybridView(View):
    """What `rank` reads, for one memory and one mix; `seq` is that of the others."""

    __slots__ = ("_lexicals", "_own", "_vectors")

    def __init__(self, projections: Projections, memory: int, mix: Mix, time: int, vectors: Vectors) -> None:
        super().__init__(projections, mix.others, time)
        self._own = Own(projections.documents, memory, mix)
        self.documents = _Documents(projections.documents, self._own)
        self.lifecycle = _Lifecycle(projections.lifecycle, projections.adoptions, self._own)
        self.adoptions = _Adoptions(projections.adoptions, mix)
        self._lexicals: dict[str, _Lexical] = {}
        self._vectors = _Vectors(vectors, projections, self._own)

    def lexical(self, analyzer: str) -> Lexical:
        if analyzer not in self._lexicals:
            self._lexicals[analyzer] = _Lexical(self.projections.lexicals[analyzer], self._own)
        return self._lexicals[analyzer]

    @property
    def vectors(self) -> _Vectors:
        return self._vectors


class Own:
    """The memory in question: its row (-1: it is not there) and which rows are alive beside it."""

    def __init__(self, documents: Documents, memory: int, mix: Mix) -> None:
        self.memory = memory
        self.mix = mix
        newest = documents.newest_row(memory, mix.lifecycle)
        hidden = newest >= 0 and documents.died[newest] <= mix.lifecycle
        self.row = -1 if hidden else documents.newest_row(memory, mix.edits)
        self.row_in_corpus = int(documents.rows_of(np.array([memory]), mix.corpus)[0])
        self.alive: BoolArray = (documents.born <= mix.others) & (documents.died > mix.others)
        self.alive[documents.versions_of(memory)] = False
        if self.row >= 0:
            self.alive[self.row] = True


class _Documents(Documents):
    """The rows of the mix; what is alive does not depend on the seq asked for."""

    def __init__(self, base: Documents, own: Own) -> None:
        vars(self).update(vars(base))
        self._own = own
        self._ends: IntArray = np.where(own.alive, NEVER, 0)

    @property
    def died(self) -> IntArray:
        return self._ends

    def rows_born(self, seq: int) -> int:  # noqa: ARG002
        return self.rows

    def alive(self, rows: Int32Array | IntArray, seq: int) -> BoolArray:  # noqa: ARG002
        return self._own.alive[rows]

    def rows_of(self, memories: Int32Array | IntArray, seq: int) -> Int32Array:  # noqa: ARG002
        rows = self._rows.at(memories, self._own.mix.others)
        rows[(rows >= 0) & ~self._own.alive[rows]] = -1
        rows[memories == self._own.memory] = self._own.row
        return rows


class _Adoptions(Adoptions):
    def __init__(self, base: Adoptions, mix: Mix) -> None:
        vars(self).update(vars(base))
        self._mix = mix

    def embedder(self, seq: int) -> Adoption | None:  # noqa: ARG002
        return super().embedder(self._mix.embedder)

    def last_dream(self, seq: int) -> int:  # noqa: ARG002
        """A mark that `_Lifecycle` knows: the others and the memory may have settled in different dreams."""
        settled = max(super().last_dream(self._mix.others), super().last_dream(self._mix.lifecycle))
        return _SETTLED if settled else 0


class _Lifecycle(Lifecycle):
    def __init__(self, base: Lifecycle, adoptions: Adoptions, own: Own) -> None:
        vars(self).update(vars(base))
        self._own = own
        self._settled = adoptions.last_dream(own.mix.others), adoptions.last_dream(own.mix.lifecycle)

    def at(self, memories: IntArray | Int32Array, seq: int) -> LifecycleColumns:
        mix = self._own.mix
        theirs, ours = self._settled if seq == _SETTLED else (mix.others, mix.lifecycle)
        mine = memories == self._own.memory
        return self.each(
            memories.astype(np.int64),
            np.where(mine, ours, theirs),
            trait_seqs=np.where(mine, mix.edits, theirs),
            common=theirs,
        )

    def recent_access(self, seq: int, records: int) -> RecentAccess:  # noqa: ARG002
        """Those of the others, and the memory at its own last touch if that is among them."""
        own, found = self._own, super().recent_access(self._own.mix.others, records)
        other = found.memories != own.memory
        memories, seqs = found.memories[other], found.seqs[other]
        touched = self.last_touch(own.memory, own.mix.lifecycle)
        if own.row >= 0 and (found.complete or touched >= seqs.min(initial=NEVER)):
            memories, seqs = np.append(memories, own.memory), np.append(seqs, touched)
        order = np.lexsort((memories, -seqs))
        return RecentAccess(memories[order], seqs[order], found.complete)

    def uses(self, kind: Labels, label: str, seq: int) -> int:  # noqa: ARG002
        return super().uses(kind, label, self._own.mix.others)

    def most_accessed(self, seq: int, top: int) -> IntArray:  # noqa: ARG002
        own = self._own
        found = super().most_accessed(own.mix.others, top + 1)
        found = found[found != own.memory]
        everyone = np.append(found, own.memory)
        counts = self.at(everyone, own.mix.others).access_count
        if own.row >= 0 and counts[-1] > 0:
            place = int(np.count_nonzero(counts[:-1] >= counts[-1]))
            found = np.insert(found, place, own.memory)
        return found[:top]


class _Lexical(Lexical):
    """Rows of the mix, scored with the statistics of the others at one moment and of the memory's own text."""

    def __init__(self, base: Lexical, own: Own) -> None:
        vars(self).update(vars(base))
        self._own = own

    def _match(self, query: str, at: int, bm25: Bm25) -> Matches:  # noqa: ARG002
        own, words = self._own, self._forward.analyze(query)
        corpus = self._mixed_statistics()
        then = {word: read() for word, _, read in self._living(words, own.mix.corpus)}
        numbers = [self._forward.vocabulary.get(word, -1) for word in then]
        terms: dict[str, TermMatch] = {}
        for word, postings in zip(then, self._postings.of(numbers, len(own.alive)), strict=True):
            here = own.alive[postings.rows]
            rows, tfs = postings.rows[here], postings.tfs[here]
            df = len(then[word].rows) - int(own.row_in_corpus in then[word].rows) + int(own.row in rows)
            idf = self._idf(df, corpus, own.mix.corpus, bm25)
            terms[word] = TermMatch(word, idf, len(rows), partial(TermPostings, rows, tfs))
        average = corpus.total_length / corpus.N if corpus.total_length else 1.0
        return Matches(
            [terms[word] for word in words], lengths=self._forward.lengths, average_length=average, bm25=bm25
        )

    def _mixed_statistics(self) -> CorpusStatistics:
        own, lengths = self._own, self._forward.lengths
        corpus = self.statistics(own.mix.corpus)
        count, total = corpus.N, corpus.total_length
        if own.row_in_corpus >= 0:
            count, total = count - 1, total - int(lengths[own.row_in_corpus])
        if own.row >= 0:
            count, total = count + 1, total + int(lengths[own.row])
        return CorpusStatistics(count, total)


class _Vectors:
    """Nearest rows of the mix: through the index of the others where the space is theirs, else by looking at each."""

    def __init__(self, vectors: Vectors, projections: Projections, own: Own) -> None:
        self._vectors = vectors
        self._documents = projections.documents
        self._own = own
        adoptions, mix = projections.adoptions, own.mix
        self._same_space = _space(adoptions, mix.others) == _space(adoptions, mix.embedder)

    def search(
        self,
        query: GridArray,
        *,
        at: int,  # noqa: ARG002
        top: int,
        admit: Admit | None = None,
        without: Collection[str] = (),
    ) -> VectorHits:
        rows, cosines = self._others(query, top, admit, without)
        own = np.array([self._own.row] if self._own.row >= 0 else [], dtype=np.int32)
        own = own[self._admitted(own, admit)]
        rows = np.concatenate((rows, own))
        cosines = np.concatenate((cosines, self.cosines(query, own, at=0)))
        ids, memory_of = self._documents.ids.values, self._documents.memory_of
        keys = zip(
            (-cosines).tolist(), (ids[m] for m in memory_of[rows].tolist()), range(len(rows)), strict=True
        )
        order = [place for _, _, place in sorted(keys)[:top]]
        return VectorHits(
            rows[order], np.zeros(len(order), np.int64), cosines[order], ["hybrid"] * len(order)
        )

    def _others(
        self, query: GridArray, top: int, admit: Admit | None, without: Collection[str]
    ) -> tuple[Int32Array, FloatArray]:
        memory = self._own.memory
        if self._same_space:
            hits = self._vectors.search(
                query, at=self._own.mix.others, top=top + 1, admit=admit, without=without
            )
            other = self._documents.memory_of[hits.rows] != memory
            return hits.rows[other], hits.cosines[other]
        rows = np.flatnonzero(self._own.alive).astype(np.int32)
        rows = rows[self._documents.memory_of[rows] != memory]
        rows = rows[self._admitted(rows, admit)]
        return rows, self.cosines(query, rows, at=0)

    def _admitted(self, rows: Int32Array, admit: Admit | None) -> BoolArray:
        able = self.comparable(rows, at=0)
        if admit is not None and able.any():
            able[able] = admit(rows[able])
        return able

    def cosines(self, query: GridArray, rows: Int32Array, *, at: int) -> FloatArray:  # noqa: ARG002
        return self._vectors.cosines(query, self._embedded(rows), at=self._own.mix.embedder)

    def comparable(self, rows: Int32Array, *, at: int) -> BoolArray:  # noqa: ARG002
        return self._vectors.comparable(self._embedded(rows), at=self._own.mix.embedder)

    def cosines_between(self, rows: Int32Array, others: Int32Array) -> FloatArray:
        return self._vectors.cosines_between(self._embedded(rows), self._embedded(others))

    def _embedded(self, rows: Int32Array) -> Int32Array:
        """For each row the row of the same text that has a vector of the mix's embedder, or itself."""
        able = self._vectors.comparable(rows, at=self._own.mix.embedder)
        if able.all():
            return rows
        found = rows.copy()
        for place in np.flatnonzero(~able).tolist():
            found[place] = self._twin(int(rows[place]))
        return found

    def _twin(self, row: int) -> int:
        documents, at = self._documents, self._own.mix.embedder
        text = documents.source(row)
        alike = [
            r for r in documents.versions_of(int(documents.memory_of[row])) if documents.source(r) == text
        ]
        able = self._vectors.comparable(np.array(alike), at=at)
        return next((r for r, fits in zip(alike, able.tolist(), strict=True) if fits), row)


def _space(adoptions: Adoptions, seq: int) -> tuple[str, int, bytes] | None:
    adopted = adoptions.embedder(seq)
    return (adopted.label, adopted.dimensions, adopted.probe) if adopted else None
