"""Attestations: recalls that were ranked again while that was still possible, and what came out.

Once something is erased, a recall that saw it may never come out as recorded again. So what an erasure is about to
make unverifiable is verified before, and an `Attested` event in the same append keeps the result. Its digest is the
SHA-256 of one line per recall, in the order of the log: `r12 exact` or `r12 different`, each with a newline.

An attestation is believed as far as it agrees with itself and with the log: it speaks of recalls before it, counts
them right, and its digest is the one of what it says. A replay that is still possible always weighs more. And it must
have been written before what hides the recall now was erased: later the recall came out as it does now.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from hashlib import sha256
from typing import NamedTuple

from recollect.events.errors import LogDamaged
from recollect.events.facts import Attested
from recollect.events.log import Log
from recollect.projections.adoptions import Adoptions


class Attestation(NamedTuple):
    """What the event at `seq` says of one recall."""

    seq: int
    exact: bool


class Attestations:
    """All that a log attests; `notes` name the attestations that are not believed, and why."""

    def __init__(self, log: Log, adoptions: Adoptions) -> None:
        self.notes: list[str] = []
        self._recalls: list[int] = adoptions.recalls.tolist()
        self._of: dict[int, Attestation] = {}
        for seq in adoptions.attestations:
            with suppress(LogDamaged):
                fact = log.get(seq).fact
                if isinstance(fact, Attested):
                    self._take(seq, fact)

    def of(self, recall: int) -> Attestation | None:
        """What is attested of the recall at this seq: by the first attestation that found it different, or the first."""
        return self._of.get(recall)

    def _take(self, seq: int, fact: Attested) -> None:
        covered = within(self._recalls, fact.spans)
        different = frozenset(fact.different)
        if any(recall > min(fact.upto, seq - 1) for recall in covered) or not different <= set(covered):
            self.notes.append(f"the attestation @{seq} speaks of what it cannot know; it is not counted")
        elif (fact.recalls, fact.digest) != (len(covered), digest_of(covered, different)):
            self.notes.append(f"the attestation @{seq} does not agree with itself; it is not counted")
        else:
            for recall in covered:
                before = self._of.get(recall)
                if before is None or (before.exact and recall in different):
                    self._of[recall] = Attestation(seq, recall not in different)


def attest(
    recalls: Sequence[int], covered: Collection[int], different: Collection[int], *, upto: int
) -> Attested:
    """The attestation of these of all `recalls`, some of which were found `different`."""
    told = sorted(covered)
    return Attested(
        upto=upto,
        recalls=len(told),
        digest=digest_of(told, different),
        spans=spans_of(recalls, told),
        different=tuple(sorted(different)),
    )


def digest_of(recalls: Iterable[int], different: Collection[int]) -> str:
    lines = (f"r{seq} {'different' if seq in different else 'exact'}\n" for seq in recalls)
    return sha256("".join(lines).encode()).hexdigest()


def spans_of(recalls: Sequence[int], covered: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """`covered`, in order, as runs of `recalls`: first and last seq of each."""
    spans: list[tuple[int, int]] = []
    last = -2
    for seq in covered:
        place = bisect_left(recalls, seq)
        if spans and place == last + 1:
            spans[-1] = (spans[-1][0], seq)
        else:
            spans.append((seq, seq))
        last = place
    return tuple(spans)


def within(recalls: Sequence[int], spans: Iterable[tuple[int, int]]) -> list[int]:
    """Those of the recalls that lie in these runs, each once, in order."""
    found: set[int] = set()
    for first, last in spans:
        found.update(recalls[bisect_left(recalls, first) : bisect_right(recalls, last)])
    return sorted(found)
