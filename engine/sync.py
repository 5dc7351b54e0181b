"""sync: a store in a directory and a remote one brought level, with what was written offline.

As long as one of the two is a beginning of the other, events are copied as they are, with the same chain. Where both went
on, the remote order counts: what was written here is appended to the remote head, batch by batch in its own order and
under its own event ids, so that a run which was interrupted can be repeated. Then this store takes over the remote log,
and its own log is kept beside it, whole, as a branch:

    <store>/log/                        the remote log, hash for hash
    <store>/branches/<fork>-<chain>/    the store as it was before, in which its recalls verify (`branches`)

A batch is taken wholly or not at all, and only if what it was decided on still holds: a memory that others remembered,
revised, hid or erased meanwhile is not overwritten, a dream and a re-embedding are of a log that has moved on. What was
not taken is listed, and is in the branch. Recalls are taken with the branch that they saw (`Recalled.branch`). Erasures
are carried out anew, in their place among the batches and on the events that they named, so that they reach all of that
memory there and no other of its name; what retention erased goes there as well. Those of others reach the branches here.
Seals, attestations and corrections of the clock are about one log and stay behind.
"""

from __future__ import annotations

import shutil
from bisect import bisect_left
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import msgspec

from recollect.engine.branches import with_seqs
from recollect.engine.copies import Copy, folder_of, known_copies, note_in, record
from recollect.engine.erase import erase_in_branches, erase_where_known, has_text
from recollect.engine.moments import clock_ahead_max, iso
from recollect.engine.opening import BRANCHES, finish_swap, new_log, swap_log, writers_kept_out
from recollect.engine.replicate import (
    NotABeginning,
    Replication,
    erase_the_same,
    has_caches,
    purge_erased,
    replicate,
)
from recollect.engine.retain import retain_where_known
from recollect.engine.store import Progress, Store, system_clock
from recollect.events import facts
from recollect.events.envelope import Draft, Recorded, type_name
from recollect.events.errors import HeadMoved, InvalidInput, RecollectError
from recollect.events.packs.urls import directory, is_url, shown
from recollect.events.private_files import make_private
from recollect.events.redacted_log import ERASED, RedactedLog
from recollect.events.segment_log import SegmentLog
from recollect.events.subjects import memories_of
from recollect.events.transfer import TransferableLog, whole_batches
from recollect.replay.fork.renumbering import renumbered
from recollect.replay.verify import replay

_OF_ONE_LOG = (facts.ShardSealed, facts.ShardRetired, facts.Recovered, facts.ClockCorrected, facts.Attested)
_CHANGING = (
    facts.Ingested,
    facts.Revised,
    facts.Forgotten,
    facts.Restored,
    facts.Superseded,
    facts.Erased,
    facts.Pruned,
)
_ATTEMPTS = 5


class NotTaken(msgspec.Struct, frozen=True, kw_only=True):
    """A batch that the remote log did not take: where it stands in the branch, what it is, and why not."""

    seqs: tuple[int, ...]
    what: str
    memories: tuple[facts.MemoryId, ...]
    reason: str


class SyncReport(msgspec.Struct, frozen=True, kw_only=True):
    """Both ends have `head` and `chain` now. `pulled` events came from the remote, `pushed` went there.

    Where both had gone on, `forked_at` is the last event that they had in common, `branch` the directory that keeps what
    this store was, `not_taken` what is only there, and `changed` those of the offline recalls that would have been answered
    otherwise in the common log (`compare recorded FORMULA` shows how). `degraded` says what could not be done beside.
    """

    store: str
    remote: str
    head: int
    chain: str
    pulled: int = 0
    pushed: int = 0
    forked_at: int | None = None
    branch: str | None = None
    not_taken: tuple[NotTaken, ...] = ()
    recalls: int = 0
    changed: tuple[str, ...] = ()
    degraded: tuple[str, ...] = ()


def sync(store: str | Path, remote: str, *, actor: str = "", progress: Progress | None = None) -> SyncReport:
    """Bring the store in a directory and the one at a URL level, and its branches as far as others erased.

    When others write meanwhile, so that what was found no longer holds, it is begun again. After a merge both places are
    looked at again, as `replicate` does: what others erased while the log was being copied is erased here too.
    """
    report: SyncReport | None = None
    for _ in range(_ATTEMPTS):
        try:
            latest = _level(store, remote, actor, progress)
        except (HeadMoved, NotABeginning):
            continue
        except (RecollectError, OSError) as error:
            if report is None:
                raise
            return _followed_up(
                report, actor, f"what others wrote meanwhile did not come: {error}; sync again"
            )
        report = latest if report is None else _both(report, latest)
        if latest.branch is None:
            return _followed_up(report, actor)
    busy = (
        f"others wrote to {store} or {shown(remote)} during each of {_ATTEMPTS} attempts to bring them level; what was "
        f"taken stays: sync again"
    )
    if report is None:
        raise RecollectError(busy)
    return _followed_up(report, actor, busy)


