"""nearness: the cosine with the question on a scale on which texts that have nothing to do with each other are at 0.

Models differ in what they call unrelated: with one such texts have cosines about 0, with another about 0.7. The store
keeps the vector of one fixed text (the probe that its embedder was adopted with), which has nothing to do with nearly
any memory; its mean cosine with candidates is the model's zero.

    nearness(d) = (cos(question, d) − zero) / (1 − zero)    zero = the mean of cos(probe, d) over the first candidates, at
                                                                   most 64 of them, and at most 0.9
"""

from __future__ import annotations

import math

import numpy as np

from recollect.events.grid import from_bytes
from recollect.projections.columns import FloatArray
from recollect.query.sheet import RankContext, Sheet

_ZERO_MAX = 0.9
_SAMPLE = 64


def nearness(sheet: Sheet, ctx: RankContext) -> FloatArray:
    """See above; NaN where a memory has no vector of the question's embedder, or the question has none."""
    view, asked = ctx.view, ctx.question.vector
    adopted = view.adoptions.embedder(view.seq)
    if asked is None or adopted is None or len(adopted.probe) != len(asked):
        return np.full(len(sheet), np.nan)
    cosines = sheet.columns.get("vector")
    able = view.vectors.comparable(sheet.rows, at=view.seq)
    if cosines is None or np.isnan(cosines[able]).any():
        cosines = np.where(able, view.vectors.cosines(from_bytes(asked), sheet.rows, at=view.seq), np.nan)
    sample = sheet.rows[able][:_SAMPLE]
    if not len(sample):
        return cosines
    unrelated = view.vectors.cosines(from_bytes(adopted.probe), sample, at=view.seq).tolist()
    zero = min(math.fsum(unrelated) / len(unrelated), _ZERO_MAX)
    return (cosines - zero) / (1.0 - zero)
