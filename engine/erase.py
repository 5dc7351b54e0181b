"""Erasing memories for good: erase. [docs/erasure.md](docs/erasure.md) says what goes and stays.

The log is read once for every event that holds words or vectors of the memories, or of a summary derived from
them. One atomic batch of `Erased` events says which, with what remains of each, on the condition that nothing was
appended in between; if something was, the plan is carried on over what is new and tried again, the last time with the
writer's lock held. From that batch on the memories are gone for every reader; overwriting the payloads and purging
the caches is done by the first process that catches up with it, usually this one, a moment later. Then the same is
done in the branches of the store (`branches`), which are logs of their own in its directory.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple, TypedDict

import msgspec
import numpy as np

from recollect.engine import validate
from recollect.engine.branches import left_in_branches
from recollect.engine.copies import Copy, copies_holding, unknown_copies
from recollect.engine.embedding.store_embedder import Embedding
from recollect.engine.erasure_plan import Plan
from recollect.engine.memories import erasure_of
from recollect.engine.names import did_you_mean
from recollect.engine.opening import BRANCHES, finish_swap
from recollect.engine.recall_options import parsed
from recollect.engine.receipt import ErasureReceipt, receipt_of
from recollect.engine.signing import signing_key
from recollect.engine.store import Progress, Store
from recollect.engine.torn_state import locked
from recollect.engine.verify import Pending
from recollect.engine.writer import Writer
from recollect.events.errors import InvalidInput, RecollectError, UnknownMemory
from recollect.events.facts import AnyFact, Attested, Erased, Filters, Ingested, Linked, MemoryId, Revised
from recollect.events.redacted_log import RedactedLog
from recollect.projections.view import View
from recollect.query.stages.ordering import DERIVED_FROM

_LONG_AGO = -(2**62)  # at this time nothing has expired


class ErasureReport(msgspec.Struct, frozen=True, kw_only=True):
    """What was erased, or with `dry_run` would be: `seqs` are the events whose payloads are overwritten.

    `derived` are those of the `ids` that were not named but summarise one that was; `recalls` are the recorded
    recalls that named one of them; `purged` are the files of caches that were deleted; `at` is the seq of the
    last `Erased` event. `attested` recalls that can no longer be verified were ranked again before and are attested in
    the same append (with `dry_run`: would be); those of them that did not come out as recorded are in `different`.
    `unattested` counts those that were not, on request. `copies` are the copies that the store knows of (`copies.Kind`) and
    that may hold something of what went, and branches where the erasure failed. `unknown_copies` says why there may be others, if the
    store's record of them cannot be read. `receipt` is to be kept.
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
    receipt: ErasureReceipt | None = None
    unknown_copies: str | None = None


class EraseOptions(TypedDict, total=False):
    """How to erase, as `Memory.erase` says."""

    reason: str
    dry_run: bool
    unattested: bool
    progress: Progress | None


def erase(
    writer: Writer, id_or_filter: str | Iterable[str] | Mapping[str, object] | Filters, *, reason: str = "",
    dry_run: bool = False, unattested: bool = False, progress: Progress | None = None,
) -> ErasureReport:  # fmt: skip
    """Erase memories for good, by id, ids or filter, with an attestation of the recalls that need it."""
    store, reason = writer.store, validate.text(reason, "reason")
    given = id_or_filter if isinstance(id_or_filter, (str, Mapping, Filters)) else list(id_or_filter)
    draft: Draft | None = None
    signing_key()  # one that cannot be used is refused before anything is gone

    def attempt() -> ErasureReport:
        nonlocal draft
        draft = _drafted(store, given, draft, attesting=not (dry_run or unattested), progress=progress)
        plan = draft.plan
        report = _report(draft, unknown_copies(store.folder), dry_run=dry_run, unattested=unattested)
        if dry_run or not plan.remains:
            copies = copies_holding(store.folder, report.seqs)
            return msgspec.structs.replace(report, copies=_elsewhere(store, copies))
        facts: list[AnyFact] = [] if draft.attested is None else [draft.attested]
        facts += plan.facts(reason)
        seqs = store.append(facts, actor=writer.actor, expect=draft.head)
        return _carried_out(writer, report, seqs)

    return attempt() if dry_run else store.decide(attempt)


def erase_where_known(store: Store, erased: Iterable[Erased], actor: str) -> None:
    """Carry out what was erased in another log, with the seqs that the same events have here.

    It is the memory those events belong to that goes, with all that others added to it: another one that was remembered
    under its name since has other events, and stays.
    """
    for one in erased:
        store.catch_up()
        if any(isinstance(store.event(seq).fact, Ingested | Revised) for seq in one.seqs):
            erase(Writer(store, Embedding(None, None), actor), one.id, reason=one.reason)


def erase_in_branches(folder: Path | None, log: RedactedLog, actor: str) -> dict[str, str]:
    """Carry out the erasures of a store's log in its branches, and remove what an interrupted sync left beside them; of
    the branches where that failed the path and the reason."""
    failed: dict[str, str] = {}
    if folder is not None:
        finish_swap(folder)
    for branch in () if folder is None else left_in_branches(folder, log):
        if not branch.erased:
            failed[str(branch.folder)] = branch.what
            continue
        try:
            with closing(Store.open(branch.folder)) as store:
                erase_where_known(store, branch.erased, actor)
        except (RecollectError, OSError) as error:
            failed[str(branch.folder)] = str(error)
    return failed


