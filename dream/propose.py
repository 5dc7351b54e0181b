"""Propose: new memories that say the same as an old one, or something else of the same subject, as links to be accepted.

Each memory that got a text since the last dream is set beside the nearest older ones of its project:

    near            nearness >= `nearness_min`, measured from the model's own zero (`unrelated_cosine`)
    duplicate       the same terms, or a cosine of at least `duplicate_cosine`
    contradiction   near, of one subject (the same topic key, an entity in common, or the same first term), and each has
                    one to `values_max` terms that the other has not: other values of the same thing

A pair that is linked as `supersedes` or `contradicts`, or was proposed before, is not proposed again. The proposals are
recorded and change no ranking; what is accepted (`recollect proposals --accept`) is a fact of its own. Each says how many of
the last recorded answers accepting it would change. Ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from recollect.dream.candidates import living
from recollect.dream.phase import Change, Outcome, PhaseInput
from recollect.events.facts import AnyFact, Consolidated, Linked, MemoryId, PairDecision, Pairing, Superseded
from recollect.projections.columns import BoolArray, Int32Array
from recollect.projections.vectors.shard_cache import around
from recollect.query.inputs import unrelated_cosine

DUPLICATE: PairDecision = "duplicate"
CONTRADICTION: PairDecision = "contradiction"
RESOLVED = ("supersedes", "contradicts", "contradiction")
_NEIGHBOURS = 64


def accepted(new: MemoryId, old: MemoryId, decision: PairDecision) -> AnyFact:
    """What accepting a proposal writes: the newer memory supersedes its duplicate, or contradicts the older one."""
    if decision == DUPLICATE:
        return Superseded(old=old, new=new)
    return Linked(a=new, b=old, kind="contradicts")


def propose(given: PhaseInput) -> Outcome:
    settings = given.settings.propose
    fresh = _fresh(given)
    found: dict[frozenset[int], _Pair] = {}
    for memory in fresh if settings.pairs_max else ():
        for pair in _Beside(given, memory).pairs():
            found.setdefault(frozenset((pair.new, pair.old)), pair)
    best = sorted(found.values(), key=lambda pair: (-pair.cosine, pair.new, pair.old))[: settings.pairs_max]
    ids = given.view.documents.ids.values
    pairs = tuple(
        Pairing(
            new=ids[pair.new],
            old=ids[pair.old],
            similarity=pair.cosine,
            decision=pair.decision,
            answers=given.answers_changed_by(accepted(ids[pair.new], ids[pair.old], pair.decision)),
        )
        for pair in best
    )
    facts = (Consolidated(dream=given.dream, changes=(), pairs=pairs),) if pairs else ()
    return Outcome(facts, len(fresh), tuple(map(_change, pairs)))


def _fresh(given: PhaseInput) -> list[int]:
    """The living memories that got a text since the last dream, newest first."""
    documents, memories = given.view.documents, living(given.view)
    rows = documents.rows_of(memories, given.view.seq)
    order = np.argsort(-rows, kind="stable")
    told = documents.born[rows] > given.since
    newest: list[int] = memories[order][told[order]][: given.settings.propose.looked_at_max].tolist()
    return newest


class _Pair(NamedTuple):
    new: int
    old: int
    cosine: float
    decision: PairDecision


class _Beside:
    """One memory beside its nearest older ones."""

    def __init__(self, given: PhaseInput, memory: int) -> None:
        self._given, self._view, self._memory = given, given.view, memory
        self._row = int(self._view.documents.rows_of(np.array([memory]), self._view.seq)[0])
        self._state = self._view.lifecycle.state(memory, self._view.seq)

    def pairs(self) -> Iterator[_Pair]:
        vectors, view = self._view.projections.vectors, self._view
        point = vectors.vector(self._row)
        if point is None or not vectors.comparable(np.array([self._row]), at=view.seq)[0]:
            return
        hits, _ = around(
            lambda without: vectors.search(
                point, at=view.seq, top=_NEIGHBOURS, admit=self._admit, without=without
            )
        )
        zero = unrelated_cosine(view, hits.rows)
        for row, cosine in zip(hits.rows.tolist(), hits.cosines.tolist(), strict=True):
            if (cosine - zero) / (1.0 - zero) < self._given.settings.propose.nearness_min:
                return
            decision = self._decision(row, cosine)
            old = int(view.documents.memory_of[row])
            if decision is not None and not self._known(old):
                yield _Pair(self._memory, old, cosine, decision)

    def _admit(self, rows: Int32Array) -> BoolArray:
        """Rows of the same project that were told before this one."""
        view = self._view
        columns = view.lifecycle.at(view.documents.memory_of[rows], view.seq)
        project = -1 if self._state.project is None else columns.strings.find(self._state.project)
        older: BoolArray = (rows < self._row) & (columns.project == project)
        return older

    def _decision(self, row: int, cosine: float) -> PairDecision | None:
        settings = self._given.settings.propose
        lexical = self._view.lexical(self._given.settings.scan.analyzer)
        ours, theirs = lexical.terms_of(self._row), lexical.terms_of(row)
        if set(ours) == set(theirs) or cosine >= settings.duplicate_cosine:
            return DUPLICATE
        values = (set(ours) - set(theirs), set(theirs) - set(ours))
        if self._one_subject(row, ours, theirs) and all(
            1 <= len(one) <= settings.values_max for one in values
        ):
            return CONTRADICTION
        return None

    def _one_subject(self, row: int, ours: list[str], theirs: list[str]) -> bool:
        other = self._view.lifecycle.state(int(self._view.documents.memory_of[row]), self._view.seq)
        return (
            (self._state.key is not None and self._state.key == other.key)
            or bool(set(self._state.entities) & set(other.entities))
            or ours[:1] == theirs[:1]
        )

    def _known(self, other: int) -> bool:
        """Whether the two are already linked in this way, or were proposed before."""
        edges = self._view.graph.edges_of(self._memory, self._view.seq, kinds=self._kinds())
        ids = self._view.documents.ids.values
        return any(edge.other(self._memory) == other for edge in edges) or (
            (ids[self._memory], ids[other]) in self._given.proposed
        )

    def _kinds(self) -> list[str]:
        return [kind for kind in RESOLVED if kind in self._view.graph.edges.kinds]


def _change(pair: Pairing) -> Change:
    why = (
        f"cosine {pair.similarity:.4f} to the older {pair.old}; accepting it would change {pair.answers} of the last "
        f"recorded answers"
    )
    return Change(id=pair.new, what="proposal", before=None, after=pair.decision, why=why)
