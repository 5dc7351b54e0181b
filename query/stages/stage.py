"""The base of every stage: a frozen record of parameters that knows how to apply itself to the sheet.

A stage that changes the score says what it reads of each candidate and how it combines that with the score
so far; both the ranking and the explanation are made from these two. What a stage reads from the whole batch
(a maximum, a deviation) is among the reads too, the same for every candidate, so that its step can be done
again for one candidate alone.
"""

from __future__ import annotations

import msgspec
from msgspec import UNSET, UnsetType

from recollect.projections.columns import FloatArray
from recollect.projections.lexical.bm25 import DEFAULT_VARIANT, Bm25, Variant
from recollect.query.bounds import NonNegative, Share
from recollect.query.factors.factor import FACTORS, SIGNATURES, Parameter
from recollect.query.inputs import read
from recollect.query.sheet import RankContext, Reads, Sheet


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


class LexicalStage(Stage, frozen=True, kw_only=True):
    """What the stages that score words share: variant, analyzer and parameters of BM25.

    `k1` and `b` default to those of the variant. Built here, a name without a version is the first one.
    """

    variant: Variant = DEFAULT_VARIANT
    analyzer: str = "unicode61-cjk/1"  # in a text of the log; a file gets the newest
    k1: NonNegative | None = None
    b: Share | None = None

    @property
    def bm25(self) -> Bm25:
        given = {key: value for key, value in (("k1", self.k1), ("b", self.b)) if value is not None}
        return Bm25(variant=self.variant, **given)


class FactorStage(ScoringStage, frozen=True, kw_only=True):
    """What the stages with a factor share: the factor's name, its own parameters, and its values.

    In a formula file the factor's parameters stand beside these keys. `inputs = { access_count = "used_count" }`
    lets it read another input or column in place of one of its own.
    """

    factor: str
    parameters: dict[str, Parameter] = {}
    inputs: dict[str, str] | UnsetType = UNSET

    @property
    def column(self) -> str:
        """Where the factor's values stand on the sheet."""
        return self.factor.partition("/")[0]

    @property
    def sources(self) -> tuple[str, ...]:
        """The inputs and columns that the factor is given, in its own order."""
        own = SIGNATURES[self.factor].inputs
        if isinstance(self.inputs, UnsetType):
            return own
        return tuple(self.inputs.get(name, name) for name in own)

    def reads(self, sheet: Sheet, ctx: RankContext) -> Reads:
        """The factor of every candidate; also written to the sheet as a column."""
        inputs: list[FloatArray] = []
        for name in self.sources:
            inputs.append(read(name, sheet, ctx))  # noqa: PERF401 (a comprehension is one more level of calls)
        dials = {name: ctx.dial(name) for name in SIGNATURES[self.factor].dials}
        values = FACTORS[self.factor](*inputs, **self.parameters, **dials)
        sheet.columns[self.column] = values
        return {self.column: values}
