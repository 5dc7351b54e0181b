"""The events behind a change: for every group of inputs, what happened to it between two moments, in few words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple, get_args

from recollect.events.facts import (
    Accessed,
    Consolidated,
    Downscaled,
    DreamEnded,
    Forgotten,
    Ingested,
    Placed,
    Promoted,
    Pruned,
    Reembedded,
    Restored,
    Revised,
    Stabilized,
    Superseded,
)
from recollect.events.log import Log
from recollect.replay.changes.inquiry import Inquiry, Moment

Cause = Literal["edits", "lifecycle", "corpus", "others", "formula", "embedder", "clock"]
CAUSES: tuple[Cause, ...] = get_args(Cause)
_DREAMT = (Consolidated, Downscaled, DreamEnded, Placed, Promoted, Pruned, Stabilized)
_RIVALS_MAX = 50


class Passings(NamedTuple):
    """The other memories of two rankings, by number: those that passed each other, are new, are gone, or are in both."""

    passed_by: tuple[int, ...]
    passed: tuple[int, ...]
    came: tuple[int, ...]
    went: tuple[int, ...]
    stayed: tuple[int, ...]


class ChangeEvents:
    """For every cause its events between the two moments, and what they say in a few words."""

    def __init__(
        self, log: Log, inquiry: Inquiry, memory: int, since: Moment, until: Moment, passings: Passings
    ) -> None:
        self._log = log
        self._inquiry = inquiry
        self._memory = memory
        self._since = since
        self._until = until
        self._passings = passings
        self._facts: dict[int, object] = {}

    def of(self, cause: Cause, *, moved: bool) -> tuple[list[int], str]:  # noqa: PLR0911 (one answer per cause)
        """`moved` says that the cause has a part in the change."""
        adoptions, since, until = self._inquiry.projections.adoptions, self._since, self._until
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
                return self._others(moved)
            case "formula":
                a, b = self._inquiry.formula_at(since.seq), self._inquiry.formula_at(until.seq)
                return self._within([adoptions.formula_since(until.seq)]), f"{a.label} → {b.label}"
            case "embedder":
                adopted = adoptions.embedder(until.seq)
                names = f"{self._inquiry.embedder_at(since.seq)} → {self._inquiry.embedder_at(until.seq)}"
                again = self._own(lambda fact: isinstance(fact, Reembedded))
                return self._within([adopted.seq if adopted else 0, *again]), names
            case "clock":
                return [], f"{(until.now - since.now) / 86_400_000_000:.3g} days"

    def _lifecycle(self) -> tuple[list[int], str]:
        own = self._own(lambda fact: not isinstance(fact, (Ingested, Revised, Reembedded)))
        strength = self._inquiry.projections.lifecycle.provenance(self._memory, self._until.seq)["strength"]
        dreams = [
            dream.ended for dream in self._inquiry.projections.adoptions.dreams
            if self._since.seq < dream.ended <= self._until.seq
        ]  # fmt: skip
        seqs = self._within([*own, *strength, *dreams])
        facts = [self._fact(seq) for seq in seqs]
        accesses = sum(isinstance(fact, Accessed) for fact in facts)
        dreamt = sum(isinstance(fact, _DREAMT) for fact in facts)
        name = self._inquiry.projections.documents.ids.values[self._memory] if self._memory >= 0 else ""
        told = [words for fact in facts if (words := _told(fact, name))]
        rest = len(seqs) - accesses - dreamt - len(told)
        counts = (accesses, "access"), (dreamt, "dream event"), (rest, "other event")
        return seqs, ", ".join([*told, *(_count(n, noun) for n, noun in counts if n)]) or "no events"

    def _own(self, wanted: Callable[[object], bool]) -> list[int]:
        return [seq for seq in self._history(self._memory) if wanted(self._fact(seq))]

    def _history(self, memory: int) -> list[int]:
        return self._within(self._inquiry.projections.lifecycle.history(memory))

    def _fact(self, seq: int) -> object:
        if seq not in self._facts:
            self._facts[seq] = self._log.get(seq).fact
        return self._facts[seq]

    def _others(self, moved: bool) -> tuple[list[int], str]:
        """Those that passed the memory or that it passed; if nothing happened to them, the others that moved it."""
        by, over = self._passings.passed_by, self._passings.passed
        seqs = self._within([seq for rival in (*by, *over)[:_RIVALS_MAX] for seq in self._history(rival)])
        passings = self._listed({"passed by": by, "passed": over})
        if seqs or not moved:
            return seqs, passings or "no other memory passed it, and it passed none"
        return self._beside(passings or "no other memory passed it")

    def _beside(self, passings: str) -> tuple[list[int], str]:
        """A score can hang on the other candidates as they are: as its scale, or through edges and clusters."""
        groups = {
            "new beside it:": self._passings.came,
            "gone:": self._passings.went,
            "changed:": self._passings.stayed,
        }
        seqs = {other: self._touched(other) for group in groups.values() for other in group}
        touched = {words: tuple(m for m in group if seqs[m]) for words, group in groups.items()}
        graph = self._inquiry.projections.graph
        linked = self._within([*graph.history(self._memory), graph.clusters.assigned(self._until.seq)])
        own = "its edges or clusters changed" if linked else ""
        says = "; ".join(filter(None, (passings, self._listed(touched), own)))
        return self._within([*linked, *(seq for events in seqs.values() for seq in events)]), says

    def _touched(self, memory: int) -> list[int]:
        """The events that changed another memory's text, lifecycle or edges."""
        projections = self._inquiry.projections
        strength = projections.lifecycle.provenance(memory, self._until.seq)["strength"]
        return self._within([*self._history(memory), *strength, *projections.graph.history(memory)])

    def _listed(self, groups: Mapping[str, tuple[int, ...]]) -> str:
        return "; ".join(f"{words} {_first(self.names(group))}" for words, group in groups.items() if group)

    def names(self, memories: tuple[int, ...]) -> tuple[str, ...]:
        ids = self._inquiry.projections.documents.ids.values
        return tuple(ids[memory] for memory in memories)

    def _births_and_deaths(self) -> list[int]:
        documents = self._inquiry.projections.documents
        others = documents.memory_of != self._memory
        born, died = documents.born[others], documents.died[others]
        return self._within([*born[born > self._since.seq].tolist(), *died[died <= self._until.seq].tolist()])

    def _within(self, seqs: list[int]) -> list[int]:
        return sorted({seq for seq in seqs if self._since.seq < seq <= self._until.seq})


def _told(fact: object, memory_id: str) -> str:
    """What an event did to a memory's visibility, where it did."""
    match fact:
        case Superseded(old=old, new=new) if old == memory_id:
            return f"superseded by {new}"
        case Forgotten():
            return "forgotten"
        case Restored():
            return "restored"
        case _:
            return ""


def _first(ids: tuple[str, ...]) -> str:
    return ", ".join(ids[:3]) + (f" and {len(ids) - 3} more" if len(ids) > 3 else "")


def _count(n: int, noun: str) -> str:
    if n == 1:
        return f"1 {noun}"
    return f"{n} {noun}es" if noun.endswith("s") else f"{n} {noun}s"
