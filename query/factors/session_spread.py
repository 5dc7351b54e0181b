from __future__ import annotations

from recollect.projections.columns import FloatArray
from recollect.query.portable_math import Elementary


def session_spread(math: Elementary, /, session_spread: FloatArray) -> FloatArray:
    """Reactivation across sessions, on a log scale normalised to 1 at a spread of 1.

    ln(1 + spread) / ln 2        1 → 1, 3 → 2, 7 → 3

    Range [1, ∞). Source: Reverie ADR-006, factor 7, and its changelog 0.5.0 (T46). The spread is the one that the last
    dream saw, so a store that never dreamt is neutral.
    """
    return math.log(1.0 + session_spread) / math.ln2
