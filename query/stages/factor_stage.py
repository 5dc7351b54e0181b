"""What the stages with a factor share: the factor's name, its own parameters, and its values."""

from __future__ import annotations

from recollect.projections.columns import FloatArray
from recollect.query.catalogue import FACTORS, Parameter, dials_of, inputs_of
from recollect.query.inputs import read
from recollect.query.rank_context import RankContext
from recollect.query.sheet import Sheet
from recollect.query.stages.stage import ScoringStage
from recollect.query.versions import unversioned


class FactorStage(ScoringStage, frozen=True, kw_only=True):
    """In a formula file the factor's parameters stand beside these keys."""

    factor: str
    parameters: dict[str, Parameter] = {}

    @property
    def column(self) -> str:
        """Where the factor's values stand on the sheet."""
        return unversioned(self.factor)

    def values(self, sheet: Sheet, ctx: RankContext) -> FloatArray:
        """The factor of every candidate; also written to the sheet as a column."""
        inputs = [read(name, sheet, ctx) for name in inputs_of(self.factor)]
        dials = {name: ctx.dial(name) for name in dials_of(self.factor)}
        values = FACTORS[self.factor](*inputs, **self.parameters, **dials)
        sheet.columns[self.column] = values
        return values
