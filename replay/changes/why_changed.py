"""why_changed: a memory's rank and score for one question at two moments, and what made the difference.

The inputs of a score fall into seven groups (`hybrid` says what is in each; beside them the formula and the
clock). For every choice of groups the question is ranked with those groups taken from the later moment and the
others from the earlier one; each group's part is its Shapley value over these rankings, so the parts add up to
the difference. Groups that did not change are left out of the choices: their part is 0.

A memory that is not ranked has the score 0 and stands one place behind the last that is: so it can be said of
one that came or went what brought it, too. Where it is ranked at neither moment nothing is shared out: every part
is 0. Ranks count all candidates, not only those that were returned.
"""

from __future__ import annotations

from itertools import takewhile

import msgspec

from recollect.events.log import Log
from recollect.query.ranking import Ranking, rank_around
from recollect.replay.changes.change_events import CAUSES, Cause, ChangeEvents, Passings
from recollect.replay.changes.hybrid import HybridView, Mix
from recollect.replay.changes.inquiry import Inquiry, Moment, Standing, position_of
from recollect.replay.changes.shapley import shapley
from recollect.replay.redaction import redacted_within

EVENTS_MAX = 50
_NOTHING = 1e-12  # what a share may be off 0 by adding up


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """What one group of inputs did: its share of the score's and of the rank's difference, and its events.

    `events` has the last of them, at most 50; `event_count` says how many there are.
    """

    cause: Cause
    score: float
    rank: float
    says: str
    events: tuple[int, ...] = ()
    event_count: int = 0


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """A memory at two moments. The parts' scores add up to `score_change`, their ranks to `rank_change`.

    `cause` is the largest part of the rank's change, or of the score's if the rank did not change; None if
    nothing did. `passed_by` were behind it and are before it now; `passed` the other way round. `redacted` is a
    line about what was erased since and could have ranked at one of the moments, or empty; `degraded` says why a moment
    was ranked by words only.
    """

    id: str
    query: str
    sentence: str
    cause: Cause | None
    since: Standing
    until: Standing
    score_change: float
    rank_change: int
    parts: tuple[Part, ...]
    passed_by: tuple[str, ...]
    passed: tuple[str, ...]
    redacted: str = ""
    degraded: tuple[str, ...] = ()


class _Standings:
    """Score and rank of the memory in every mixture of the two moments, each ranked once."""

    def __init__(self, inquiry: Inquiry, memory: int, since: Moment, until: Moment) -> None:
        self._inquiry = inquiry
        self._memory = memory
        self._ends = since, until
        self._known: dict[frozenset[Cause], tuple[float, int]] = {}
        self.causes = [cause for cause in CAUSES if self._changed(cause)]
        for moment in self._ends:
            inquiry.require(inquiry.formula_at(moment.seq))

    def of(self, later: frozenset[Cause]) -> tuple[float, int]:
        if later not in self._known:
            self._known[later] = self.worth(self._rank(later))
        return self._known[later]

    def worth(self, ranking: Ranking) -> tuple[float, int]:
        """Score and rank, where not being ranked is 0 and one behind the last."""
        position, score = position_of(ranking, self._memory)
        return (0.0, len(ranking.order) + 1) if position is None or score is None else (score, position)

    def settle(self, since: Ranking, until: Ranking) -> None:
        """The two moments as they were: what a mixture of one moment alone must come to."""
        self._known[frozenset()], self._known[frozenset(self.causes)] = self.worth(since), self.worth(until)

    def _rank(self, later: frozenset[Cause]) -> Ranking:
        def from_(cause: Cause) -> Moment:
            return self._ends[cause in later]

        inquiry = self._inquiry
        mix = Mix(*(from_(cause).seq for cause in ("edits", "lifecycle", "corpus", "others", "embedder")))
        time = inquiry.view(mix.others).time
        view = HybridView(inquiry.projections, self._memory, mix, time, inquiry.vectors)
        question = inquiry.question_at(mix.embedder, from_("clock").now)
        return rank_around(question, view, inquiry.formula_at(from_("formula").seq), finite=False)[1]

    def _changed(self, cause: Cause) -> bool:
        since, until = self._ends
        match cause:
            case "formula":
                return (
                    self._inquiry.formula_at(since.seq).digest != self._inquiry.formula_at(until.seq).digest
                )
            case "embedder":
                return self._inquiry.embedder_at(since.seq) != self._inquiry.embedder_at(until.seq)
            case "clock":
                return since.now != until.now
            case _:
                return since.seq != until.seq


