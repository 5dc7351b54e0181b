"""One store in k partitions of its rows ranks the same bits as the whole (docs/scale.md).

Every worker folds the whole log and keeps the rows of its partition. Round one: N, lengths and document frequencies,
which are whole numbers and sum in any order. Round two: each worker's best by words under the summed statistics and its
best by vector; the coordinator merges them, and the formula goes on from there.
"""

from __future__ import annotations

from collections.abc import Sequence
from unittest import mock

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_world import ANALYZER, NOW, World, memory, vector
from strategies import log_of
from vector_oracle import exact

from recollect.events.envelope import Recorded
from recollect.events.facts import AnyFact, Forgotten, Ingested, Restored, Revised, Unknown
from recollect.events.grid import GridArray, from_bytes
from recollect.projections.columns import FloatArray, Int32Array
from recollect.projections.lexical.bm25 import VARIANTS, Bm25
from recollect.projections.lexical.index import CorpusStatistics
from recollect.projections.lexical.matches import Matches, Room, TermMatch, Texts
from recollect.projections.view import Projections
from recollect.query.sheet import RankContext
from recollect.query.stages.retrieving import CHANNELS

WORDS = ("tea", "milk", "cup", "tea tea", "hot", "pot of tea", "coffee")
Found = list[tuple[float, str]]
"""Minus the score, and the memory id: sorted, the best come first."""


class Worker:
    """Folds the whole log and keeps the memories of one partition."""

    def __init__(self, facts: Sequence[AnyFact], analyzer: str, part: int, parts: int) -> None:
        self._projections = Projections([analyzer])
        self._lexical = self._projections.lexicals[analyzer]
        for recorded in log_of(*facts):
            self._projections.apply(self._mine(recorded, part, parts))

    @staticmethod
    def _mine(recorded: Recorded, part: int, parts: int) -> Recorded:
        id_ = getattr(recorded.fact, "id", None)
        if id_ is None or int(id_[1:]) % parts == part:
            return recorded
        return msgspec.structs.replace(recorded, fact=Unknown(type=recorded.type, version=1))

    def counts(self, text: str, at: int) -> tuple[int, int, dict[str, int]]:
        """Round one: N, total length, and how many rows hold each word."""
        corpus = self._lexical.statistics(at)
        living = self._lexical._living(self._lexical._forward.analyze(text), at)
        return corpus.N, corpus.total_length, {word: df for word, df, _ in living}

    def by_words(
        self, text: str, at: int, bm25: Bm25, corpus: CorpusStatistics, dfs: dict[str, int], top: int
    ) -> Found:
        """Round two: its best rows under the statistics of all."""
        lexical, words = self._lexical, self._lexical._forward.analyze(text)
        idf = VARIANTS[bm25.family][0]
        terms = {
            word: TermMatch(word, idf(dfs[word], corpus.N, bm25, float) if dfs[word] else 0.0, df, read)
            for word, df, read in lexical._living(words, at)
        }
        matches = Matches(
            [terms[word] for word in words],
            lengths=lexical._forward.lengths,
            average_length=corpus.total_length / corpus.N if corpus.N else 0.0,
            bm25=bm25,
            texts=Texts(lexical._forward, lambda rows: self._projections.documents.alive(rows, at)),
        )
        hits = matches.best(top, Room(lexical._forward.rows + 1), lexical._ids_of, None)
        return self._named(hits.rows, hits.scores)

    def by_vector(self, query: GridArray, at: int, top: int) -> Found:
        hits = exact(self._projections.vectors, query, at=at, top=top)
        return self._named(hits.rows, hits.cosines)

    def _named(self, rows: Int32Array, scores: FloatArray) -> Found:
        documents = self._projections.documents
        ids = [documents.ids.values[number] for number in documents.memory_of[rows].tolist()]
        return sorted(zip((-scores).tolist(), ids, strict=True))


class Coordinator:
    """Sums, and merges."""

    def __init__(self, facts: Sequence[AnyFact], parts: int, analyzer: str = ANALYZER) -> None:
        self.analyzer = analyzer
        self._workers = [Worker(facts, analyzer, part, parts) for part in range(parts)]

    def statistics(self, text: str, at: int) -> tuple[CorpusStatistics, dict[str, int]]:
        counted = [worker.counts(text, at) for worker in reversed(self._workers)]
        dfs = {word: sum(df[word] for _, _, df in counted) for word in counted[0][2]}
        return CorpusStatistics(sum(n for n, _, _ in counted), sum(length for _, length, _ in counted)), dfs

    def by_words(self, text: str, at: int, bm25: Bm25, top: int) -> Found:
        corpus, dfs = self.statistics(text, at)
        return sorted(
            hit for worker in self._workers for hit in worker.by_words(text, at, bm25, corpus, dfs, top)
        )[:top]

    def by_vector(self, query: GridArray, at: int, top: int) -> Found:
        return sorted(hit for worker in self._workers for hit in worker.by_vector(query, at, top))[:top]


texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)
vectors = st.tuples(*[st.integers(-3, 3)] * 3).filter(any).map(lambda entries: vector(*entries))


