"""Consolidate: recent traces are replayed and grow stronger with the company they keep (sharp-wave ripples).

    delta = max · (1 / (1 + age_hours)) · ln(1 + peers), clamped to [0, max]
    strength = min(strength_max, strength + delta)

Replayed are the memories that scan picked (age since their creation) and, our addition, those recalled since
the last dream that are staged no longer (age since their last access), the most accessed first. Peers are the
living memories that were made in the same session, are linked, or are near by embedding.

Complementary learning: each picked memory is set beside its closest old ones, those staged no longer, and what
follows from their similarity is recorded: merge candidates, a link (an edge is written unless one stands), or
to be kept apart. Nothing is ever merged here. Source: Reverie ADR-006, `compute_replay_delta`; the pairs from
its specification; the similarities are claude-memory's.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from recollect.dream.candidates import Candidates
from recollect.dream.phase import Change, Outcome, PhaseInput
from recollect.events.facts import AnyFact, Consolidated, Linked, PairDecision, Pairing, StrengthChange
from recollect.projections.columns import BoolArray, Int32Array
from recollect.projections.portable_math import log
from recollect.projections.vectors.shard_cache import around

_REPLAYED = """
    SELECT memory, session, strength, status, accesses_since,
           CASE WHEN status = 0 THEN age_hours ELSE idle_days * 24 END AS age_hours
    FROM memories WHERE picked OR (status <> 0 AND accesses_since > 0)
    ORDER BY picked DESC, accesses_since DESC, memory
    LIMIT $most
"""
_SESSIONS = (
    "SELECT session, count(*) AS members FROM memories WHERE session >= 0 GROUP BY session ORDER BY session"
)


def replay_delta(*, peers: int, age_hours: float, max_delta: float = 0.1) -> float:
    """max_delta · (1 / (1 + age_hours)) · ln(1 + peers), clamped to [0, max_delta]. Source: Reverie ADR-006."""
    recency = 1.0 / (1.0 + max(age_hours, 0.0))
    return min(max(max_delta * recency * log(1.0 + peers), 0.0), max_delta)


def pair_decision(similarity: float, *, link: float, merge: float) -> PairDecision:
    """What to do with two memories of this similarity."""
    if similarity >= merge:
        return "merge_candidate"
    return "link" if similarity >= link else "keep_apart"


class _Company(NamedTuple):
    """A memory's peers: by session, by link and by nearness."""

    session: int
    linked: int
    near: int

    @property
    def peers(self) -> int:
        return self.session + self.linked + self.near


def consolidate(given: PhaseInput) -> Outcome:
    candidates = Candidates(given)
    picked = np.isin(candidates.memories, np.array(given.picked, dtype=np.int64))
    candidates.add("picked", picked)
    settings = given.settings.consolidate
    rows = candidates.ask(_REPLAYED, most=len(given.picked) + settings.replay_recalled_max)
    sessions = {row["session"]: row["members"] for row in candidates.ask(_SESSIONS)}
    society = _Society(given, candidates, sessions)
    strengths, changes = [], []
    for row in rows:
        company = society.of(row["memory"])
        delta = replay_delta(
            peers=company.peers, age_hours=row["age_hours"], max_delta=settings.max_strength_delta
        )
        after = min(settings.strength_max, row["strength"] + delta)
        if after > row["strength"]:
            id_ = given.view.documents.ids.values[row["memory"]]
            strengths.append(StrengthChange(id=id_, before=row["strength"], after=after))
            changes.append(_change(strengths[-1], company, row["age_hours"]))
    pairs = [pairing for memory in sorted(given.picked) for pairing in society.pairings(memory)]
    fact = Consolidated(dream=given.dream, changes=tuple(strengths), pairs=tuple(pairs))
    links = _links(given, pairs)
    changes += [_paired(pairing) for pairing in pairs]
    facts: tuple[AnyFact, ...] = (fact, *links) if strengths or pairs else ()
    return Outcome(facts, len(rows), tuple(changes))


