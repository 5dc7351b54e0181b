"""Where candidates come from: channels, the stages that ask them (also before their turn), and edges.

A channel gives rows, best first, with the value they were found by; only rows that are alive at the view's seq and
pass the question's hard filters.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Literal

import msgspec
import numpy as np

from recollect.events.grid import from_bytes
from recollect.projections.columns import BoolArray, FloatArray, Int32Array, IntArray, distinct
from recollect.projections.graph.edges import Direction
from recollect.projections.graph.graph import Neighbours
from recollect.projections.lexical.bm25 import Bm25
from recollect.projections.portable_math import round12
from recollect.projections.vectors import background
from recollect.query.bounds import Count, Finite, NonNegative, Share
from recollect.query.sheet import RankContext, Reads, Sheet
from recollect.query.stages.ordering import best_first
from recollect.query.stages.stage import LexicalStage, ScoringStage, Stage
from recollect.query.text.dates import Span, span_of_question
from recollect.query.text.words import keywords_of

Channel = Callable[[RankContext, int, Bm25, str], tuple[Int32Array, FloatArray]]

_WIDENING = 4
_MICROS_PER_DAY = 86_400_000_000
NOTHING: tuple[Int32Array, FloatArray] = (np.empty(0, np.int32), np.empty(0))


def lexical(ctx: RankContext, top: int, bm25: Bm25, analyzer: str) -> tuple[Int32Array, FloatArray]:
    """Rows that hold a word of the question, by BM25."""
    admit = None if ctx.unrestricted else ctx.admit
    channel = ctx.view.lexical(analyzer)
    hits = channel.search(ctx.question.text, at=ctx.view.seq, bm25=bm25, top=top, admit=admit)
    return hits.rows, hits.scores


def vector(ctx: RankContext, top: int, _bm25: Bm25, _analyzer: str) -> tuple[Int32Array, FloatArray]:
    """Rows near the question's vector, by cosine; none if the question has no vector."""
    if ctx.question.vector is None:
        return NOTHING
    admit = None if ctx.unrestricted else ctx.admit
    query = from_bytes(ctx.question.vector)
    without = ctx.question.effects.scanned
    hits = ctx.view.vectors.search(query, at=ctx.view.seq, top=top, admit=admit, without=without)
    return hits.rows, hits.cosines


def keywords(ctx: RankContext, top: int, bm25: Bm25, analyzer: str) -> tuple[Int32Array, FloatArray]:
    """Rows that hold a keyword of the question, by BM25: stop words and one or two letters do not count."""
    words = " ".join(keywords_of(ctx.question.text, analyzer))
    return lexical(ctx.asking(words, ctx.question.vector), top, bm25, analyzer)


def recent(ctx: RankContext, top: int, _bm25: Bm25, _analyzer: str) -> tuple[Int32Array, FloatArray]:
    """Rows touched last, latest first (then by memory id), by the seqs of their last touches.

    A touch is the birth of a memory or an access to it; its time is its seq, so the order needs no clock. Only
    rows with a vector of the embedder in force count, as in a pool of vector candidates.
    """
    records = 2 * top
    while True:
        touches = ctx.view.lifecycle.recent_access(ctx.view.seq, records)
        able, rows = ctx.reachable(touches.memories)
        able[able] = ctx.view.vectors.comparable(rows[able], at=ctx.view.seq)
        if touches.complete or np.count_nonzero(able) >= top:
            return _first(ctx, touches.memories[able], rows[able], touches.seqs[able], top)
        records *= _WIDENING


def _first(
    ctx: RankContext, memories: IntArray, rows: Int32Array, seqs: IntArray, top: int
) -> tuple[Int32Array, FloatArray]:
    ids = ctx.view.documents.ids.values
    keys = zip((-seqs).tolist(), [ids[memory] for memory in memories.tolist()], range(len(rows)), strict=True)
    order = [place for _, _, place in sorted(keys)[:top]]
    return rows[order], seqs[order].astype(np.float64)


def hot(ctx: RankContext, top: int, _bm25: Bm25, _analyzer: str) -> tuple[Int32Array, FloatArray]:
    """Rows accessed most often, by their access counts; among equals the one that got there first.

    Memories that are hidden or out of scope are passed over, so the hard filters do not thin them out.
    """
    lifecycle, seq = ctx.view.lifecycle, ctx.view.seq
    wanted = top
    while True:
        memories = lifecycle.most_accessed(seq, wanted)
        able, rows = ctx.reachable(memories)
        if len(memories) < wanted or np.count_nonzero(able) >= top:
            counts = lifecycle.at(memories[able][:top], seq).access_count
            return rows[able][:top], counts.astype(np.float64)
        wanted *= _WIDENING


