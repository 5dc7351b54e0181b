"""tune: the numbers that a formula leaves free, chosen on the earlier part of the log and judged on the later one.

How good an order is for a question: what its memories are worth, discounted by their places,

    u(order) = Σ gain(d) / log2(1 + place of d) / Σ |gain(d)|,     a memory that is no candidate counting 0

and for many questions the mean of that, each weighed by Σ |gain|: the self-normalised inverse-propensity estimate
(Swaminathan & Joachims 2015), whose weights are in `evidence`. All questions are ranked at their own past moments. The
half that was asked first chooses: by the gain over the start less its standard error, for few and heavy weights make some
values look better by luck (their counterfactual risk minimisation). The other half, which the search never saw, judges,
with a bootstrap interval and a paired randomisation test. Fewer questions than QUESTIONS_MIN in either half decide nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import fmean, stdev
from typing import NamedTuple, TypeVar

import msgspec

from recollect.events.errors import InvalidInput, RecollectError
from recollect.events.log import Log
from recollect.projections.view import Projections, View
from recollect.query.formula import Formula
from recollect.query.free_numbers import FreeNumber, every_weight, numbers_of, with_number
from recollect.replay.compare.recorded_questions import recorded_questions, under
from recollect.replay.compare.sides import FormulaSide
from recollect.replay.compare.significance import bootstrap_interval, randomisation_p
from recollect.replay.tune.evidence import Gains, Judged, judged_questions
from recollect.replay.tune.resumed import Begun, begin, go_on, order_of
from recollect.replay.tune.search import Estimate, Trial, most_trials, search

Progress = Callable[[int, int], None]
T = TypeVar("T")

QUESTIONS_MIN = 20
QUESTIONS_MAX = 1_000
SIGNIFICANT = 0.05
_POWER_Z = 1.96 + 0.84  # to find a difference of this size four times out of five


class TooThin(RecollectError):
    """There is not enough evidence to choose numbers by; the message says how much more would do."""


class Verdict(NamedTuple):
    """Start and found numbers on questions that the search did not see."""

    before: float
    after: float
    low: float
    high: float
    p_value: float
    judged: int
    more: int | None

    @property
    def recommended(self) -> bool:
        return self.after > self.before and self.low > 0.0 and self.p_value < SIGNIFICANT


class Found(NamedTuple):
    free: tuple[FreeNumber, ...]
    start: tuple[float, ...]
    values: tuple[float, ...]
    trials: tuple[Trial, ...]
    verdict: Verdict
    chosen_on: int


def tune(
    log: Log, projections: Projections, formula: Formula, *, upto: int, progress: Progress | None = None
) -> Found:
    """Choose the free numbers of a formula from the recorded questions up to a seq."""
    free = formula.free or every_weight(formula.stages)
    if not free:
        raise InvalidInput(
            f"formula {formula.name!r} has no weights to choose; mark numbers with free = {{ NAME = [low, high] }}"
        )
    asked = [one for one in recorded_questions(log, projections) if one.seq <= upto]
    known = judged_questions(asked, log.read(0, upto))
    require_enough(len(asked), len(known))
    earlier, later = halves(known)
    FormulaSide(log, projections, formula)  # its analyzers are indexed now
    first = min(number.stage for number in free)
    start = tuple(numbers_of(formula.stages[number.stage])[number.name].value for number in free)

    told = _Told(progress, (1 + most_trials(free)) * len(earlier) + len(later))

    def begun(judged: Sequence[Judged]) -> list[tuple[Begun, Judged]]:
        return [(told.after(1, _begin(log, projections, formula, one, first)), one) for one in judged]

    chosen_on = Prefixes(formula, free, begun(earlier))
    before = worth(*chosen_on.upto(start, 0))
    values, trials = search(
        free,
        start,
        lambda x, place: told.after(len(earlier), estimate(before, worth(*chosen_on.upto(x, place)))),
    )
    verdict = judge(begun(later), formula, with_values(formula, free, values))
    told.end()
    return Found(free, start, values, trials, verdict, len(earlier))


class Prefixes:
    """The questions ranked up to the stage whose number is being changed: the stages before it stay the same."""

    def __init__(
        self, formula: Formula, free: Sequence[FreeNumber], begun: Sequence[tuple[Begun, Judged]]
    ) -> None:
        self._formula, self._free, self._begun = formula, free, begun
        self._known: tuple[int, tuple[float, ...], Sequence[tuple[Begun, Judged]]] = (-1, (), ())

    def upto(self, values: tuple[float, ...], place: int) -> tuple[Sequence[tuple[Begun, Judged]], Formula]:
        """The questions up to the stage of that number, and the formula with these values."""
        formula, stage = with_values(self._formula, self._free, values), self._free[place].stage
        before = tuple(
            value for value, number in zip(values, self._free, strict=True) if number.stage < stage
        )
        if self._known[:2] != (stage, before):
            self._known = stage, before, [(go_on(at, formula, stage), one) for at, one in self._begun]
        return self._known[2], formula


class _Told:
    """How many rankings are done of about how many."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress, self._done, self._total = progress, 0, total

    def after(self, rankings: int, result: T) -> T:
        self._done += rankings
        if self._progress:
            self._progress(min(self._done, self._total), self._total)
        return result

    def end(self) -> None:
        self.after(self._total, None)


