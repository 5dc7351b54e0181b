"""Retention: recorded recalls older than a limit are attested, and their questions and answers are erased for good.

What later rankings read of a recall stays: that there was one, and, while a younger recall of its session is kept, which
memories that session had been told, without their order, and under which formula. Accesses are events of their own and
stay. The bytes are overwritten in place as every erasure does it (`erase`), so the log does not get shorter.

`RECOLLECT_RETAIN_RECALLS` (such as `180d`) is the limit where none is given, and then every dream ends with it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TypedDict

import msgspec

from recollect.dream.schedule import parse_interval
from recollect.engine.copies import Copy, copies_holding, unknown_copies
from recollect.engine.erasure_plan import erased_facts
from recollect.engine.moments import iso
from recollect.engine.recall_options import refuse_unknown
from recollect.engine.store import Progress, Store
from recollect.engine.torn_state import locked
from recollect.engine.verify import Pending
from recollect.events.envelope import Recorded, encode, type_name
from recollect.events.errors import InvalidInput
from recollect.events.facts import AnyFact, Erased, Question, Recalled, RedactedPayload
from recollect.events.upcasts import VERSIONS

SETTING = "RECOLLECT_RETAIN_RECALLS"
_VERSION = VERSIONS[type_name(Recalled)]


class Retention(msgspec.Struct, frozen=True, kw_only=True):
    """What was erased, or with `dry_run` would be: `recalls` recorded `before` a time, holding so many `bytes`.

    `attested` of them were ranked again first, and `different` did not come out as recorded; `unattested` could not be
    ranked again any more. `at` is the seq of the last event that was written; `copies` are the copies of the store that
    may hold what went, and `unknown_copies` says why there may be others, if the record of them cannot be read.
    """

    before: str
    recalls: int
    bytes: int
    attested: int = 0
    different: tuple[str, ...] = ()
    unattested: int = 0
    at: int | None = None
    dry_run: bool = False
    copies: tuple[Copy, ...] = ()
    unknown_copies: str | None = None


def limit_of(given: str | timedelta | None) -> int:
    """The age of a recall that is kept at most, in µs."""
    if isinstance(given, timedelta):
        if given <= timedelta(0):
            raise InvalidInput(f"{given} is not a positive duration; give one such as 180 days")
        return given // timedelta(microseconds=1)
    told = given or os.environ.get(SETTING, "")
    if not told:
        raise InvalidInput(f"say how long recalls are kept, such as 180d (or set {SETTING})")
    return parse_interval(told)


class RetainOptions(TypedDict, total=False):
    """Which recalls go, as `Memory.retain` says."""

    recalls: str | timedelta | None
    dry_run: bool
    progress: Progress | None


def retain(store: Store, actor: str, options: RetainOptions) -> Retention:
    """Attest and erase the recorded recalls that are older than this."""
    refuse_unknown(options, RetainOptions.__annotations__)
    limit = limit_of(options.get("recalls"))

    def choose() -> tuple[int, list[Recorded]]:
        before = store.clock() - limit
        return before, _recalls_until(store, store.log.seq_at(before))

    return _erase(store, actor, choose, Pending, options)


def retain_where_known(store: Store, seqs: Sequence[int], actor: str, branches: Path) -> None:
    """Carry out what retention erased in another log, with the seqs of these recalls here; those that were asked in
    branches of the store in this folder are ranked again there."""
    _erase(store, actor, lambda: (store.clock(), _whole(store, seqs)), lambda: Pending(branches), {})


def _erase(
    store: Store, actor: str, choose: Callable[[], tuple[int, list[Recorded]]], anew: Callable[[], Pending],
    options: RetainOptions,
) -> Retention:  # fmt: skip
    dry_run = options.get("dry_run", False)
    pending, erasures = anew(), -1

    @locked
    def attempt(store: Store) -> Retention:
        nonlocal pending, erasures
        view = store.view()
        if erasures != len(store.log.erasures):  # what was ranked again before may be another corpus now
            pending, erasures = anew(), len(store.log.erasures)
        before, old = choose()
        report = Retention(
            before=iso(before), recalls=len(old), bytes=sum(len(one.payload) for one in old), dry_run=dry_run,
            unknown_copies=unknown_copies(store.folder),
        )  # fmt: skip
        seqs = tuple(one.seq for one in old)
        pending.look(store, (), seqs)
        attested = (
            None if dry_run or not old else pending.attestation(store, view.seq, options.get("progress"))
        )
        facts: list[AnyFact] = [] if attested is None else [attested]
        facts += _erased(store, old)
        if dry_run or not old:
            return msgspec.structs.replace(report, copies=copies_holding(store.folder, seqs))
        count = 0 if attested is None else attested.recalls
        different = () if attested is None else tuple(f"r{seq}" for seq in attested.different)
        at = store.append(facts, actor=actor, expect=view.seq)[-1]
        _finish(store)
        return msgspec.structs.replace(
            report, attested=count, different=different, unattested=pending.untold, at=at,
            copies=copies_holding(store.folder, seqs, before=at),
        )  # fmt: skip

    return attempt(store) if dry_run else store.decide(lambda: attempt(store))


def retain_as_set(store: Store, actor: str) -> None:
    """Erase old recalls if the setting says so."""
    if os.environ.get(SETTING):
        retain(store, actor, {})


def _finish(store: Store) -> None:
    store.catch_up()
    if store.unfinished_erasure is not None:
        raise store.unfinished_erasure


def _recalls_until(store: Store, seq: int) -> list[Recorded]:
    recalls = store.projections.adoptions.recalls
    return _whole(store, recalls[: int(recalls.searchsorted(seq, side="right"))].tolist())


def _whole(store: Store, seqs: Iterable[int]) -> list[Recorded]:
    """The recalls at these seqs whose questions are still there. Read once: another process may erase them at any time."""
    return [one for one in map(store.event, seqs) if isinstance(one.fact, Recalled)]


def _erased(store: Store, recalls: Sequence[Recorded]) -> list[Erased]:
    last = recalls[-1].seq if recalls else 0
    remains = (
        RedactedPayload(seq=one.seq, payload=encode(_bare(store, one.fact, last)), version=_VERSION)
        for one in recalls
        if isinstance(one.fact, Recalled)
    )
    return erased_facts("", remains, "retention")


def _bare(store: Store, fact: Recalled, last: int) -> Recalled:
    """What remains of a recall; more of it while its session has recalls after `last`."""
    session = fact.question.session
    lives_on = session is not None and store.projections.sessions.goes_on(session, after=last)
    return Recalled(
        question=Question(text="", now=0, session=session if lives_on else None),
        basis=fact.basis,
        formula=fact.formula if lives_on else "",
        ids=tuple(sorted(fact.ids)) if lives_on else (),
        scores=(),
    )
