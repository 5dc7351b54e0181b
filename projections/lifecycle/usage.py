"""usage: how often a memory was read, in how many sessions, and what people said about it.

`Usage` reads Accessed; `Feedback` reads Rated, with the kind that the memory had when it was judged. An access of any kind counts once per event. The sessions of
a memory are the one that it was created in and those that accessed it; a session without a name does not count.
"""

from __future__ import annotations

import numpy as np

from recollect.events.facts import Accessed, Verdict
from recollect.projections.columns import Column, Saved, State, Versions
from recollect.projections.compact_versions import dump_compact, load_compact
from recollect.projections.lifecycle.popularity import Popularity

NEVER_ACCESSED = -(2**63)
NO_RECALL = -1

_SESSION_BITS = 32
_COUNTERS = frozenset({"accesses", "used", "injected", "sessions"})


class Usage(Versions):
    def __init__(self) -> None:
        super().__init__(
            [
                ("accesses", "i"),
                ("used", "i"),
                ("injected", "i"),
                ("sessions", "i"),
                ("last_access_at", "q"),
                ("last_recall", "q"),
            ]
        )
        self.popularity = Popularity(self)
        self.born_in: Column[np.int32] = Column(np.int32)
        self._seen: set[int] = set()

    def born(self, session: int) -> None:
        """A new memory, made in this session (-1: in none)."""
        self.born_in.append(session)

    def accessed(self, memory: int, seq: int, session: int, fact: Accessed) -> None:
        """One of the memories of an access in this session (-1: in none)."""
        node = self.latest(memory)
        if node >= 0:
            accesses, used, injected, sessions, last_access_at, last_recall = self.values(node)
        else:
            accesses = used = injected = 0
            sessions = 0 if self.born_in[memory] < 0 else 1
            last_access_at, last_recall = NEVER_ACCESSED, NO_RECALL
        if session >= 0 and self._is_new(memory, session):
            sessions += 1
        self.append(
            memory,
            seq,
            accesses + 1,
            used + (fact.how == "used"),
            injected + (fact.how == "injected"),
            sessions,
            fact.at if fact.at > last_access_at else last_access_at,
            last_recall if fact.recall is None else fact.recall,
        )

    def _is_new(self, memory: int, session: int) -> bool:
        if session == self.born_in[memory]:
            return False
        pair = memory << _SESSION_BITS | session
        if pair in self._seen:
            return False
        self._seen.add(pair)
        return True

    def dump(self, prefix: str) -> State:
        return {
            "born_in": self.born_in.array,
            "seen": np.array(sorted(self._seen), dtype=np.int64),
            **dump_compact(self, prefix, _COUNTERS),
        }

    def load(self, prefix: str, state: Saved) -> None:
        self.born_in.load(state["born_in"])
        self._seen = set(state["seen"].tolist())
        load_compact(self, prefix, state, _COUNTERS)
        self.popularity = Popularity(self)


class Feedback(Versions):
    """How often each memory, or each kind of memories, was judged by each verdict.

    feedback = helpful - unhelpful - 2 * outdated.
    """

    def __init__(self) -> None:
        super().__init__([("helpful", "i"), ("unhelpful", "i"), ("outdated", "i")])

    def rated(self, owner: int, seq: int, verdict: Verdict) -> None:
        node = self.latest(owner)
        helpful, unhelpful, outdated = self.values(node) if node >= 0 else (0, 0, 0)
        self.append(
            owner,
            seq,
            helpful + (verdict == "helpful"),
            unhelpful + (verdict == "unhelpful"),
            outdated + (verdict == "outdated"),
        )
