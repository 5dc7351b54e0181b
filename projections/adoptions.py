"""Adoptions: what the engine itself changed, so that the past is ranked with the past's machinery.

Reads      formula.adopted, embedder.adopted, dream.began, dream.ended, recall.answered, log.attested
State      formulas by digest with their canonical text, which formula and embedder were in force from which
           seq on, the seqs of all recorded recalls and of all attestations, and the dreams
Invariant  every list is in seq order, so "at seq" is a bisection
"""

from __future__ import annotations

from bisect import bisect_right
from typing import ClassVar, assert_never

import msgspec
import numpy as np

from recollect.events import facts
from recollect.events.envelope import Recorded, type_name
from recollect.projections.columns import Column, IntArray, Saved, State

RECALLED = type_name(facts.Recalled)


class Adoption(msgspec.Struct, array_like=True):
    """A formula or embedder that came into force at `seq`."""

    seq: int
    label: str
    dimensions: int = 0
    probe: bytes = b""


class Dream(msgspec.Struct, array_like=True):
    """One finished dream; `undone_at` is the seq from which it no longer counts (0: never)."""

    id: str
    began: int
    ended: int
    undone_at: int = 0


class _Memo(msgspec.Struct, array_like=True):
    """What a checkpoint keeps of `Adoptions` beside the recalls: its attributes of these names."""

    formulas: dict[str, str]
    formulas_in_force: list[Adoption]
    embedders: list[Adoption]
    dreams: list[Dream]
    began: dict[str, tuple[int, str]]
    unknown: dict[str, int]
    undoings: list[Dream] = []
    attestations: list[int] = []


class Adoptions:
    name = "engine"
    version = 3
    reads: ClassVar[frozenset[type]] = frozenset(
        {
            facts.Recalled,
            facts.FormulaAdopted,
            facts.EmbedderAdopted,
            facts.DreamBegan,
            facts.DreamEnded,
            facts.Attested,
            facts.Unknown,
            facts.Redacted,
        }
    )

    def __init__(self) -> None:
        self.formulas: dict[str, str] = {}
        self.unknown: dict[str, int] = {}
        self.dreams: list[Dream] = []
        self.undoings: list[Dream] = []
        self.attestations: list[int] = []
        self.formulas_in_force: list[Adoption] = []
        self.embedders: list[Adoption] = []
        self.began: dict[str, tuple[int, str]] = {}
        self._recalls: Column[np.int64] = Column(np.int64)

    def apply(self, recorded: Recorded) -> None:
        match recorded.fact:
            case facts.Recalled():
                self._recalls.append(recorded.seq)
            case facts.FormulaAdopted(digest=digest, text=text, in_force=in_force):
                self.formulas[digest] = text
                if in_force:
                    self.formulas_in_force.append(Adoption(recorded.seq, digest))
            case facts.EmbedderAdopted(name=name, dimensions=dimensions, probe=probe):
                self.embedders.append(Adoption(recorded.seq, name, dimensions, probe))
            case facts.DreamBegan(dream=dream, undoes=undoes):
                self.began[dream] = (recorded.seq, undoes or "")
            case facts.DreamEnded(dream=dream):
                self._end_dream(dream, recorded.seq)
            case facts.Attested():
                self.attestations.append(recorded.seq)
            case facts.Unknown(type=type_, version=version):
                label = f"{type_} v{version}"
                self.unknown[label] = self.unknown.get(label, 0) + 1
                self._count_recall(type_, recorded.seq)
            case facts.Redacted(type=type_):
                self._count_recall(type_, recorded.seq)
            case (
                facts.Ingested() | facts.Revised() | facts.Reembedded() | facts.Forgotten() | facts.Restored()
                | facts.Superseded() | facts.Erased() | facts.Accessed() | facts.Rated() | facts.Linked()
                | facts.Unlinked() | facts.Clustered() | facts.Consolidated() | facts.Downscaled()
                | facts.Stabilized() | facts.Pruned() | facts.Placed() | facts.Promoted() | facts.ShardSealed()
                | facts.ShardRetired() | facts.Expected() | facts.ExpectationWithdrawn() | facts.Recovered()
                | facts.ClockCorrected()
            ):  # fmt: skip
                pass
            case _:
                assert_never(recorded.fact)

    def _count_recall(self, type_: str, seq: int) -> None:
        """Count a recall whose payload cannot be read."""
        if type_ == RECALLED:
            self._recalls.append(seq)

    def _end_dream(self, dream: str, seq: int) -> None:
        began, undoes = self.began.pop(dream, (seq, ""))
        if not undoes:
            self.dreams.append(Dream(dream, began, seq))
            return
        self.undoings.append(Dream(dream, began, seq))
        for earlier in self.dreams:
            if earlier.id == undoes and not earlier.undone_at:
                earlier.undone_at = seq

    # --- reading ---------------------------------------------------------------------------------

    @property
    def recalls(self) -> IntArray:
        """Seqs of all recorded recalls."""
        return self._recalls.array

    def formula_in_force(self, seq: int) -> str | None:
        """The digest of the formula that was the store's default at `seq`."""
        adoption = _latest(self.formulas_in_force, seq)
        return adoption.label if adoption else None

    def formula_since(self, seq: int) -> int:
        """The seq since which the formula in force at `seq` was in force; 0 if no formula was."""
        adoption = _latest(self.formulas_in_force, seq)
        return adoption.seq if adoption else 0

    def embedder(self, seq: int) -> Adoption | None:
        """The embedder that the store had at `seq`."""
        return _latest(self.embedders, seq)

    def adoption_of(self, label: str) -> Adoption | None:
        """The last adoption of an embedder, by its name."""
        return next((a for a in reversed(self.embedders) if a.label == label), None)

    def last_dream(self, seq: int) -> int:
        """The seq at which the last dream that still counts at `seq` ended; 0 without such a dream."""
        for dream in reversed(self.dreams):
            if dream.ended <= seq and not 0 < dream.undone_at <= seq:
                return dream.ended
        return 0

    def whole(self, seq: int) -> int:
        """`seq`, or if it is in the middle of a dream (or of undoing one), the seq before that."""
        for dreams in (self.dreams, self.undoings):
            index = bisect_right(dreams, seq, key=lambda dream: dream.began)
            if index and dreams[index - 1].began <= seq < dreams[index - 1].ended:
                return dreams[index - 1].began - 1
        return seq

    # --- checkpoints -----------------------------------------------------------------------------

    def dump(self) -> State:
        memo = _Memo(**{name: getattr(self, name) for name in _Memo.__struct_fields__})
        return {"memo": msgspec.msgpack.encode(memo), "recalls": self._recalls.array}

    def load(self, state: Saved) -> None:
        memo = msgspec.msgpack.decode(state["memo"], type=_Memo)
        for name in _Memo.__struct_fields__:
            setattr(self, name, getattr(memo, name))
        self._recalls.load(state["recalls"])


def _latest(adoptions: list[Adoption], seq: int) -> Adoption | None:
    index = bisect_right(adoptions, seq, key=lambda adoption: adoption.seq)
    return adoptions[index - 1] if index else None