def temporal(ctx: RankContext, top: int, _bm25: Bm25, _analyzer: str) -> tuple[Int32Array, FloatArray]:
    """Rows whose dates are nearest to the question's time, at most one span away; none if it is about no time.

    A memory's date is the one it tells of (`valid_from`), else that of its creation. Among equally near ones the
    latest come first, then those born first.
    """
    span = span_of_question(ctx.question)
    if span is None:
        return NOTHING
    documents, seq = ctx.view.documents, ctx.view.seq
    born = documents.rows_born(seq)
    rows = np.flatnonzero(documents.died[:born] > seq).astype(np.int32)
    dates = ctx.view.lifecycle.at(documents.memory_of[rows], seq).event_at
    margin = int(_days(span) * _MICROS_PER_DAY)
    near = np.flatnonzero((dates >= span.start - margin) & (dates < span.end + margin))
    near = near[ctx.admit(rows[near])] if len(near) and not ctx.unrestricted else near
    values = proximities(dates[near], span)
    order = np.lexsort((rows[near], -dates[near], -values))[:top]
    return rows[near[order]], values[order]


def proximities(dates: IntArray, span: Span) -> FloatArray:
    """1 inside the span; outside 1 / (1 + days away / days of the span), which lasts at least a day."""
    away = np.maximum(np.maximum(span.start - dates, dates - (span.end - 1)), 0) / float(_MICROS_PER_DAY)
    return 1.0 / (1.0 + away / _days(span))


def _days(span: Span) -> float:
    return max((span.end - span.start) / _MICROS_PER_DAY, 1.0)


CHANNELS: dict[str, Channel] = {
    "lexical": lexical,
    "vector": vector,
    "recent": recent,
    "keywords": keywords,
    "hot": hot,
    "temporal": temporal,
}


