"""What recorded questions say about memories, freed of what the order of the answers had to do with it.

A memory that was used from an answer was useful, and it was seen. One further down is seen less often, so that what was
used there counts more: each use or rating is divided by the propensity with which its rank is looked at,

    p(rank) = max(1 / rank, 1 / 5)

(inverse propensity scoring; Joachims, Swaminathan & Schnabel 2017, with the position bias of their experiments, clipped
so that no single use counts more than five). In expectation the sum over memories is then the same for every order of
the answers. A memory that the answer did not hold, and what an expectation names, was not found by looking at the
answer: it counts once. What was never shown and never named says nothing; no estimator can change that.

    used 1 · helpful 2 · expected first or among the first 2 · expected above another 1, that other −1
    unhelpful, outdated, expected to be absent −1

A rating outweighs a use, an expectation both; the last one counts, and one that was withdrawn does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from recollect.events.envelope import Recorded
from recollect.events.facts import Accessed, ExpectationWithdrawn, Expected, Rated
from recollect.replay.compare.recorded_questions import Asked

WEIGHT_MAX = 5.0
RATINGS = {"helpful": 2.0, "unhelpful": -1.0, "outdated": -1.0}
USED, EXPECTED, AGAINST = 1.0, 2.0, -1.0

Gains = dict[str, float]


class Judged(NamedTuple):
    """A recorded question and what its memories are worth, each gain divided by its propensity."""

    asked: Asked
    gains: Gains

    @property
    def weight(self) -> float:
        """How much this question counts: the sum of all that is known of it."""
        return sum(abs(gain) for _, gain in sorted(self.gains.items()))


class _Said(NamedTuple):
    """What the log says of the memories of each recall, by the seq of the recall."""

    used: dict[int, Gains]
    rated: dict[int, Gains]
    expected: dict[int, Gains]


def judged_questions(asked: Sequence[Asked], events: Iterable[Recorded]) -> list[Judged]:
    """The questions of which something is known, in the order they were asked."""
    said = _said(events)
    found = [Judged(one, _gains(one, said)) for one in asked]
    return [one for one in found if one.gains]


def _said(events: Iterable[Recorded]) -> _Said:
    said, expectations = _Said({}, {}, {}), dict[int, Expected]()
    for event in events:
        match event.fact:
            case Accessed(how="used", recall=int(recall), ids=ids):
                said.used.setdefault(recall, {}).update(dict.fromkeys(ids, USED))
            case Rated(recall=int(recall), id=id_, verdict=verdict):
                said.rated.setdefault(recall, {})[id_] = RATINGS[verdict]
            case Expected() as expected:
                expectations[event.seq] = expected
            case ExpectationWithdrawn(expected=seq):
                expectations.pop(seq, None)
            case _:
                pass
    for _, expected in sorted(expectations.items()):
        said.expected.setdefault(expected.recall, {}).update(_wanted(expected))
    return said


def _wanted(expected: Expected) -> Gains:
    if expected.above is not None:
        return {expected.id: USED, expected.above: AGAINST}
    return {expected.id: AGAINST if expected.absent else EXPECTED}


def _gains(asked: Asked, said: _Said) -> Gains:
    """The gains of one question; what was shown is divided by the propensity of its rank."""
    seen = {**said.used.get(asked.seq, {}), **said.rated.get(asked.seq, {})}
    shown = asked.recorded.ids if asked.recorded else ()
    ranks = {id_: rank for rank, id_ in enumerate(shown, 1)}
    weighed = {id_: gain * weight_of(ranks.get(id_)) for id_, gain in seen.items()}
    return {**weighed, **said.expected.get(asked.seq, {})}


def weight_of(rank: int | None) -> float:
    """1 / p(rank): how much counts what was used at a rank; 1 for what was not shown."""
    return 1.0 if rank is None else min(float(rank), WEIGHT_MAX)
