"""lifecycle: everything about a memory at any position except its text and vector.

Reads      everything that describes, uses, judges, strengthens, places, hides or restores a memory
State      five histories of records per memory (`histories`) and the list of global downscales (`strength`)
Invariant  the answer for a seq is a pure function of the events up to that seq, however many follow

An event must be applied to the documents first: memories have the numbers that are given there. Events about
an id that was never ingested change nothing. `Recalled` changes nothing either: what counts as an access is
said by an `Accessed` event.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar, TypeVar, assert_never

import numpy as np

from recollect.events import facts
from recollect.events.envelope import Recorded
from recollect.projections import hard_filters
from recollect.projections.columns import BoolArray, Int32Array, IntArray, Interner, State
from recollect.projections.documents import Documents
from recollect.projections.lifecycle import state as lifecycle_state
from recollect.projections.lifecycle.affinity import Labels
from recollect.projections.lifecycle.columns import LifecycleColumns
from recollect.projections.lifecycle.condition import (
    ERASED,
    FORGOTTEN,
    NO_LAYER,
    PRUNED,
    STATUSES,
    SUPERSEDED,
)
from recollect.projections.lifecycle.histories import Histories
from recollect.projections.lifecycle.recent_access import RecentAccess, recent_access
from recollect.projections.lifecycle.state import LifecycleState
from recollect.projections.string_sets import StringSets

__all__ = ["Lifecycle", "LifecycleColumns", "LifecycleState"]

Change = TypeVar("Change", facts.StrengthChange, facts.StabilityChange, facts.Placement, facts.Promotion)


class Lifecycle:
    name = "lifecycle"
    version = 5
    reads: ClassVar[frozenset[type]] = frozenset(
        {
            facts.Accessed,
            facts.Ingested,
            facts.Rated,
            facts.Revised,
            facts.Reembedded,
            facts.Forgotten,
            facts.Restored,
            facts.Superseded,
            facts.Erased,
            facts.Pruned,
            facts.Downscaled,
            facts.Consolidated,
            facts.Stabilized,
            facts.Placed,
            facts.Promoted,
        }
    )

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        self._histories = Histories()

    # --- folding ---------------------------------------------------------------------------------

    def apply(self, recorded: Recorded) -> None:
        """Fold one event that the documents have folded already."""
        seq = recorded.seq
        match recorded.fact:
            case facts.Accessed() as accessed:
                self._access(accessed, seq)
            case facts.Ingested() as ingested:
                self._histories.ingested(self._documents.ids.find(ingested.id), seq, ingested)
            case facts.Recalled():
                pass
            case facts.Rated() | facts.Revised() | facts.Reembedded():
                self._change(recorded.fact, seq)
            case facts.Forgotten() | facts.Restored() | facts.Superseded() | facts.Erased() | facts.Pruned():
                self._show_or_hide(recorded.fact, seq)
            case facts.Downscaled() as downscaled:
                self._histories.downscales.append(seq, downscaled)
            case facts.Consolidated() | facts.Stabilized() | facts.Placed() | facts.Promoted():
                self._dream(recorded.fact, seq)
            case (
                facts.Linked() | facts.Unlinked() | facts.Clustered() | facts.DreamBegan() | facts.DreamEnded()
                | facts.FormulaAdopted() | facts.EmbedderAdopted() | facts.ShardSealed() | facts.ShardRetired()
                | facts.Expected() | facts.ExpectationWithdrawn() | facts.Recovered() | facts.ClockCorrected()
                | facts.Attested() | facts.Unknown() | facts.Redacted()
            ):  # fmt: skip
                pass
            case _:
                assert_never(recorded.fact)

    def births(self, seqs: IntArray, ingested: list[facts.Ingested]) -> None:
        """Fold first versions of memories that are all new, one event each."""
        self._histories.births(seqs, ingested)

    def _access(self, fact: facts.Accessed, seq: int) -> None:
        session = -1 if fact.session is None else self._histories.strings.number(fact.session)
        for id_ in fact.ids if len(fact.ids) == 1 else dict.fromkeys(fact.ids):
            memory = self._documents.ids.find(id_)
            if memory >= 0:
                self._histories.usage.accessed(memory, seq, session, fact)

    def _change(self, fact: facts.Rated | facts.Revised | facts.Reembedded, seq: int) -> None:
        find = self._documents.ids.find
        match fact:
            case facts.Rated(id=id_, verdict=verdict):
                if (memory := find(id_)) >= 0:
                    self._histories.rated(memory, seq, verdict)
            case facts.Revised(id=id_):
                if (memory := find(id_)) >= 0:
                    self._histories.traits.revised(memory, seq, fact)
            case facts.Reembedded(embedder=embedder, vectors=vectors):
                for id_, _ in vectors:
                    if (memory := find(id_)) >= 0:
                        self._histories.traits.reembedded(memory, seq, embedder)
            case _:
                assert_never(fact)

    def _show_or_hide(
        self,
        fact: facts.Forgotten | facts.Restored | facts.Superseded | facts.Erased | facts.Pruned,
        seq: int,
    ) -> None:
        match fact:
            case facts.Restored(id=id_):
                if (memory := self._documents.ids.find(id_)) >= 0:
                    self._histories.visibility.restored(memory, seq)
            case facts.Forgotten(id=id_, reason=reason):
                self._hide(id_, seq, FORGOTTEN, reason)
            case facts.Superseded(old=id_, new=new, reason=reason):
                self._hide(id_, seq, SUPERSEDED, reason, by=new)
            case facts.Erased(id=id_, reason=reason):
                self._hide(id_, seq, ERASED, reason)
            case facts.Pruned(items=items):
                for item in items:
                    self._hide(item.id, seq, PRUNED, item.reason)
            case _:
                assert_never(fact)

    def _hide(self, id_: str, seq: int, how: int, reason: str, *, by: str | None = None) -> None:
        memory = self._documents.ids.find(id_)
        if memory >= 0:
            number = self._histories.strings.number
            by_number = -1 if by is None else number(by)
            self._histories.visibility.hidden(memory, seq, how, reason=number(reason), by=by_number)

    def _dream(
        self, fact: facts.Consolidated | facts.Stabilized | facts.Placed | facts.Promoted, seq: int
    ) -> None:
        condition = self._histories.condition
        match fact:
            case facts.Consolidated(changes=strengths):
                for memory, strength in self._known(strengths):
                    condition.strengthened(memory, seq, strength.after)
            case facts.Stabilized(changes=stabilities):
                for memory, stability in self._known(stabilities):
                    condition.stabilized(memory, seq, stability.after)
            case facts.Placed(changes=placements):
                for memory, place in self._known(placements):
                    condition.placed(memory, seq, status=place.status, depth=place.depth)
            case facts.Promoted(changes=promotions):
                for memory, promotion in self._known(promotions):
                    layer = self._histories.strings.number(promotion.layer) if promotion.layer else NO_LAYER
                    condition.promoted(memory, seq, layer=layer, depth=promotion.depth)
            case _:
                assert_never(fact)

    def _known(self, changes: Iterable[Change]) -> Iterator[tuple[int, Change]]:
        """The changes whose memories exist, with their numbers."""
        for change in changes:
            memory = self._documents.ids.find(change.id)
            if memory >= 0:
                yield memory, change

    # --- reading ---------------------------------------------------------------------------------

    @property
    def strings(self) -> Interner:
        """The numbered strings of all columns of strings."""
        return self._histories.strings

    @property
    def sets(self) -> StringSets:
        """The numbered sets of tags and of entities."""
        return self._histories.traits.sets

    @property
    def anything_expires(self) -> bool:
        """Whether any memory ever got a time to expire at."""
        return self._histories.traits.expiries > 0

    @property
    def anything_has_validity(self) -> bool:
        """Whether any memory ever got a `valid_from` or `valid_to`."""
        return self._histories.traits.validities > 0

    def at(self, memories: IntArray | Int32Array, seq: int) -> LifecycleColumns:
        """The lifecycle of these memories at `seq`; each column is computed when it is asked for."""
        return LifecycleColumns(self._histories, memories, seq)

    def each(
        self,
        memories: IntArray,
        seqs: IntArray,
        *,
        trait_seqs: IntArray | None = None,
        common: int | None = None,
    ) -> LifecycleColumns:
        """The lifecycle of memories[i] at seqs[i], in the same columns."""
        return LifecycleColumns(self._histories, memories, seqs, trait_seqs=trait_seqs, common=common)

    def last_touch(self, memory: int, seq: int) -> int:
        """The seq of the last access to a memory at or before `seq`, or else of its birth."""
        usage = self._histories.usage
        node = int(usage.at(np.array([memory]), seq)[0])
        return usage.seq(node) if node >= 0 else int(self._histories.born[memory])

    def changes(self, after: int, upto: int) -> tuple[IntArray, IntArray]:
        """Which memories' own records changed at which seqs with after < seq <= upto: memories and seqs, sorted."""
        return self._histories.changes(after, upto)

    def state(self, memory: int, seq: int) -> LifecycleState:
        """All values of one memory that existed at `seq`."""
        return lifecycle_state.state(self.at(np.array([memory], dtype=np.int64), seq))

    def recent_access(self, seq: int, records: int) -> RecentAccess:
        """The memories last touched (born or accessed) by `seq`, latest first, from so many records."""
        return recent_access(self._histories, seq, records)

    def most_accessed(self, seq: int, top: int) -> IntArray:
        """The `top` memories accessed most often by `seq`, most first; of equal ones, the first to reach the number."""
        return self._histories.usage.popularity.most_accessed(seq, top)

    def uses(self, kind: Labels, label: str, seq: int) -> int:
        """How many uses by `seq` were of a memory that carried this tag or entity then."""
        return self._histories.affinity.uses(kind, label, seq)

    def count_by_status(self, memories: IntArray | Int32Array, seq: int) -> dict[str, int]:
        """How many of these memories are staged, consolidated and archived at `seq`."""
        counts = np.bincount(self.at(memories, seq).status, minlength=len(STATUSES))
        return {status: int(count) for status, count in zip(STATUSES, counts, strict=True)}

    def provenance(self, memory: int, seq: int) -> dict[str, tuple[int, ...]]:
        """For each value of `state` the seqs of the events that it comes from."""
        return lifecycle_state.provenance(self._histories, memory, seq)

    def history(self, memory: int) -> list[int]:
        """The seqs of all events that changed this memory's own record, ascending; no global downscales."""
        return self._histories.seqs_of(memory)

    def admissible(
        self, memories: IntArray | Int32Array, *, seq: int, now: facts.Micros, filters: facts.Filters
    ) -> BoolArray:
        """Which of these memories are not expired at `now` and match the filters, as of `seq`."""
        if not self.anything_expires and filters == hard_filters.NO_FILTERS:
            return np.ones(len(memories), dtype=np.bool_)
        return hard_filters.admissible(self.at(memories, seq), self._documents.ids, now=now, filters=filters)

    def refusal(self, memory: int, *, seq: int, now: facts.Micros, filters: facts.Filters) -> str | None:
        """Why one memory is not admissible, in words; None if it is."""
        id_ = self._documents.ids.values[memory]
        return hard_filters.refusal(self.state(memory, seq), id_, now=now, filters=filters)

    # --- checkpoints -----------------------------------------------------------------------------

    def dump(self) -> State:
        return self._histories.dump()

    def load(self, state: State) -> None:
        self._histories.load(state)
