"""Living a log again: event by event, into another log, under the rules of a fork.

Every event of the source keeps its id and recorded time. Positions shift where the fork leaves something out or
adds something, so every seq that a fact names is moved along. What the target holds already (an interrupted run)
is taken as it is: the same source and rules give the same events. What was erased from the source is erased here
(`leftovers`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from itertools import islice
from typing import NamedTuple

import msgspec

from recollect.events.envelope import Draft, EventId, Recorded
from recollect.events.errors import InvalidInput
from recollect.events.facts import (
    Accessed,
    AnyFact,
    Attested,
    Clustered,
    DreamBegan,
    DreamEnded,
    Erased,
    FormulaAdopted,
    Question,
    Recalled,
    Redacted,
    ShardSealed,
    Unknown,
)
from recollect.events.log import Log
from recollect.events.transfer import TransferableLog
from recollect.projections.view import Projections, View
from recollect.query.formula import Formula, from_canonical
from recollect.query.ranking import rank_around
from recollect.replay.attestation import attest, within
from recollect.replay.compare.recorded_questions import under
from recollect.replay.compare.sides import said
from recollect.replay.fork.following import follow, is_tracked
from recollect.replay.fork.leftovers import Foretold, Leftovers, left_of
from recollect.replay.fork.reembedding import Retold
from recollect.replay.fork.renumbering import renumbered
from recollect.replay.fork.rules import Counts, Dreaming, RecordedClock, Rules
from recollect.replay.fork.topic import with_previous
from recollect.replay.verify import prepare

Progress = Callable[[int, int], None]

_WINDOW = 256
_PROGRESS_EVERY = 500


class DreamtOfErased(InvalidInput):
    """A fork dreamt of something that was erased since; it has to be made anew."""


class _Answer(NamedTuple):
    """A recall as recorded, and what it returned in the fork."""

    recorded: Recalled
    again: Recalled


class _Relived(NamedTuple):
    """Where a recall of the source stands in the fork, and whether it answers there as it was recorded."""

    source: int
    seq: int
    same: bool


class ForkReplay:
    def __init__(
        self,
        source: Log,
        target: TransferableLog,
        clock: RecordedClock,
        projections: Projections,
        rules: Rules,
    ) -> None:
        self._source = source
        self.upto = source.head
        self._target = Foretold(target)
        self._clock = clock
        self._projections = projections
        self._rules = rules
        self._retold = Retold(rules.embedder) if rules.embedder else None
        self._leftovers = Leftovers(source)
        self._known: dict[EventId, int] = {event.id: event.seq for event in target.read()}
        self._head = target.head
        self._batch: list[Draft] = []
        self._positions = [0]
        self._answers: dict[int, _Answer] = {}
        self._recalls: list[_Relived] = []
        self._in_force: str | None = None
        self._replaced: str | None = None
        self._taken_back = _taken_back(source) if rules.dreaming else frozenset()
        self._rows_differ = rules.embedder is not None
        self._drifted = rules.embedder is not None
        self.counts = Counts()

    def run(self, progress: Progress | None) -> Counts:
        total = self.upto
        events = self._source.read(0, total)
        while window := list(islice(events, _WINDOW)):
            if self._retold:
                self._retold.prepare(event for event in window if event.id not in self._known)
            for event in window:
                self._live(event)
                if progress and (event.seq % _PROGRESS_EVERY == 0 or event.seq == total):
                    progress(event.seq, total)
        self._write()
        self._target.overwrite()
        self._target.sync()
        return self.counts

    # --- one event -------------------------------------------------------------------------------

    def _live(self, event: Recorded) -> None:
        fact = left_of(event.fact)
        if event.seq == self._rules.since + 1 and self._rules.embedder:
            self._put(self._rules.embedder.adoption, event, derived_id(event.id, "embedder", 0))
        if event.seq > self._rules.since and isinstance(event.fact, Recalled):
            self._adopt_formula(event)
        if fact is None:
            self.counts.skipped += 1
            self._rows_differ = self._rows_differ or isinstance(event.fact, Redacted)
        elif event.id in self._known:
            self._take(event, fact)
        else:
            for again in self._again(event, fact):
                self._note_formula(again)
                self._put(again, event, event.id)
                self._note_recall(event, fact, again)
                self._foretell(event, again)
        self._positions.append(self._head)

    def _take(self, event: Recorded, fact: AnyFact) -> None:
        """An event that an earlier run wrote; what was erased since is erased here too."""
        seq = self._known[event.id]
        again = left_of(self._target.get(seq).fact)
        if event.seq in self._leftovers:
            left = next(self._again(event, fact))
            self._refuse_to_keep(again, left)
            again = left
        self._head = seq
        if again is None:
            return
        self._note_recall(event, fact, again)
        self._foretell(event, again)
        self._note_formula(again)
        if self._retold:
            self._retold.note(fact, again)
        match fact, again:
            case Recalled(), Recalled():
                self._answers[event.seq] = _Answer(fact, again)
                self._drifted = self._drifted or again.ids != fact.ids
            case Accessed(), Accessed():
                self._drifted = self._drifted or again.ids != fact.ids

    def _foretell(self, event: Recorded, again: AnyFact) -> None:
        if event.seq in self._leftovers:
            self._leftovers.add(event.seq, self._head, again)
            self._target.foretell(self._head, again)

    def _refuse_to_keep(self, held: AnyFact | None, left: AnyFact) -> None:
        """The fork holds what the source has erased since. What it dreamt of that cannot be named."""
        if held is None or held == left:
            return
        if self._rules.dreaming:
            raise DreamtOfErased(
                "this fork dreamt of memories that were erased since; delete it and make it again in a new directory"
            )

    def _again(self, event: Recorded, fact: AnyFact) -> Iterator[AnyFact]:
        """What happens in the fork in place of this event; nothing, if it does not happen."""
        if isinstance(fact, Attested):
            yield from self._attested(fact)
            return
        moved = self._leftovers.moved(fact) if isinstance(fact, Erased) else renumbered(fact, self._seq_of)
        whole = not isinstance(event.fact, Redacted)
        told = self._retold.tell(moved) if self._retold and whole else moved
        if told is None:
            return
        if isinstance(told, ShardSealed) and self._rows_differ:
            return
        if event.seq <= self._rules.since:
            yield told
            return
        match told:
            case Recalled() if isinstance(fact, Recalled) and whole:
                yield self._recall(event.seq, fact, told)
            case Accessed() if isinstance(fact, Accessed):
                yield from self._access(event.seq, fact, told)
            case FormulaAdopted():
                wanted = self._rules.formula is None or self._rules.formula.digest == told.digest
                yield msgspec.structs.replace(told, in_force=told.in_force and wanted)
            case Clustered() if self._retold:
                self._fold()
                yield self._retold.centred(told, self._projections)
            case _ if not self._dreamt_again(event, told):
                yield told
            case _:
                return

    def _attested(self, fact: Attested) -> Iterator[Attested]:
        """What the source attests of the recalls that the fork has as they were recorded."""
        own = [recall.seq for recall in self._recalls]
        covered = set(within([recall.source for recall in self._recalls], fact.spans))
        same = {
            recall.source: recall.seq for recall in self._recalls if recall.same and recall.source in covered
        }
        if same:
            different = [same[seq] for seq in fact.different if seq in same]
            yield attest(own, same.values(), different, upto=self._seq_of(fact.upto))

    def _note_recall(self, event: Recorded, recorded: AnyFact, again: AnyFact) -> None:
        if isinstance(recorded, Recalled) and isinstance(again, Recalled):
            self._recalls.append(_Relived(event.seq, self._head, said(recorded) == said(again)))

    def _note_formula(self, fact: AnyFact) -> None:
        if isinstance(fact, FormulaAdopted) and fact.in_force:
            self._in_force = fact.digest

    def _adopt_formula(self, event: Recorded) -> None:
        """The fork's formula is in force for its recalls, unless the source put it in force itself."""
        formula = self._rules.formula
        if formula and self._in_force != formula.digest:
            fact = FormulaAdopted(name=formula.name, digest=formula.digest, text=formula.text)
            self._note_formula(fact)
            self._put(fact, event, derived_id(event.id, "formula", 0))

    # --- recalls and what followed ---------------------------------------------------------------

    def _recall(self, seq: int, recorded: Recalled, moved: Recalled) -> Recalled:
        """The question, ranked at its own moment in the fork."""
        self._fold()
        again = moved if self._stands(recorded) else self._rank(moved)
        changed = again.ids != recorded.ids
        self.counts.recalls += 1
        self.counts.recalls_changed += changed
        self._drifted = self._drifted or changed
        self._answers[seq] = _Answer(recorded, again)
        return again

    def _stands(self, recorded: Recalled) -> bool:
        """Whether the answer is the recorded one although it may not come out again: the formula and all that
        went before are the same, and memories that it was ranked among were erased since."""
        same = self._rules.formula is None or self._rules.formula.digest == recorded.formula
        return same and not self._drifted and self._leftovers.touched.at(recorded.basis) is not None

    def _rank(self, moved: Recalled) -> Recalled:
        formula = self._rules.formula or self._formula(moved.formula)
        if formula is None:
            return moved
        prepare(self._target, self._projections, formula)
        view = self._projections.at(moved.basis, self._target.time_of(moved.basis))
        question = self._question(moved, view, formula)
        question, ranking = rank_around(question, view, formula, finite=formula.digest != moved.formula)
        return msgspec.structs.replace(
            moved, question=question, formula=formula.digest, ids=ranking.ids, scores=ranking.scores
        )

    def _question(self, moved: Recalled, view: View, formula: Formula) -> Question:
        """The question with the answer that its session had before: in a closed loop the fork's own under this
        formula, else only where the question had one under it, as in a frozen comparison."""
        same = formula.digest == moved.formula
        if self._rules.closed_loop or same:
            return with_previous(self._target, moved.question, view, formula, same=same)
        return under(moved.question, formula=formula.digest, recorded=moved.formula)

    def _formula(self, digest: str) -> Formula | None:
        text = self._projections.adoptions.formulas.get(digest)
        return None if text is None else from_canonical(text)

    def _access(self, seq: int, recorded: Accessed, moved: Accessed) -> Iterator[Accessed]:
        answer = self._answer_behind(seq, recorded) if self._rules.closed_loop else None
        if answer is None:
            yield moved
            return
        ids = follow(recorded, answer.recorded.ids, answer.again.ids)
        self.counts.accesses_changed += ids != recorded.ids
        self._drifted = self._drifted or ids != recorded.ids
        self.counts.accesses_dropped += not ids
        if ids:
            yield msgspec.structs.replace(moved, ids=ids)

    def _answer_behind(self, seq: int, accessed: Accessed) -> _Answer | None:
        if accessed.recall is not None:
            return self._answers.get(accessed.recall)
        before = self._answers.get(seq - 1)
        return before if before and is_tracked(accessed, before.recorded) else None

    # --- dreams ----------------------------------------------------------------------------------

    def _dreamt_again(self, event: Recorded, fact: AnyFact) -> bool:
        """Whether the event is of a recorded dream, all of whose events are left out for the one dreamt here.

        A dream that was taken back later is not dreamt, and need not be taken back.
        """
        if isinstance(fact, DreamBegan):
            self.counts.dreams += 1
            dreaming = self._rules.dreaming
            if dreaming:
                self._replaced = fact.dream
                if fact.undoes is None and fact.dream not in self._taken_back:
                    self._dream(event, fact, dreaming)
        if self._replaced is None:
            return False
        if isinstance(fact, DreamEnded) and fact.dream == self._replaced:
            self._replaced = None
        return True

    def _dream(self, event: Recorded, began: DreamBegan, dreaming: Dreaming) -> None:
        self._rows_differ = self._drifted = True
        self.counts.dreams_again += 1
        if derived_id(event.id, "dream", 0) not in self._known:
            self._fold()
            facts = list(dreaming.dream(self._projections, self._target, began))
        else:
            facts = self._dreamt_before(event)
        for number, fact in enumerate(facts):
            self._put(fact, event, derived_id(event.id, "dream", number))

    def _dreamt_before(self, event: Recorded) -> list[AnyFact]:
        """What an earlier run dreamt here."""
        facts: list[AnyFact] = []
        while seq := self._known.get(derived_id(event.id, "dream", len(facts))):
            fact = self._target.get(seq).fact
            assert not isinstance(fact, Unknown | Redacted)
            facts.append(fact)
        return facts

    # --- writing ---------------------------------------------------------------------------------

    def _seq_of(self, seq: int) -> int:
        """Where the fork stands after the source's event at `seq`."""
        return self._positions[seq] if seq < len(self._positions) else self._head

    def _put(self, fact: AnyFact, event: Recorded, event_id: EventId) -> None:
        """Write a fact at the event's recorded time; events of one time go into one batch."""
        if event_id in self._known:
            self._head = self._known[event_id]
            return
        if self._clock.now != event.at:
            self._write()
            self._clock.now = event.at
        self._batch.append(Draft(fact=fact, id=event_id, actor=event.actor))
        self._head = self._target.head + len(self._batch)

    def _write(self) -> None:
        if self._batch:
            self._target.append(self._batch, durability="unsafe")
            self._batch = []

    def _fold(self) -> None:
        self._write()
        for _ in self._projections.apply_all(self._target.read(self._projections.position, self._head)):
            pass


def derived_id(event_id: EventId, what: str, number: int) -> EventId:
    """The id of an event that the fork adds at another's place."""
    return hashlib.sha256(event_id + f"{what} {number}".encode()).digest()[:16]


def _taken_back(source: Log) -> frozenset[str]:
    """The dreams that the source took back."""
    facts = (event.fact for event in source.read())
    return frozenset(fact.undoes for fact in facts if isinstance(fact, DreamBegan) and fact.undoes)
