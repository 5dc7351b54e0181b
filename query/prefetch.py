"""Searching by meaning while the words are searched.

hnswlib lets go of the interpreter while it walks its graph, so a vector search in a thread of its own and the word
search beside it take little more than the longer of the two. What is found is the same: the search is begun early,
not otherwise. It pays where there are shards to walk and a stage before it that takes time; a thread is made for
the one search, so that nothing stays behind (a process that forks must have no other).
"""

from __future__ import annotations

import time

from recollect.projections.columns import FloatArray, Int32Array
from recollect.projections.vectors import background
from recollect.query.channels import CHANNELS
from recollect.query.formula import Formula
from recollect.query.rank_context import RankContext
from recollect.query.stages.retrieving import Retrieve

# A thread that was just started needs the interpreter for a moment before it lets go of it.
_HAND_OVER_S = 2e-5


class Prefetch:
    """A vector search that was begun; whoever needs it takes it, and whoever began it waits for its end."""

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


def begin(ctx: RankContext, formula: Formula) -> Prefetch | None:
    """Begin the formula's first vector search if it waits for others and no hard filter has to be asked."""
    if ctx.question.vector is None or not ctx.unrestricted:
        return None
    for number, stage in enumerate(formula.stages):
        if isinstance(stage, Retrieve) and stage.channel == "vector":
            certain = stage.enabled and not stage.when and stage.expanded is None
            worthwhile = number > 0 and ctx.view.projections.vectors.shards_at(ctx.view.seq)
            return Prefetch(ctx, stage) if certain and worthwhile else None
    return None
