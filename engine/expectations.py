"""Expectations about recorded questions: stated, listed, withdrawn, and checked by asking the questions again.

A question is asked again with its own text, vector, filters, k, session and context, and with what models once said to
it. It is asked at the head with the clock of now, or as of a moment with that moment's clock, or in a fork. Its formula is
the one in force where it is asked if the recall was answered with the store's formula of its time, and else the recall's
own. A pinned expectation (those of a fixture) is a replay: at the recall's own moment, with its own clock and formula,
and the ranking has to be the recorded one bit for bit. A check writes nothing but its report, a copy of what it quotes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing, nullcontext
from pathlib import Path
from typing import NamedTuple, TypedDict

import msgspec

from recollect.engine import validate
from recollect.engine.copies import copied
from recollect.engine.embedding.past import vector_of
from recollect.engine.event_summaries import expected_words, summarize
from recollect.engine.formula_lookup import formula_named
from recollect.engine.memories import born
from recollect.engine.moments import When, iso
from recollect.engine.names import memory_named
from recollect.engine.recall import Standpoint
from recollect.engine.recall_options import refuse_unknown
from recollect.engine.remember import recorded_recall
from recollect.engine.store import Progress, Store
from recollect.engine.time_travel import moment_at
from recollect.engine.torn_state import locked
from recollect.engine.transfer import target_of
from recollect.engine.unfinished_files import refuse_existing, unfinished_file
from recollect.engine.writer import Writer
from recollect.events.errors import InvalidInput
from recollect.events.facts import ExpectationWithdrawn, Expected, GridVector, Question, Recalled
from recollect.events.log import facts_of
from recollect.events.named_files import named_path
from recollect.projections.view import Projections
from recollect.query.formula import Formula, formula_in_force
from recollect.query.ranking import Ranking, rank_around
from recollect.replay.changes.bisect_probes import last_break
from recollect.replay.changes.inquiry import Inquiry, Moment, position_of
from recollect.replay.fork.note import read_note
from recollect.replay.fork.topic import with_previous
from recollect.replay.verify import formula_of

REPORT_NAME = "recollect check"
_REPORT = re.compile(rb'<\?xml [^>]*\?>\s*<testsuite name="%b" ' % REPORT_NAME.encode())
_REPORT_BYTES = 200


class Expectation(msgspec.Struct, frozen=True, kw_only=True):
    """What is expected of the memory `id` in the answer to a recorded question; `name` (`e41`) withdraws it."""

    name: str
    recall: str
    id: str
    query: str | None
    expects: str
    at: str
    top: int | None = None
    absent: bool = False
    above: str | None = None
    pinned: bool = False
    note: str = ""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """One expectation, asked again. `broken_by` is the seq of the event that broke it, where one did.

    `exact` says whether the ranking is the recorded one, bit for bit; `degraded` why it was ranked by words only.
    """

    expectation: Expectation
    held: bool
    sentence: str
    rank: int | None = None
    score: float | None = None
    formula: str = ""
    exact: bool = False
    degraded: tuple[str, ...] = ()
    broken_by: int | None = None
    event: str = ""


class CheckReport(msgspec.Struct, frozen=True, kw_only=True):
    """All expectations asked again: those that hold, and those that do not.

    `degraded` says how many were asked by words only, and why, and what could not be done beside.
    """

    passed: tuple[Outcome, ...]
    failed: tuple[Outcome, ...]
    basis: int
    now: str
    sentence: str
    degraded: tuple[str, ...] = ()


# --- stating, listing, withdrawing -----------------------------------------------------------------


class ExpectOptions(TypedDict, total=False):
    """What is expected, as `Memory.expect` says: one of the first four."""

    top: int | None
    first: bool
    absent: bool
    above: str | None
    note: str


def expect(writer: Writer, recall: str, name: str, options: ExpectOptions) -> str:
    """State what the question of a recorded recall ought to be answered with; returns the expectation's name."""
    refuse_unknown(options, ExpectOptions.__annotations__)
    store, memory_id = writer.store, memory_named(writer.store, name)
    top, other = options.get("top"), options.get("above")
    first, absent = bool(options.get("first")), bool(options.get("absent"))
    above = None if other is None else memory_named(store, other)
    given = sum((top is not None, first, absent, above is not None))
    if given != 1:
        raise InvalidInput(f"expect takes one of top, first, absent and above, not {given or 'none'} of them")
    if above == memory_id:
        raise InvalidInput(f"memory {memory_id!r} cannot rank above itself; name two memories")
    places = 1 if first else top
    fact = Expected(
        recall=recorded_recall(store, recall),
        id=memory_id,
        at=store.clock(),
        top=None if places is None else validate.whole(places, "top", low=1, high=validate.K_MAX),
        absent=absent,
        above=above,
        note=validate.text(options.get("note", ""), "note"),
    )

    def known() -> None:
        for one in filter(None, (fact.id, fact.above)):
            born(store, store.view(), one)

    return f"e{writer.append_if(lambda _: known(), fact)}"