@st.composite
def histories(draw: st.DrawFn) -> list[AnyFact]:
    """Memories that are born, revised, forgotten and restored."""
    facts: list[AnyFact] = []
    for number in range(draw(st.integers(1, 12))):
        facts.append(memory(f"m{number}", draw(texts), vector=draw(st.none() | vectors)))
        one = f"m{draw(st.integers(0, number))}"
        later = draw(st.sampled_from(["", "", "revise", "forget", "restore"]))
        if later == "revise":
            facts.append(Revised(id=one, at=NOW, content=draw(texts), vector=draw(vectors)))
        elif later:
            facts.append(Forgotten(id=one) if later == "forget" else Restored(id=one))
    return facts


@settings(max_examples=30)
@given(facts=histories(), parts=st.integers(1, 5), text=texts, asked=vectors, data=st.data())
@pytest.mark.parametrize("variant", ["fts5/2", "plus/2", "l/2", "lucene/2"])
def test_statistics_and_lists_of_k_partitions_are_those_of_the_whole_at_any_seq(
    variant: str, facts: list[AnyFact], parts: int, text: str, asked: bytes, data: st.DataObject
) -> None:
    whole, coordinator = World(*facts), Coordinator(World(*facts).facts, parts)
    at = data.draw(st.integers(1, whole.projections.position))
    lexical, bm25 = whole.projections.lexicals[ANALYZER], Bm25(variant=variant)
    corpus, dfs = coordinator.statistics(text, at)
    assert corpus == lexical.statistics(at)
    assert dfs == {word: df for word, df, _ in lexical._living(lexical._forward.analyze(text), at)}
    hits = lexical.search(text, at=at, bm25=bm25, top=4)
    assert coordinator.by_words(text, at, bm25, 4) == named(whole, hits.rows, hits.scores)
    near = exact(whole.projections.vectors, from_bytes(asked), at=at, top=4)
    assert coordinator.by_vector(from_bytes(asked), at, 4) == named(whole, near.rows, near.cosines)


@settings(max_examples=20)
@given(facts=histories(), parts=st.integers(2, 5), text=texts, asked=vectors, data=st.data())
@pytest.mark.parametrize(
    ("formula", "analyzer"), [("reverie", ANALYZER), ("recollect", "english/2"), ("mnemosyne", ANALYZER)]
)
def test_a_ranking_from_lists_of_k_partitions_is_that_of_the_whole_bit_for_bit(
    formula: str,
    analyzer: str,
    facts: list[AnyFact],
    parts: int,
    text: str,
    asked: bytes,
    data: st.DataObject,
) -> None:
    whole, coordinator = World(*facts), Coordinator(World(*facts).facts, parts, analyzer)
    whole.projections.index(analyzer, log_of(*whole.facts))
    at = data.draw(st.integers(1, whole.projections.position))
    merged = merged_channels(coordinator)
    wanted = whole.rank(formula, text, at=at, vector=asked)
    with mock.patch.dict(CHANNELS, merged):
        found = whole.rank(formula, text, at=at, vector=asked)
    assert (found.ids, found.scores) == (wanted.ids, wanted.scores)


def merged_channels(coordinator: Coordinator) -> dict[str, object]:
    """The channels of words and of vectors, with what the coordinator merged in place of one machine's search."""

    def lexical(ctx: RankContext, top: int, bm25: Bm25, analyzer: str) -> tuple[Int32Array, FloatArray]:
        assert analyzer == coordinator.analyzer
        return as_rows(ctx, coordinator.by_words(ctx.question.text, ctx.view.seq, bm25, top))

    def near(ctx: RankContext, top: int, _bm25: Bm25, _analyzer: str) -> tuple[Int32Array, FloatArray]:
        assert ctx.question.vector is not None
        return as_rows(ctx, coordinator.by_vector(from_bytes(ctx.question.vector), ctx.view.seq, top))

    return {"lexical": lexical, "vector": near}


def as_rows(ctx: RankContext, found: Found) -> tuple[Int32Array, FloatArray]:
    """Where the coordinator's sheet has these memories."""
    documents, seq = ctx.view.documents, ctx.view.seq
    rows = np.arange(documents.rows_born(seq), dtype=np.int32)
    alive = rows[documents.alive(rows, seq)]
    row_of = {documents.ids.values[documents.memory_of[row]]: row for row in alive.tolist()}
    return (
        np.array([row_of[id_] for _, id_ in found], dtype=np.int32),
        np.array([-score for score, _ in found], dtype=np.float64),
    )


def named(world: World, rows: Int32Array, scores: FloatArray) -> Found:
    documents = world.projections.documents
    ids = [documents.ids.values[number] for number in documents.memory_of[rows].tolist()]
    return list(zip((-scores).tolist(), ids, strict=True))


def test_a_partition_alone_would_not_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check can fail: with its own statistics in place of the sums a worker gives other scores."""
    facts = [memory(f"m{n}", "tea" if n % 2 else "tea milk cup") for n in range(6)]
    assert isinstance(facts[0], Ingested)
    coordinator = Coordinator(World(*facts).facts, 2)
    bm25 = Bm25(variant="fts5/2")
    right = coordinator.by_words("tea milk", World(*facts).projections.position, bm25, 6)
    alone = Coordinator(World(*facts).facts, 2)
    worker = alone._workers[1]
    n, length, dfs = worker.counts("tea milk", 7)
    assert [hit for hit in right if int(hit[1][1:]) % 2] != worker.by_words(
        "tea milk", 7, bm25, CorpusStatistics(n, length), dfs, 6
    )
