"""What the stages that score words share: variant, analyzer and parameters of BM25."""

from __future__ import annotations

from recollect.projections.lexical.bm25 import DEFAULT_VARIANT, Bm25, Variant
from recollect.query.bounds import NonNegative, Share
from recollect.query.stages.stage import Stage


class LexicalStage(Stage, frozen=True, kw_only=True):
    """`k1` and `b` default to those of the variant. Built here, a name without a version is the first one."""

    variant: Variant = DEFAULT_VARIANT
    analyzer: str = "unicode61-cjk/1"  # in a text of the log; a file gets the newest
    k1: NonNegative | None = None
    b: Share | None = None

    @property
    def bm25(self) -> Bm25:
        given = {key: value for key, value in (("k1", self.k1), ("b", self.b)) if value is not None}
        return Bm25(variant=self.variant, **given)
