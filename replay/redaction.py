"""Recalls that saw something that was erased since: what can still be said of them, and what not.

An erased memory is gone from the past too: its rank in an old answer can be named but not computed again, and the
words it took out of the corpus (document counts and lengths, shards that had to be given up, a cluster's centre)
may move the others. So a recall whose basis lies between an erased memory's first event and its `Erased` event
either comes out bit for bit as before, or it is *attested* (it was verified before the erasure, see `attestation`),
or it is *redacted*. Of both this must still hold:

    its formula is in the log; it names at most k memories, each once; each of them is erased,
    or was visible at the basis

What was recorded itself is guarded by the hash chain as ever. Anything else is a difference.

Where nothing that was erased can have moved the ranking (`mover`), the recall is compared strictly. Words and vectors
are gone, so this is judged by what remains: a memory that was hidden at the basis gives no words to the corpus, and one
from before there was an embedder has no vector and is in no shard. A formula that reads anything else of the corpus
(clusters, verdicts by kind, edges) may have been moved by any of them.

The same holds for ranks of the past that were not recorded (`bisect`, `ranks`, `why_changed`): those of an erased memory
cannot be told, those of others are computed without it, and `redacted_within` is the line that says so.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence

import msgspec
import numpy as np

from recollect.events.facts import Recalled, Redacted
from recollect.events.log import Log
from recollect.projections.documents import Erasure
from recollect.projections.view import Projections
from recollect.query.formula import Formula, from_log


class RedactedRank(msgspec.Struct, frozen=True, kw_only=True):
    """A memory of a recorded answer that is gone."""

    rank: int
    id: str
    erased_at: int


class RedactedRecall(msgspec.Struct, frozen=True, kw_only=True):
    """A recall that cannot come out as it was recorded: `ranks` are erased; none if only its corpus had the memory."""

    recall: str
    ranks: tuple[RedactedRank, ...]
    reason: str


class Touched:
    """The stretches of the log that held something which was erased since."""

    def __init__(self, erasures: Sequence[Erasure]) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        for _, first, seq in sorted(erasures, key=lambda erasure: erasure.first):
            if self._ends and first < self._ends[-1]:
                self._ends[-1] = max(self._ends[-1], seq)
            else:
                self._starts.append(first)
                self._ends.append(seq)

    def __bool__(self) -> bool:
        return bool(self._starts)

    def at(self, seq: int) -> int | None:
        """The seq by which all that the log held at `seq` and lost since was erased; None if it lost nothing."""
        place = bisect_right(self._starts, seq) - 1
        return self._ends[place] if place >= 0 and seq < self._ends[place] else None


_VECTOR_CHANNELS = frozenset({"vector", "recent"})
_OF_THE_CANDIDATES_ALONE = frozenset({
    "retrieve", "measure", "rank", "fuse", "weigh", "normalise", "multiply", "add", "compute", "raise", "filter", "gate",
    "deduplicate", "tie-break", "abstain", "cut", "exclude",
})  # fmt: skip
_OF_THE_CORPUS = ("cluster", "centroid", "kind_helpful", "kind_unhelpful", "thompson")


def mover(projections: Projections, recalled: Recalled, erasures: Iterable[Erasure]) -> Erasure | None:
    """The last of the erasures that can have moved this ranking; None if none can."""
    formula = from_log(projections.adoptions.formulas.get(recalled.formula), recalled.formula)
    if formula is None:
        return None
    basis = recalled.basis
    near = [one for one in erasures if one.first <= basis < one.seq]
    if _reads_candidates_alone(formula):
        able = _reads_vectors(formula) and projections.adoptions.embedder(basis) is not None
        near = [one for one in near if able or _was_visible(projections, one.memory, basis)]
    return max(near, key=lambda one: one.seq, default=None)


def _reads_candidates_alone(formula: Formula) -> bool:
    """Whether its stages read nothing but the candidates and the channels that found them."""
    plain = all(stage.__struct_config__.tag in _OF_THE_CANDIDATES_ALONE for stage in formula.stages)
    return plain and not any(word in formula.text for word in _OF_THE_CORPUS)


def _reads_vectors(formula: Formula) -> bool:
    return any(
        getattr(stage, "channel", "") in _VECTOR_CHANNELS or stage.__struct_config__.tag == "deduplicate"
        for stage in formula.stages
    )


def _was_visible(projections: Projections, memory: int, seq: int) -> bool:
    if memory < 0 or projections.documents.newest_row(memory, seq) < 0:
        return True
    return projections.lifecycle.state(memory, seq).visibility == "visible"


def redaction(
    log: Log, projections: Projections, seq: int, recalled: Recalled, erased: Erasure
) -> RedactedRecall | str:
    """Why the recall at `seq` may replay differently after an erasure; a sentence if no erasure can explain it."""
    gone = [erasure_at(log, projections, id_, recalled.basis) for id_ in recalled.ids]
    ranks = tuple(
        RedactedRank(rank=rank, id=id_, erased_at=at)
        for rank, (id_, at) in enumerate(zip(recalled.ids, gone, strict=True), 1)
        if at is not None
    )
    wrong = _contradiction(projections, recalled, [rank.id for rank in ranks])
    if wrong:
        return wrong
    if ranks:
        named = ", ".join(f"{rank.id} at rank {rank.rank} was erased at @{rank.erased_at}" for rank in ranks)
        return RedactedRecall(recall=f"r{seq}", ranks=ranks, reason=named)
    reason = f"memories that it was ranked among were erased by @{erased.seq}"
    return RedactedRecall(recall=f"r{seq}", ranks=(), reason=reason)


def erasure_at(log: Log, projections: Projections, memory_id: str, seq: int) -> int | None:
    """The seq at which the version that a memory had at `seq` was erased; None if it was not."""
    documents = projections.documents
    memory = documents.ids.find(memory_id)
    row = -1 if memory < 0 else documents.newest_row(memory, seq)
    fact = None if row < 0 else log.get(documents.source(row)).fact
    return fact.erased_at if isinstance(fact, Redacted) else None


def erased_within(log: Log, projections: Projections, memory_id: str, since: int, until: int) -> int | None:
    """The seq at which something that a memory was between `since` and `until` was erased; None if nothing was."""
    memory = projections.documents.ids.find(memory_id)
    lost = [one.seq for one in _overlapping(projections, (since, until)) if one.memory == memory]
    return max(lost) if lost else erasure_at(log, projections, memory_id, until)


def redacted_within(projections: Projections, *spans: tuple[int, int]) -> str:
    """A line about memories that could have ranked within these spans and were erased since; empty if none were."""
    lost = {one.memory: one.seq for one in _overlapping(projections, *spans)}
    if not lost:
        return ""
    last = max(lost.values())
    if len(lost) == 1:
        return f"a memory that could have ranked was erased at @{last}: ranks before that are computed without it"
    return f"{len(lost)} memories that could have ranked were erased by @{last}: ranks before that lack them"


def _overlapping(projections: Projections, *spans: tuple[int, int]) -> list[Erasure]:
    """The erasures that took something which the log held within one of these spans, both ends included."""
    return [
        one
        for one in projections.documents.erasures
        if any(one.first <= until and since < one.seq for since, until in spans)
    ]


def _contradiction(projections: Projections, recalled: Recalled, erased: Sequence[str]) -> str | None:
    """Why no erasure can explain the record; None if one can."""
    if len(recalled.ids) > recalled.question.k or len(set(recalled.ids)) < len(recalled.ids):
        return "the recorded answer names a memory twice, or more than were asked for"
    documents = projections.documents
    for id_ in recalled.ids:
        memory = documents.ids.find(id_)
        known = memory >= 0 and documents.rows_of(np.array([memory]), recalled.basis)[0] >= 0
        if not known and id_ not in erased:
            return f"the recorded answer names {id_}, which was not visible at @{recalled.basis} and was not erased"
    return None