def withdraw(writer: Writer, name: str, reason: str) -> int:
    """Take an expectation back; returns the seq."""
    store = writer.store
    digits = name[1:] if name[:1] == "e" else ""
    if not validate.is_seq(digits):
        raise InvalidInput(
            f"{name!r:.60} is not an expectation; they look like 'e41', as `expectations` lists them"
        )
    fact = ExpectationWithdrawn(expected=int(digits), reason=validate.text(reason, "reason"))

    def standing() -> None:
        if fact.expected not in standing_expectations(store):
            raise InvalidInput(f"{name!r} is no expectation that stands; `expectations` lists them")

    return writer.append_if(lambda _: standing(), fact)


@locked
def expectations(store: Store) -> list[Expectation]:
    """The expectations that were not withdrawn, oldest first."""
    return [_listed(store, seq, fact) for seq, fact in standing_expectations(store).items()]


def standing_expectations(store: Store) -> dict[int, Expected]:
    """The facts behind `expectations`, by seq."""
    store.catch_up()
    withdrawn = {fact.expected for _, fact in facts_of(store.log, ExpectationWithdrawn)}
    return {seq: fact for seq, fact in facts_of(store.log, Expected) if seq not in withdrawn}


def _listed(store: Store, seq: int, fact: Expected) -> Expectation:
    recalled = store.log.get(fact.recall).fact
    return Expectation(
        name=f"e{seq}",
        recall=f"r{fact.recall}",
        id=fact.id,
        query=recalled.question.text if isinstance(recalled, Recalled) else None,
        expects=expected_words(fact),
        at=iso(fact.at),
        top=fact.top,
        absent=fact.absent,
        above=fact.above,
        pinned=fact.pinned,
        note=fact.note,
    )


# --- checking --------------------------------------------------------------------------------------


class _World(NamedTuple):
    """Where the questions are asked: a store, a moment of it, and the formula for all of them, if one was named."""

    store: Store
    here: Standpoint
    moment: Moment
    formula: Formula | None
    moved: bool


class CheckOptions(TypedDict, total=False):
    """Which questions are asked again, and where, as `Memory.check` says."""

    formula: str | Path | Formula | None
    at: When | None
    fork: str | Path | None
    only: str | None
    junit: str | Path | None
    overwrite: bool
    progress: Progress | None


def check(here: Standpoint, options: CheckOptions, *, junit: Callable[[CheckReport], str]) -> CheckReport:
    """Ask every expectation's question again: now, as of a moment, under another formula, or in a fork."""
    refuse_unknown(options, CheckOptions.__annotations__)
    fork, file = options.get("fork"), options.get("junit")
    target = None if file is None else target_of(here.store, file)
    if target is not None:
        refuse_existing(target, overwrite=_may_replace(target, options))
    with nullcontext(here.store) if fork is None else closing(_open_fork(fork, here.store)) as store:
        if target is None:
            return _checked(here, store, options)
        return _check_to_file(here, store, options, target, junit)


def _check_to_file(
    here: Standpoint, store: Store, options: CheckOptions, target: Path, junit: Callable[[CheckReport], str]
) -> CheckReport:
    """Check and write a report; it holds questions, notes and texts, so it is noted as a copy, as an export is."""
    with unfinished_file(target) as file:

        def make() -> tuple[CheckReport, int]:
            report = _checked(here, store, options)
            file.write(iter([junit(report).encode()]))
            return report, here.store.log.head

        def put(_: CheckReport) -> None:
            file.put(target, overwrite=_may_replace(target, options))

        report, notes = copied(here.store, "check --junit", "junit", file.path, target, make, put)
    return msgspec.structs.replace(report, degraded=(*report.degraded, *notes))