def require_enough(asked: int, judged: int) -> None:
    """Refuse too little evidence before anything is ranked."""
    needed = 2 * QUESTIONS_MIN
    if judged < needed:
        raise TooThin(
            f"{asked:,} recorded questions, of which {judged:,} are judged, are too few to choose numbers by: {needed} judged "
            f"ones are needed, {needed - judged} more. A question is judged when a memory of its answer was used or rated "
            f"(`recollect access ID --recall RECALL`, `recollect rate ID helpful --recall RECALL`), or one is expected "
            f"(`recollect expect`)"
        )


def halves(known: Sequence[Judged]) -> tuple[Sequence[Judged], Sequence[Judged]]:
    """The earlier and the later half of the questions; of very many, evenly spread ones."""
    middle = len(known) // 2
    return _spread(known[:middle]), _spread(known[middle:])


def _spread(judged: Sequence[Judged]) -> Sequence[Judged]:
    if len(judged) <= QUESTIONS_MAX:
        return judged
    return [judged[place * len(judged) // QUESTIONS_MAX] for place in range(QUESTIONS_MAX)]


def _begin(log: Log, projections: Projections, formula: Formula, one: Judged, stage: int) -> Begun:
    asked = one.asked
    question = under(asked.question, formula="", recorded=None)
    return begin(question, View(projections, asked.basis, log.time_of(asked.basis)), formula, stage)


def with_values(formula: Formula, free: Sequence[FreeNumber], values: Sequence[float]) -> Formula:
    """The formula with these numbers in the places that are free."""
    stages = list(formula.stages)
    for number, value in zip(free, values, strict=True):
        stages[number.stage] = with_number(stages[number.stage], number.name, value)
    return msgspec.structs.replace(formula, stages=tuple(stages))


# --- how good ---------------------------------------------------------------------------------------


def worth(begun: Sequence[tuple[Begun, Judged]], formula: Formula) -> list[float]:
    """What a formula's order is worth for each question; the mean is the estimate."""
    mean = fmean(one.weight for _, one in begun)
    return [one.weight / mean * utility(order_of(at, formula), one.gains) for at, one in begun]


def estimate(before: Sequence[float], after: Sequence[float]) -> Estimate:
    """The mean of `after`, and its gain over `before` less one standard error of that gain."""
    gains = [b - a for a, b in zip(before, after, strict=True)]
    return Estimate(fmean(after), fmean(gains) - stdev(gains) / math.sqrt(len(gains)))


def utility(order: Sequence[str], gains: Gains) -> float:
    """u(order): from −1 to 1."""
    places = {id_: place for place, id_ in enumerate(order, 1) if id_ in gains}
    discounted = [gains[id_] / math.log2(1.0 + place) for id_, place in places.items()]
    return math.fsum(discounted) / math.fsum(abs(gain) for gain in gains.values())


def judge(begun: Sequence[tuple[Begun, Judged]], start: Formula, found: Formula) -> Verdict:
    """Both formulas on questions that the search did not see."""
    before, after = worth(begun, start), worth(begun, found)
    differences = [b - a for a, b in zip(before, after, strict=True)]
    low, high = bootstrap_interval(differences)
    return Verdict(
        before=fmean(before),
        after=fmean(after),
        low=low,
        high=high,
        p_value=randomisation_p(differences),
        judged=len(begun),
        more=_more(differences),
    )


def _more(differences: Sequence[float]) -> int | None:
    """How many more judged questions would settle a difference of this size; None if there is none."""
    delta, spread = fmean(differences), stdev(differences)
    if delta <= 0.0:
        return None
    needed = math.ceil((_POWER_Z * spread / delta) ** 2)
    return 2 * max(needed - len(differences), 0)
