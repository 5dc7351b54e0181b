"""Named inputs of factors and weights: what can be known of each candidate beside the sheet's own columns.

Ages are never negative: what lies in the future of the question's clock has age 0.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from recollect.projections.columns import FloatArray
from recollect.projections.lifecycle.traits import NO_PRIORITY
from recollect.query.affinity import returned_before, shared_labels
from recollect.query.clusters import centroid_cosines, cluster_cosines
from recollect.query.rank_context import RankContext
from recollect.query.sheet import Sheet
from recollect.query.surroundings import context_project, context_tags
from recollect.query.timing import in_span, span_given

MICROS_PER_HOUR = 3_600_000_000
MICROS_PER_DAY = 24 * MICROS_PER_HOUR

Input = Callable[[Sheet, RankContext], FloatArray]


def read(name: str, sheet: Sheet, ctx: RankContext) -> FloatArray:
    """An input by name, or else the column of that name (all NaN if there is none)."""
    source = INPUTS.get(name)
    return sheet.column(name) if source is None else source(sheet, ctx)


def _lifecycle(column: str) -> Input:
    def values(sheet: Sheet, ctx: RankContext) -> FloatArray:
        return np.asarray(getattr(ctx.lifecycle(sheet), column), dtype=np.float64)

    return values


def _since(column: str, unit: int) -> Input:
    def values(sheet: Sheet, ctx: RankContext) -> FloatArray:
        moments = np.asarray(getattr(ctx.lifecycle(sheet), column), dtype=np.int64)
        return np.maximum(ctx.question.now - moments, 0) / float(unit)

    return values


def _settled_spread(sheet: Sheet, ctx: RankContext) -> FloatArray:
    """Session spread as the last dream left it: accesses since then have not been slept on."""
    dream = ctx.view.adoptions.last_dream(ctx.view.seq)
    if dream == 0:
        return np.ones(len(sheet))
    return np.asarray(ctx.view.lifecycle.at(sheet.memories, dream).session_spread, dtype=np.float64)


def _degree(sheet: Sheet, ctx: RankContext) -> FloatArray:
    return ctx.view.graph.degrees(sheet.memories, ctx.view.seq).astype(np.float64)


def _priority(sheet: Sheet, ctx: RankContext) -> FloatArray:
    """NaN where a memory was given none."""
    given = ctx.lifecycle(sheet).priority
    return np.where(given == NO_PRIORITY, np.nan, given.astype(np.float64))


def _derived_from(sheet: Sheet, ctx: RankContext) -> FloatArray:
    """How many memories each candidate was derived from: edges of that kind that leave it."""
    found = ctx.view.graph.neighbours(sheet.memories, ctx.view.seq, direction="out", kinds=("derived_from",))
    counts = np.bincount(found.of, minlength=int(sheet.memories.max(initial=0)) + 1)
    return counts[sheet.memories].astype(np.float64)


INPUTS: dict[str, Input] = {
    "age_days": _since("updated_at", MICROS_PER_DAY),
    "age_hours": _since("created_at", MICROS_PER_HOUR),
    "idle_days": _since("touched_at", MICROS_PER_DAY),
    "created_at": _lifecycle("created_at"),
    "touched_at": _lifecycle("touched_at"),
    "strength": _lifecycle("strength"),
    "depth_score": _lifecycle("depth_score"),
    "session_spread": _settled_spread,
    "stability": _lifecycle("stability"),
    "importance": _lifecycle("importance"),
    "access_count": _lifecycle("access_count"),
    "feedback": _lifecycle("feedback"),
    "trust": _lifecycle("trust"),
    "degree": _degree,
    "centroid_cosine": centroid_cosines,
    "shared_labels": shared_labels,
    "returned_before": returned_before,
    "priority": _priority,
    "kind_helpful": _lifecycle("kind_helpful"),
    "kind_unhelpful": _lifecycle("kind_unhelpful"),
    "derived_from": _derived_from,
    "context_tags": context_tags,
    "context_project": context_project,
    "cluster_cosine": cluster_cosines,
    "in_span": in_span,
    "span_given": span_given,
    "event_dated": _lifecycle("event_dated"),
}
