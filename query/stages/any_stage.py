"""The closed set of operations that a formula may name."""

from __future__ import annotations

from typing import get_args

from recollect.query.stages.filtering import Abstain, Cut, Deduplicate, Exclude, Filter, Silence
from recollect.query.stages.jumping import Gate, Shortcut, Skip
from recollect.query.stages.measuring import (
    Compute,
    Coverage,
    Labels,
    Leads,
    LookUp,
    Measure,
    Overlap,
    RankBy,
    Resemble,
    TellsTime,
)
from recollect.query.stages.ordering import DerivedFrom, Rerank, TieBreak
from recollect.query.stages.retrieving import Expand, Retrieve
from recollect.query.stages.scoring import Add, Boost, Fuse, Multiply, Normalise, Raise, Weigh
from recollect.query.stages.sessions import Admit, Around, Echo, Exchange, Gather, Reply

AnyStage = (
    Retrieve | Measure | RankBy | Fuse | Weigh | Normalise | Multiply | Add | Raise | Filter | Expand
    | Rerank | Deduplicate | TieBreak | Abstain | Cut | Shortcut | Compute | Boost | Gate
    | LookUp | Exclude | Overlap | Resemble | Skip | Admit | Echo | Gather | Leads | Silence | Labels | Reply
    | Exchange | Around | Coverage | TellsTime | DerivedFrom
)  # fmt: skip

OPS: dict[str, type[AnyStage]] = {str(kind.__struct_config__.tag): kind for kind in get_args(AnyStage)}
