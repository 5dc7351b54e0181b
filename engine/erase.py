"""Erasing memories for good: erase. Mixed into `Memory`; [docs/erasure.md](docs/erasure.md) says what goes and stays.

The log is read once for every event that holds words or vectors of the memories, or of a summary derived from
them. One atomic batch of `Erased` events says which, with what remains of each, on the condition that nothing was
appended in between; if something was, the plan is carried on over what is new and tried again, the last time with the
writer's lock held. From that batch on the memories are gone for every reader; overwriting the payloads and purging
the caches is done by the first process that catches up with it, usually this one, a moment later.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from recollect.engine import validate
from recollect.engine.copies import Copy, copies_holding
from recollect.engine.doctor import Diagnosis, correct_clock, doctor
from recollect.engine.embedding.store_embedder import Embedding
from recollect.engine.erasure_plan import Plan
from recollect.engine.memories import erasure_of
from recollect.engine.recall import options
from recollect.engine.store import Progress, Store
from recollect.events.errors import InvalidInput, UnknownMemory
from recollect.events.facts import AnyFact, Attested, Filters, Linked, MemoryId
from recollect.projections.view import View
from recollect.query.stages.ordering import DERIVED_FROM

if TYPE_CHECKING:
    from recollect.engine.verify import Pending

_LONG_AGO = -(2**62)  # at this time nothing has expired


class ErasureReport(msgspec.Struct, frozen=True, kw_only=True):
    """What was erased, or with `dry_run` would be: `seqs` are the events whose payloads are overwritten.

    `derived` are those of the `ids` that were not named but summarise one that was; `recalls` are the recorded
    recalls that named one of them; `purged` are the files of caches that were deleted; `at` is the seq of the
    last `Erased` event. `attested` recalls that can no longer be verified were ranked again before and are attested in
    the same append (with `dry_run`: would be); those of them that did not come out as recorded are in `different`.
    `unattested` counts those that were not, on request. `copies` are the forks and exports that the store knows of and that may hold something of
    what went: they are not touched.
    """

    ids: tuple[str, ...]
    seqs: tuple[int, ...]
    bytes: int
    recalls: tuple[str, ...]
    derived: tuple[str, ...] = ()
    purged: tuple[str, ...] = ()
    at: int | None = None
    dry_run: bool = False
    copies: tuple[Copy, ...] = ()
    attested: int = 0
    different: tuple[str, ...] = ()
    unattested: int = 0


class Erasing:
    """What an open store can be told to erase."""

    _store: Store
    _embedding: Embedding
    _actor: str

    def erase(
        self,
        id: str | Iterable[str] | Mapping[str, object] | Filters,  # noqa: A002 (the word callers know)
        *,
        reason: str = "",
        dry_run: bool = False,
        unattested: bool = False,
        progress: Progress | None = None,
    ) -> ErasureReport:
        """Erase memories for good, by id, ids or filter: nothing brings them back.

        Their texts, words and vectors are overwritten in the log and deleted from every cache, now and in the
        past; what summarises them goes with them. Ids and numbers stay. A filter is what `memories` takes; it
        also finds memories that are forgotten or expired, and an empty one is refused.

        Recalls that can no longer be verified afterwards are verified before, and the result is attested in the same
        append; `unattested` leaves that out.
        """
        from recollect.engine.verify import Pending  # noqa: PLC0415 (opening a store does not wait for this)

        reason = validate.text(reason, "reason")
        given = id if isinstance(id, (str, Mapping, Filters)) else list(id)
        plan: Plan | None = None
        pending = Pending()

        def attempt() -> ErasureReport:
            nonlocal plan, pending
            with self._store.lock, self._store.whole:
                view = self._store.view()
                named = self._wanted(view, given)
                every = _with_derived(self._store, view, named)
                if plan is None or not plan.goes_on(self._store, every):
                    plan, pending = Plan(every), Pending()
                plan.look(self._store, view.seq, progress)
                pending.look(self._store, plan.erasures(view.documents, view.seq))
                skip = dry_run or unattested or not plan.remains
                attested = None if skip else pending.attestation(self._store, view.seq, progress)
            report = _attesting(_report(plan, frozenset(named), dry_run), pending, attested, unattested)
            if dry_run or not plan.remains:
                return msgspec.structs.replace(report, copies=copies_holding(self._store.folder, report.seqs))
            facts: list[AnyFact] = [] if attested is None else [attested]
            facts += plan.facts(reason)
            seqs = self._store.append(facts, actor=self._actor, expect=view.seq)
            return self._carried_out(report, seqs[-1])

        return attempt() if dry_run else self._store.decide(attempt)

    def _carried_out(self, report: ErasureReport, at: int) -> ErasureReport:
        before = _cached(self._store)
        self._store.catch_up()
        if self._store.unfinished_erasure is not None:
            raise self._store.unfinished_erasure
        purged = tuple(sorted(before - _cached(self._store)))
        if any(name.endswith(".hnsw") for name in purged):
            self._store.sealer.start()
        copies = copies_holding(self._store.folder, report.seqs, before=at)
        return msgspec.structs.replace(report, at=at, purged=purged, copies=copies)

    def doctor(
        self,
        *,
        fix: bool = False,
        salvage: str | Path | None = None,
        scrub: bool = False,
        progress: Progress | None = None,
    ) -> Diagnosis:
        """Examine the whole store; `fix` repairs what is safe, `salvage` copies what can be read to a new store.

        `scrub` reads every sealed segment again from the disk itself and says how much that was.
        """
        if self._store.folder is None:
            if not (fix and self._store.log.clock_ahead()):
                raise InvalidInput("a store in memory has no files to examine")
            correct_clock(self._store.log)
            return Diagnosis(store=":memory:", head=self._store.log.head, healthy=True, problems=())
        return doctor(
            self._store.folder,
            fix=fix,
            salvage=salvage,
            scrub=scrub,
            progress=progress,
            embedder=self._embedding.embedder,
            clock=self._store.clock,
        )

    def _wanted(
        self, view: View, given: str | Iterable[str] | Mapping[str, object] | Filters
    ) -> list[MemoryId]:
        if isinstance(given, str):
            return [_erasable(self._store, view, given)]
        if isinstance(given, (Mapping, Filters)):
            return _matching(self._store, view, given)
        ids = [_erasable(self._store, view, id_) for id_ in dict.fromkeys(given)]
        if not ids:
            raise InvalidInput("erase needs at least one memory id, or a filter")
        return ids


def _erasable(store: Store, view: View, id_: str) -> MemoryId:
    memory = view.documents.ids.find(validate.identifier(id_))
    row = -1 if memory < 0 else view.documents.newest_row(memory, view.seq)
    if row < 0:
        raise UnknownMemory(id_, at=view.seq)
    erased_at = erasure_of(store, view, row)
    if erased_at is not None:
        raise InvalidInput(f"memory {id_!r} was erased at @{erased_at}; there is nothing left to erase")
    return id_


def _matching(store: Store, view: View, given: Mapping[str, object] | Filters) -> list[MemoryId]:
    """Every memory whose newest version passes the filter, hidden ones too."""
    scope = options(Filters, given, now=store.clock())
    if scope == Filters():
        raise InvalidInput("the filter is empty and would erase every memory; name a project, tag, kind, …")
    documents = view.documents
    memories = np.arange(documents.memories, dtype=np.int64)
    wanted = view.lifecycle.admissible(memories, seq=view.seq, now=_LONG_AGO, filters=scope)
    rows = ((memory, documents.newest_row(int(memory), view.seq)) for memory in memories[wanted].tolist())
    return [documents.ids.values[memory] for memory, row in rows if erasure_of(store, view, row) is None]


def _with_derived(store: Store, view: View, named: Sequence[MemoryId]) -> list[MemoryId]:
    """These memories, and those that were derived from them at any time, from those in turn, and so on.

    An edge that was taken away since counts as well: the summary still holds the words.
    """
    found = dict.fromkeys(named)
    waiting = list(found)
    while waiting:
        id_ = waiting.pop()
        facts = (store.event(seq).fact for seq in view.graph.history(view.documents.ids.find(id_)))
        derived = (
            fact.a
            for fact in facts
            if isinstance(fact, Linked) and (fact.b, fact.kind) == (id_, DERIVED_FROM)
        )
        fresh = [
            other for other in dict.fromkeys(derived) if other not in found and _has_text(store, view, other)
        ]
        found.update(dict.fromkeys(fresh))
        waiting += fresh
    return list(found)


def _has_text(store: Store, view: View, id_: MemoryId) -> bool:
    """Whether there is a memory with this id whose text was not erased."""
    memory = view.documents.ids.find(id_)
    row = -1 if memory < 0 else view.documents.newest_row(memory, view.seq)
    return row >= 0 and erasure_of(store, view, row) is None


def _report(plan: Plan, named: Collection[MemoryId], dry_run: bool) -> ErasureReport:
    return ErasureReport(
        ids=tuple(plan.ids),
        derived=tuple(id_ for id_ in plan.ids if id_ not in named),
        seqs=tuple(sorted(plan.remains)),
        bytes=plan.bytes,
        recalls=tuple(plan.recalls),
        dry_run=dry_run,
    )


def _attesting(
    report: ErasureReport, pending: Pending, attested: Attested | None, unattested: bool
) -> ErasureReport:
    if unattested:
        return msgspec.structs.replace(report, unattested=len(pending.seqs))
    count = (
        len(pending.seqs)
        if attested is None and report.dry_run
        else 0
        if attested is None
        else attested.recalls
    )
    different = () if attested is None else tuple(f"r{seq}" for seq in attested.different)
    return msgspec.structs.replace(report, attested=count, different=different)


def _cached(store: Store) -> set[str]:
    """The files of all caches."""
    if store.cache is None:
        return set()
    return {str(path.relative_to(store.cache)) for path in store.cache.rglob("*") if path.is_file()}