def why_changed(log: Log, inquiry: Inquiry, memory_id: str, since: Moment, until: Moment) -> Change:
    """What changed for a memory between two moments, since first."""
    memory = inquiry.projections.documents.ids.find(memory_id)
    first, last = inquiry.ranking(since), inquiry.ranking(until)
    before = inquiry.standing_in(first, memory_id, since)
    after = inquiry.standing_in(last, memory_id, until)
    ranked = before.rank is not None or after.rank is not None
    standings = _Standings(inquiry, memory, since, until)
    standings.settle(first, last)
    causes = standings.causes if ranked else []
    scores = shapley(causes, lambda later: standings.of(later)[0])
    ranks = shapley(causes, lambda later: float(standings.of(later)[1]))
    passings = _passings(memory, first, last) if ranked else Passings((), (), (), (), ())
    change_events = ChangeEvents(log, inquiry, memory, since, until, passings)
    parts = tuple(
        _part(cause, scores.get(cause, 0.0), ranks.get(cause, 0.0), change_events) for cause in CAUSES
    )
    (score_a, rank_a), (score_b, rank_b) = standings.worth(first), standings.worth(last)
    rank_change = rank_b - rank_a if ranked else 0
    cause = _main(parts, score_b - score_a, rank_change)
    return Change(
        id=memory_id,
        query=inquiry.question.text,
        sentence=_sentence(memory_id, before, after, cause, parts),
        cause=cause,
        since=before,
        until=after,
        score_change=score_b - score_a,
        rank_change=rank_change,
        parts=parts,
        passed_by=change_events.names(passings.passed_by),
        passed=change_events.names(passings.passed),
        redacted=redacted_within(inquiry.projections, (since.seq, since.seq), (until.seq, until.seq)),
        degraded=inquiry.degraded,
    )


def _passings(memory: int, first: Ranking, last: Ranking) -> Passings:
    """The memories that rank before this one only at the end, only at the beginning, and the others."""
    was, is_ = _order(first), _order(last)
    before, after = _before(was, memory), _before(is_, memory)
    return Passings(
        passed_by=tuple(m for m in after if m not in before),
        passed=tuple(m for m in before if m not in after),
        came=tuple(m for m in is_ if m not in was and m != memory),
        went=tuple(m for m in was if m not in is_ and m != memory),
        stayed=tuple(m for m in is_ if m in was and m != memory),
    )


def _order(ranking: Ranking) -> dict[int, None]:
    """The memories that are ranked, best first."""
    return dict.fromkeys(ranking.sheet.memories[list(ranking.order)].tolist())


def _before(order: dict[int, None], memory: int) -> dict[int, None]:
    """Those ranked before this one: all that are ranked if it is not."""
    return dict.fromkeys(takewhile(lambda other: other != memory, order))


def _part(cause: Cause, score: float, rank_: float, change_events: ChangeEvents) -> Part:
    seqs, says = change_events.of(cause, moved=abs(score) > _NOTHING or abs(rank_) > _NOTHING)
    return Part(
        cause=cause, score=score, rank=rank_, says=says, events=tuple(seqs[-EVENTS_MAX:]), event_count=len(seqs)
    )  # fmt: skip


# --- in words --------------------------------------------------------------------------------------

_IN_WORDS: dict[Cause, str] = {
    "edits": "its own edits",
    "lifecycle": "its own lifecycle",
    "corpus": "corpus statistics",
    "others": "other memories",
    "formula": "the formula",
    "embedder": "the embedder",
    "clock": "the clock",
}


def _main(parts: tuple[Part, ...], score: float, rank_: int) -> Cause | None:
    """The part that did most in the direction of the change; what cancels out is no cause."""
    if rank_:
        return max(parts, key=lambda part: (part.rank * rank_, part.score * score)).cause
    return max(parts, key=lambda part: part.score * score).cause if score else None


def _sentence(
    memory_id: str, before: Standing, after: Standing, cause: Cause | None, parts: tuple[Part, ...]
) -> str:
    if before.rank is None and after.rank is None:
        return f"{memory_id} was ranked at neither end, @{before.seq} nor @{after.seq}"
    when = f"between @{before.seq} and @{after.seq}"
    if cause is None:
        return f"nothing changed for {memory_id} {when}: {_where(before)}"
    part = next(part for part in parts if part.cause == cause)
    moved = f"{memory_id} went from {_where(before)} to {_where(after)} {when}"
    return f"{moved}, mostly because of {_IN_WORDS[cause]} ({part.says})"


def _where(standing: Standing) -> str:
    if standing.rank is None or standing.score is None:
        return "not ranked"
    return f"rank {standing.rank} (score {standing.score:.6g})"