def _may_replace(target: Path, options: CheckOptions) -> bool:
    return options.get("overwrite", False) or _is_report(target)


def _is_report(path: Path) -> bool:
    """Whether a file is the report of an earlier check, which the next one replaces."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return _REPORT.match(file.read(_REPORT_BYTES)) is not None


@locked
def _checked(here: Standpoint, store: Store, options: CheckOptions) -> CheckReport:
    formula, at, only = options.get("formula"), options.get("at"), options.get("only")
    named = None if formula is None else formula_named(store, formula, files=True)
    source, progress = here.store, options.get("progress")
    source.catch_up()
    world = _World(
        store, here, moment_at(store, at), named, at is not None or options.get("fork") is not None
    )
    asked = {seq: fact for seq, fact in standing_expectations(source).items() if only in (None, f"e{seq}")}
    if only is not None and not asked:
        raise InvalidInput(f"{only!r} is no expectation that stands; `expectations` lists them")
    outcomes = []
    for seq, fact in asked.items():
        outcomes.append(_outcome(world, _listed(source, seq, fact), fact))
        if progress:
            progress(len(outcomes), len(asked))
    passed = tuple(one for one in outcomes if one.held)
    failed = tuple(one for one in outcomes if not one.held)
    where = f"@{world.moment.seq}" + ("" if store is source else " of the fork")
    counted = f"{len(passed)} of {len(outcomes)} expectations hold at {where}"
    return CheckReport(
        passed=passed,
        failed=failed,
        basis=world.moment.seq,
        now=iso(world.moment.now),
        sentence=counted if outcomes else "there are no expectations; `recollect expect` states one",
        degraded=_by_words(outcomes),
    )


def _by_words(outcomes: Sequence[Outcome]) -> tuple[str, ...]:
    """How many expectations were asked without their vector, by the reason."""
    reasons = Counter(reason for one in outcomes for reason in one.degraded)
    asked = f"of {len(outcomes)} were asked without a vector, there or to find what broke them"
    return tuple(f"{n} {asked}; {why}" for why, n in reasons.items())


def _open_fork(folder: str | Path, source: Store) -> Store:
    path = named_path(folder)
    if not path.is_dir() or read_note(path) is None:
        raise InvalidInput(f"{folder} is not a fork; `recollect fork` makes one")
    return Store.open(path, clock=source.clock)


def _outcome(world: _World, expectation: Expectation, fact: Expected) -> Outcome:
    recalled = world.here.store.log.get(fact.recall).fact
    if not isinstance(recalled, Recalled):
        lost = f"{expectation.recall} cannot be asked again: its question was erased; withdraw {expectation.name}"
        return Outcome(expectation=expectation, held=False, sentence=lost)
    inquiry = _Again(world, fact, recalled)
    moment = inquiry.moment
    ranking = inquiry.ranking(moment)
    rank, score = position_of(ranking, inquiry.projections.documents.ids.find(fact.id))
    exact = (ranking.ids, ranking.scores) == (recalled.ids, recalled.scores)
    strict = inquiry.pinned and world.formula is None
    held = holds(fact, ranking, inquiry.projections)
    outcome = Outcome(
        expectation=expectation, held=held and (exact or not strict), sentence=_standing_words(fact, rank, recalled),
        rank=rank, score=score, formula=ranking.formula, exact=exact, degraded=inquiry.degraded,
    )  # fmt: skip
    if outcome.held:
        return outcome
    if held:
        changed = f"{expectation.recall} no longer ranks as it was recorded, bit for bit"
        return msgspec.structs.replace(outcome, sentence=changed)
    blamed = _blamed(world, inquiry, outcome, fact, recalled)
    return msgspec.structs.replace(blamed, degraded=inquiry.degraded)


def holds(fact: Expected, ranking: Ranking, projections: Projections) -> bool:
    """Whether a ranking is as expected."""
    find = projections.documents.ids.find
    return _as_expected(fact, ranking.ids, lambda id_: position_of(ranking, find(id_))[0])


def _as_expected(fact: Expected, answer: Sequence[str], rank_of: Callable[[str], int | None]) -> bool:
    if fact.absent:
        return fact.id not in answer
    rank = rank_of(fact.id)
    if rank is None:
        return False
    if fact.above is not None:
        other = rank_of(fact.above)
        return other is None or rank < other
    return rank <= (fact.top or 0)


class _Again(Inquiry):
    """The question of a recall, asked again at any moment."""

    def __init__(self, world: _World, fact: Expected, recalled: Recalled) -> None:
        store, source = world.store, world.here.store
        adoptions = source.projections.adoptions
        self.pinned = fact.pinned and not world.moved
        self.moment = Moment(recalled.basis, recalled.question.now) if self.pinned else world.moment
        fixed = world.formula
        if fixed is None:
            floats = adoptions.formula_in_force(fact.recall) == recalled.formula and not self.pinned
            fixed = None if floats else formula_of(source.log, source.projections, recalled)
            if floats and store is source and not world.moved:
                mine = world.here.formula
                fixed = None if formula_in_force(adoptions, self.moment.seq).digest == mine.digest else mine
        super().__init__(
            store.log, store.projections, self._question(recalled), formula=fixed,
            embed=lambda label: self._embedded(world, recalled.question, label),
        )  # fmt: skip

    def _question(self, recalled: Recalled) -> Question:
        """Keep what models said; drop what belongs to the moment: missing shards and the session's previous answer."""
        if self.pinned:
            return recalled.question
        effects = msgspec.structs.replace(recalled.question.effects, previous=None, scanned=())
        return msgspec.structs.replace(recalled.question, effects=effects)

    def _embedded(
        self, world: _World, question: Question, label: str
    ) -> tuple[GridVector | None, str | None]:
        if question.embedder == label:
            return question.vector, None
        return vector_of(world.store, world.here.embedding, question.text, label)

    def ranking(self, moment: Moment) -> Ranking:
        formula, view = self.formula_at(moment.seq), self.view(moment.seq)
        self.require(formula)
        question = self.question if self.pinned else self.question_at(*moment)
        if not self.pinned and question.session is not None:
            question = with_previous(self._log, question, view, formula, same=False)
        return rank_around(question, view, formula, finite=False)[1]


