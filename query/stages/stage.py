"""The base of every stage: a frozen record of parameters that knows how to apply itself to the sheet.

A stage that changes the score says what it reads of each candidate and how it combines that with the score
so far; both the ranking and the explanation are made from these two. What a stage reads from the whole batch
(a maximum, a deviation) is among the reads too, the same for every candidate, so that its step can be done
again for one candidate alone.
"""

from __future__ import annotations

import msgspec

from recollect.projections.columns import FloatArray
from recollect.query.rank_context import RankContext
from recollect.query.sheet import Reads, Sheet


class Stage(msgspec.Struct, frozen=True, kw_only=True, tag_field="op", forbid_unknown_fields=True):
    """One operation of a formula. `enabled = false` leaves it out; a shortcut may jump to its `label`.

    With `when` it is left out for a question for which the dial of that key stands at 0.
    """

    enabled: bool = True
    label: str = ""
    when: str = ""

    @property
    def title(self) -> str:
        """What the stage is, in a few words."""
        return str(self.__struct_config__.tag)

    def apply(self, sheet: Sheet, ctx: RankContext) -> None:
        raise NotImplementedError


class ScoringStage(Stage, frozen=True, kw_only=True):
    """A stage that gives every candidate a new score."""

    def reads(self, sheet: Sheet, ctx: RankContext) -> Reads:
        """The values that the new score is made of, one array per name."""
        raise NotImplementedError

    def combine(self, before: FloatArray, reads: Reads) -> FloatArray:
        """The new score, candidate by candidate, of the score before and the reads."""
        raise NotImplementedError

    def apply(self, sheet: Sheet, ctx: RankContext) -> None:
        reads = self.reads(sheet, ctx)
        sheet.step(reads, self.combine(sheet.score, reads))
