"""Erasing memories for good: erase. Mixed into `Memory`; [docs/erasure.md](docs/erasure.md) says what goes and stays.

The log is read once for every event that holds words or vectors of the memories, or of a summary derived from
them. One atomic batch of `Erased` events says which, with what remains of each, on the condition that nothing was
appended in between. From that batch on the memories are gone for every reader; overwriting the payloads and purging
the caches is done by whoever catches up with it first, which is usually this process, a moment later.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

import msgspec
import numpy as np

from recollect import validate
from recollect.asking import options
from recollect.doctor import Diagnosis, doctor
from recollect.erasure_plan import Plan, plan_erasure
from recollect.events.errors import HeadMoved, InvalidInput, UnknownMemory
from recollect.events.facts import Filters, MemoryId
from recollect.projections.view import View
from recollect.query.derivation import DERIVED_FROM
from recollect.reading import erasure_of
from recollect.store import Progress, Store

_ATTEMPTS = 5
_LONG_AGO = -(2**62)  # at this time nothing has expired


class ErasureReport(msgspec.Struct, frozen=True, kw_only=True):
    """What was erased, or with `dry_run` would be: `seqs` are the events whose payloads are overwritten.

    `derived` are those of the `ids` that were not named but summarise one that was; `recalls` are the recorded
    recalls that named one of them; `purged` are the files of caches that were deleted; `at` is the seq of the
    last `Erased` event.
    """

    ids: tuple[str, ...]
    seqs: tuple[int, ...]
    bytes: int
    recalls: tuple[str, ...]
    derived: tuple[str, ...] = ()
    purged: tuple[str, ...] = ()
    at: int | None = None
    dry_run: bool = False


class Erasing:
    """What an open store can be told to erase."""

    _store: Store
    _actor: str

    def erase(
        self,
        id: str | Iterable[str] | Mapping[str, object] | Filters,  # noqa: A002 (the word callers know)
        *,
        reason: str = "",
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> ErasureReport:
        """Erase memories for good, by id, ids or filter: nothing brings them back.

        Their texts, words and vectors are overwritten in the log and deleted from every cache, now and in the
        past; what summarises them goes with them. Ids and numbers stay. A filter is what `memories` takes; it
        also finds memories that are forgotten or expired, and an empty one is refused.
        """
        reason = validate.text(reason, "reason")
        for _ in range(_ATTEMPTS):
            with self._store.lock, self._store.whole:
                head = self._store.catch_up()
                named = self._wanted(id)
                every = _with_derived(self._store.view(), named)
                plan = plan_erasure(self._store, every, head, progress)
            report = _report(plan, frozenset(named), dry_run)
            if dry_run or not plan.remains:
                return report
            try:
                seqs = self._store.append(plan.facts(reason), actor=self._actor, expect=head)
            except HeadMoved:
                continue
            return self._carried_out(report, seqs[-1])
        raise InvalidInput("other processes write too often; try erasing again when it is quieter")

    def _carried_out(self, report: ErasureReport, at: int) -> ErasureReport:
        before = _cached(self._store)
        self._store.catch_up()
        if self._store.unfinished_erasure is not None:
            raise self._store.unfinished_erasure
        purged = tuple(sorted(before - _cached(self._store)))
        if any(name.endswith(".hnsw") for name in purged):
            self._store.sealer.start()
        return msgspec.structs.replace(report, at=at, purged=purged)

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
            raise InvalidInput("a store in memory has no files to examine")
        return doctor(self._store.folder, fix=fix, salvage=salvage, scrub=scrub, progress=progress)

    def _wanted(self, given: str | Iterable[str] | Mapping[str, object] | Filters) -> list[MemoryId]:
        view = self._store.view()
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


def _with_derived(view: View, named: Sequence[MemoryId]) -> list[MemoryId]:
    """These memories, and those that were derived from them, from those in turn, and so on."""
    ids, find = view.documents.ids.values, view.documents.ids.find
    found = {find(id_): None for id_ in named}
    waiting = list(found)
    while waiting:
        edges = view.graph.edges_of(waiting.pop(), view.seq, direction="in", kinds=[DERIVED_FROM])
        fresh = [edge.a for edge in edges if edge.a not in found]
        found.update(dict.fromkeys(fresh))
        waiting += fresh
    return [ids[memory] for memory in found]


def _report(plan: Plan, named: Collection[MemoryId], dry_run: bool) -> ErasureReport:
    return ErasureReport(
        ids=tuple(plan.ids),
        derived=tuple(id_ for id_ in plan.ids if id_ not in named),
        seqs=tuple(sorted(plan.remains)),
        bytes=plan.bytes,
        recalls=tuple(plan.recalls),
        dry_run=dry_run,
    )


def _cached(store: Store) -> set[str]:
    """The files of all caches."""
    if store.cache is None:
        return set()
    return {str(path.relative_to(store.cache)) for path in store.cache.rglob("*") if path.is_file()}
