"""What a candidate shares with the caller: labels named in the question's context, and the session's past."""

from __future__ import annotations

import numpy as np

from recollect.projections.columns import FloatArray
from recollect.query.rank_context import RankContext
from recollect.query.sheet import Sheet


def shared_labels(sheet: Sheet, ctx: RankContext) -> FloatArray:
    """How many of the context's entities and tags (those the caller has an affinity for) the candidate has."""
    context, columns = ctx.question.context, ctx.lifecycle(sheet)
    count = np.zeros(len(sheet))
    for wanted, numbers in ((context.entities, columns.entities), (context.tags, columns.tags)):
        if wanted:
            liked = frozenset(wanted)
            count += [float(len(liked.intersection(labels))) for labels in columns.members(numbers)]
    return count


def returned_before(sheet: Sheet, ctx: RankContext) -> FloatArray:
    """1 if an earlier recall of the question's session returned the candidate, else 0."""
    session = ctx.question.session
    if session is None:
        return np.zeros(len(sheet))
    return ctx.view.sessions.returned(session, sheet.memories, ctx.view.seq).astype(np.float64)
