"""Records into memories, in batches: what is new is ingested, what the file changed is revised, all else stays.

An import writes under an actor of its own (`import:FORMAT`), so the log itself says what the file said before. A
record is compared with that: what a user changed or forgot in the store meanwhile stays as it is until the file
changes as well. An import that was cut short is therefore simply run again, and a second import of the same file
writes nothing. Where a memory comes from (session, source, time) is settled at its birth.

A batch is planned at a head and written only if the head is still that one; if another process wrote in between it
is planned again (`Store.decide`). So two imports of one file at once are as good as one.
"""

from __future__ import annotations

from collections.abc import Iterable

from recollect.engine.memory_arguments import ingested
from recollect.engine.moments import to_datetime
from recollect.engine.writer import Writer
from recollect.events.errors import InvalidInput
from recollect.events.facts import AnyFact, Ingested, Linked
from recollect.interfaces.files.import_plan import Plan, Planned, known
from recollect.interfaces.files.records import Item, Link, Notice, Problem, Record, Skipped, memory_id
from recollect.interfaces.files.report import ImportReport
from recollect.projections.view import View

BATCH = 512
_TIMES = ("valid_from", "valid_to", "expires_at")
_ROLES = {"human": "user"}


class Importer:
    """One import under way, of one file or of several one after the other, counted in a report."""

    def __init__(self, writer: Writer, report: ImportReport, *, strict: bool) -> None:
        self.report = report
        self._writer = writer
        self._store = writer.store
        self._actor = self._namespace = ""
        self._strict = strict
        self._seen: set[str] = set()

    def run(self, items: Iterable[Item], *, actor: str, namespace: str) -> None:
        self._actor, self._namespace = actor, namespace
        batch: list[Planned] = []
        links: dict[Link, None] = {}
        for item in items:
            match item:
                case Record():
                    self.report.read += 1
                    batch += self._checked(item)
                case Link():
                    links[item] = None
                case Skipped():
                    self.report.skip(item)
                case Problem():
                    self.report.read += 1
                    self._problem(item)
                case Notice(note=note):
                    self.report.note(note)
            if len(batch) >= BATCH:
                self._write(batch)
                batch = []
        self._write(batch)
        every = list(links)
        for start in range(0, len(every), BATCH):
            self._link(every[start : start + BATCH])

    def _problem(self, problem: Problem) -> None:
        if self._strict:
            raise InvalidInput(
                f"{problem.where}: {problem.reason}; mend it, or import without strict to pass over it"
            )
        self.report.problem(problem)

    def _id(self, item: Record | Link, external: str) -> str:
        return memory_id(self._namespace if item.namespace is None else item.namespace, external)

    # --- records -----------------------------------------------------------------------------------

    def _checked(self, record: Record) -> list[Planned]:
        """The record as an event, or nothing if it cannot be kept or the file had it already."""
        id_ = self._id(record, record.external)
        if record.step == "say" and id_ in self._seen:
            self.report.left_out("the same id again")
            return []
        try:
            planned = Planned(record, event_of(record, id_, self._store.clock()))
        except InvalidInput as error:
            self._problem(Problem(where=record.where, reason=str(error)))
            return []
        if record.step == "say":
            self._seen.add(id_)
        return [planned]

    def _write(self, batch: list[Planned]) -> None:
        """Plan and append, again if others wrote in between; what is embedded is embedded once."""
        vectors: dict[str, bytes | None] = {}
        plan: Plan | None = None

        def attempt() -> Plan:
            nonlocal plan
            plan = Plan(self._store)
            for planned in batch:
                plan.add(planned)
            if plan.facts and not self.report.dry_run:
                facts = self._writer.embed(plan.facts, vectors)
                self._writer.append(facts, actor=self._actor, expect=plan.view.seq)
            return plan

        if not batch:
            return
        try:
            done = attempt() if self.report.dry_run else self._store.decide(attempt)
        except KeyboardInterrupt:
            if plan is not None and self._is_in_log(plan):
                plan.count(self.report)
            raise
        done.count(self.report)

    def _is_in_log(self, plan: Plan) -> bool:
        """Whether a plan's events were appended before the interruption came; they follow the head it was made at."""
        if not plan.facts:
            return False
        first = plan.view.seq + 1
        last = first + len(plan.facts)  # an adoption may have come first
        events = (self._store.event(seq) for seq in range(first, min(last, self._store.log.head) + 1))
        wanted = getattr(plan.facts[-1], "id", None)
        return any(
            event.actor == self._actor and getattr(event.fact, "id", None) == wanted for event in events
        )

    # --- links -------------------------------------------------------------------------------------

    def _link(self, links: list[Link]) -> None:
        """Write the edges that do not stand yet between memories that are here."""

        def attempt() -> tuple[int, int]:
            view = self._store.view()
            facts: list[AnyFact] = []
            missing = 0
            for link in links:
                a, b = self._id(link, link.a), self._id(link, link.b)
                first, second = known(view, a), known(view, b)
                if a == b or not (self._is_here(first, a) and self._is_here(second, b)):
                    missing += 1
                elif not _stands(view, first, second, link):
                    facts.append(Linked(a=a, b=b, kind=link.kind, weight=link.weight))
            if facts and not self.report.dry_run:
                self._writer.append(facts, actor=self._actor, expect=view.seq)
            return len(facts), missing

        linked, missing = attempt() if self.report.dry_run else self._store.decide(attempt)
        if missing:
            self.report.left_out("link to a memory that is not here", missing)
        self.report.linked += linked
        self.report.events += linked

    def _is_here(self, memory: int, id_: str) -> bool:
        """Whether a memory is in the store, or would be if this were no dry run."""
        return memory >= 0 or (self.report.dry_run and id_ in self._seen)


def _stands(view: View, first: int, second: int, link: Link) -> bool:
    if min(first, second) < 0:
        return False
    edges = view.graph.edges_of(first, view.seq, direction="out", kinds=(link.kind,), min_weight=-1.0)
    return any(edge.b == second and edge.weight == link.weight for edge in edges)


def event_of(record: Record, id_: str, now: int) -> Ingested:
    """The record as `remember` would write it; a named speaker stands before the text, as in a transcript."""
    speaker, content = record.speaker, record.content
    if speaker and not content.startswith(f"{speaker}:"):
        content = f"{speaker}: {content}"
    role = None if record.role is None else _ROLES.get(record.role.lower(), record.role.lower())
    further = {
        n: to_datetime(v) if n in _TIMES and isinstance(v, int) else v for n, v in record.fields.items()
    }
    return ingested(
        {
            "id": id_,
            "content": "(deleted)" if record.step == "delete" else content,
            "at": None if record.at is None else to_datetime(record.at),
            "kind": record.kind,
            "tags": (*((role,) if role else ()), *record.tags),
            "entities": (*((speaker,) if speaker else ()), *record.entities),
            "session": record.session,
            "project": record.project,
            "source": record.source,
            **further,
        },
        now=now,
    )
