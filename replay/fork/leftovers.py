"""What erasures left of a source's events, carried over into a fork.

An erased event reads as its remains in the source and is written to the fork as these: nothing that was erased gets
there. The fork's `Erased` event names the same events with the same remains, and their payloads are overwritten as
those of the source are. Until the fork has come to that event its log does not tell by itself that they are erased,
so it is read through `Foretold`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from recollect.events.envelope import Recorded, encode, type_name
from recollect.events.facts import (
    AnyFact,
    Erased,
    Ingested,
    Recalled,
    Redacted,
    RedactedPayload,
    Revised,
    Unknown,
)
from recollect.events.log import Log
from recollect.events.redacted_log import ERASED, RedactedLog
from recollect.events.transfer import TransferableLog
from recollect.events.upcasts import VERSIONS
from recollect.projections.documents import Erasure
from recollect.replay.redaction import Touched

_NO_MEMORY = -1


class _Left(NamedTuple):
    """Where an erased event stands in the fork, and what is left of it there."""

    seq: int
    fact: AnyFact


class Leftovers:
    """The events that the source's erasures name; `touched` are the stretches of the source that they were taken from."""

    def __init__(self, source: Log) -> None:
        facts = ((seq, source.get(seq).fact) for seq in source.positions(ERASED))
        named = {
            seq: [one.seq for one in fact.remains]
            for seq, fact in facts
            if isinstance(fact, Erased) and fact.remains
        }
        self._named = frozenset(seq for seqs in named.values() for seq in seqs)
        self._left: dict[int, _Left] = {}
        self.touched = Touched([Erasure(_NO_MEMORY, min(seqs), seq) for seq, seqs in named.items()])

    def __contains__(self, seq: int) -> bool:
        """Whether the source's event at this seq was erased and something is left of it."""
        return seq in self._named

    def add(self, seq: int, fork_seq: int, fact: AnyFact) -> None:
        """The source's erased event at `seq` stands in the fork."""
        self._left[seq] = _Left(fork_seq, fact)

    def moved(self, erased: Erased) -> Erased:
        """The `Erased` event as the fork has it: it names what stands there, and what is left of it there."""
        seqs = tuple(self._left[seq].seq for seq in erased.seqs if seq in self._left)
        left = (self._left[one.seq] for one in erased.remains if one.seq in self._left)
        return msgspec.structs.replace(erased, seqs=seqs, remains=tuple(_remains(one) for one in left))


def _remains(left: _Left) -> RedactedPayload:
    return RedactedPayload(
        seq=left.seq, payload=encode(left.fact), version=VERSIONS[type_name(type(left.fact))]
    )


def left_of(fact: AnyFact | Unknown | Redacted) -> AnyFact | None:
    """What can be told again of an event: the fact, or what redaction left of it; None if nothing is left."""
    if isinstance(fact, Redacted):
        return fact.remains
    return None if isinstance(fact, Unknown) else fact


class Foretold(RedactedLog):
    """A fork's log as it reads once its erasures are in it."""

    def __init__(self, base: TransferableLog) -> None:
        super().__init__(base)
        self._foretold: dict[int, AnyFact] = {}

    def foretell(self, seq: int, fact: AnyFact) -> None:
        """The event at this seq will be erased, and this will be left of it."""
        self._foretold[seq] = fact

    def overwrite(self) -> None:
        """Carry the erasures out, where that was not done."""
        left = [seq for seq in self._foretold if not self.overwritten(seq)]
        if left:
            self.base.erase(left)

    def read(self, after: int = 0, upto: int | None = None) -> Iterator[Recorded]:
        return map(self._redacted, self.base.read(after, upto))

    def get(self, seq: int) -> Recorded:
        return self._redacted(self.base.get(seq))

    def _redacted(self, recorded: Recorded) -> Recorded:
        left = self._foretold.get(recorded.seq)
        if left is None:
            return recorded
        whole = (
            Redacted(type=recorded.type, remains=left)
            if isinstance(left, Ingested | Revised | Recalled)
            else left
        )
        return msgspec.structs.replace(recorded, payload=b"", fact=whole)
