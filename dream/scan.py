"""Scan: which of the new memories are replayed tonight.

    priority = recency × access × importance × novelty
    recency    2 ** (−age_hours / half_life_hours)
    access     max(floor, ln(1 + accesses + revisions − 1))
    importance the number of the memory's kind
    novelty    1 − max Jaccard of its terms with those of its peers: the living memories of the same topic key

Candidates are staged and at least `min_age_hours` old; the `top` by (priority, id) are picked. It writes
nothing. Source: Reverie's specification of its scan phase; the scale of access is ours.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection

from recollect.dream.candidates import Candidates, Row
from recollect.dream.phase import Change, Outcome, PhaseInput
from recollect.projections.columns import Int32Array
from recollect.projections.portable_math import exp2, log

_STAGED = """
    SELECT memory, key, age_hours, accesses, revisions, kind_importance FROM memories
    WHERE status = 0 AND age_hours >= $min_age_hours ORDER BY memory
"""
_PEERS = "SELECT key, memory FROM memories WHERE key >= 0 ORDER BY key, updated_at DESC, memory"


def priority(
    *,
    age_hours: float,
    uses: int,
    importance: float,
    novelty: float,
    half_life_hours: float = 168.0,
    access_floor: float = 0.1,
) -> float:
    """recency × access × importance × novelty; `uses` are accesses and revisions beyond the first version."""
    recency = exp2(-age_hours / half_life_hours)
    access = max(access_floor, log(1.0 + uses))
    return recency * access * importance * novelty


def jaccard(a: Collection[str], b: Collection[str]) -> float:
    """|a ∩ b| / |a ∪ b|; 0 for two empty sets."""
    one, other = set(a), set(b)
    union = len(one | other)
    return len(one & other) / union if union else 0.0


def scan(given: PhaseInput) -> Outcome:
    candidates = Candidates(given)
    staged = candidates.ask(_STAGED, min_age_hours=given.settings.scan.min_age_hours)
    novelty = _Novelty(given, candidates)
    ids = given.view.documents.ids.values
    best = _best(given, staged, novelty)
    changes = tuple(
        Change(id=ids[memory], what="picked", before=None, after=value, why=_why(row, fresh))
        for value, memory, row, fresh in best
    )
    return Outcome((), len(staged), changes, picked=tuple(memory for _, memory, _, _ in best))


def _best(given: PhaseInput, staged: list[Row], novelty: _Novelty) -> list[tuple[float, int, Row, float]]:
    """The top by priority, then id; peers are compared only where the priority without them would suffice."""
    top, ids = given.settings.scan.top, given.view.documents.ids.values
    bounds = sorted(((_priority(given, row, 1.0), row) for row in staged), key=lambda pair: -pair[0])
    found: list[tuple[float, int, Row, float]] = []
    least: list[float] = []
    for bound, row in bounds:
        if top == 0 or (len(least) == top and bound < least[0]):
            break
        fresh = novelty.of(row)
        value = _priority(given, row, fresh)
        found.append((value, row["memory"], row, fresh))
        (heapq.heappush if len(least) < top else heapq.heappushpop)(least, value)
    return sorted(found, key=lambda item: (-item[0], ids[item[1]]))[:top]


def _priority(given: PhaseInput, row: Row, novelty: float) -> float:
    return priority(
        age_hours=row["age_hours"],
        uses=row["accesses"] + row["revisions"] - 1,
        importance=row["kind_importance"],
        novelty=novelty,
        half_life_hours=given.settings.scan.half_life_hours,
        access_floor=given.settings.scan.access_floor,
    )


class _Novelty:
    """1 − max Jaccard with the peers of a memory."""

    def __init__(self, given: PhaseInput, candidates: Candidates) -> None:
        self._view = given.view
        self._peers_max = given.settings.scan.peers_max
        self._lexical = given.view.lexical(given.settings.scan.analyzer)
        self._rows: Int32Array = given.view.documents.rows_of(candidates.memories, given.view.seq)
        self._place = {memory: place for place, memory in enumerate(candidates.memories.tolist())}
        self._peers: dict[int, list[int]] = {}
        for row in candidates.ask(_PEERS):
            self._peers.setdefault(row["key"], []).append(row["memory"])
        self._terms: dict[int, set[str]] = {}

    def of(self, row: Row) -> float:
        peers = [peer for peer in self._peers.get(row["key"], ()) if peer != row["memory"]]
        own = self._terms_of(row["memory"]) if peers else set[str]()
        return 1.0 - max(
            (jaccard(own, self._terms_of(peer)) for peer in peers[: self._peers_max]), default=0.0
        )

    def _terms_of(self, memory: int) -> set[str]:
        terms = self._terms.get(memory)
        if terms is None:
            place = self._place[memory]
            terms = self._terms[memory] = set(self._lexical.terms_of(int(self._rows[place])))
        return terms


def _why(row: Row, novelty: float) -> str:
    return (
        f"{row['age_hours']:.1f} h old, {row['accesses']} accesses, revision {row['revisions']}, "
        f"importance of its kind {row['kind_importance']:g}, novelty {novelty:.2f}"
    )
