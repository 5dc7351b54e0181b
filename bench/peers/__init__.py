"""The systems that we are measured against, one file each, behind one protocol.

`load` gives the class of a peer, or says why it is not there; a peer that cannot be loaded is named in the table
with that reason and is never left out in silence.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Literal, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Clients = Literal["processes", "threads"]

PEERS = ("sqlite", "lance", "chroma", "naive", "memvara")
OURS = ("ourselves", "ourselves:Default")


class Missing(NamedTuple):
    """Why a peer is not measured."""

    reason: str


class Peer(Protocol):
    """A search over texts with vectors.

    `build` writes everything to the folder, `open` makes ready to answer from it, in this process or in another
    one; `search` gives the numbers of the texts, best first, after fetching the texts themselves. `clients` says
    whether four clients are four processes or four threads of one, whichever the system is made for.
    """

    name: ClassVar[str]
    how: ClassVar[str]
    clients: ClassVar[Clients]

    def __init__(self, folder: Path) -> None: ...

    def build(self, texts: Sequence[str], vectors: Floats) -> None: ...

    def open(self) -> None: ...

    def search(self, text: str, vector: Floats, k: int) -> list[int]: ...

    def close(self) -> None: ...


def load(place: str) -> type[Peer] | Missing:
    """The class `System` of a module here, or the one that is named after a colon."""
    module, _, name = place.partition(":")
    try:
        found: type[Peer] = getattr(importlib.import_module(f"peers.{module}"), name or "System")
    except ImportError as error:
        return Missing(f"not installed: {error}")
    return found


def fused(lists: Sequence[Sequence[int]], *, k: float, top: int) -> list[int]:
    """Reciprocal rank fusion: the sum of 1 / (k + rank), best first, then by number."""
    scores: dict[int, float] = {}
    for numbers in lists:
        for rank, number in enumerate(numbers, 1):
            scores[number] = scores.get(number, 0.0) + 1.0 / (k + rank)
    return sorted(scores, key=lambda number: (-scores[number], number))[:top]
