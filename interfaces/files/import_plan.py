"""What a batch of records changes at one view: the events to write, and counts of each sort.

A record is compared with what earlier imports wrote about its memory, which the log knows by their actor
(`import:FORMAT`): a field is changed only if the file changed it since then and the memory does not have it already.
"""

from __future__ import annotations

from collections import Counter

import msgspec

from recollect.engine.moments import iso
from recollect.engine.store import Store
from recollect.events.facts import AnyFact, Forgotten, Ingested, Revised
from recollect.interfaces.files.records import Record
from recollect.interfaces.files.report import ImportReport
from recollect.projections.view import View

ACTOR = "import:"
_ALWAYS = ("content", "kind", "tags", "entities")
_WHEN_NAMED = (
    "project", "importance", "priority", "valid_from", "valid_to", "expires_at", "importance_tag", "key",
)  # fmt: skip


class Planned(msgspec.Struct, frozen=True):
    """One record, and the event that would keep it if it is new."""

    record: Record
    fact: Ingested


class Plan:
    """The events that a batch of records needs at one view."""

    def __init__(self, store: Store) -> None:
        self.view = store.view()
        self.facts: list[AnyFact] = []
        self._store = store
        self._counts: Counter[str] = Counter()
        self._skipped: Counter[str] = Counter()

    def add(self, planned: Planned) -> None:
        fact = self._say(planned) if planned.record.step == "say" else self._step(planned)
        if fact is not None:
            self.facts.append(fact)

    def count(self, report: ImportReport) -> None:
        report.remembered += self._counts["remembered"]
        report.revised += self._counts["revised"]
        report.forgotten += self._counts["forgotten"]
        report.unchanged += self._counts["unchanged"]
        report.events += len(self.facts)
        for reason, count in self._skipped.items():
            report.left_out(reason, count)

    def _say(self, planned: Planned) -> AnyFact | None:
        fact = planned.fact
        memory = known(self.view, fact.id)
        if memory < 0:
            self._counts["remembered"] += 1
            return fact
        changes = self._changes(planned, memory)
        if not changes:
            self._counts["unchanged"] += 1
            return None
        state = self.view.lifecycle.state(memory, self.view.seq)
        if state.hidden is not None:
            self._skipped[f"changed in the file, but {state.visibility} here"] += 1
            return None
        self._counts["revised"] += 1
        return Revised(id=fact.id, at=self._store.clock(), **changes)  # type: ignore[arg-type]

    def _step(self, planned: Planned) -> AnyFact | None:
        """Plan the next entry of a history; pass over those that an import wrote already."""
        record, fact = planned.record, planned.fact
        memory = known(self.view, fact.id)
        written = len(self._imported(memory)) if memory >= 0 else 0
        if record.nth < written:
            self._counts["unchanged"] += 1
            return None
        if memory >= 0 and self.view.lifecycle.state(memory, self.view.seq).visibility == "erased":
            self._skipped["erased here"] += 1
            return None
        if record.step == "delete":
            self._counts["forgotten"] += 1
            when = "" if record.at is None else f" at {iso(record.at)}"
            return Forgotten(id=fact.id, reason=f"deleted in {record.source or 'the imported history'}{when}")
        if record.step == "update":
            self._counts["revised"] += 1
            return Revised(id=fact.id, at=fact.at, content=fact.content)
        self._counts["remembered"] += 1
        return fact

    def _changes(self, planned: Planned, memory: int) -> dict[str, object]:
        """What the file changed since its last import and the memory does not have yet."""
        said, before = _said(planned), self._said_before(memory)
        if before and not _differing(said, before):
            return {}
        now = self._current(memory)
        return _differing(_differing(said, before or now), now)

    def _current(self, memory: int) -> dict[str, object]:
        state = self.view.lifecycle.state(memory, self.view.seq)
        row = self.view.documents.newest_row(memory, self.view.seq)
        names = (*_ALWAYS[1:], *_WHEN_NAMED)
        return {"content": self._store.content_of_row(row), **{name: getattr(state, name) for name in names}}

    def _said_before(self, memory: int) -> dict[str, object]:
        """What imports last wrote in each field of a memory."""
        said: dict[str, object] = {}
        for fact in self._imported(memory):
            if isinstance(fact, (Ingested, Revised)):
                names = (*_ALWAYS, *_WHEN_NAMED)
                said |= {n: v for n in names if (v := getattr(fact, n)) is not msgspec.UNSET}
        return said

    def _imported(self, memory: int) -> list[object]:
        """The facts that imports wrote about a memory, oldest first."""
        events = (
            self._store.event(seq) for seq in self.view.lifecycle.history(memory) if seq <= self.view.seq
        )
        return [event.fact for event in events if event.actor.startswith(ACTOR)]


def known(view: View, id_: str) -> int:
    """The number of a memory that is here, also of a hidden one; -1 if there is no such memory."""
    memory = view.documents.ids.find(id_)
    return memory if memory >= 0 and view.documents.newest_row(memory, view.seq) >= 0 else -1


def _said(planned: Planned) -> dict[str, object]:
    """The fields that a record names."""
    fact, record = planned.fact, planned.record
    named = {name for name in _WHEN_NAMED if name in record.fields or (name == "project" and record.project)}
    return {name: getattr(fact, name) for name in (*_ALWAYS, *sorted(named))}


def _differing(said: dict[str, object], other: dict[str, object]) -> dict[str, object]:
    """The fields that differ; the order of tags and entities does not matter."""
    return {name: value for name, value in said.items() if _plain(value) != _plain(other.get(name, value))}


def _plain(value: object) -> object:
    return frozenset(value) if isinstance(value, tuple) else value
