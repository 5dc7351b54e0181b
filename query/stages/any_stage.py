"""The closed set of operations that a formula may name."""

from __future__ import annotations

from recollect.query.stages.abstain import Abstain
from recollect.query.stages.add import Add
from recollect.query.stages.admit import Admit
from recollect.query.stages.boost import Boost
from recollect.query.stages.compute import Compute
from recollect.query.stages.cut import Cut
from recollect.query.stages.deduplicate import Deduplicate
from recollect.query.stages.echo import Echo
from recollect.query.stages.exclude import Exclude
from recollect.query.stages.expand import Expand
from recollect.query.stages.filter import Filter
from recollect.query.stages.fuse import Fuse
from recollect.query.stages.gate import Gate
from recollect.query.stages.gather import Gather
from recollect.query.stages.labels import Labels
from recollect.query.stages.leads import Leads
from recollect.query.stages.look_up import LookUp
from recollect.query.stages.measure import Measure
from recollect.query.stages.multiply import Multiply
from recollect.query.stages.normalise import Normalise
from recollect.query.stages.overlap import Overlap
from recollect.query.stages.raise_ import Raise
from recollect.query.stages.rank_by import RankBy
from recollect.query.stages.reply import Reply
from recollect.query.stages.rerank import Rerank
from recollect.query.stages.resemble import Resemble
from recollect.query.stages.retrieve import Retrieve
from recollect.query.stages.shortcut import Shortcut
from recollect.query.stages.silence import Silence
from recollect.query.stages.skip import Skip
from recollect.query.stages.tiebreak import TieBreak
from recollect.query.stages.weigh import Weigh

AnyStage = (
    Retrieve | Measure | RankBy | Fuse | Weigh | Normalise | Multiply | Add | Raise | Filter | Expand
    | Rerank | Deduplicate | TieBreak | Abstain | Cut | Shortcut | Compute | Boost | Gate
    | LookUp | Exclude | Overlap | Resemble | Skip | Admit | Echo | Gather | Leads | Silence | Labels | Reply
)  # fmt: skip
