"""Verifying a store: its recalls, its log, and what others kept of it. Attesting what was verified.

`attest` writes what was found; `attestation_before` is for what is about to erase something.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TypedDict

import msgspec

from recollect.engine.branches import Branches
from recollect.engine.store import Progress, Store
from recollect.engine.torn_state import locked
from recollect.engine.witnesses import against as against_
from recollect.engine.witnesses import beside, read_checkpoint
from recollect.events.checkpoint_note import LogCheckpoint
from recollect.events.errors import InvalidInput, RecollectError
from recollect.events.facts import Attested, Recalled
from recollect.events.redacted_log import ERASED
from recollect.projections.documents import Erasure
from recollect.query.formula import readable
from recollect.replay.attestation import Attestation, Attestations, attest
from recollect.replay.redaction import mover
from recollect.replay.verify import (
    Found,
    Outcome,
    VerifyReport,
    judged,
    moved_since,
    replayed,
    verified,
)

_TOLD = ("exact", "different", "attested")  # without an attestation here: by the branch where it was asked


class VerifyOptions(TypedDict, total=False):
    """How to verify, as `Memory.verify` says."""

    independent: bool
    attest: bool
    against: str | Path | LogCheckpoint | None
    progress: Progress | None


def verify(
    store: Store, *, actor: str, independent: bool = False, attest: bool = False,
    against: str | Path | LogCheckpoint | None = None, progress: Progress | None = None,
) -> VerifyReport:  # fmt: skip
    """Rank every recorded recall again and compare; with `attest` an `Attested` event keeps what was found.

    `against` is a checkpoint that was kept elsewhere, or the file with it: the log must still agree with it.
    """
    kept = read_checkpoint(Path(against)) if isinstance(against, str | Path) else against
    if attest and independent:
        raise InvalidInput(
            "attest what was replayed bit for bit; an independent verification is not attested"
        )
    if attest:
        store.require_writable()
    while True:
        report, found, head = _verified(store, independent=independent, progress=progress)
        report = _witnessed(store, report, kept, "the checkpoint" if kept is against else str(against))
        if not attest:
            return report
        at = _attested(store, found, head, actor)
        if at != _ERASED_MEANWHILE:
            return msgspec.structs.replace(report, attested_at=at)


_ERASED_MEANWHILE = 0


@locked
def _verified(
    store: Store, *, independent: bool, progress: Progress | None
) -> tuple[VerifyReport, list[Outcome], int]:
    if store.damage is None:
        with suppress(RecollectError):  # what cannot be finished is told below
            store.finish_erasures()
    head = store.catch_up()
    for formula in readable(store.projections.adoptions.formulas):
        store.require_analyzers(formula.analyzers)
    with Branches(store.folder) as branches:
        report, found = verified(
            store.log,
            store.projections,
            independent=independent,
            progress=progress,
            elsewhere=branches.outcome,
        )
    notes = [str(note) for note in (store.unfinished_erasure, store.log.unfollowed) if note is not None]
    return msgspec.structs.replace(report, notes=(*report.notes, *notes)), found, head


def _witnessed(store: Store, report: VerifyReport, kept: LogCheckpoint | None, name: str) -> VerifyReport:
    """The report with what the store's own files show, and a checkpoint that was kept."""
    found, notes = ([], []) if kept is None else against_(store, kept, name)
    accepted = 0 if kept is None or found else kept.size
    found = [*found, *beside(store.log, store.folder, store.cache, accepted=accepted)]
    report = msgspec.structs.replace(
        report,
        contradictions=tuple(found),
        notes=(*report.notes, *notes),
        against=None if kept is None else name,
    )
    return judged(report)


def _attested(store: Store, found: list[Outcome], head: int, actor: str) -> int | None:
    """Attest what is not attested yet; return the seq, None if nothing was left, 0 after an erasure meanwhile."""
    recalls = store.projections.adoptions.recalls.tolist()[: len(found)]
    known = Attestations(store.log, store.projections.adoptions)
    told = {seq: one.found for seq, one in zip(recalls, found, strict=True) if known.of(seq) is None}
    fact = _attestation(store, told, head)
    if fact is None:
        return None
    with store.exclusive():
        if store.log.positions(ERASED, head):
            return _ERASED_MEANWHILE
        (at,) = store.append([fact], actor=actor)
    store.catch_up()
    return at


def _attestation(store: Store, told: dict[int, Found], head: int) -> Attested | None:
    covered = [seq for seq, found in told.items() if found in _TOLD]
    if not covered:
        return None
    different = [seq for seq in covered if told[seq] == "different"]
    return attest(store.projections.adoptions.recalls.tolist(), covered, different, upto=head)


class Pending:
    """The recalls that an erasure is about to make unverifiable, and what became of those that were ranked again.

    A recall is ranked again once, however often the erasure has to be decided anew. So are those that are attested as
    exact already, as long as they can still come out: an attestation is an event that anyone who may write can write.

    `seqs` are those without an attestation, `again` those with one. A recall that was asked offline is ranked again in
    the branch where it was, among those of the store in the folder `branches`, by default of this one.
    """

    def __init__(self, branches: Path | None = None) -> None:
        self._branches = branches
        self.seqs: list[int] = []
        self.again: list[int] = []
        self._found: dict[int, Found] = {}

    def look(self, store: Store, erasures: Iterable[Erasure], others: Iterable[int] = ()) -> None:
        """Find the recalls that these erasures can have moved, and `others`."""
        recalls = store.projections.adoptions.recalls.tolist()
        known, gone = Attestations(store.log, store.projections.adoptions), list(erasures)
        first = min((one.first for one in gone), default=store.log.head)
        wanted = set(others)
        touched = [seq for seq in recalls if seq in wanted or (seq > first and _moved(store, seq, gone))]
        self.seqs = [seq for seq in touched if known.of(seq) is None]
        self.again = [seq for seq in touched if (one := known.of(seq)) and _open(store, seq, one)]

    def attestation(self, store: Store, head: int, progress: Progress | None) -> Attested | None:
        """Rank them again; what can be attested of them."""
        unknown = [seq for seq in (*self.seqs, *self.again) if seq not in self._found]
        with Branches(self._branches or store.folder) as branches:
            found = replayed(store.log, store.projections, unknown, progress, elsewhere=branches.outcome)
        self._found.update({seq: one.found for seq, one in zip(unknown, found, strict=True)})
        refuted = [seq for seq in self.again if self._found[seq] == "different"]
        return _attestation(store, {seq: self._found[seq] for seq in (*self.seqs, *refuted)}, head)

    @property
    def untold(self) -> int:
        """How many have no attestation and cannot get one any more."""
        return sum(self._found.get(seq) not in _TOLD for seq in self.seqs)


def _open(store: Store, seq: int, attested: Attestation) -> bool:
    """Whether a recall that is attested as exact could still turn out different."""
    fact = store.log.get(seq).fact
    return (
        attested.exact and isinstance(fact, Recalled) and not moved_since(store.projections, fact, attested)
    )


def _moved(store: Store, seq: int, erasures: list[Erasure]) -> bool:
    fact = store.log.get(seq).fact
    return isinstance(fact, Recalled) and mover(store.projections, fact, erasures) is not None
