"""bisect: the event after which a memory left, or entered, the first places of an answer.

The question is asked at positions of the log between `since` and `until`, each time with the view, formula and
embedder of that position, and with the clock of the end, so that what is found is an event and not the passing
of time (unless told to let the clock run along). A binary search finds a position where the memory changes
sides: 20 rankings for a million events. The events of a dream count one by one: the one that moved the memory is
named, though nobody was ever answered in the middle of a dream.

A rank may go back and forth, and a binary search sees one crossing of many. So some positions spread over the
range are asked first: if they show more than one crossing the answer says so, and the search goes on in the
first gap that has one. Only a scan (`every=True`) is sure to list all crossings; it asks at every event that can
move a ranking.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise

import msgspec
import numpy as np

from recollect.events.facts import DreamBegan, Recalled, Recovered, Redacted, Unknown
from recollect.events.log import Log
from recollect.replay.inquiry import Inquiry, Moment, Standing

SAMPLES = 12
_UNMOVED_BY = (Recalled, DreamBegan, Recovered, Unknown, Redacted)

Progress = Callable[[int, int], None]


class Crossing(msgspec.Struct, frozen=True, kw_only=True):
    """An event that took the memory into the first places, or out of them."""

    seq: int
    entered: bool
    rank_before: int | None
    rank_after: int | None


class Bisection(msgspec.Struct, frozen=True, kw_only=True):
    """What moved a memory; `seq` is None if nothing did.

    `crossings` has what was found: the one event, or all of them after a scan (`scanned`). `back_and_forth` says
    that there is more than one; without a scan, that there is more than the one found.
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
    if every:
        crossings = list(_scan(log, probes, since, until, progress))
        several = len(crossings) > 1
    else:
        gaps = _gaps(probes, since, until)
        crossings = [probes.crossing(_narrow(probes, *gaps[0]))] if gaps else []
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
        sentence=_sentence(memory_id, top, probes, since, until, crossings, several=several, every=every),
        before=probes.at(first.seq - 1) if first else None,
        after=probes.at(first.seq) if first else None,
        crossings=tuple(crossings),
        back_and_forth=several,
        scanned=every,
        rankings=len(probes),
    )


def _gaps(probes: _Probes, since: int, until: int) -> list[tuple[int, int]]:
    """Neighbours among positions spread over the range that lie on different sides."""
    spread = sorted(set(np.linspace(since, until, SAMPLES + 2).round().astype(int).tolist()))
    return [(a, b) for a, b in pairwise(spread) if probes.inside(a) != probes.inside(b)]


def _narrow(probes: _Probes, low: int, high: int) -> int:
    """A seq in (low, high] at which the memory changes sides, given that it does on the way."""
    side = probes.inside(low)
    while high - low > 1:
        middle = (low + high) // 2
        if probes.inside(middle) == side:
            low = middle
        else:
            high = middle
    return high


def _scan(log: Log, probes: _Probes, since: int, until: int, progress: Progress | None) -> Iterator[Crossing]:
    side = probes.inside(since)
    for seq in _moving(log, since, until):
        if probes.inside(seq) != side:
            side = not side
            yield probes.crossing(seq)
        if progress:
            progress(seq - since, until - since)


def _moving(log: Log, since: int, until: int) -> Iterable[int]:
    """The events that can move a ranking."""
    return (event.seq for event in log.read(since, until) if not isinstance(event.fact, _UNMOVED_BY))


def _sentence(
    memory_id: str, top: int, probes: _Probes, since: int, until: int, crossings: list[Crossing],
    *, several: bool, every: bool,
) -> str:  # fmt: skip
    if not crossings:
        where = f"in the top {top}" if probes.inside(since) else f"outside the top {top}"
        sure = "" if every else " at every position asked"
        return f"{memory_id} was {where} all the way from @{since} to @{until}{sure}"
    first = crossings[0]
    moved = f"{memory_id} {'entered' if first.entered else 'left'} the top {top} with @{first.seq}"
    ranks = f"{_rank(first.rank_before)} → {_rank(first.rank_after)}"
    if not several:
        return f"{moved} ({ranks})"
    rest = f"{len(crossings)} crossings in all" if every else "a scan lists all crossings"
    return f"{moved} ({ranks}); it goes back and forth: {rest}"


def _rank(rank: int | None) -> str:
    return "not ranked" if rank is None else f"rank {rank}"
