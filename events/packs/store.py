"""What the log of many machines needs from an engine: packs by position, boxes, and blobs by digest.

    put_if(position, pack)   write a pack behind position - 1, only if nothing is there yet
    get(position)            read it back
    wait(position)           until something is there
    box                      small bytes that can be replaced, but only if they are still the ones that were read
    blob                     large bytes that never change, named by their SHA-256

The engine promises order, conditions and copies. Everything else (event ids, the chain, keys, mirrors) is in
`pack_log`, once for all engines.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

import msgspec

from recollect.events.errors import LogFailed, RecollectError


class StoreUnreachable(LogFailed):
    """The engine did not answer, or refused; what was asked of it may still have happened."""


class StoreRefused(StoreUnreachable):
    """The engine does not let us in: credentials, or a certificate; asking again changes nothing."""


class Unsettled(RecollectError):
    """It is not known whether the pack was written: no acknowledgement came, or the engine named another position."""


class BoxMoved(RecollectError):
    """The box was replaced since it was read; read it again."""


class Box(NamedTuple):
    """What a box holds, and its version; version 0 means that the box does not exist."""

    version: int
    content: bytes


class StoreStatus(msgspec.Struct, frozen=True, kw_only=True):
    """Which engine stores the packs, how many copies of each there are, and what is wrong."""

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
        """The pack again, from other servers or copies, after the first answer was missing or broken."""
        ...

    def last(self, known: int) -> int:
        """The last position that the engine reports, at least `known` if that still exists; it may be behind."""
        ...

    def wait(self, position: int, timeout_s: float) -> bool:
        """Wait until something is at this position; False if nothing came in time."""
        ...

    def get_box(self, name: str) -> Box: ...

    def get_boxes(self, names: Sequence[str]) -> list[Box]:
        """Several boxes, asked for at the same time."""
        ...

    def get_versions(self, names: Sequence[str]) -> list[list[Box]]:
        """Of several boxes every version that is there, also older ones that a restored backup brought back."""
        ...

    def put_box(self, name: str, content: bytes, version: int) -> int:
        """Replace the box of this version (0: it must not exist), durably; returns its new version, or raises `BoxMoved`."""
        ...

    def delete_box(self, name: str) -> None: ...

    def put_blob(self, content: bytes) -> str:
        """Keep these bytes under their SHA-256, which is returned."""
        ...

    def get_blob(self, digest: str) -> bytes | None: ...

    def delete_blob(self, digest: str) -> None: ...

    def status(self) -> StoreStatus: ...

    def close(self) -> None: ...
