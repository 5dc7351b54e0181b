from __future__ import annotations

import numpy as np

from recollect.projections.columns import FloatArray
from recollect.query.bounds import NonNegative


def temporal_fit(
    in_span: FloatArray,
    span_given: FloatArray,
    event_dated: FloatArray,
    *,
    inside: NonNegative = 1.3,
    outside: NonNegative = 0.85,
    outside_dated: NonNegative = 0.15,
    outside_undated: NonNegative = 0.70,
) -> FloatArray:
    """Whether a memory's date lies in the time that the question is about.

    inside            if it does
    outside           if not, and the time was read from the question's words
    outside_dated     if not, the caller gave the time, and the memory has a date of its own
    outside_undated   if not, the caller gave the time, and the memory has only its date of creation
    1                 if the question is about no time

    Source: OMEGA, RRF Scoring Pipeline Analysis, group 22.
    """
    missed = np.where(event_dated > 0.0, outside_dated, outside_undated)
    missed = np.where(span_given > 0.0, missed, outside)
    return np.where(np.isnan(in_span), 1.0, np.where(in_span > 0.0, inside, missed))
