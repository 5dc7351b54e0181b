"""Sealing: which block of vectors gets its shard next, and the thread that builds it.

Vectors that no shard covers are scanned exactly by every search; shards cost about the same each, whatever their
size. `plan` therefore seals whole blocks as soon as they are complete, all of them at once after a bulk load, and
takes in the shards before them as long as those are at most twice as large as what has been gathered (a counter
that may count in big steps). A row is built again O(log rows) times, and there are O(log rows) shards.

A seal depends only on its block, so two processes that seal the same block write the same event with the same id, and
the log keeps one. While one builds, others leave the block alone. A shard that was retired may be sealed again: that
is another event. A machine whose hnswlib draws other levels says so in its builder's name.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from itertools import islice, pairwise
from typing import NamedTuple

import msgspec

from recollect.events.envelope import EventId, encode
from recollect.events.facts import ShardSealed
from recollect.projections.vectors import background, level_generator
from recollect.projections.vectors.index import Vectors
from recollect.projections.vectors.shard_names import Builder
from recollect.projections.vectors.shards import BuildStopped, build_shard

Publish = Callable[[ShardSealed], None]
Lease = Callable[[str], AbstractContextManager[bool]]


class SealPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """A block is `block` vectors; shards grow up to `shard_max` vectors; what is not larger than `ratio` times
    the vectors to be sealed is sealed again with them. Nothing is sealed before there are `first` vectors: looking
    at so few takes two milliseconds, and a short-lived process does not have to load a shard for one question."""

    first: int = 0
    block: int = 4_096
    ratio: float = 2.0
    shard_max: int = 262_144


class SealPlan(NamedTuple):
    """Slots [first, end) are to become one shard."""

    first: int
    end: int


class _Block(NamedTuple):
    """The block of one step: its rows, and how many shards were retired by then."""

    first_row: int
    end_row: int
    basis: int
    retirements: int


USUAL = SealPolicy(first=16_384)
# The thread looks again after this long, or tries again after an error, then after twice as long and so on.
_POLL_SECONDS = 1.0
_RETRY_SECONDS = 5.0
_RETRY_SECONDS_MAX = 300.0


def plan(sealed: Sequence[tuple[int, int]], slots: int, policy: SealPolicy) -> SealPlan | None:
    """What to seal next, given the slot ranges of the shards in use (ascending) and the number of slots.

    A gap between shards, where one was given up because a vector in it was erased, is filled first.
    """
    gaps = pairwise([0, *(slot for shard in sealed for slot in shard)])
    for start, stop in islice(gaps, 0, None, 2):
        if 2 * (stop - start) >= policy.block:
            return SealPlan(start, min(stop, start + policy.shard_max))
    if not sealed and slots < policy.first:
        return None
    first = sealed[-1][1] if sealed else 0
    end = first + min((slots - first) // policy.block * policy.block, policy.shard_max)
    if end <= first:
        return None
    for start, stop in reversed(sealed):
        if stop != first or stop - start > policy.ratio * (end - first) or end - start > policy.shard_max:
            break
        first = start
    return SealPlan(first, end)


def seal_event_id(fact: ShardSealed, *, retired: int = 0) -> EventId:
    """The same 16 bytes for the same seal, in every process; `retired` is when its shard was last retired."""
    again = retired.to_bytes(8, "little") if retired else b""
    return hashlib.sha256(encode(fact) + again).digest()[:16]


def retirement_event_id(digest: str, sealed: int) -> EventId:
    """The same 16 bytes for the retirement of the same seal, in every process."""
    return hashlib.sha256(b"retired " + digest.encode() + sealed.to_bytes(8, "little")).digest()[:16]


class Sealer:
    """Builds what `plan` asks for and publishes it; the publisher appends the fact and folds it.

    `refresh` folds what other processes appended: another may have sealed what is due here. `lease` says whether this
    machine is the one of several that builds.

    `step` does one plan and says what it published; `start` runs steps in a daemon thread, which looks again
    after a second or when it is woken. After an error the block stays in the exact tail and is tried again later;
    `last_error` holds the error until a step succeeds.
    """

    def __init__(
        self,
        vectors: Vectors,
        publish: Publish,
        *,
        builder: Builder | None = None,
        policy: SealPolicy | None = None,
        refresh: Callable[[], object] | None = None,
        lease: Lease | None = None,
    ) -> None:
        self._vectors = vectors
        self._publish = publish
        self._refresh = refresh
        self._lease = lease or (lambda _: nullcontext(True))
        self._builder = builder or Builder()
        self._policy = policy or USUAL
        self._published: _Block | None = None
        self._built: tuple[_Block, ShardSealed] | None = None
        self._stop = threading.Event()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        self.last_error: BaseException | None = None

    def step(self) -> ShardSealed | None:
        """Seal one block now; None if nothing is due, or another process is about to seal it, or what is due was
        published and is not folded yet."""
        vectors = self._vectors
        block = self._due(vectors)
        if block is None or block == self._published:
            return None
        with ExitStack() as held:
            key = f"{block.first_row}-{block.end_row}-{block.basis}"
            alone = held.enter_context(vectors.shards.building(key, wait=False))
            alone = alone and held.enter_context(self._lease("shards"))
            if alone and self._refresh is not None:
                self._refresh()
            if not alone or vectors is not self._vectors or block != self._due(vectors):
                return None
            return self._sealed(vectors, block)

    def _due(self, vectors: Vectors) -> _Block | None:
        due = plan(*vectors.layout(), self._policy)
        return None if due is None else _Block(*vectors.block(due.first, due.end), vectors.retirements)

    def _sealed(self, vectors: Vectors, block: _Block) -> ShardSealed:
        built = self._built
        if built is None or built[0] != block:
            built = block, self._build(vectors, block)
        self._built = built  # so that a failed append to the log does not cost another build
        self._publish(built[1])
        self._built = None
        if vectors is self._vectors:
            self._published = block
        return built[1]

    def follow(self, vectors: Vectors) -> None:
        """Switch to projections that were folded again; a build under way is published but not used."""
        self._vectors = vectors
        self._published = self._built = None

    def _build(self, vectors: Vectors, block: _Block) -> ShardSealed:
        source = vectors.shard_rows(block.first_row, block.end_row, block.basis)
        builder = msgspec.structs.replace(self._builder, generator=level_generator.generator_here())
        shard = build_shard(source, builder, stop=self._stop)
        return ShardSealed(
            first_row=block.first_row,
            end_row=block.end_row,
            basis=block.basis,
            count=len(source.rows),
            digest=vectors.shards.add(shard),
            builder=builder.name,
            rows=vectors.row_digest(source.rows),
        )

    def start(self) -> None:
        """Seal in the background until `stop`."""
        if self._thread is None or not self._thread.is_alive():
            self._stop.clear()
            self.last_error = None
            self._thread = background.start(self._run, name="recollect-sealer", tell=self._signal_stop)

    def stop(self) -> None:
        """End the thread; a build under way is given up after its current slice."""
        self._signal_stop()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        self._stop.clear()

    def _signal_stop(self) -> None:
        self._stop.set()
        self._wake.set()

    def _run(self) -> None:
        pause = _RETRY_SECONDS
        while True:
            self._wake.clear()  # first, so that a stop from here on is noticed
            if self._stop.is_set():
                return
            try:
                sealed = self.step()
            except BuildStopped:
                return
            except Exception as error:  # noqa: BLE001 (status tells it: the thread has no caller)
                self.last_error = error
                self._stop.wait(pause)
                pause = min(2 * pause, _RETRY_SECONDS_MAX)
                continue
            self.last_error, pause = None, _RETRY_SECONDS
            if sealed is None:
                self._wake.wait(_POLL_SECONDS)
