"""multiply: the score times one factor."""

from __future__ import annotations

from recollect.query.catalogue import FACTORS, Parameter, inputs_of
from recollect.query.scene import Scene
from recollect.query.sheet import Sheet
from recollect.query.stages.stage import Stage


class Multiply(Stage, frozen=True, kw_only=True, tag="multiply"):
    """score(d) ← score(d) · factor(d). Keys beside these are the factor's own parameters."""

    factor: str
    parameters: dict[str, Parameter] = {}

    def apply(self, sheet: Sheet, scene: Scene) -> None:
        inputs = [scene.input(name, sheet.memories) for name in inputs_of(self.factor)]
        values = FACTORS[self.factor](*inputs, **self.parameters)
        sheet.columns[self.factor] = values
        sheet.step(f"multiply {self.factor}", (self.factor,), sheet.score * values)
