"""What the log of many machines needs of an engine, and no more: packs by position, boxes, and blobs by digest.

    put_if(position, pack)   write a pack behind position - 1, only if nothing is there yet
    get(position)            read it back
    wait(position)           until something is there
    box                      a small thing that can be replaced, each time only if it is still the one that was read
    blob                     a large thing that never changes, named by its SHA-256

Order, conditions and copies are the engine's promise. Everything else (event ids, the chain, keys, mirrors) stands
above, once, in `pack_log`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

import msgspec

from recollect.events.errors import LogFailed, RecollectError


class StoreUnreachable(LogFailed):
    """The engine did not answer, or refused; what was asked of it may still have happened."""


class Unsettled(RecollectError):
    """It is not known whether the pack landed: no acknowledgement came, or the engine named another position."""


class BoxMoved(RecollectError):
    """The box was replaced since it was read; read it again."""


class Box(NamedTuple):
    """What a box holds, and which version of it that is; version 0 means that there is none."""

    version: int
    content: bytes


class StoreStatus(msgspec.Struct, frozen=True, kw_only=True):
    """What keeps the packs, how many copies of each there are, and what is not as it should be."""

    kind: str
    replication: str
    troubles: tuple[str, ...] = ()


class PackStore(Protocol):
    """`where` names it for people, without credentials; a pack has at most `pack_bytes_max` bytes.

    How long an answer of `last` may be used again without asking is `fresh_s`. `copies` says where bytes can still be
    after they were deleted here, for the receipt of an erasure.
    """

    where: str
    pack_bytes_max: int
    fresh_s: float
    copies: tuple[str, ...]

    def put_if(self, position: int, pack: bytes) -> None:
        """Write a pack; returns when it is acknowledged. `Unsettled` whenever that is not certain."""
        ...

    def get(self, position: int) -> bytes | None:
        """The pack at a position; None proves nothing, a server may be behind."""
        ...

    def get_many(self, first: int, count: int) -> list[bytes | None]:
        """The packs from `first` on, asked for at the same time."""
        ...

    def others(self, position: int) -> Iterator[bytes]:
        """The pack again, from other servers or copies, for a reader to whom the first answer made no sense."""
        ...

    def last(self, known: int) -> int:
        """The last position that the engine admits to, at least `known` if that is still there; it may be behind."""
        ...

    def wait(self, position: int, timeout_s: float) -> bool:
        """Whether something came to stand at this position in time."""
        ...

    def get_box(self, name: str) -> Box: ...

    def get_boxes(self, names: Sequence[str]) -> list[Box]:
        """Several boxes, asked for at the same time."""
        ...

    def put_box(self, name: str, content: bytes, version: int) -> int:
        """Replace the box of this version (0: there is none), for good; its new version, or `BoxMoved`."""
        ...

    def delete_box(self, name: str) -> None: ...

    def put_blob(self, content: bytes) -> str:
        """Keep these bytes under their SHA-256, which is returned."""
        ...

    def get_blob(self, digest: str) -> bytes | None: ...

    def delete_blob(self, digest: str) -> None: ...

    def status(self) -> StoreStatus: ...

    def close(self) -> None: ...
