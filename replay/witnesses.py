"""The events behind a change: for every group of inputs, what happened to it between two moments, in few words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, get_args

from recollect.events.facts import (
    Accessed,
    Consolidated,
    Downscaled,
    DreamEnded,
    Ingested,
    Placed,
    Promoted,
    Pruned,
    Reembedded,
    Revised,
    Stabilized,
)
from recollect.events.log import Log
from recollect.replay.inquiry import Inquiry, Moment

Cause = Literal["edits", "lifecycle", "corpus", "others", "formula", "embedder", "clock"]
CAUSES: tuple[Cause, ...] = get_args(Cause)
_DREAMT = (Consolidated, Downscaled, DreamEnded, Placed, Promoted, Pruned, Stabilized)
_RIVALS_MAX = 50


class Witnesses:
    """For every cause its events between the two moments, and what they say in a few words."""

    def __init__(
        self, log: Log, inquiry: Inquiry, memory: int, since: Moment, until: Moment,
        *, passed_by: tuple[str, ...], passed: tuple[str, ...],
    ) -> None:  # fmt: skip
        self._log = log
        self._inquiry = inquiry
        self._memory = memory
        self._since = since
        self._until = until
        self._passed_by = passed_by
        self._passed = passed
        self._facts: dict[int, object] = {}

    def of(self, cause: Cause) -> tuple[list[int], str]:  # noqa: PLR0911 (one answer per cause)
        engine, since, until = self._inquiry.projections.engine, self._since, self._until
        match cause:
            case "edits":
                seqs = self._own(lambda fact: isinstance(fact, (Ingested, Revised)))
                return seqs, _count(len(seqs), "version")
            case "lifecycle":
                return self._lifecycle()
            case "corpus":
                seqs = self._births_and_deaths()
                return seqs, f"{_count(len(seqs), 'event')} that brought or took texts of others"
            case "others":
                return self._of_rivals(), self._rivalry()
            case "formula":
                a, b = self._inquiry.formula_at(since.seq), self._inquiry.formula_at(until.seq)
                return self._within([engine.formula_since(until.seq)]), f"{a.label} → {b.label}"
            case "embedder":
                adopted = engine.embedder(until.seq)
                names = f"{self._inquiry.embedder_at(since.seq)} → {self._inquiry.embedder_at(until.seq)}"
                again = self._own(lambda fact: isinstance(fact, Reembedded))
                return self._within([adopted.seq if adopted else 0, *again]), names
            case "clock":
                return [], f"{(until.now - since.now) / 86_400_000_000:.3g} days"

    def _lifecycle(self) -> tuple[list[int], str]:
        own = self._own(lambda fact: not isinstance(fact, (Ingested, Revised, Reembedded)))
        strength = self._inquiry.projections.lifecycle.provenance(self._memory, self._until.seq)["strength"]
        dreams = [
            dream.ended for dream in self._inquiry.projections.engine.dreams
            if self._since.seq < dream.ended <= self._until.seq
        ]  # fmt: skip
        seqs = self._within([*own, *strength, *dreams])
        facts = [self._fact(seq) for seq in seqs]
        accesses = sum(isinstance(fact, Accessed) for fact in facts)
        dreamt = sum(isinstance(fact, _DREAMT) for fact in facts)
        counts = (accesses, "access"), (dreamt, "dream event"), (len(seqs) - accesses - dreamt, "other event")
        return seqs, ", ".join(_count(n, noun) for n, noun in counts if n) or "no events"

    def _own(self, wanted: Callable[[object], bool]) -> list[int]:
        return [seq for seq in self._history(self._memory) if wanted(self._fact(seq))]

    def _history(self, memory: int) -> list[int]:
        return self._within(self._inquiry.projections.lifecycle.history(memory))

    def _fact(self, seq: int) -> object:
        if seq not in self._facts:
            self._facts[seq] = self._log.get(seq).fact
        return self._facts[seq]

    def _of_rivals(self) -> list[int]:
        find = self._inquiry.projections.documents.ids.find
        rivals = (*self._passed_by, *self._passed)[:_RIVALS_MAX]
        return self._within([seq for id_ in rivals for seq in self._history(find(id_))])

    def _rivalry(self) -> str:
        by = [f"passed by {_names(self._passed_by)}"] if self._passed_by else []
        over = [f"passed {_names(self._passed)}"] if self._passed else []
        return "; ".join((*by, *over)) or "nobody passed it, nor it anybody"

    def _births_and_deaths(self) -> list[int]:
        documents = self._inquiry.projections.documents
        others = documents.memory_of != self._memory
        born, died = documents.born[others], documents.died[others]
        return self._within([*born[born > self._since.seq].tolist(), *died[died <= self._until.seq].tolist()])

    def _within(self, seqs: list[int]) -> list[int]:
        return sorted({seq for seq in seqs if self._since.seq < seq <= self._until.seq})


def _names(ids: tuple[str, ...]) -> str:
    return ", ".join(ids[:3]) + (f" and {len(ids) - 3} more" if len(ids) > 3 else "")


def _count(n: int, noun: str) -> str:
    if n == 1:
        return f"1 {noun}"
    return f"{n} {noun}es" if noun.endswith("s") else f"{n} {noun}s"