def _both(one: SyncReport, after: SyncReport) -> SyncReport:
    """What two attempts did, the first of which was a merge."""
    return msgspec.structs.replace(
        one, head=after.head, chain=after.chain, pulled=one.pulled + after.pulled, pushed=one.pushed + after.pushed,
        branch=after.branch or one.branch, not_taken=(*one.not_taken, *after.not_taken), recalls=one.recalls + after.recalls,
        changed=(*one.changed, *after.changed), degraded=(*one.degraded, *after.degraded),
    )  # fmt: skip


def _followed_up(report: SyncReport, actor: str, *failed_before: str) -> SyncReport:
    """Do what is due when both are level: caches, branches, and the note that the remote store is a copy."""
    folder = directory(report.store)
    with closing(SegmentLog.open(folder / "log", read_only=True)) as common:
        failed = erase_in_branches(folder, RedactedLog(common), actor)
        stale = report.branch is not None and bool(common.positions(ERASED)) and has_caches(folder)
    if stale:
        purge_erased(str(folder))
    with writers_kept_out(folder):
        notes = note_in(
            folder, report.remote, "replica", at=iso(system_clock()), upto=report.head, checked=report.head, finished=True
        )  # fmt: skip
    left = (f"what was erased is still in the branch {path}: {reason}" for path, reason in failed.items())
    return msgspec.structs.replace(report, degraded=(*report.degraded, *failed_before, *left, *notes))


def _level(store: str | Path, remote: str, actor: str, progress: Progress | None) -> SyncReport:
    if is_url(store):
        raise InvalidInput(
            f"sync keeps a store in a directory level with a remote one, and {shown(str(store))} is a URL"
        )
    if not is_url(remote):
        raise InvalidInput(
            f"{shown(remote)!r} is no URL of a store; name one such as nats://localhost:4222/memory"
        )
    folder = directory(store)
    finish_swap(folder)
    if not (folder / "log").is_dir():
        return _pulled(replicate(remote, str(folder), progress=progress))
    with ExitStack() as opened:
        local = opened.enter_context(closing(SegmentLog.open(folder / "log", ahead_max=clock_ahead_max())))
        opened.enter_context(local.exclusive())
        there = opened.enter_context(closing(Store.open(remote)))
        forked = _common(local, there.log)
        if min(local.head, there.log.head) and not forked:
            raise InvalidInput(
                f"{folder} and {shown(remote)} have not one event in common; they are two stores"
            )
        if forked < min(local.head, there.log.head):
            return _Merge(folder, local, there, shown(remote), forked, actor).run(progress)
    if forked == local.head:
        return _pulled(replicate(remote, str(folder), progress=progress))
    made = replicate(str(folder), remote, progress=progress)
    return SyncReport(
        store=made.source, remote=made.target, head=made.head, chain=made.chain, pushed=made.events, degraded=made.degraded
    )  # fmt: skip


def _pulled(made: Replication) -> SyncReport:
    return SyncReport(
        store=made.target, remote=made.source, head=made.head, chain=made.chain, pulled=made.events, degraded=made.degraded
    )  # fmt: skip


def _common(one: TransferableLog, other: TransferableLog) -> int:
    """The last seq up to which two logs are the same: a chain value commits to all before it."""
    both = range(1, min(one.head, other.head) + 1)
    return bisect_left(both, True, key=lambda seq: one.chain_at(seq) != other.chain_at(seq))


