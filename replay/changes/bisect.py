"""bisect: the event after which a memory left, or entered, the first places of an answer.

The question is asked at positions of the log between `since` and `until`, each time with the view, formula and
embedder of that position, and with the clock of the end, so that what is found is an event and not the passing
of time (unless told to let the clock run along). A binary search finds a position where the memory changes
sides: 20 rankings for a million events. The events of a dream count one by one: the one that moved the memory is
named, though no question was ever answered in the middle of a dream.

A rank may go back and forth, and a binary search sees one crossing of many. So some positions are asked first:
an even spread over the range, and before and after the memory's own events (see `turns`), which are what moves it
in and out most often. If they show more than one crossing the answer says so, and the search goes on in the first
gap that has one. What is found is the first crossing among the positions asked; between two of them others may
have come and gone. Only a scan (`every=True`) is sure to name the first and to list all; it asks at every event
that can move a ranking. A range as short as the spread is scanned anyway.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise

import msgspec

from recollect.events.facts import (
    Attested,
    ClockCorrected,
    DreamBegan,
    ExpectationWithdrawn,
    Expected,
    Question,
    Recalled,
    Recovered,
    Redacted,
    Unknown,
)
from recollect.events.log import Log
from recollect.replay.changes.bisect_probes import SAMPLES, bisect_probes, narrow
from recollect.replay.changes.inquiry import Inquiry, Moment, Standing
from recollect.replay.redaction import redacted_within

_UNMOVED_BY = (
    Attested, ClockCorrected, DreamBegan, Expected, ExpectationWithdrawn, Recovered, Unknown, Redacted,
)  # fmt: skip

Progress = Callable[[int, int], None]


class Crossing(msgspec.Struct, frozen=True, kw_only=True):
    """An event that took the memory into the first places, or out of them."""

    seq: int
    entered: bool
    rank_before: int | None
    rank_after: int | None


class Bisection(msgspec.Struct, frozen=True, kw_only=True):
    """What moved a memory; `seq` is None if nothing did.

    After a scan (`scanned`) `seq` is the first event that did, and `crossings` has all of them. Without one, `seq`
    is the first crossing among the `rankings` positions asked, and the only one listed; `back_and_forth` says that
    these positions show more. `redacted` is a line about what was erased since and could have ranked, or empty;
    `degraded` says why positions were ranked by words only.
    """

    id: str
    query: str
    top: int
    since: int
    until: int
    seq: int | None
    entered: bool = False
    event: str = ""
    sentence: str
    before: Standing | None = None
    after: Standing | None = None
    crossings: tuple[Crossing, ...] = ()
    back_and_forth: bool = False
    scanned: bool = False
    rankings: int = 0
    redacted: str = ""
    degraded: tuple[str, ...] = ()


class _Probes:
    """Standings by position, each asked once."""

    def __init__(self, inquiry: Inquiry, memory_id: str, top: int, clock: Callable[[int], int]) -> None:
        self._inquiry = inquiry
        self._memory_id = memory_id
        self._top = top
        self._clock = clock
        self._known: dict[int, Standing] = {}

    def __len__(self) -> int:
        return len(self._known)

    def at(self, seq: int) -> Standing:
        if seq not in self._known:
            self._known[seq] = self._inquiry.standing(self._memory_id, Moment(seq, self._clock(seq)))
        return self._known[seq]

    def inside(self, seq: int) -> bool:
        rank = self.at(seq).rank
        return rank is not None and rank <= self._top

    def crossing(self, seq: int) -> Crossing:
        return Crossing(
            seq=seq,
            entered=self.inside(seq),
            rank_before=self.at(seq - 1).rank,
            rank_after=self.at(seq).rank,
        )


def bisect(
    log: Log, inquiry: Inquiry, memory_id: str, *, since: int, until: int, top: int, clock: Callable[[int], int],
    every: bool = False, progress: Progress | None = None,
) -> Bisection:  # fmt: skip
    """The first crossing of rank `top` after `since`; `clock` says which time to ask with at a position."""
    probes = _Probes(inquiry, memory_id, top, clock)
    scanned = every or until - since <= SAMPLES + 1
    if scanned:
        moving = _moving(log, inquiry.question, since, until)
        crossings = list(_scan(probes, moving, since, until, progress))
        several = len(crossings) > 1
    else:
        gaps = _gaps(probes, bisect_probes(inquiry.projections, [memory_id], since, until))
        crossings = [probes.crossing(narrow(probes.inside, *gaps[0]))] if gaps else []
        several = len(gaps) > 1
    first = crossings[0] if crossings else None
    return Bisection(
        id=memory_id,
        query=inquiry.question.text,
        top=top,
        since=since,
        until=until,
        seq=first.seq if first else None,
        entered=first.entered if first else False,
        event=log.get(first.seq).type if first else "",
        sentence=_sentence(memory_id, top, probes, since, until, crossings, several=several, scanned=scanned),
        before=probes.at(first.seq - 1) if first else None,
        after=probes.at(first.seq) if first else None,
        crossings=tuple(crossings),
        back_and_forth=several,
        scanned=scanned,
        rankings=len(probes),
        redacted=redacted_within(inquiry.projections, (since, until)),
        degraded=inquiry.degraded,
    )


def _gaps(probes: _Probes, seqs: list[int]) -> list[tuple[int, int]]:
    """Neighbours among these positions that lie on different sides."""
    return [(a, b) for a, b in pairwise(seqs) if probes.inside(a) != probes.inside(b)]


def _scan(
    probes: _Probes, moving: Iterable[int], since: int, until: int, progress: Progress | None
) -> Iterator[Crossing]:
    side = probes.inside(since)
    for seq in moving:
        if probes.inside(seq) != side:
            side = not side
            yield probes.crossing(seq)
        if progress:
            progress(seq - since, until - since)


def _moving(log: Log, question: Question, since: int, until: int) -> Iterable[int]:
    """The events that can move the ranking of a question."""
    return (event.seq for event in log.read(since, until) if _moves(event.fact, question))


def _moves(fact: object, question: Question) -> bool:
    """A recall can move only later questions of its session, for formulas that read the previous answer."""
    if isinstance(fact, Recalled):
        return question.session is not None and fact.question.session == question.session
    return not isinstance(fact, _UNMOVED_BY)


def _sentence(
    memory_id: str, top: int, probes: _Probes, since: int, until: int, crossings: list[Crossing],
    *, several: bool, scanned: bool,
) -> str:  # fmt: skip
    asked = "" if scanned else f"{len(probes)} positions asked"
    if not crossings:
        where = f"in the top {top}" if probes.inside(since) else f"outside the top {top}"
        unsure = f" at the {asked}; --all asks at every event" if asked else ""
        return f"{memory_id} was {where} all the way from @{since} to @{until}{unsure}"
    first = crossings[0]
    moved = f"{memory_id} {'entered' if first.entered else 'left'} the top {top} with @{first.seq}"
    ranks = f"{_rank(first.rank_before)} → {_rank(first.rank_after)}"
    if scanned:
        rest = f"; it goes back and forth: {len(crossings)} crossings in all" if several else ""
        return f"{moved} ({ranks}){rest}"
    rest = "it goes back and forth, --all lists every crossing" if several else "--all asks at every event"
    return f"{moved} ({ranks}), the first crossing among the {asked}; {rest}"


def _rank(rank: int | None) -> str:
    return "not ranked" if rank is None else f"rank {rank}"
