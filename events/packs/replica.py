"""What one machine keeps of a log of packs: the mirror, which pack each event came in, and the keys; and how it is read.

Bodies are encrypted in the mirror. The key of an event is in the key file, or else in the box of its pack. A missing
box is waited for, because a server may be behind; if it does not come, its events count as damaged.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from recollect.events.clock import ClockAhead
from recollect.events.envelope import Recorded
from recollect.events.errors import LogDamaged
from recollect.events.frame import BadFrame, Frame
from recollect.events.log import Finding
from recollect.events.packs.keys import ERASED, KeyFile, decode_box, encode_box, unseal
from recollect.events.packs.pack import Pack
from recollect.events.packs.pack_index import PackIndex, Place
from recollect.events.packs.shared_files import SharedFiles
from recollect.events.packs.store import BoxMoved, PackStore, StoreUnreachable
from recollect.events.segment_log import SegmentLog
from recollect.events.segments import check_seq

_PIECE = 512
_TOGETHER = 64
_PAUSE_S_MIN = 0.005
_PAUSE_S_MAX = 0.5


class Replica:
    """The reading half of a `Log`; `pack_log` follows and writes."""

    def __init__(self, store: PackStore, folder: Path, mirror: SegmentLog, *, patience_s: float) -> None:
        self.store = store
        self._folder = folder
        self._mirror = mirror
        self._patience_s = patience_s
        self._index = PackIndex(folder / "packs", mirror.head)
        self._keys = KeyFile(folder / "cache" / "keys")
        self._reports: list[str] = []
        self.shared = SharedFiles(store)

    # --- reading ---------------------------------------------------------------------------------

    @property
    def head(self) -> int:
        return self._mirror.head

    @property
    def position(self) -> int:
        """The last pack that the mirror holds."""
        return self._index.position

    @property
    def damage(self) -> LogDamaged | None:
        return self._mirror.damage

    @property
    def warnings(self) -> tuple[str, ...]:
        return (*self._mirror.warnings, *self._reports)

    def read(self, after: int = 0, upto: int | None = None) -> Iterator[Recorded]:
        head = self.head
        return map(Frame.recorded, self.frames(max(0, after), head if upto is None else min(upto, head)))

    def get(self, seq: int) -> Recorded:
        check_seq(seq, low=1, head=self.head)
        return next(self.read(seq - 1, seq))

    def frames(self, after: int, upto: int) -> Iterator[Frame]:
        """The frames of the events with after < seq <= upto, decrypted; of what is erased the body is zeros."""
        for start in range(after, upto, _PIECE):
            end = min(start + _PIECE, upto)
            keys = self._keys.get_many(start, end)
            for frame, key in zip(self._mirror.frames(start, end), keys, strict=True):
                yield self._plain(frame, key)

    def _plain(self, frame: Frame, key: bytes | None) -> Frame:
        seq = frame.header.seq
        if not any(frame.body):
            return frame
        try:
            return unseal(frame, self._key(seq) if key is None else key)
        except BadFrame as bad:
            raise LogDamaged(path=str(self._folder / "log"), offset=0, seq=seq, reason=str(bad)) from bad

    def positions(self, type_: str, after: int = 0) -> list[int]:
        return self._mirror.positions(type_, after)

    def time_of(self, seq: int) -> int:
        return self._mirror.time_of(seq)

    def effective_time(self, seq: int) -> int:
        return self._mirror.effective_time(seq)

    def seq_at(self, at: int) -> int:
        return self._mirror.seq_at(at)

    def clock_ahead(self, now: int | None = None) -> ClockAhead | None:
        return self._mirror.clock_ahead(now)

    def chain_at(self, seq: int) -> bytes:
        return self._mirror.chain_at(seq)

    def verify_chain(self) -> list[Finding]:
        """Everything in the mirror that is not as it was written, every body against its digest."""
        findings = self._mirror.verify_chain(bodies=False)
        bad = {finding.seq for finding in findings}
        seq = 0
        while seq < self.head:
            try:
                for frame in self.frames(seq, self.head):
                    seq = frame.header.seq
            except LogDamaged as damage:
                seq = damage.seq
                if seq not in bad:
                    findings.append(Finding(path=damage.path, offset=0, seq=seq, problem=damage.reason))
        return findings

    # --- keys ------------------------------------------------------------------------------------

    def _fetch_keys(self, packs: Sequence[Pack]) -> None:
        """Fetch the keys of new packs. A box that is missing is looked for again when its events are read."""
        for pack, box in zip(packs, self.store.get_boxes([pack.box for pack in packs]), strict=True):
            keys = decode_box(box.content, len(pack.frames))
            if keys is not None:
                self._keys.put(pack.first_seq, keys)

    def _key(self, seq: int) -> bytes:
        """The key of an event, from its box if need be."""
        key = self._keys.get(seq)
        if key is not None:
            return key
        place = self._index.of(seq)
        for last_try in self._tries():
            box = self.store.get_box(place.box)
            if box.version or last_try:
                break
        keys = decode_box(box.content, place.events)
        if keys is None:
            state = "is missing" if not box.version else "cannot be read"
            raise LogDamaged(
                path=f"{self.store.where} pack {place.position}", offset=0, seq=seq,
                reason=f"its key is gone: the box {place.box} of its pack {state}, and no erasure does that",
            )  # fmt: skip
        self._keys.put(place.first_seq, keys)
        return keys[seq - place.first_seq]

    def _destroy(self, place: Place, seqs: set[int]) -> None:
        """Replace a box by one without these keys; retry if another writer replaced it meanwhile.

        Done even if the keys are gone already: a process that replaced the box may have died before it deleted the
        older version.
        """
        while True:
            box = self.store.get_box(place.box)
            keys = decode_box(box.content, place.events)
            if keys is None:
                return  # the whole box is gone; reading its events reports that
            left = [ERASED if place.first_seq + n in seqs else key for n, key in enumerate(keys)]
            try:
                self.store.put_box(place.box, encode_box(left), box.version)
            except BoxMoved:
                continue
            return

    @property
    def remnants(self) -> tuple[str, ...]:
        """No copy can be read without its key, except in a replica that has not seen the erasure yet."""
        return (
            "keys that other replicas have fetched, until they next catch up with the log",
            *self.store.copies,
        )

    def keys_left(self, seqs: Sequence[int]) -> list[int]:
        """Look into every version of the boxes that the engine has, and into the key file of this replica."""
        if seqs and self.shared.away():  # following the log has just waited for it
            raise StoreUnreachable(f"{self.store.where} does not answer")
        left = {seq for seq in seqs if self._keys.get(seq) not in {None, ERASED}}
        packs = list(self._by_pack(seqs).items())
        for start in range(0, len(packs), _TOGETHER):
            piece = packs[start : start + _TOGETHER]
            found = self.store.get_versions([place.box for place, _ in piece])
            for (place, gone), versions in zip(piece, found, strict=True):
                for box in versions:
                    keys = decode_box(box.content, place.events)
                    left.update(seq for seq in gone if keys and keys[seq - place.first_seq] != ERASED)
        return sorted(left)

    def _by_pack(self, seqs: Sequence[int]) -> dict[Place, set[int]]:
        packs: dict[Place, set[int]] = {}
        for seq in seqs:
            packs.setdefault(self._index.of(seq), set()).add(seq)
        return packs

    def _tries(self, patience_s: float = math.inf) -> Iterator[bool]:
        """True for the last try; pauses between tries, longer each time."""
        deadline, pause = time.monotonic() + min(patience_s, self._patience_s), _PAUSE_S_MIN
        while time.monotonic() < deadline:
            yield False
            time.sleep(min(pause, max(0.0, deadline - time.monotonic())))
            pause = min(2 * pause, _PAUSE_S_MAX)
        yield True
