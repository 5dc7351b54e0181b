"""The living memories at a seq, told from the events in the plainest way.

Written apart from `projections` on purpose: it is one half of the independent verification, so it shares no
code with what it checks.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import UNSET

from recollect.events.envelope import Recorded
from recollect.events.facts import (
    Erased,
    Forgotten,
    Ingested,
    Pruned,
    Reembedded,
    Restored,
    Revised,
    Superseded,
)


class Corpus:
    """id → (text, vector) of every memory that was ever kept, and which of them are alive."""

    def __init__(self) -> None:
        self.seq = 0
        self.texts: dict[str, str] = {}
        self.vectors: dict[str, bytes | None] = {}
        self.alive: set[str] = set()

    def advance(self, events: Iterable[Recorded]) -> None:
        for recorded in events:
            self._tell(recorded)
            self.seq = recorded.seq

    def _tell(self, recorded: Recorded) -> None:
        match recorded.fact:
            case Ingested(id=id_, content=content, vector=vector):
                self.texts[id_], self.vectors[id_] = content, vector
                self.alive.add(id_)
            case Revised(id=id_, content=content, vector=vector) if id_ in self.texts:
                if content is not UNSET:
                    self.texts[id_] = content
                if vector is not UNSET:
                    self.vectors[id_] = vector
            case Reembedded(vectors=vectors):
                self.vectors.update((id_, vector) for id_, vector in vectors if id_ in self.texts)
            case Restored(id=id_) if id_ in self.texts:
                self.alive.add(id_)
            case Forgotten(id=id_) | Superseded(old=id_) | Erased(id=id_):
                self.alive.discard(id_)
            case Pruned(items=items):
                self.alive -= {item.id for item in items}
            case _:
                pass