class Expanded(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Also search with the first `first` rewritings of the question, their values times `discount`.

    The dial `dial` at 0 leaves them out.
    """

    first: Count
    discount: Share = 0.8
    dial: str = ""


class Retrieve(LexicalStage, frozen=True, kw_only=True, tag="retrieve"):
    """Stages that bring candidates in: from a channel, and along edges from candidates that are there.

    The best memories of one channel become candidates.

    Writes a column named after the channel and `<name>.rank` (1, 2, 3, …).

    The best `top` by the channel's value (at least `per_hit` × k of them), from `min` upwards.

    With `expanded`, a memory that a recorded rewriting of the question finds counts with the larger of its
    values. Without recorded rewritings the sheet says that they are wanted.
    """

    channel: str
    name: str = ""
    top: Count = 100
    per_hit: Count | None = None
    min: Finite | None = None
    expanded: Expanded | None = None

    @property
    def column(self) -> str:
        return self.name or self.channel

    @property
    def title(self) -> str:
        return f"retrieve {self.column} (top {self.top})"

    def depth(self, ctx: RankContext) -> int:
        """How many candidates the channel may give for this question."""
        return self.top if self.per_hit is None else max(self.top, self.per_hit * ctx.question.k)

    def apply(self, sheet: Sheet, ctx: RankContext) -> None:
        channel, depth, bm25 = CHANNELS[self.channel], self.depth(ctx), self.bm25
        if ctx.prefetch is not None and ctx.prefetch.stage is self:
            rows, values = ctx.prefetch.take()
        else:
            rows, values = channel(ctx, depth, bm25, self.analyzer)
        expansions = ctx.question.effects.expansions
        if self.expanded is not None and ctx.dial(self.expanded.dial) > 0.0:
            sheet.expansions_wanted |= expansions is None
            rewritten = (ctx.asking(e.text, e.vector) for e in (expansions or ())[: self.expanded.first])
            others = [channel(one, depth, bm25, self.analyzer) for one in rewritten]
            if others:
                rows, values = self._merged(ctx, (rows, values), others, self.expanded.discount)
        if self.min is not None:
            enough = values >= self.min
            rows, values = rows[enough], values[enough]
        places = sheet.admit(ctx.view.documents.memory_of[rows], rows)
        sheet.write(self.column, places, values)
        sheet.write(f"{self.column}.rank", places, np.arange(1.0, len(rows) + 1.0))

    def _merged(
        self,
        ctx: RankContext,
        own: tuple[Int32Array, FloatArray],
        others: list[tuple[Int32Array, FloatArray]],
        discount: float,
    ) -> tuple[Int32Array, FloatArray]:
        """Each row once, with its largest value, best first, then by memory id."""
        best = dict(zip(own[0].tolist(), own[1].tolist(), strict=True))
        for rows, values in others:
            for row, value in zip(rows.tolist(), (values * discount).tolist(), strict=True):
                best[row] = max(value, best.get(row, value))
        ids, memory_of = ctx.view.documents.ids.values, ctx.view.documents.memory_of
        order = sorted((-round12(value), ids[memory_of[row]], row) for row, value in best.items())
        chosen = [row for _, _, row in order[: self.depth(ctx)]]
        return np.array(chosen, dtype=np.int32), np.array([best[row] for row in chosen], dtype=np.float64)


# Memories linked to candidates become candidates too, hop by hop, before there are any scores.


def admit_linked(
    sheet: Sheet, ctx: RankContext, seeds: Int32Array, *, hops: int, reach: int, direction: Direction, min_weight: float
) -> None:  # fmt: skip
    """Breadth first from the seeds; at most `reach` memories that were no candidates come in.

    The first hop may land on a seed that another seed is linked to; later ones land only where no hop was
    before, so that no edge is walked back. Of too many new memories the heaviest linked come in, then the
    lower id. Writes `hop` and `edge.<kind>` = 1 for every kind of edge that a memory was landed on by.
    """
    frontier, seen = seeds, set(seeds.tolist())
    size = len(sheet) + reach
    for hop in range(1, hops + 1):
        found = ctx.view.graph.neighbours(frontier, ctx.view.seq, direction=direction, min_weight=min_weight)
        landing = found.memory != found.of
        if hop > 1:
            landing &= np.array([memory not in seen for memory in found.memory.tolist()], dtype=np.bool_)
        fresh = _admit(sheet, ctx, found, landing, room=size - len(sheet))
        _mark(sheet, ctx, found, landing, hop)
        frontier = np.array([memory for memory in fresh if memory not in seen], dtype=np.int32)
        seen.update(fresh)


def _admit(sheet: Sheet, ctx: RankContext, found: Neighbours, landing: BoolArray, *, room: int) -> list[int]:
    """Bring in what was landed on, as far as there is room; all memories landed on that are on the sheet."""
    heaviest: dict[int, float] = {}
    for memory, weight in zip(found.memory[landing].tolist(), found.weight[landing].tolist(), strict=True):
        heaviest[memory] = max(weight, heaviest.get(memory, weight))
    memories = np.array(list(heaviest), dtype=np.int32)
    able, rows = ctx.reachable(memories)
    ids = ctx.view.documents.ids.values
    new = np.flatnonzero(able & (sheet.places(memories) < 0)).tolist()
    new.sort(key=lambda place: (-heaviest[int(memories[place])], ids[memories[place]]))
    sheet.admit(memories[new[:room]], rows[new[:room]])
    present: list[int] = memories[sheet.places(memories) >= 0].tolist()
    return present


def _mark(sheet: Sheet, ctx: RankContext, found: Neighbours, landing: BoolArray, hop: int) -> None:
    places = sheet.places(found.memory)
    landed = landing & (places >= 0)
    for kind in distinct(found.kind[landed]).tolist():
        here = places[landed & (found.kind == kind)]
        sheet.write(f"edge.{ctx.view.graph.edges.kinds.values[kind]}", here, np.ones(len(here)))
    first = places[landed][np.isnan(sheet.column("hop")[places[landed]])]
    sheet.write("hop", first, np.full(len(first), float(hop)))


class Expand(ScoringStage, frozen=True, kw_only=True, tag="expand"):
    """Memories linked to the best candidates become candidates too.

    From the best `seeds`, along edges of at least `min_weight`, up to `hops` away; hard filters hold.

    With `decay`, a memory reached at hop h over an edge of weight w has the score
    max(score(d), score(seed) · decay^h · min(w, 1) · dial), and one that is new and below `min_score` is left
    out. Without it (`decay` 0) memories are only admitted, before scores exist: the seeds are the first
    candidates on the sheet and at most `reach` memories come in (`admit_linked`). That writes `hop` (1, 2, …) and
    one column `edge.<kind>` = 1 for every kind of edge it was reached by. With `hops_max` a question may choose
    the hops (`context.depth`), clamped to 1 … `hops_max`.
    """

    hops: Count = 1
    hops_max: Count | None = None
    seeds: Count = 5
    reach: Count = 200
    decay: Share = 0.0
    min_weight: NonNegative = 0.0
    min_score: NonNegative = 0.0
    dial: str = ""
    direction: Literal["both", "out", "in"] = "both"

    @property
    def title(self) -> str:
        return f"expand {self.hops} hops along edges"

    def depth(self, ctx: RankContext) -> int:
        """How many hops this question takes."""
        asked = ctx.question.context.depth
        return self.hops if asked is None or self.hops_max is None else min(max(asked, 1), self.hops_max)

    def apply(self, sheet: Sheet, ctx: RankContext) -> None:
        if self.decay > 0.0:
            self._follow_the_best(sheet, ctx)
        else:
            admit_linked(
                sheet, ctx, sheet.memories[sheet.kept][: self.seeds],
                hops=self.depth(ctx), reach=self.reach, direction=self.direction, min_weight=self.min_weight,
            )  # fmt: skip

    def _follow_the_best(self, sheet: Sheet, ctx: RankContext) -> None:
        """Each seed's neighbourhood at a share of the seed's score; the largest share counts."""
        shares: dict[int, float] = {}
        scale = ctx.dial(self.dial)
        for seed in best_first(sheet, ctx)[: self.seeds]:
            for step in ctx.view.graph.expand(
                [int(sheet.memories[seed])], ctx.view.seq, self.depth(ctx),
                direction=self.direction, min_weight=self.min_weight, admit=lambda found: ctx.reachable(found)[0],
            ):  # fmt: skip
                share = float(sheet.score[seed])
                for _ in range(step.hop):
                    share *= self.decay
                share = share * min(step.weight, 1.0) * scale
                new = sheet.place(step.memory) < 0
                if share > shares.get(step.memory, 0.0) and not (new and share < self.min_score):
                    shares[step.memory] = share
        memories = np.array(list(shares), dtype=np.int32)
        places = sheet.admit(memories, ctx.reachable(memories)[1])
        sheet.write("graph", places, np.array(list(shares.values()), dtype=np.float64))
        reads = {"graph": np.where(sheet.kept, sheet.column("graph"), np.nan)}
        sheet.step(reads, self.combine(sheet.score, reads))

    def combine(self, before: FloatArray, reads: Reads) -> FloatArray:
        return np.fmax(before, reads["graph"])


# A new thread holds the interpreter lock for a moment before it releases it.
_HAND_OVER_S = 2e-5


class Prefetch:
    """Searching by meaning while the words are searched.

    hnswlib releases the interpreter lock while it searches its graph, so a vector search in its own thread beside the
    word search takes little more than the longer of the two. The result is the same; the search only starts earlier.
    It pays if there are shards to search and a slow stage before it. The thread ends with the search, because a process
    that forks must have no other threads.

    The stage takes what was found; the ranking waits for the end of the thread in any case.
    """

    def __init__(self, ctx: RankContext, stage: Retrieve) -> None:
        self.stage = stage
        self._ctx = ctx
        self._found: tuple[Int32Array, FloatArray] | None = None
        self._error: BaseException | None = None
        self._thread = background.start(self._search, name="recollect-prefetch")
        time.sleep(_HAND_OVER_S)

    def _search(self) -> None:
        stage, ctx = self.stage, self._ctx
        try:
            self._found = CHANNELS[stage.channel](ctx, stage.depth(ctx), stage.bm25, stage.analyzer)
        except BaseException as error:  # noqa: BLE001 (raised in the thread that takes the result)
            self._error = error

    def take(self) -> tuple[Int32Array, FloatArray]:
        self.wait()
        if self._error is not None:
            raise self._error
        assert self._found is not None
        return self._found

    def wait(self) -> None:
        self._thread.join()


def start_prefetch(ctx: RankContext, stages: Sequence[Stage]) -> Prefetch | None:
    """Start the first vector search if it waits for others and no hard filter has to be asked."""
    if ctx.question.vector is None or not ctx.unrestricted:
        return None
    for number, stage in enumerate(stages):
        if isinstance(stage, Retrieve) and stage.channel == "vector":
            certain = stage.enabled and not stage.when and stage.expanded is None
            worthwhile = number > 0 and ctx.view.projections.vectors.shards_at(ctx.view.seq)
            return Prefetch(ctx, stage) if certain and worthwhile else None
    return None