class _Merge:
    """Two logs that went different ways after `forked`; the caller keeps other writers of this store out."""

    def __init__(
        self, folder: Path, local: SegmentLog, there: Store, remote: str, forked: int, actor: str
    ) -> None:
        self._folder = folder
        self._local = local
        self._offline = RedactedLog(local)
        self._offline.learn()
        self._there = there
        self._remote = remote
        self._forked = forked
        self._actor = actor
        self._ours = {event.id for event in self._offline.read(forked)}
        self._places: dict[int, int] = {}
        self._changed_by: dict[facts.MemoryId, int] = {}
        self._known_ids: dict[bytes, int] = {}
        self._seen = forked
        self._missing: set[facts.MemoryId] = set()
        self._not_taken: list[NotTaken] = []
        self._recalls: list[int] = []
        self._pushed = 0

    def run(self, progress: Progress | None) -> SyncReport:
        head = self._local.head
        self._look()
        self._require_same_embedder()
        before = self._there.log.head
        for batch in self._batches():
            self._erase(batch)
            self._take(batch)
            if progress:
                progress(batch[-1].seq - self._forked, head - self._forked)
        changed = self._changed()
        end = self._there.log.head
        chain = self._there.log.chain_at(end).hex()
        branch = self._replace_log(end)
        return SyncReport(
            store=str(self._folder), remote=self._remote, head=end, chain=chain, pulled=before - self._forked,
            pushed=self._pushed, forked_at=self._forked, branch=str(branch), not_taken=tuple(self._not_taken),
            recalls=len(self._recalls), changed=tuple(changed),
        )  # fmt: skip

    # --- what others did -------------------------------------------------------------------------

    def _look(self) -> None:
        """Take in what others wrote after the fork: event ids, and which memories they changed."""
        head = self._there.catch_up()
        for event in self._there.log.read(self._seen, head):
            self._known_ids[event.id] = event.seq
            if event.id in self._ours:
                if isinstance(
                    event.fact, facts.Ingested
                ):  # what others did was to an earlier one of this name
                    self._changed_by.pop(event.fact.id, None)
            elif isinstance(event.fact, _CHANGING):
                for id_ in memories_of(event.fact):
                    self._changed_by.setdefault(id_, event.seq)
        self._seen = head

    def _require_same_embedder(self) -> None:
        """Refuse to merge stores of two embedders: their vectors cannot be compared."""
        adopted = self._offline.positions(type_name(facts.EmbedderAdopted))
        ours = self._offline.get(adopted[-1]).fact if adopted else None
        theirs = self._there.projections.adoptions.embedder(self._there.log.head)
        if not isinstance(ours, facts.EmbedderAdopted) or theirs is None or ours.probe == theirs.probe:
            return
        raise InvalidInput(
            f"this store embeds with {ours.name!r} and {self._remote} with {theirs.label!r}: their vectors do not compare. "
            f"Nothing was changed; export what is new here and import it there"
        )

    # --- batches ---------------------------------------------------------------------------------

    def _batches(self) -> Iterator[list[Recorded]]:
        batch: list[Recorded] = []
        frames = self._local.frames(self._forked, self._local.head)
        for frame, event in zip(frames, self._offline.read(self._forked), strict=True):
            batch.append(event)
            if frame.header.position == frame.header.batch - 1:
                yield batch
                batch = []

    def _erase(self, batch: list[Recorded]) -> None:
        """Carry out the erasures of a batch on the events that they named, wherever those stand in the common log."""
        for erased in (event.fact for event in batch if isinstance(event.fact, facts.Erased)):
            there = with_seqs(erased, filter(None, map(self._known_at, erased.seqs)))
            if not erased.id:
                retain_where_known(self._there, there.seqs, self._actor, self._folder)
                continue
            erase_where_known(self._there, [there], self._actor)
            self._look()
            if not has_text(self._there, self._there.view(), erased.id):  # the name is free in both logs
                self._changed_by.pop(erased.id, None)
                self._missing.discard(erased.id)

    def _known_at(self, seq: int) -> int | None:
        """Where an event stands in the common log; None if it is not there."""
        return seq if seq <= self._forked else self._known_ids.get(self._local.get(seq).id)

    def _take(self, batch: list[Recorded]) -> None:
        """Append a batch to the remote log, decided again when others wrote meanwhile."""
        while True:
            head = self._there.log.head
            drafts, reason = self._drafts(batch)
            if reason is not None:
                self._leave(batch, reason)
                return
            if not drafts:
                return
            try:
                places = self._there.log.append(list(drafts.values()), expect=head)
            except HeadMoved:
                self._look()
                continue
            self._places.update(zip(drafts, places, strict=True))
            self._pushed += sum(place > head for place in places)
            self._recalls += [
                place
                for one, place in zip(drafts.values(), places, strict=True)
                if isinstance(one.fact, facts.Recalled)
            ]
            self._look()
            return

    def _leave(self, batch: list[Recorded], reason: str) -> None:
        ids = dict.fromkeys(id_ for event in batch for id_ in memories_of(event.fact))
        self._missing.update(
            event.fact.id
            for event in batch
            if isinstance(event.fact, facts.Ingested) and not self._is_there(event.fact.id)
        )
        self._not_taken.append(
            NotTaken(
                seqs=tuple(event.seq for event in batch),
                what=batch[0].type,
                memories=tuple(ids),
                reason=reason,
            )
        )

    def _drafts(self, batch: list[Recorded]) -> tuple[dict[int, Draft], str | None]:
        """What of a batch goes to the remote log, by its seq here; or why nothing of it does."""
        if all(event.id in self._known_ids for event in batch if self._goes(event.fact)):
            known = {event.seq: self._known_ids[event.id] for event in batch if self._goes(event.fact)}
            self._places.update(known)  # an earlier run took it
            self._recalls += [
                known[e.seq] for e in batch if e.seq in known and isinstance(e.fact, facts.Recalled)
            ]
            return {}, None
        drafts: dict[int, Draft] = {}
        for event in batch:
            fact = event.fact
            if isinstance(fact, facts.Unknown):
                return {}, f"written by a newer program ({fact.type} v{fact.version})"
            if isinstance(fact, facts.Redacted) or not self._goes(fact):
                continue
            reason = self._refusal(fact, batch)
            if reason is not None:
                return {}, reason
            drafts[event.seq] = Draft(fact=self._moved(event.seq, fact), id=event.id, actor=event.actor)
        return drafts, None

    def _goes(self, fact: facts.AnyFact | facts.Unknown | facts.Redacted) -> bool:
        """Whether an event of this kind is for the common log; what it has already need not be said again."""
        if isinstance(fact, (facts.Redacted, facts.Erased, *_OF_ONE_LOG)):
            return False
        adoptions, head = self._there.projections.adoptions, self._there.log.head
        if isinstance(fact, facts.FormulaAdopted):
            return fact.digest not in adoptions.formulas
        return not (isinstance(fact, facts.EmbedderAdopted) and adoptions.embedder(head) is not None)

    def _refusal(self, fact: facts.AnyFact, batch: list[Recorded]) -> str | None:
        """Why this fact no longer holds in the common log; None if it does."""
        if isinstance(fact, facts.DreamBegan) or any(
            isinstance(event.fact, facts.DreamBegan) for event in batch
        ):
            return "a dream over a log that has moved on; dream again"
        if isinstance(fact, facts.Reembedded | facts.Clustered):
            return "made over a log that has moved on; run it again"
        fresh = {event.fact.id for event in batch if isinstance(event.fact, facts.Ingested)}
        for id_ in memories_of(fact):
            if isinstance(fact, _CHANGING) and id_ in self._changed_by:
                return f"{id_!r} was changed in the common log at @{self._changed_by[id_]}"
            if id_ in self._missing or (id_ not in fresh and not self._is_there(id_)):
                return f"{id_!r} is not in the common log"
        named = fact.recall if isinstance(fact, facts.Accessed | facts.Rated | facts.Expected) else None
        here = {event.seq for event in batch}
        if isinstance(named, int) and named > self._forked and named not in {*self._places, *here}:
            return f"r{named}, which it speaks of, was not taken"
        return None

    def _is_there(self, id_: facts.MemoryId) -> bool:
        return self._there.projections.documents.ids.find(id_) >= 0

    def _moved(self, seq: int, fact: facts.AnyFact) -> facts.AnyFact:
        """The fact with the positions that it names as they are in the common log; a recall with the branch it saw."""
        moved = renumbered(fact, self._place_of)
        if isinstance(fact, facts.Recalled) and isinstance(moved, facts.Recalled):
            chain = self._local.chain_at(seq).hex()
            saw = fact.branch or facts.Branch(seq=seq, chain=chain)
            return msgspec.structs.replace(moved, branch=saw)
        return moved

    def _place_of(self, seq: int) -> int:
        """Where an event stands in the common log; for one that is not there, the last before it that is."""
        while seq > self._forked and seq not in self._places:
            seq -= 1
        return self._places.get(seq, seq)

    # --- the end ---------------------------------------------------------------------------------

    def _changed(self) -> list[str]:
        """The recalls whose answers would differ at their place in the common log."""
        self._there.catch_up()
        log, projections = self._there.log, self._there.projections
        found = []
        for seq in self._recalls:
            fact = log.get(seq).fact
            if isinstance(fact, facts.Recalled) and replay(log, projections, fact).ids != fact.ids:
                found.append(f"r{seq}")
        return found

    def _replace_log(self, end: int) -> Path:
        """Write the common log anew beside this one, and let them change places; this one becomes a branch."""
        self._local.sync()  # what others of this machine recorded without waiting for a sync goes to the branch with it
        new = new_log(self._folder)
        with closing(SegmentLog.open(new, ahead_max=clock_ahead_max())) as copy:
            for group in whole_batches(self._there.log.frames(0, end)):
                copy.append_frames(group)
            erase_the_same(copy)
            copy.sync()
        chain = self._local.chain_at(self._local.head).hex()[:8]
        branch = self._folder / BRANCHES / f"{self._forked}-{chain}"
        make_private(branch)
        self._note_copies(branch)
        shutil.rmtree(self._folder / "cache" / "checkpoints", ignore_errors=True)  # of the log that goes
        swap_log(self._folder, new, branch)
        return branch

    def _note_copies(self, branch: Path) -> None:
        """Note the branch as a copy, and that earlier copies hold other seqs beyond the fork."""
        upto, at = self._forked, iso(self._there.clock())
        for copy in known_copies(self._folder):
            if copy.upto > upto:
                record(self._folder, copy.parted_at(upto))
        record(
            self._folder,
            Copy(
                path=str(branch.absolute()),
                kind="branch",
                at=at,
                upto=upto,
                checked=upto,
                diverged=True,
                folder=folder_of(branch),
            ),
        )
