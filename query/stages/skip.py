"""skip: after a shortcut, the stages up to a label are left out as well."""

from __future__ import annotations

from recollect.query.rank_context import RankContext
from recollect.query.sheet import Sheet
from recollect.query.stages.stage import Stage


class Skip(Stage, frozen=True, kw_only=True, tag="skip"):
    """If the shortcut on the column `after` fired, the next stage is the one with the label `to`."""

    after: str
    to: str

    @property
    def title(self) -> str:
        return f"skip to {self.to!r} after the shortcut on {self.after}"

    def apply(self, sheet: Sheet, ctx: RankContext) -> None:
        del ctx  # what fired is written on the sheet
        if sheet.facts.get("shortcut") == self.after:
            sheet.jump = self.to
