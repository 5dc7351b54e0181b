"""The log of many machines: packs on an engine (`store`), and a mirror of them on this machine.

    <folder>/log/         the mirror: a segment log with the same frames, bodies encrypted
    <folder>/packs        which pack each event came in (`pack_index`)
    <folder>/cache/keys   the keys of the events (`keys`); may be deleted at any time

The mirror is a cache, a backup and a proof at once. Everything is read from it; what others wrote is fetched, checked
and added to it; and an engine that shows less than the mirror holds, or something else, is refused (`Contradicted`).

An append is one pack at the position after the last one that this replica knows. The engine accepts it only there, so
a replica that was behind gets an error, catches up, and decides again: known event ids, expected head, chain.
**Absence proves nothing**: when no acknowledgement comes, only another pack at that very position proves that this one
was not written. Until one is seen, the same pack is sent again for the same position, and can be stored only once.

Threads and processes of one machine share a mirror and take turns by its lock. Among machines `exclusive` takes no lock
while no other machine writes: an append inside it that finds new events is refused with `HeadMoved`. If others have
written lately, it claims the log with an empty pack that names its holder, and they wait for it, `CLAIM_S` at most.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Self, TypeVar

from recollect.events.clock import AHEAD_MAX, stamp
from recollect.events.envelope import Draft
from recollect.events.errors import HeadMoved, LogDamaged, LogFailed, RecollectError
from recollect.events.frame import (
    SALT_BYTES,
    Entry,
    Frame,
    prepare,
    refuse_other_events,
)
from recollect.events.log import Clock, Durability, LogStatus, Unless, not_followed, refuse_after
from recollect.events.packs.keys import Sealed, encode_box, seal
from recollect.events.packs.pack import NO_HOLDER, BadPack, Pack, chained, encode, packed
from recollect.events.packs.pack import decode as decode_pack
from recollect.events.packs.replica import Replica
from recollect.events.packs.store import PackStore, StoreRefused, StoreUnreachable, Unsettled
from recollect.events.segment_log import SegmentLog, wall_clock
from recollect.events.segments import check_seq

Answer = TypeVar("Answer")

PATIENCE_S = 30.0
CLAIM_S = 20.0
_TOGETHER = 64
_LOOK_S = 1.0
_OPEN_S = 10.0


class Contradicted(RecollectError):
    """The log is shorter than what this replica remembers of it, or another one; nothing was read or written."""


class PackLog(Replica):
    """`Log` on packs; see `open`."""

    def __init__(
        self, store: PackStore, folder: Path, mirror: SegmentLog, *, clock: Clock, ahead_max: int, patience_s: float
    ) -> None:  # fmt: skip
        super().__init__(store, folder, mirror, patience_s=patience_s)
        self._clock = clock
        self._ahead_max = ahead_max
        self._me = os.urandom(16)
        self._holder = NO_HOLDER
        self._held_since = 0.0
        self._exclusive = 0
        self._patient = True
        self._floor = 0
        self._crowded_until = 0.0
        self._asked = -1e9
        self._confirmed = False
        self._unfollowed: str | None = None
        self._refused = False
        self.shared.away = lambda: self._unfollowed is not None
        self._closed = False

    @classmethod
    def open(
        cls,
        store: PackStore,
        folder: Path,
        *,
        clock: Clock | None = None,
        ahead_max: int = AHEAD_MAX,
        patience_s: float = PATIENCE_S,
    ) -> PackLog:
        """The log in this store, with a mirror in `folder`; if the engine cannot be reached, the mirror as it is."""
        clock = clock if clock is not None else wall_clock
        mirror = SegmentLog.open(
            folder / "log", clock=clock, ahead_max=ahead_max, lock_timeout_s=2 * patience_s, mirror=True
        )
        log = cls(store, folder, mirror, clock=clock, ahead_max=ahead_max, patience_s=patience_s)
        try:
            log._catch_up_on_open()
        except BaseException:
            log.close()
            raise
        return log

    def _catch_up_on_open(self) -> None:
        """Catch up. An empty mirror cannot be read from, so wait for an engine that is just electing a leader."""
        for last_try in self._tries(_OPEN_S):
            self.refresh()
            if self._unfollowed is None or self.head:
                return
            if last_try or self._refused:
                raise StoreUnreachable(self._unfollowed)

    # --- writing ---------------------------------------------------------------------------------

    def append(
        self, drafts: Sequence[Draft], *, expect: int | None = None, durability: Durability = "durable",
        unless: Unless | None = None,
    ) -> list[int]:  # fmt: skip
        """Write one pack; returns when the engine has it. An unsafe append fails at once while the engine is away."""
        entries = prepare(drafts)
        if not entries:
            return []
        sealed: Sealed | None = None
        with self._writing(patient=durability != "unsafe"):
            while True:
                known = self._mirror.find([entry.id for entry in entries])
                refuse_other_events(entries, known, self.get)
                fresh = [entry for entry in entries if entry.id not in known]
                if sealed is not None and len(sealed.bodies) != len(fresh):
                    self.store.delete_box(sealed.id.hex())  # others told some of it: these keys open nothing
                    sealed = None
                if not fresh:
                    return [known[entry.id] for entry in entries]
                if expect is not None and expect != self.head:
                    self._retry(self._follow)
                    if expect != self.head:
                        raise self._moved(expect)
                    continue
                if self._exclusive and self.head != self._floor:
                    raise self._moved(self._floor)
                self._await_turn()
                if unless is not None and self.head > unless[1]:
                    refuse_after(self, *unless)
                sealed = sealed or self._sealed([os.urandom(SALT_BYTES) + entry.payload for entry in fresh])
                if self._try_append(self._frames_of(fresh, sealed.bodies), sealed):
                    sealed = None

    def append_frames(self, frames: Sequence[Frame]) -> None:
        """Whole batches behind the head, as they are (`transfer`); they must continue its chain."""
        first = frames[0].header.seq
        with self._writing():
            if first != self.head + 1:
                raise self._moved(first - 1)
            sealed = self._sealed([frame.body for frame in frames])
            if not self._try_append(frames, sealed):
                self.store.delete_box(sealed.id.hex())
                raise self._moved(first - 1)

    def _sealed(self, bodies: list[bytes]) -> Sealed:
        """Encrypt the bodies, and store the keys before the pack that needs them is written."""
        sealed = seal(bodies)
        self._retry(lambda: self.store.put_box(sealed.id.hex(), encode_box(sealed.keys), 0))
        return sealed

    def _retry(self, ask: Callable[[], Answer]) -> Answer:
        """Retry while the engine does not answer: it may be electing a leader. An unsafe append is not retried."""
        for last_try in self._tries(self._patience_s if self._patient else 0.0):
            try:
                return ask()
            except StoreUnreachable as error:
                if last_try or isinstance(error, StoreRefused):
                    raise
        raise AssertionError("the last try returns or raises")

    def _moved(self, expected: int) -> HeadMoved:
        self._crowded_until = time.monotonic() + CLAIM_S
        return HeadMoved(expected=expected, actual=self.head)

    def _frames_of(self, entries: Sequence[Entry], bodies: Sequence[bytes]) -> list[Frame]:
        head = self.head
        at = stamp(
            {entry.type for entry in entries}, seq=head, at=self._mirror.time_of(head), now=self._clock(), ahead_max=self._ahead_max
        )  # fmt: skip
        return chained(entries, bodies, first_seq=head + 1, at=at, chain=self._mirror.chain_at(head))

    def _try_append(self, frames: Sequence[Frame], sealed: Sealed) -> bool:
        """Write these events after the last pack; False if another pack was written there first, which is taken over.

        The keys can be used for the next try: the bodies are the same at any position.
        """
        encrypted = [frame._replace(body=body) for frame, body in zip(frames, sealed.encrypted, strict=True)]
        head = self.head
        holder = self._me if self._holder == self._me else NO_HOLDER
        pack = packed(
            encrypted, sealed.id, first_seq=head + 1, before=self._mirror.chain_at(head), holder=holder
        )
        if self._was_stored(pack):
            self._keys.put(pack.first_seq, sealed.keys)
            self._add([pack])
            self._floor = self.head
            return True
        self._crowded_until = time.monotonic() + CLAIM_S
        self._retry(self._follow)
        return False

    def _was_stored(self, pack: Pack) -> bool:
        """Whether the pack was stored at the next position; False only if another one was seen there."""
        position = self._index.position + 1
        data = encode(pack, bytes_max=self.store.pack_bytes_max, put_blob=self.store.put_blob)
        for last_try in self._tries():
            try:
                self.store.put_if(position, data)
            except Unsettled as doubt:
                found = self._seen(position)
                if found is not None:
                    return found == data
                if last_try:
                    self._require_last_pack()
                    raise LogFailed(
                        f"{self.store.where} did not acknowledge the pack at {position} in {self._patience_s:g} s "
                        f"({doubt}); it is not known whether it landed. Repeat the same call: event ids make it safe"
                    ) from doubt
            else:
                return True
        raise AssertionError("the last try returns or raises")

    def _seen(self, position: int) -> bytes | None:
        try:
            return self.store.get(position)
        except StoreUnreachable:
            return None

    @contextmanager
    def _writing(self, *, patient: bool = True) -> Iterator[None]:
        """Hold this machine's writer lock with the index reloaded; refuse to write to a log that was cut."""
        with self._mirror.exclusive():
            self._patient = patient
            self._reload()
            if not self._confirmed or time.monotonic() - self._asked > _LOOK_S:
                self._retry(self._follow)
            yield

    # --- taking turns ----------------------------------------------------------------------------

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """An append inside is refused (`HeadMoved`) if another writer changed what was read inside."""
        with self._mirror.exclusive():
            self._patient = True
            self._reload()
            self._retry(self._follow)
            if not self._exclusive:
                self._floor = self.head
            self._exclusive += 1
            claimed = self._exclusive == 1 and time.monotonic() < self._crowded_until
            try:
                if claimed:
                    self._claim()
                    self._floor = self.head
                yield
            finally:
                self._exclusive -= 1
                if claimed and self._holder == self._me:
                    self._write_empty_pack(NO_HOLDER)

    def _claim(self) -> None:
        for _ in self._tries():
            self._await_turn()
            if self._write_empty_pack(self._me):
                return
        raise LogFailed(f"other writers of {self.store.where} leave no gap to claim it; try again")

    def _write_empty_pack(self, holder: bytes) -> bool:
        """Write a pack without events that names the next writer."""
        head = self.head
        pack = packed(
            [], os.urandom(16), first_seq=head + 1, before=self._mirror.chain_at(head), holder=holder
        )
        if self._was_stored(pack):
            self._add([pack])
            return True
        self._retry(self._follow)
        return False

    def _await_turn(self) -> None:
        """Wait while another writer holds the log; a holder that is silent for too long loses it."""
        while self._holder not in {NO_HOLDER, self._me}:
            left = self._held_since + CLAIM_S - time.monotonic()
            if left <= 0:
                self._holder = NO_HOLDER
                return
            self.store.wait(self._index.position + 1, left)
            self._retry(self._follow)

    # --- following -------------------------------------------------------------------------------

    def refresh(self) -> int:
        """Take over what others appended. If the engine cannot be reached, keep the head and report it in `status`."""
        self._mirror.refresh()
        if time.monotonic() - self._asked <= self.store.fresh_s and self._confirmed:
            return self.head
        try:
            if not self._confirmed or self.store.last(self._index.position) != self._index.position:
                with self._mirror.exclusive():
                    self._reload()
                    self._follow()
            self._asked, self._unfollowed = time.monotonic(), None
        except LogFailed as error:
            self._unfollowed, self._refused = str(error), isinstance(error, StoreRefused)
        return self.head

    def _reload(self) -> None:
        """Reload what other processes of this machine took over."""
        self._index.reload(self._mirror.head)

    def _follow(self) -> None:
        """Take over every pack that the engine has behind the last one known here."""
        if not self._confirmed:
            self._require_last_pack()
            self._confirmed = True
        last = self.store.last(self._index.position)
        if last < self._index.position:
            self._require_last_pack()
        while self._index.position < last:
            first = self._index.position + 1
            found = self.store.get_many(first, min(last + 1 - first, _TOGETHER))
            self._take(first, found)
        self._asked = time.monotonic()
        self._unfollowed = None

    def _take(self, first: int, found: Sequence[bytes | None]) -> None:
        """Check packs, fetch their keys, and add them to the mirror."""
        packs: list[Pack] = []
        last = self._index.last
        seq = 0 if last is None else last.last_seq  # the mirror may hold more than the index, never less
        chain = self._mirror.chain_at(seq)
        for position, data in enumerate(found, first):
            pack = self._checked(position, data)
            fits = (pack.first_seq, pack.before) == (seq + 1, chain)
            seq, chain = pack.last_seq, pack.after
            if not fits or (seq <= self.head and self._mirror.chain_at(seq) != chain):
                self._add(packs)
                raise self._contradiction(
                    position, f"has another pack there, with @{pack.first_seq} to @{pack.last_seq}"
                )
            packs.append(pack)
        self._fetch_keys([pack for pack in packs if pack.frames])
        self._add(packs)
        self._crowded_until = time.monotonic() + CLAIM_S

    def _add(self, packs: Sequence[Pack]) -> None:
        """Add to the mirror before the index: what the index lacks is looked up and compared again."""
        frames = [frame for pack in packs for frame in pack.frames if frame.header.seq > self.head]
        if frames:
            self._mirror.append_frames(frames)
        for pack in packs:
            self._index.append(pack.first_seq, len(pack.frames), pack.id)
            self._holder, self._held_since = pack.holder, time.monotonic()

    def _checked(self, position: int, data: bytes | None) -> Pack:
        """The pack at a position; if it is missing or broken on this server, from another one."""
        try:
            if data is None:
                raise BadPack("nothing is there, although more follows")  # noqa: TRY301
            return decode_pack(data, self.store.get_blob)
        except BadPack as bad:
            problem = str(bad)
        for last_try in self._tries():
            for other in self.store.others(position):
                try:
                    pack = decode_pack(other, self.store.get_blob)
                except BadPack:
                    continue
                self._reports.append(
                    f"pack {position} could not be read at first ({problem}); another copy of it was whole. "
                    f"A server of {self.store.where} has lost or damaged data: let it fetch its copy anew"
                )
                return pack
            if last_try:
                break
        raise LogDamaged(
            path=f"{self.store.where} pack {position}", offset=0, seq=self.head + 1, reason=problem
        )

    def _require_last_pack(self) -> None:
        """Refuse an engine that does not hold the last pack which this replica remembers."""
        mine = self._index.last
        if mine is None:
            return
        for last_try in self._tries():
            data = self.store.get(mine.position)
            if data is not None:
                pack = self._checked(mine.position, data)
                if (pack.id, pack.after) != (mine.id, self._mirror.chain_at(mine.last_seq)):
                    raise self._contradiction(mine.position, "has another pack there")
                return
            if self.store.last(mine.position) >= mine.position:
                self._checked(mine.position, None)
                return
            if last_try:
                raise self._contradiction(mine.position, f"ends at pack {self.store.last(0)}")

    def _contradiction(self, position: int, what: str) -> Contradicted:
        return Contradicted(
            f"this replica remembers {self.store.where} up to pack {self._index.position} (@{self.head}), but the log "
            f"{what} (pack {position}). It was cut, rewritten or replaced; nothing was read or written. The mirror in "
            f"{self._folder} is whole: keep it, and `recollect replicate` it to a new place, or open with another mirror"
        )

    def erase(self, seqs: Sequence[int]) -> None:
        """Destroy the keys of these events, in their boxes and here, and overwrite their bodies in the mirror."""
        with self._writing():
            for seq in seqs:
                check_seq(seq, low=1, head=self.head)
            for place, gone in self._by_pack(seqs).items():
                self._destroy(place, gone)
            self._keys.erase(seqs)
            self._mirror.erase(seqs)

    @property
    def unfollowed(self) -> str | None:
        return None if self._unfollowed is None else not_followed(self._unfollowed, self.head)

    def sync(self) -> None:
        """What was acknowledged is durable as the engine understands it; nothing waits here."""

    def status(self) -> LogStatus:
        mirror, store = self._mirror.status(), self.store.status()
        troubles = [*mirror.troubles, *store.troubles, *self._reports]
        troubles += [] if self.shared.trouble is None else [self.shared.trouble]
        behind, ahead = 0, self._unfollowed
        if ahead is None:
            try:
                behind = self._behind()
            except (LogFailed, BadPack) as error:
                ahead = str(error)
        if ahead is not None:
            troubles.append(not_followed(ahead, self.head))
        return LogStatus(
            kind=store.kind,
            path=self.store.where,
            head=self.head,
            durable=self.head,
            bytes=mirror.bytes,
            segments=mirror.segments,
            unknown_types=mirror.unknown_types,
            damage=mirror.damage,
            recovered=mirror.recovered,
            troubles=tuple(troubles),
            replication=store.replication,
            behind=behind,
        )

    def _behind(self) -> int:
        """How many events the engine has that are not here yet."""
        last = self.store.last(self._index.position)
        data = self.store.get(last) if last > self._index.position else None
        return 0 if data is None else decode_pack(data, self.store.get_blob).last_seq - self.head

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        try:
            self._mirror.close()
        finally:
            self._index.close()
            self._keys.close()
            self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
