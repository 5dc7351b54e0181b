"""How much a formula may ask for, checked when a person brings one.

A formula that the log holds is not held to these limits: what was ranked with it must rank again.
"""

from __future__ import annotations

from recollect.query.dials import Dial
from recollect.query.stages.any_stage import AnyStage
from recollect.query.stages.filtering import Deduplicate
from recollect.query.stages.measuring import Measure
from recollect.query.stages.ordering import Rerank
from recollect.query.stages.retrieving import Expand, Retrieve

STAGES_MAX = 100
DIALS_MAX = 50
ENTRIES_MAX = 1_000
NAME_CHARACTERS_MAX = 200

_NUMBERS_MAX: dict[type[AnyStage], dict[str, int]] = {
    Retrieve: {"top": 10_000, "per_hit": 1_000, "k1": 1_000_000},
    Measure: {"k1": 1_000_000},
    Expand: {"hops": 10, "hops_max": 10, "seeds": 1_000, "reach": 10_000},
    Rerank: {"top": 1_000},
    Deduplicate: {"among": 1_000},
}
_EXPANSIONS_MAX = 20


def beyond_limits(name: str, stages: tuple[AnyStage, ...], dials: tuple[Dial, ...]) -> str | None:
    """The first limit that a formula goes beyond, in words; None if it keeps to all."""
    if not name.strip() or len(name) > NAME_CHARACTERS_MAX:
        return f"needs a name of at most {NAME_CHARACTERS_MAX} characters"
    if len(stages) > STAGES_MAX:
        return f"has {len(stages):,} stages; at most {STAGES_MAX} are allowed"
    if len(dials) > DIALS_MAX or any(len(dial.table) > ENTRIES_MAX for dial in dials):
        return f"has too many dials; at most {DIALS_MAX} with {ENTRIES_MAX:,} rows each are allowed"
    for number, stage in enumerate(stages, 1):
        if problem := _beyond(stage):
            return f"stage {number} ({stage.title:.80}) {problem}"
    return None


def _beyond(stage: AnyStage) -> str | None:
    for field, most in _NUMBERS_MAX.get(type(stage), {}).items():
        value = getattr(stage, field)
        if value is not None and value > most:
            return f"has {field} = {value:,g}; at most {most:,} is allowed"
    if isinstance(stage, Retrieve) and stage.expanded and stage.expanded.first > _EXPANSIONS_MAX:
        return f"searches with {stage.expanded.first:,} rewritings; at most {_EXPANSIONS_MAX} are allowed"
    for field in stage.__struct_fields__:
        value = getattr(stage, field)
        if isinstance(value, (dict, tuple)) and len(value) > ENTRIES_MAX:
            return f"has {len(value):,} entries in {field}; at most {ENTRIES_MAX:,} are allowed"
    return None