# --- what broke it ---------------------------------------------------------------------------------


def _blamed(world: _World, inquiry: _Again, outcome: Outcome, fact: Expected, recalled: Recalled) -> Outcome:
    """The outcome with the event that broke the expectation, or with what else did."""
    until, now = inquiry.moment
    find = inquiry.projections.documents.ids.find

    def at(seq: int) -> bool:
        return holds(fact, inquiry.ranking(Moment(seq, now)), inquiry.projections)

    ids = [one for one in (fact.id, fact.above) if one is not None]
    births = [_birth(inquiry.projections, find(one)) for one in ids if find(one) >= 0]
    since = max(0, min([*births, until]) - 1)
    seq = None if inquiry.pinned else last_break(inquiry.projections, ids, at, since=since, until=until)
    if seq is not None:
        event = summarize(world.store.event(seq).fact, None)
        return msgspec.structs.replace(
            outcome, broken_by=seq, event=event, sentence=f"{outcome.sentence}; broken by @{seq}: {event}"
        )
    return msgspec.structs.replace(
        outcome, sentence=f"{outcome.sentence}; {_no_event(world, fact, recalled, since)}"
    )


def _no_event(world: _World, fact: Expected, recalled: Recalled, since: int) -> str:
    if not _held_then(fact, recalled) and fact.pinned:
        return f"it did not hold in r{fact.recall} either"
    if not _held_then(fact, recalled):
        return (
            f"no event broke it: it held neither in r{fact.recall} nor at any position asked since @{since}"
        )
    if world.formula is not None:
        return f"no event broke it: it held in r{fact.recall}, and {world.formula.label} ranks otherwise all along"
    return f"no event broke it: it held in r{fact.recall} with the clock of {iso(recalled.question.now)}"


def _held_then(fact: Expected, recalled: Recalled) -> bool:
    """Whether the recorded answer was as expected, as far as it goes."""
    places = {id_: place for place, id_ in enumerate(recalled.ids, 1)}
    return _as_expected(fact, recalled.ids, places.get)


def _birth(projections: Projections, memory: int) -> int:
    documents = projections.documents
    return int(documents.born[documents.versions_of(memory)].min())


def _standing_words(fact: Expected, rank: int | None, recalled: Recalled) -> str:
    place = "is not ranked" if rank is None else f"ranks {rank}"
    if rank is not None and rank > recalled.question.k:
        place += f", beyond the {recalled.question.k} of the answer"
    return f"{fact.id} {place}; expected: {expected_words(fact)}"
