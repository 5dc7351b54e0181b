"""What each channel knew of the memory: its rank and value, and the words or the shard behind the value."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import numpy as np

from recollect.events.grid import from_bytes
from recollect.projections.lexical.analyzers import ANALYZERS
from recollect.projections.lexical.index import TermDetail
from recollect.projections.vectors.nearest import TAIL
from recollect.query.explain.case import Case
from recollect.query.explain.trace import Given
from recollect.query.explanation import ChannelPart
from recollect.query.sheet import RankContext
from recollect.query.stages.retrieving import CHANNELS, Retrieve

_WORD = re.compile(r"\w+")


def channel_parts(case: Case) -> tuple[ChannelPart, ...]:
    """One part per retrieving stage that was applied; none for a memory that is not alive."""
    return tuple(_part(case, given) for given in case.trace.given) if case.row >= 0 else ()


def _part(case: Case, given: Given) -> ChannelPart:
    stage, found = given.stage, not math.isnan(given.rank)
    terms = _terms(case, stage) if stage.channel == "lexical" else ()
    return ChannelPart(
        number=given.number + 1,
        name=stage.column,
        channel=stage.channel,
        rank=int(given.rank) if found else None,
        value=given.value if found else _value(case, stage),
        found=given.found,
        depth=stage.depth(case.ctx),
        last=given.last if given.found else None,
        terms=terms,
        words=as_written(case.question.text, stage.analyzer, terms),
        source=_source(case) if stage.channel == "vector" else None,
        variant=stage.variant if stage.channel in ("lexical", "keywords") else None,
    )


def _value(case: Case, stage: Retrieve) -> float | None:
    """The value of a memory that the channel did not give, from the question or a recorded rewriting of it."""
    own = _value_in(case.ctx, case.row, stage)
    found = [] if own is None else [own]
    expanded, expansions = stage.expanded, case.question.effects.expansions
    if expanded and expansions and case.ctx.dial(expanded.dial) > 0.0:
        contexts = (case.ctx.asking(e.text, e.vector) for e in expansions[: expanded.first])
        others = (_value_in(ctx, case.row, stage) for ctx in contexts)
        found += [value * expanded.discount for value in others if value is not None]
    return max(found, default=None)


def _value_in(ctx: RankContext, row: int, stage: Retrieve) -> float | None:
    rows, view, question = np.array([row], dtype=np.int32), ctx.view, ctx.question
    if stage.channel == "lexical":
        scores = view.lexical(stage.analyzer).score_rows(question.text, rows, at=view.seq, bm25=stage.bm25)
        return float(scores[0]) or None
    if stage.channel == "vector":
        if question.vector is None or not view.vectors.comparable(rows, at=view.seq)[0]:
            return None
        return float(view.vectors.cosines(from_bytes(question.vector), rows, at=view.seq)[0])
    whole = view.documents.rows_born(view.seq)
    found, values = CHANNELS[stage.channel](ctx, whole, stage.bm25, stage.analyzer)
    own = values[found == row]
    return float(own[0]) if len(own) else None


def _terms(case: Case, stage: Retrieve) -> tuple[TermDetail, ...]:
    lexical = case.view.projections.lexicals[stage.analyzer]
    return lexical.explain(case.question.text, case.row, at=case.view.seq, bm25=stage.bm25)


def as_written(text: str, analyzer: str, terms: Sequence[TermDetail]) -> tuple[str, ...]:
    """Each term as the question writes it, not as a stem; a term that is no word of it stays as it is."""
    written: dict[str, str] = {}
    for word in _WORD.findall(text) if terms else ():
        for term in ANALYZERS[analyzer](word):
            written.setdefault(term, word)
    return tuple(written.get(detail.term, detail.term) for detail in terms)


def _source(case: Case) -> str | None:
    """The shard that covers the memory's row, or the exact tail; None without a comparable vector."""
    vectors, seq = case.view.projections.vectors, case.view.seq
    if not vectors.comparable(np.array([case.row], dtype=np.int32), at=seq)[0]:
        return None
    shards = (s.digest for s in vectors.shards_at(seq) if s.first_row <= case.row < s.end_row)
    shard = next(shards, TAIL)
    return TAIL if shard in case.question.effects.scanned else shard
