"""fuse: several ranked channels become one score."""

from __future__ import annotations

from typing import Literal

import numpy as np

from recollect.query.bounds import NonNegative, Positive
from recollect.query.scene import Scene
from recollect.query.sheet import Sheet
from recollect.query.stages.stage import Stage


class Fuse(Stage, frozen=True, kw_only=True, tag="fuse"):
    """Reciprocal rank fusion: score(d) = Σ weight_i / (k + rank_i(d)), over the channels that found d.

    Cormack, Clarke & Büttcher 2009. Channels are added in the order they are named.
    """

    channels: tuple[str, ...]
    method: Literal["rrf"] = "rrf"
    k: Positive = 60.0
    weights: dict[str, NonNegative] = {}

    def apply(self, sheet: Sheet, scene: Scene) -> None:  # noqa: ARG002 (every stage has this signature)
        score = np.zeros(len(sheet))
        written = []
        for channel in self.channels:
            ranks = sheet.columns.get(f"{channel}.rank")
            if ranks is None:
                continue
            share = self.weights.get(channel, 1.0) / (self.k + ranks)
            sheet.columns[f"rrf.{channel}"] = share
            written.append(f"rrf.{channel}")
            score = score + np.where(np.isnan(share), 0.0, share)
        sheet.step("fuse rrf", tuple(written), score)
