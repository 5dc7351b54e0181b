"""A store: one log, the projections over it, and the caches beside it.

    <store>/log/                  the only thing that is written for good
    <store>/cache/checkpoints/    the projections' arrays; may be deleted at any time
    <store>/cache/shards/         built HNSW indexes; may be deleted at any time

Every read first catches up with what other processes appended. Facts go in through `append` and come back
through the fold, so what this process shows is what any process would show. A fold, or a reading, that was
interrupted may leave the projections torn: they are then neither read nor saved, but folded again (`torn_state`).

A store that cannot be written to, on a disk that is mounted for reading, full or failing, without permission, or while
another process does not let go of the writer's lock, is read as it is; each write looks whether that is over.

An erasure is an `Erased` event first. Every process that catches up with one finishes it: the payloads that it names
are overwritten, checkpoints from before it and shards with erased vectors are deleted, and the projections are folded
again from the start, so that no trace stays in memory either. An erasure that was interrupted anywhere is finished by
the next opening; the events that it names read as erased from the first step on. One that could not be finished,
because the log was busy, is tried again when this process next finds something new. An erasure by another process in
the middle of a fold ends that fold, and a new one begins with the erasure known. What a restored backup brought
back, bytes or keys, goes again with the next opening (`erased_bytes`).

Decisions are taken inside the append: what a write depends on is read under the writer's lock (`deciding`), or the
write is conditional on the head it was decided at and decided again when that moved, the last time under the lock
(`decide`). So every operation succeeds beside any number of other writers, and none acts on what no longer holds.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from recollect.engine.built_once import BuiltOnce
from recollect.engine.checkpointing import Checkpointer
from recollect.engine.erased_bytes import ErasedBytes
from recollect.engine.moments import Edge, When, parse_seq, parse_time, recall_moment
from recollect.engine.opening import no_collection, open_log, reopened
from recollect.engine.torn_state import TornState, interrupted, locked
from recollect.engine.validate import is_recall_id
from recollect.events.envelope import EventId, Recorded, draft
from recollect.events.errors import (
    EventIdReused,
    HeadMoved,
    InvalidInput,
    LogDamaged,
    LogFailed,
    RecollectError,
)
from recollect.events.facts import AnyFact, Ingested, Redacted, Revised, ShardRetired, ShardSealed
from recollect.events.log import Clock, Durability, Unless
from recollect.events.process_forks import renewed_in_children
from recollect.events.redacted_log import ErasedMeanwhile, RedactedLog
from recollect.events.transfer import TransferableLog
from recollect.projections import checkpoints
from recollect.projections.vectors import background
from recollect.projections.vectors.sealing import Sealer, retirement_event_id, seal_event_id
from recollect.projections.view import Projections, View

Progress = Callable[[int, int], None]
Decided = TypeVar("Decided")

REDACTED = "[erased]"
_ATTEMPTS = 3
_CHECKPOINT_EVERY = 2_000
_PROGRESS_EVERY = 5_000


def system_clock() -> int:
    return time.time_ns() // 1_000


def _warn(warning: str) -> None:
    """Write to the program's log: there is no caller to raise to."""
    logging.getLogger("recollect").warning("recollect: %s", warning)


