"""traits: what was said about a memory, version by version.

Reads      Ingested (all traits anew), Revised (those that are set), Reembedded (the embedder)
State      one history of records per memory; strings and sets of strings are numbers (-1: none)
Invariant  `created_at` and `revision` depend on the first version and the number of versions alone

`session` is the session of creation: ingesting the id again keeps it, only a revision that names a session
changes it. Times that are not given are `ALWAYS` (valid_from) and `NEVER` (valid_to, expires_at), so that
comparing needs no special case. A missing priority is `NO_PRIORITY`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec import UNSET

from recollect.events.facts import Ingested, Revised
from recollect.projections.columns import NEVER, Column, IntArray, Interner, Saved, State, Versions
from recollect.projections.string_sets import StringSets

ALWAYS = -(2**63)
NO_PRIORITY = -(2**63)

_FIELDS = (
    ("importance", "d"),
    ("trust", "d"),
    ("priority", "q"),
    ("created_at", "q"),
    ("updated_at", "q"),
    ("valid_from", "q"),
    ("valid_to", "q"),
    ("expires_at", "q"),
    ("kind", "i"),
    ("tags", "i"),
    ("entities", "i"),
    ("project", "i"),
    ("session", "i"),
    ("source", "i"),
    ("importance_tag", "i"),
    ("key", "i"),
    ("embedder", "i"),
    ("revision", "i"),
)
NAMES = tuple(name for name, _ in _FIELDS)
_PLACE = {name: place for place, name in enumerate(NAMES)}
_CREATED_AT, _UPDATED_AT, _SESSION, _REVISION, _TAG, _EMBEDDER, _EXPIRES_AT = (
    _PLACE[name]
    for name in (
        "created_at",
        "updated_at",
        "session",
        "revision",
        "importance_tag",
        "embedder",
        "expires_at",
    )
)
MISSING: dict[str, int] = {
    "priority": NO_PRIORITY,
    "valid_from": ALWAYS,
    "valid_to": NEVER,
    "expires_at": NEVER,
}
STRINGS = frozenset({"kind", "project", "session", "source", "importance_tag", "key", "embedder"})
_SETS = frozenset({"tags", "entities"})
_REVISABLE = tuple(
    name for name in NAMES if name in Revised.__struct_fields__
)  # all but what is counted and dated


class Traits(Versions):
    def __init__(self, strings: Interner) -> None:
        super().__init__(_FIELDS)
        self.strings = strings
        self.sets = StringSets()
        self.flips: dict[int, list[int]] = {}
        self.expiries = 0
        self.validities = 0
        self._flip_memories: Column[np.int32] = Column(np.int32)
        self._flip_seqs: Column[np.int64] = Column(np.int64)

    def born(self, memory: int, seq: int, fact: Ingested) -> int:
        """The first version of a memory; returns the number of its session."""
        values = self._of(fact)
        self.append(memory, seq, *values)
        session: int = values[_SESSION]
        return session

    def births(self, seqs: IntArray, facts: list[Ingested]) -> list[int]:
        """The first versions of as many new memories; returns the numbers of their sessions."""
        columns = dict(zip(NAMES, zip(*map(self._of, facts), strict=True), strict=True))
        self.begin(seqs, columns)
        return list(columns["session"])

    def ingested(self, memory: int, seq: int, fact: Ingested) -> None:
        """An upsert: everything anew but the time and session of creation."""
        old = self.values(self.latest(memory))
        values = list(self._of(fact))
        values[_CREATED_AT], values[_SESSION] = old[_CREATED_AT], old[_SESSION]
        values[_REVISION] = old[_REVISION] + 1
        self._revise(memory, seq, old, values)

    def revised(self, memory: int, seq: int, fact: Revised) -> None:
        old = self.values(self.latest(memory))
        values = list(old)
        for name in _REVISABLE:
            value = getattr(fact, name)
            if value is not UNSET:
                values[_PLACE[name]] = self._encode(name, value)
        values[_UPDATED_AT], values[_REVISION] = fact.at, old[_REVISION] + 1
        self.expiries += values[_EXPIRES_AT] != NEVER
        self.validities += values[_PLACE["valid_from"]] != ALWAYS or values[_PLACE["valid_to"]] != NEVER
        self._revise(memory, seq, old, values)

    def kind(self, memory: int) -> int:
        """The number of the name of the kind that a memory has now."""
        return int(self.values(self.latest(memory))[_PLACE["kind"]])

    def reembedded(self, memory: int, seq: int, embedder: str) -> None:
        values = list(self.values(self.latest(memory)))
        values[_EMBEDDER] = self.strings.number(embedder)
        self.append(memory, seq, *values)

    def _revise(self, memory: int, seq: int, old: tuple[Any, ...], values: list[Any]) -> None:
        if (old[_TAG] < 0) != (values[_TAG] < 0):
            self._flip(memory, seq)
        self.append(memory, seq, *values)

    def _flip(self, memory: int, seq: int) -> None:
        self._flip_memories.append(memory)
        self._flip_seqs.append(seq)
        self.flips.setdefault(memory, []).append(seq)

    def _of(self, fact: Ingested) -> tuple[Any, ...]:
        """The record of an Ingested, written out because most events of a rebuild pass here."""
        number = self.strings.number
        sets = self.sets.number
        expires_at = NEVER
        if fact.expires_at is not None:
            expires_at = fact.expires_at
            self.expiries += 1
        if fact.valid_from is not None or fact.valid_to is not None:
            self.validities += 1
        return (
            fact.importance,
            fact.trust,
            NO_PRIORITY if fact.priority is None else fact.priority,
            fact.at,
            fact.at,
            ALWAYS if fact.valid_from is None else fact.valid_from,
            NEVER if fact.valid_to is None else fact.valid_to,
            expires_at,
            number(fact.kind),
            sets(fact.tags),
            sets(fact.entities),
            -1 if fact.project is None else number(fact.project),
            -1 if fact.session is None else number(fact.session),
            -1 if fact.source is None else number(fact.source),
            -1 if fact.importance_tag is None else number(fact.importance_tag),
            -1 if fact.key is None else number(fact.key),
            -1 if fact.embedder is None else number(fact.embedder),
            1,
        )

    def _encode(self, name: str, value: Any) -> float:
        if name in _SETS:
            return self.sets.number(value)
        if value is None:
            return MISSING.get(name, -1)
        return self.strings.number(value) if name in STRINGS else value

    def dump(self, prefix: str) -> State:
        return {
            "expiries": np.array([self.expiries], dtype=np.int64),
            "validities": np.array([self.validities], dtype=np.int64),
            "flip_memories": self._flip_memories.array,
            "flip_seqs": self._flip_seqs.array,
            **self.sets.dump("sets"),
            **super().dump(prefix),
        }

    def load(self, prefix: str, state: Saved) -> None:
        self.expiries = int(state["expiries"][0])
        self.validities = int(state["validities"][0])
        self._flip_memories.load(state["flip_memories"])
        self._flip_seqs.load(state["flip_seqs"])
        self.flips = {}
        pairs = zip(self._flip_memories.array.tolist(), self._flip_seqs.array.tolist(), strict=True)
        for memory, seq in pairs:
            self.flips.setdefault(memory, []).append(seq)
        self.sets.load("sets", state)
        super().load(prefix, state)
