"""Downscale: every strength shrinks a little, so that what is not replayed fades (synaptic homeostasis, SHY).

    strength = max(floor, factor · strength)        tagged memories: tagged_factor

One event for all memories. Source: Reverie's changelog for the factor 0.95, ADR-006 for the floor 0.01; what sinks to
the floor is pruned in the same night (T49, see `prune`). That an importance tag resists forgetting is the ADR's
behavioural tagging, by how much is ours.
"""

from __future__ import annotations

from recollect.dream.candidates import Candidates
from recollect.dream.phase import EVERY_MEMORY, Change, Outcome, PhaseInput
from recollect.events.facts import Downscaled

_STRENGTHS = """
    SELECT tagged, count(*) AS memories, avg(strength) AS mean FROM memories GROUP BY tagged ORDER BY tagged
"""


def downscale(given: PhaseInput) -> Outcome:
    settings = given.settings.downscale
    candidates = Candidates(given)
    changes = []
    for row in candidates.ask(_STRENGTHS):
        factor = settings.tagged_factor if row["tagged"] else settings.factor
        who = "with an importance tag" if row["tagged"] else "without a tag"
        why = f"{row['memories']} memories {who}: mean strength × {factor:g}, floor {settings.floor:g}"
        after = max(settings.floor, factor * row["mean"])
        changes.append(Change(id=EVERY_MEMORY, what="strength", before=row["mean"], after=after, why=why))
    fact = Downscaled(
        dream=given.dream,
        factor=settings.factor,
        tagged_factor=settings.tagged_factor,
        floor=settings.floor,
    )
    return Outcome((fact,), len(candidates), tuple(changes))