class Store:
    """The engine room behind `Memory`."""

    def __init__(
        self, log: TransferableLog, *, folder: Path | None, clock: Clock, analyzers: Sequence[str], as_found: bool = False,
        progress: Progress | None = None, ahead: bool = False, read_only: bool = False, built: BuiltOnce | None = None,
    ) -> None:  # fmt: skip
        self.log = RedactedLog(log)
        self._built = built
        self.folder = folder
        self.clock = clock
        self.read_only = read_only
        self._replaced: list[TransferableLog] = []
        self.lock = threading.RLock()
        self.torn_state = TornState()
        self._fold_damage: LogDamaged | None = None
        self._erased_bytes = ErasedBytes(self.log, folder)
        self._unpurged: RecollectError | None = None
        self._deciding = 0
        self.scrub_problems: list[str] = []
        self._analyzers = list(analyzers)
        self.projections = self._new_projections()
        lease = None if built is None else built.lease
        self.sealer = Sealer(
            self.projections.vectors, self._publish_shard, refresh=self.catch_up, lease=lease
        )
        self._closing = threading.Event()
        self._checkpoint_seq = 0
        self.checkpointer = Checkpointer(
            self.checkpoint, lambda: self.projections.position, lambda: self.checkpoint_age_events
        )
        self._load_checkpoint()
        if ahead:
            background.start(self._load_shards, name="recollect-shards")
        self.catch_up(progress)
        if self.damage is None and not as_found:
            self._erased_bytes.overwrite_restored(keep_stamps=not read_only)
        self.purge_caches()
        renewed_in_children(self)

    def renew_locks(self) -> None:
        """Make new locks in a forked child: threads of the parent that held the old ones are not there."""
        self.lock = threading.RLock()
        self.torn_state.torn = True

    @classmethod
    def open(
        cls, path: str | Path, *, clock: Clock = system_clock, analyzers: Sequence[str] = (),
        progress: Progress | None = None, ahead: bool = False, as_found: bool = False,
    ) -> Store:  # fmt: skip
        """The store in a directory, made if it is not there, or at a URL (`packs.urls`); ":memory:" keeps nothing.

        One that cannot be written to is opened for reading (`read_only`). With `ahead` a thread loads shards meanwhile.
        `as_found` leaves what a restored backup brought back.
        """
        log, folder, read_only, built = open_log(path, clock)
        return cls(
            log, folder=folder, clock=clock, analyzers=analyzers, progress=progress, ahead=ahead, as_found=as_found,
            read_only=read_only, built=built,
        )  # fmt: skip

    def _load_shards(self) -> None:
        """Errors are ignored here: the search that needs the shard meets and reports them."""
        with contextlib.suppress(Exception):
            self.projections.vectors.warm(self._closing)

    # --- writing ---------------------------------------------------------------------------------

    def append(
        self,
        facts: Sequence[AnyFact],
        *,
        actor: str = "",
        expect: int | None = None,
        durability: Durability = "durable",
        ids: Sequence[EventId | None] | None = None,
        unless: Unless | None = None,
    ) -> list[int]:
        """Append one atomic batch, on the conditions of `Log.append`; return its seqs."""
        if self.damage is not None:
            raise self.damage
        self.require_writable(patient=durability != "unsafe")
        drafts = [
            draft(fact, actor=actor, event_id=event_id)
            for fact, event_id in zip(facts, ids or [None] * len(facts), strict=True)
        ]
        return self.log.append(drafts, expect=expect, durability=durability, unless=unless)

    @contextmanager
    def deciding(self) -> Iterator[View]:
        """Keep other writers out; yields the view at the head. What is read inside holds when it is appended inside."""
        self.require_writable()  # waits, so before the lock: other threads read on
        with self.lock, self.torn_state, self.exclusive():
            self._deciding += 1
            try:
                yield self.view()
            finally:
                self._deciding -= 1

    @property
    def is_deciding(self) -> bool:
        """Whether other writers are kept out just now: nothing that may take long should be begun."""
        return self._deciding > 0

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Keep other writers out, and let readers of this process go on."""
        if self.damage is not None:
            raise self.damage
        self.require_writable()
        with self.log.exclusive():
            yield

    def decide(self, attempt: Callable[[], Decided], *, attempts: int = _ATTEMPTS) -> Decided:
        """The result of `attempt`, which reads, decides and appends with `expect`; again when others wrote meanwhile.

        The last attempt, after these, holds the writer's lock, so it succeeds however much the others write.
        """
        for _ in range(attempts):
            try:
                return attempt()
            except HeadMoved:
                continue
        with self.deciding():
            return attempt()

    def require_writable(self, *, patient: bool = True) -> None:
        """Open a log anew that was opened for reading, without the store's lock: other threads read on meanwhile."""
        if not self.read_only:
            return
        assert self.folder is not None
        log: TransferableLog = reopened(self.folder, self.clock, patient=patient)
        with self.lock:
            if self.read_only:  # no other thread was first
                log, self.log.base, self.read_only = self.log.base, log, False
            self._replaced.append(log)  # open readers keep the old one

    @locked
    def _publish_shard(self, fact: ShardSealed) -> None:
        if self.torn_state.torn:  # the shard may have been built from what is torn
            return
        retired = self.projections.vectors.retired_at(fact.digest)
        self.projections.vectors.shards.give(fact.digest)  # before others hear of it and look for it
        self.append([fact], actor="recollect", ids=[seal_event_id(fact, retired=retired)])
        self.catch_up()
        self.purge_caches()

    @locked
    def retire_shard(self, digest: str, reason: str, *, sealed_at: int = 0) -> None:
        """Do without a shard from here on; nothing is appended if the log says so already.

        A shard that the log does not use is retired only by naming the seq of its seal.
        """
        self.catch_up()
        sealed = self.projections.vectors.seals.get(digest)
        seal_seq = sealed_at if sealed is None else sealed.seq
        if not seal_seq:
            return
        with contextlib.suppress(EventIdReused):  # another process retired it for another reason
            event_id = retirement_event_id(digest, seal_seq)
            self.append([ShardRetired(digest=digest, reason=reason)], actor="recollect", ids=[event_id])
        self.catch_up()

    # --- damage ----------------------------------------------------------------------------------

    @property
    def damage(self) -> LogDamaged | None:
        """Acknowledged events that cannot be read: found when the log was opened, or by the fold."""
        return self._fold_damage or self.log.damage

    @property
    def damage_note(self) -> str | None:
        """For an answer: how far the events go that it was made from, if that is not all of them."""
        if (damage := self.damage) is None:
            return None
        return (
            f"the log is damaged: only the events up to @{self.projections.position} were read, @{damage.seq} was "
            f"acknowledged but {damage.reason} ({damage.path}, byte {damage.offset}); see `recollect doctor`"
        )

    def require_whole(self, action: str) -> None:
        """Refuse what must not be done with a part of the log, such as replacing a good backup by a shorter one."""
        self.catch_up()
        if self.damage is not None:
            raise RecollectError(
                f"{action} refused, nothing was written: only the events up to @{self.projections.position} can be "
                f"read. Copy them with `recollect doctor --salvage NEW_DIR` and {action} that store. {self.damage}"
            )

    # --- reading ---------------------------------------------------------------------------------

    @locked
    def catch_up(self, progress: Progress | None = None) -> int:
        """Fold what the log holds beyond the projections' position; returns the head.

        Where acknowledged data is damaged the fold ends: what came before can be read, nothing can be written.
        """
        if self.torn_state.torn:
            self._start_anew()
        while (head := self.log.refresh()) > self.projections.position and self._fold_damage is None:
            self.torn_state.torn = True
            try:
                self._take_in(head, progress)
            except LogDamaged as damage:
                self._fold_damage = damage
            except ErasedMeanwhile:
                self._start_anew()
                continue
            break
        self._index_all()
        self.torn_state.torn = False
        return self.projections.position

    def _start_anew(self) -> None:
        """Replace torn projections by new ones from the newest checkpoint; look erasures up again."""
        self.projections = self._new_projections()
        self._fold_damage = None
        self._checkpoint_seq = 0
        self.log.resume([], 0)
        self._load_checkpoint()
        self.sealer.follow(self.projections.vectors)

    def _take_in(self, head: int, progress: Progress | None) -> None:
        erasures = self.log.learn()
        if erasures or self.unfinished_erasure is not None:
            self._finish_erasures(erasures)
        start = self.projections.position
        shown = start
        with no_collection() if head - start >= _PROGRESS_EVERY else contextlib.nullcontext():
            for position in self.projections.apply_all(self.log.steady(start, head)):
                if progress and position - shown >= _PROGRESS_EVERY:
                    shown = position
                    progress(position - start, head - start)
        if erasures or self._unpurged is not None:
            self.purge_caches()

    def _finish_erasures(self, erasures: Sequence[int]) -> None:
        """Overwrite what these `Erased` events name, and start anew if any of it is in the projections."""
        seqs = [seq for erasure in erasures for seq in self.log.remains_of(erasure)]
        self._erased_bytes.overwrite(seqs)
        if min(seqs, default=self.projections.position + 1) <= self.projections.position:
            self.projections = self._new_projections()
            self.sealer.follow(self.projections.vectors)

    @property
    def unfinished_erasure(self) -> RecollectError | None:
        """Why something that was erased may still be in a file of this store; None if it is gone."""
        return self._erased_bytes.unfinished or self._unpurged

    @locked
    def finish_erasures(self) -> None:
        """Try once more what could not be overwritten or deleted; raises if it still cannot be."""
        self.catch_up()
        self._erased_bytes.overwrite_restored(keep_stamps=not self.read_only, everywhere=True)
        self.purge_caches()
        if self.unfinished_erasure is not None:
            raise self.unfinished_erasure

    @locked
    def require_analyzers(self, analyzers: Iterable[str]) -> None:
        """Make sure that there is a lexical index for each of these analyzers."""
        missing = [name for name in analyzers if name not in self.projections.lexicals]
        if missing:
            self._analyzers += missing
            self.catch_up()

    def _index_all(self) -> None:
        """Index what is asked for and missing; an erasure meanwhile makes all projections anew."""
        while missing := [name for name in self._analyzers if name not in self.projections.lexicals]:
            try:
                for analyzer in missing:
                    self.projections.index(analyzer, self.log.steady(0, self.projections.position))
            except ErasedMeanwhile:
                self._start_anew()
                self.catch_up()

    def view(self, at: int | None = None) -> View:
        """The view at a seq (default: the head after catching up); in the middle of a dream, the one before it."""
        head = self.catch_up()
        if at is not None and not 0 <= at <= head:
            raise InvalidInput(f"@{at} is not in this log, which ends at @{head}")
        seq = head if at is None else self.projections.adoptions.whole(at)
        return self.projections.at(seq, self.log.time_of(seq))

    def resolve(self, when: When, *, edge: Edge = "ends", ahead: bool = False) -> tuple[int, int]:
        """The seq that a moment means, and the clock to ask there; what has not come yet is refused, but with `ahead`."""
        if isinstance(when, str) and is_recall_id(when):
            return recall_moment(self.log, when, head=self.catch_up())
        seq = parse_seq(when)
        if seq is not None:
            return seq, self.log.effective_time(self.view(seq).seq)
        assert not isinstance(when, int)
        now, head = self.clock(), self.catch_up()
        newest = None if ahead else max(now, self.log.time_of(head))
        moment = parse_time(when, now=now, edge=edge, newest=newest)
        return self.log.seq_at(moment), moment

    def event(self, seq: int) -> Recorded:
        return self.log.get(seq)

    def content_of_row(self, row: int, view: View | None = None) -> str:
        """The text of a row of the documents, the store's own unless told, from the event that holds it."""
        fact = self.log.get((view or self.projections).documents.source(row)).fact
        if isinstance(fact, Redacted):
            return REDACTED
        assert isinstance(fact, (Ingested, Revised))
        assert isinstance(fact.content, str)
        return fact.content

    # --- caches ----------------------------------------------------------------------------------

    @property
    def cache(self) -> Path | None:
        return None if self.folder is None else self.folder / "cache"

    def _new_projections(self) -> Projections:
        shards = None if self.cache is None else self.cache / "shards"
        return Projections(self._analyzers, shard_dir=shards, shared=self._built)

    def _load_checkpoint(self) -> None:
        """Start from the newest checkpoint that belongs to this log and these projections."""
        if self.cache is None:
            return
        key = checkpoints.key_of(self.projections.versions())
        if self._built is not None:
            with contextlib.suppress(OSError):
                self._built.fetch_checkpoint(self.cache / "checkpoints", key, self.log.head)
        for path in checkpoints.paths(self.cache / "checkpoints"):
            try:
                found = checkpoints.load(path, key=key)
            except OSError:  # of the system: without a checkpoint the log is folded
                return
            if found and checkpoints.is_of(self.log, found):
                self.projections.load(found.state, position=found.seq)
                self._analyzers = list(dict.fromkeys([*self._analyzers, *self.projections.lexicals]))
                self.log.resume(self.projections.documents.erased_at, found.seq)
                self._checkpoint_seq = found.seq
                return

    @locked
    def purge_caches(self) -> list[str]:
        """Delete the cached files that may hold something that was erased; their names."""
        if self.cache is None or self.read_only or not self.log.erasures:
            return []
        if self._checkpoint_seq < self.log.erasures[-1]:
            self._checkpoint_seq = 0
        try:
            gone = checkpoints.purge(self.cache / "checkpoints", self.log, before=self.log.erasures[-1])
            gone += self.projections.vectors.purge()
            if self._built is not None:
                gone += self._built.drop_erased(self.log.erasures[-1], self.projections.vectors.digests)
        except (OSError, LogFailed) as error:
            self._unpurged = RecollectError(
                f"an erasure is not finished: {error}; a file under {self.cache} may still hold what was erased. "
                f"Delete it, or open the store again"
            )
            return []
        self._unpurged = None
        return gone

    @locked
    def checkpoint(self) -> Path | None:
        """Save the projections; None for a store in memory or read-only, or if an erasure came in between.

        An erasure by another process may purge the checkpoints before this one is in place; looking at the log
        again afterwards makes sure that one of the two processes deletes it.
        """
        self.catch_up()
        if self.cache is None or self.read_only or self.unfinished_erasure is not None:
            return None
        self.log.sync()  # a checkpoint must not outlive events that a power cut takes
        seq = self.projections.position
        key = checkpoints.key_of(self.projections.versions())
        try:
            path = checkpoints.save(
                self.cache / "checkpoints",
                key=key,
                seq=seq,
                chain=self.log.chain_at(seq),
                state=self.projections.dump(),
            )
        except FileNotFoundError:
            return None
        self._checkpoint_seq = seq
        self.catch_up()
        if self._built is not None and path.exists() and self._built.give_checkpoint(path, key, seq):
            self.catch_up()
            self.purge_caches()
        return path if path.exists() else None

    @property
    def checkpoint_age_events(self) -> int:
        return self.projections.position - self._checkpoint_seq

    def close(self) -> None:
        """Close the store. Every event is in the log, so other failures are logged, not raised."""
        self._closing.set()
        self.sealer.stop()
        self.checkpointer.stop()
        if self.checkpoint_age_events >= _CHECKPOINT_EVERY and not (self.torn_state.torn or interrupted()):
            try:
                self.checkpoint()
            except (OSError, RecollectError) as error:
                _warn(f"no checkpoint was written: {error}; the next opening takes longer")
        try:
            self.log.close()
        except LogFailed as error:
            _warn(str(error))
        finally:
            for log in self._replaced:
                log.close()
            for warning in self.log.warnings:
                _warn(warning)
