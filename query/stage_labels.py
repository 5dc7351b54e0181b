"""What a stage is called: by the label that its author gave it, or by what it does.

A label is the target of a jump, and then part of the formula's text; any other label only lets people name the stage
(`[override.LABEL]`), decides no ranking and is kept beside the text. A stage without one is called by the column that
it retrieves or computes, any other by its operation; where two would be called the same, the second has `-2`.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from recollect.query.stages.any_stage import AnyStage
from recollect.query.stages.jumping import Gate, Shortcut, Skip
from recollect.query.stages.retrieving import Retrieve
from recollect.query.stages.stage import FactorStage


def labels_of(stages: Sequence[AnyStage], given: Sequence[str] = ()) -> tuple[str, ...]:
    """The label of every stage, each once; `given` are those that are kept beside the text."""
    own = [stage.label or label for stage, label in zip(stages, given or [""] * len(stages), strict=True)]
    taken = {label for label in own if label}
    found = []
    for stage, label in zip(stages, own, strict=True):
        found.append(label or _free_name(plain_name(stage), taken))
        taken.add(found[-1])
    return tuple(found)


def plain_name(stage: AnyStage) -> str:
    """What a stage is called that has no label."""
    match stage:
        case Retrieve() | FactorStage():
            return stage.column
        case _:
            return str(stage.__struct_config__.tag)


def _free_name(name: str, taken: set[str]) -> str:
    number, candidate = 1, name
    while candidate in taken:
        number += 1
        candidate = f"{name}-{number}"
    return candidate


def set_aside(stages: Sequence[AnyStage]) -> tuple[tuple[AnyStage, ...], tuple[str, ...]]:
    """The stages without the labels that no stage jumps to, and the labels of all."""
    targets = {stage.to for stage in stages if isinstance(stage, (Gate, Shortcut, Skip))}
    kept = tuple(
        stage if not stage.label or stage.label in targets else msgspec.structs.replace(stage, label="")
        for stage in stages
    )
    return kept, tuple(stage.label for stage in stages)


def label_twice(labels: Sequence[str]) -> str | None:
    """A label that two stages have."""
    return next((label for place, label in enumerate(labels) if label and label in labels[:place]), None)
