from __future__ import annotations

from recollect.projections.columns import FloatArray


def strength(strength: FloatArray) -> FloatArray:
    """Synaptic strength as it stands: dreams raise it by replay and scale all of it down (SHY).

    strength

    Range [0, 1]; 1 for a memory that never dreamt. Source: Reverie ADR-006, factor 5.
    """
    return strength
