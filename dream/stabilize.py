"""Stabilize: spaced, successful recalls make a memory last; failures make it fade sooner (Ebbinghaus' S).

All that happened to a memory since the last dream is one review, graded

    again   it was judged unhelpful or outdated
    good    it was used, or judged helpful
    hard    it was only returned or injected

and FSRS-6 (`fsrs`) gives the new stability for the time that the memory had rested before. Its difficulty is
that of a memory which was learnt well and failed as often as this one was judged unhelpful or outdated. Reverie
says "SM-2 inspired" without a formula; rule and grades are our choice.
"""

from __future__ import annotations

from recollect.dream.candidates import Candidates, Row
from recollect.dream.fsrs import Grade, difficulty_after, next_stability
from recollect.dream.phase import Change, Outcome, PhaseInput
from recollect.dream.settings import StabilizeSettings
from recollect.events.facts import StabilityChange, Stabilized

_REVIEWED = """
    SELECT memory, stability, accesses_since, used_since, failed_since, failed, rested_days FROM memories
    WHERE accesses_since > 0 OR used_since > 0 OR failed_since > 0 ORDER BY memory
"""


def grade(*, used: int, failed: int) -> Grade:
    """How the reviews since the last dream went, as one."""
    if failed > 0:
        return Grade.AGAIN
    return Grade.GOOD if used > 0 else Grade.HARD


def stabilized(
    *, stability: float, failures: int, rested_days: float, review: Grade, settings: StabilizeSettings
) -> float:
    """The stability after a review, within the bounds of the settings."""
    after = next_stability(
        stability=stability,
        difficulty=difficulty_after(failures),
        elapsed_days=rested_days,
        grade=review,
    )
    return min(settings.stability_max, max(settings.stability_min, after))


def stabilize(given: PhaseInput) -> Outcome:
    rows = Candidates(given).ask(_REVIEWED)
    ids = given.view.documents.ids.values
    stabilities, changes = [], []
    for row in rows:
        review = grade(used=row["used_since"], failed=row["failed_since"])
        after = stabilized(
            stability=row["stability"],
            # The failures of this review raise the difficulty for the next one.
            failures=row["failed"] - row["failed_since"],
            rested_days=row["rested_days"],
            review=review,
            settings=given.settings.stabilize,
        )
        if after != row["stability"]:
            id_ = ids[row["memory"]]
            stabilities.append(StabilityChange(id=id_, before=row["stability"], after=after))
            why = _why(row, review)
            changes.append(Change(id=id_, what="stability", before=row["stability"], after=after, why=why))
    facts = (Stabilized(dream=given.dream, changes=tuple(stabilities)),) if stabilities else ()
    return Outcome(facts, len(rows), tuple(changes))


def _why(row: Row, review: Grade) -> str:
    return (
        f"{review.name.lower()} after {row['rested_days']:.2f} days of rest: {row['accesses_since']} accesses, "
        f"{row['used_since']} uses, {row['failed_since']} failures since the last dream"
    )
