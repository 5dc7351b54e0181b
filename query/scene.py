"""What a stage may look at: the question, the view, and named inputs of the candidates."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from recollect.events.facts import Filters, Question
from recollect.projections.columns import BoolArray, FloatArray, Int32Array
from recollect.projections.view import View

MICROS_PER_HOUR = 3_600_000_000
MICROS_PER_DAY = 24 * MICROS_PER_HOUR


class Scene:
    """One question asked of one view."""

    def __init__(self, question: Question, view: View) -> None:
        self.question = question
        self.view = view

    def admit(self, rows: Int32Array) -> BoolArray:
        """The hard filters, by row: expiry at the question's clock, and the question's scope."""
        memories = self.view.documents.memory_of[rows]
        return self.view.lifecycle.admissible(
            memories, seq=self.view.seq, now=self.question.now, filters=self.question.filters
        )

    @property
    def unrestricted(self) -> bool:
        """Whether no hard filter can reject anything."""
        return self.question.filters == _NO_FILTERS and not self.view.lifecycle.anything_expires

    def input(self, name: str, memories: Int32Array) -> FloatArray:
        """A named input of a factor, for these memories."""
        return INPUTS[name](self, memories)


_NO_FILTERS = Filters()

Input = Callable[[Scene, Int32Array], FloatArray]


def _lifecycle(column: str) -> Input:
    def read(scene: Scene, memories: Int32Array) -> FloatArray:
        state = scene.view.lifecycle.at(memories, scene.view.seq)
        return np.asarray(getattr(state, column), dtype=np.float64)

    return read


def _since(column: str, unit: int) -> Input:
    def read(scene: Scene, memories: Int32Array) -> FloatArray:
        state = scene.view.lifecycle.at(memories, scene.view.seq)
        elapsed = scene.question.now - np.asarray(getattr(state, column), dtype=np.int64)
        return np.maximum(elapsed, 0) / float(unit)

    return read


def _settled_spread(scene: Scene, memories: Int32Array) -> FloatArray:
    """Session spread as the last dream left it: accesses since then have not been slept on."""
    dream = scene.view.engine.last_dream(scene.view.seq)
    if dream == 0:
        return np.ones(len(memories))
    spread = scene.view.lifecycle.at(memories, dream).session_spread
    return np.maximum(np.asarray(spread, dtype=np.float64), 1.0)


INPUTS: dict[str, Input] = {
    "age_days": _since("updated_at", MICROS_PER_DAY),
    "age_hours": _since("created_at", MICROS_PER_HOUR),
    "idle_days": _since("touched_at", MICROS_PER_DAY),
    "strength": _lifecycle("strength"),
    "depth_score": _lifecycle("depth_score"),
    "session_spread": _settled_spread,
    "stability": _lifecycle("stability"),
    "importance": _lifecycle("importance"),
    "access_count": _lifecycle("access_count"),
}