class _Society:
    """Which memories are peers in the phase's view."""

    def __init__(self, given: PhaseInput, candidates: Candidates, sessions: dict[int, int]) -> None:
        self._given = given
        self._view = given.view
        self._vectors = given.view.projections.vectors
        self._sessions = sessions
        size = given.view.documents.memories
        self._alive: BoolArray = np.zeros(size, dtype=np.bool_)
        self._alive[candidates.memories] = True
        self._session = np.full(size, -1, dtype=np.int32)
        self._session[candidates.memories] = candidates.now.session
        self._old: BoolArray = np.zeros(size, dtype=np.bool_)
        self._old[candidates.memories] = candidates.now.status != 0

    def of(self, memory: int) -> _Company:
        """Each peer is counted once: by session, else by link, else by nearness."""
        session = int(self._session[memory])
        same = max(self._sessions.get(session, 1) - 1, 0)
        edges = self._view.graph.edges_of(memory, self._view.seq)
        linked = {edge.other(memory) for edge in edges} - {memory}
        linked = {other for other in linked if self._alive[other] and not self._together(other, session)}
        near = {
            other
            for other, _ in self._near(memory)
            if other != memory and other not in linked and not self._together(other, session)
        }
        return _Company(same, len(linked), len(near))

    def _together(self, memory: int, session: int) -> bool:
        return session >= 0 and int(self._session[memory]) == session

    def _near(self, memory: int) -> list[tuple[int, float]]:
        settings = self._given.settings.consolidate
        found = self._search(memory, settings.neighbours + 1, self._alive)
        return [(other, cosine) for other, cosine in found if cosine >= settings.peer_similarity]

    def pairings(self, memory: int) -> list[Pairing]:
        settings, ids = self._given.settings.consolidate, self._view.documents.ids.values
        return [
            Pairing(
                new=ids[memory],
                old=ids[old],
                similarity=cosine,
                decision=pair_decision(
                    cosine, link=settings.link_similarity, merge=settings.merge_similarity
                ),
            )
            for old, cosine in self._search(memory, settings.pairs, self._old)
            if old != memory
        ]

    def _search(self, memory: int, top: int, among: BoolArray) -> list[tuple[int, float]]:
        """The nearest of some memories, with their cosines."""
        documents, seq = self._view.documents, self._view.seq
        row = documents.rows_of(np.array([memory]), seq)
        if row[0] < 0 or not among.any() or not self._vectors.comparable(row, at=seq)[0]:
            return []
        vector = self._vectors.vector(int(row[0]))
        assert vector is not None

        def admit(rows: Int32Array) -> BoolArray:
            return among[documents.memory_of[rows]]

        hits, _ = around(
            lambda without: self._vectors.search(vector, at=seq, top=top, admit=admit, without=without)
        )
        return list(zip(documents.memory_of[hits.rows].tolist(), hits.cosines.tolist(), strict=True))


def _links(given: PhaseInput, pairs: list[Pairing]) -> list[Linked]:
    """An edge for each pair to be linked that has none."""
    view, kind = given.view, given.settings.consolidate.link_kind
    find, seq = view.documents.ids.find, view.seq
    wanted = [pairing for pairing in pairs if pairing.decision == "link"]
    return [
        Linked(a=pairing.new, b=pairing.old, kind=kind, weight=pairing.similarity)
        for pairing in wanted
        if find(pairing.old)
        not in {e.other(find(pairing.new)) for e in view.graph.edges_of(find(pairing.new), seq)}
    ]


def _change(change: StrengthChange, company: _Company, age_hours: float) -> Change:
    why = (
        f"replayed at {age_hours:.1f} h with {company.peers} peers ({company.session} of its session, "
        f"{company.linked} linked, {company.near} near)"
    )
    return Change(id=change.id, what="strength", before=change.before, after=change.after, why=why)


def _paired(pairing: Pairing) -> Change:
    why = f"cosine {pairing.similarity:.4f} to the older {pairing.old}"
    return Change(id=pairing.new, what="pair", before=None, after=pairing.decision, why=why)
