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
    Redacted,
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
        self._erased: set[str] = set()

    def advance(self, events: Iterable[Recorded]) -> None:
        for recorded in events:
            self._tell(recorded)
            self.seq = recorded.seq

    def _tell(self, recorded: Recorded) -> None:
        match recorded.fact:
            case Ingested(id=id_, content=content, vector=vector):
                self.texts[id_], self.vectors[id_] = content, vector
                self.alive.add(id_)
                self._erased.discard(id_)
            case Redacted(remains=Ingested(id=id_)):
                self.texts[id_], self.vectors[id_] = "", None
                self._erase(id_)
            case Revised(id=id_, content=content, vector=vector) if id_ in self.texts:
                if content is not UNSET:
                    self.texts[id_] = content
                if vector is not UNSET:
                    self.vectors[id_] = vector
            case Reembedded(vectors=vectors):
                self.vectors.update((id_, vector) for id_, vector in vectors if id_ in self.texts)
            case Restored(id=id_) if id_ in self.texts and id_ not in self._erased:
                self.alive.add(id_)
            case Forgotten(id=id_) | Superseded(old=id_):
                self.alive.discard(id_)
            case Erased(id=id_):
                self._erase(id_)
            case Pruned(items=items):
                self.alive -= {item.id for item in items}
            case _:
                pass

    def _erase(self, id_: str) -> None:
        """A memory whose text is gone answers at no time, also before it was erased."""
        self.alive.discard(id_)
        self._erased.add(id_)
