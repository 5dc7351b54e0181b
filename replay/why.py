"""why: a recorded recall replayed at its own basis, formula and clock, with one memory watched.

For a hit the explanation says how the score came about, for a miss where the memory was lost.
Nothing is written.
"""

from __future__ import annotations

import msgspec

from recollect.events.errors import RecollectError, UnknownRecall
from recollect.events.facts import Recalled
from recollect.events.log import Log
from recollect.projections.view import Projections
from recollect.query.explain.case import Case
from recollect.query.explain.explaining import explain_case
from recollect.query.explanation import Explanation
from recollect.replay.redaction import erasure_at
from recollect.replay.verify import formula_of


class NothingLeftToExplain(RecollectError):
    """What the recall was made of is no longer in the log."""


def why(log: Log, projections: Projections, seq: int, memory_id: str) -> Explanation:
    """Why a memory ranked where it did in the recall recorded at `seq`; `exact` says that the replay held."""
    recalled = recorded(log, projections, seq)
    if recalled.formula not in projections.adoptions.formulas:
        raise NothingLeftToExplain(f"r{seq} used the formula {recalled.formula}, which the log does not hold")
    erased_at = erasure_at(log, projections, memory_id, recalled.basis)
    if erased_at is not None:
        rank = f"was at rank {recalled.ids.index(memory_id) + 1}" if memory_id in recalled.ids else "was not"
        raise NothingLeftToExplain(
            f"{memory_id!r} {rank} in r{seq}, and was erased at @{erased_at}; nothing is left to explain it by"
        )
    if memory_id in recalled.ids and projections.documents.ids.find(memory_id) < 0:
        raise NothingLeftToExplain(
            f"{memory_id!r} was at rank {recalled.ids.index(memory_id) + 1} of r{seq}, but was erased since; "
            f"nothing is left to explain it by"
        )
    view = projections.at(recalled.basis, log.time_of(recalled.basis))
    case = Case(recalled.question, view, formula_of(log, projections, recalled), memory_id)
    missing = sorted(set(case.question.effects.scanned) - set(recalled.question.effects.scanned))
    exact = (case.ranking.ids, case.ranking.scores) == (recalled.ids, recalled.scores) and not missing
    explanation = explain_case(case, recall=f"r{seq}", exact=exact)
    if missing:  # the replay could not go the way of the recall
        facts = explanation.facts | {"replayed without": ", ".join(f"shard {one[:12]}" for one in missing)}
        explanation = msgspec.structs.replace(explanation, facts=facts)
    # The digest as it was recorded: a later version may spell out more defaults in a formula's text.
    label = f"{case.formula.name}@{recalled.formula[:12]}"
    return msgspec.structs.replace(explanation, formula=label)


def recorded(log: Log, projections: Projections, seq: int) -> Recalled:
    """The recall recorded at `seq`."""
    fact = log.get(seq).fact if 0 < seq <= projections.position else None
    if not isinstance(fact, Recalled):
        raise UnknownRecall(f"r{seq}")
    return fact