def _elsewhere(store: Store, copies: Iterable[Copy], failed: Collection[str] = ()) -> tuple[Copy, ...]:
    """Without the store's own branches, which are erased in with it, but for those where that failed."""
    own = None if store.folder is None else str(store.folder / BRANCHES)
    return tuple(
        copy
        for copy in copies
        if copy.kind != "branch" or str(Path(copy.path).parent) != own or copy.path in failed
    )


class Draft(NamedTuple):
    """What an erasure at a head would erase, which recalls become unverifiable by it, and their attestation."""

    plan: Plan
    pending: Pending
    named: list[MemoryId]
    head: int
    attested: Attested | None


@locked
def _drafted(
    store: Store,
    given: str | Iterable[str] | Mapping[str, object] | Filters,
    before: Draft | None,
    *,
    attesting: bool,
    progress: Progress | None,
) -> Draft:
    """An earlier draft carried on to the head if it still holds, or a new one."""
    view = store.view()
    named = _wanted(store, view, given)
    every = with_derived(store, view, named)
    if before is None or not before.plan.goes_on(store, every):
        plan, pending = Plan(every), Pending()
    else:
        plan, pending = before.plan, before.pending
    plan.look(store, view.seq, progress)
    pending.look(store, plan.erasures(view.documents, view.seq))
    attested = pending.attestation(store, view.seq, progress) if attesting and plan.remains else None
    return Draft(plan, pending, named, view.seq, attested)


def _carried_out(writer: Writer, report: ErasureReport, appended: Sequence[int]) -> ErasureReport:
    store = writer.store
    before, at = _cached(store), appended[-1]
    store.catch_up()
    if store.unfinished_erasure is not None:
        raise store.unfinished_erasure
    purged = tuple(sorted(before - _cached(store)))
    if any(name.endswith(".hnsw") for name in purged):
        store.sealer.start()
    failed = erase_in_branches(store.folder, store.log, writer.actor)
    copies = _elsewhere(store, copies_holding(store.folder, report.seqs, before=at), failed)
    receipt = receipt_of(
        store.log, report.seqs, first=appended[0], last=at, copies=copies, unknown=report.unknown_copies
    )
    return msgspec.structs.replace(report, at=at, purged=purged, copies=copies, receipt=receipt)


def _wanted(
    store: Store, view: View, given: str | Iterable[str] | Mapping[str, object] | Filters
) -> list[MemoryId]:
    if isinstance(given, str):
        return [_erasable(store, view, given)]
    if isinstance(given, (Mapping, Filters)):
        return _matching(store, view, given)
    ids = [_erasable(store, view, id_) for id_ in dict.fromkeys(given)]
    if not ids:
        raise InvalidInput("erase needs at least one memory id, or a filter")
    return ids


def _erasable(store: Store, view: View, id_: str) -> MemoryId:
    row = _newest_row(view, validate.identifier(id_))
    if row < 0:
        raise UnknownMemory(id_, at=view.seq, hint=did_you_mean(id_, view.documents.ids.values))
    erased_at = erasure_of(store, view, row)
    if erased_at is not None:
        raise InvalidInput(f"memory {id_!r} was erased at @{erased_at}; there is nothing left to erase")
    return id_


def _matching(store: Store, view: View, given: Mapping[str, object] | Filters) -> list[MemoryId]:
    """Every memory whose newest version passes the filter, hidden ones too."""
    scope = parsed(Filters, given, now=store.clock())
    if scope == Filters():
        raise InvalidInput("the filter is empty and would erase every memory; name a project, tag, kind, …")
    documents = view.documents
    memories = np.arange(documents.memories, dtype=np.int64)
    wanted = view.lifecycle.admissible(memories, seq=view.seq, now=_LONG_AGO, filters=scope)
    rows = ((memory, documents.newest_row(int(memory), view.seq)) for memory in memories[wanted].tolist())
    return [documents.ids.values[memory] for memory, row in rows if erasure_of(store, view, row) is None]


def with_derived(store: Store, view: View, named: Sequence[MemoryId]) -> list[MemoryId]:
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
            other for other in dict.fromkeys(derived) if other not in found and has_text(store, view, other)
        ]
        found.update(dict.fromkeys(fresh))
        waiting += fresh
    return list(found)


def _newest_row(view: View, id_: MemoryId) -> int:
    """The newest row of a memory; negative if there is none."""
    memory = view.documents.ids.find(id_)
    return -1 if memory < 0 else view.documents.newest_row(memory, view.seq)


def has_text(store: Store, view: View, id_: MemoryId) -> bool:
    """Whether there is a memory with this id whose text was not erased."""
    row = _newest_row(view, id_)
    return row >= 0 and erasure_of(store, view, row) is None


def _report(draft: Draft, unknown: str | None, *, dry_run: bool, unattested: bool) -> ErasureReport:
    plan, attested, named, open_ = draft.plan, draft.attested, frozenset(draft.named), len(draft.pending.seqs)
    would_attest = open_ if dry_run and not unattested else 0
    return ErasureReport(
        ids=tuple(plan.ids),
        derived=tuple(id_ for id_ in plan.ids if id_ not in named),
        seqs=tuple(sorted(plan.remains)),
        bytes=plan.bytes,
        recalls=tuple(plan.recalls),
        dry_run=dry_run,
        attested=would_attest if attested is None else attested.recalls,
        different=() if attested is None else tuple(f"r{seq}" for seq in attested.different),
        unattested=open_ if unattested else 0,
        unknown_copies=unknown,
    )


def _cached(store: Store) -> set[str]:
    """The files of all caches."""
    if store.cache is None:
        return set()
    return {str(path.relative_to(store.cache)) for path in store.cache.rglob("*") if path.is_file()}
