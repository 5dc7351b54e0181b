"""Dreaming and taking a dream back.

The phases run on a hypothetical future (`recollect.dream`), at first off the store's lock; then all of their facts are
appended at once, on the condition that the log still ends where the dream began. If others wrote meanwhile it is
dreamt again, the last time with the writer's lock held; if another dream was among it, this one gives way. What a
summariser said is kept from one attempt to the next, and under the lock it is not asked again. A dream by the clock is
dreamt only if it is due at the very view that it reads, so of several processes one dreams.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypedDict

import msgspec

from recollect.dream.cycle import PRUNE, Dreamt, chosen_phases
from recollect.dream.cycle import dream as run_phases
from recollect.dream.cycle import dream_id as id_after
from recollect.dream.measure import Asked, churn_name
from recollect.dream.report import DreamReport, PhaseReport
from recollect.dream.settings import Settings, default_settings, load_settings, settings_from
from recollect.dream.summarise import Composed
from recollect.dream.undo import Span, undo
from recollect.dream.what_if import WhatIf
from recollect.engine import memories as reading
from recollect.engine import validate
from recollect.engine.chat import ChatFailed, Summary
from recollect.engine.dream_schedule import DreamOvertaken
from recollect.engine.embedding.embedder import EmbedderAway
from recollect.engine.embedding.model_endpoint import ServerAway
from recollect.engine.moments import Time, parse_time
from recollect.engine.proposals import proposed_pairs
from recollect.engine.recall_models import Models
from recollect.engine.recall_options import refuse_unknown
from recollect.engine.retain import retain_as_set
from recollect.engine.store import Store
from recollect.engine.torn_state import locked
from recollect.engine.writer import Writer
from recollect.events.errors import HeadMoved, InvalidInput
from recollect.events.facts import (
    Accessed,
    AnyFact,
    DreamBegan,
    DreamEnded,
    MemoryId,
    Question,
    Rated,
    Recalled,
)
from recollect.projections.adoptions import Dream
from recollect.projections.view import View
from recollect.query.formula import from_canonical

Summariser = Callable[[Sequence[str]], str | Summary | None]
_FREE_ATTEMPTS = 2  # a dream takes long: two that were overtaken are enough


class DreamOptions(TypedDict, total=False):
    """How to dream: `due` must be true of the view that the dream reads, beyond `max_churn` nothing is written."""

    settings: Settings | Mapping[str, object] | str | Path | None
    max_churn: float | None
    summariser: Summariser | None
    due: Callable[[View], bool] | None


def dream(
    writer: Writer, models: Models, options: DreamOptions, *, dry_run: bool, phases: Iterable[str] | None, now: Time | None
) -> DreamReport:  # fmt: skip
    """One cycle of phases, appended as one batch."""
    refuse_unknown(options, DreamOptions.__annotations__)
    store, max_churn = writer.store, options.get("max_churn")
    summariser = options.get("summariser") or models.summariser
    numbers = _settings(options.get("settings"))
    steps = chosen_phases(phases)
    if max_churn is not None:
        validate.number(max_churn, "max_churn", low=0.0, high=1.0)
    moment = None if now is None else parse_time(now, now=store.clock(), what="now")
    composer = None if summariser is None else _Composer(writer, summariser)

    def sleep(phases: Sequence[str]) -> Dreamt:
        what_if, asked = _asleep(writer, numbers, moment, options.get("due"))
        dreamt = run_phases(
            what_if, settings=numbers, now=what_if.now, phases=phases, recorded_at=store.log.effective_time, asked=asked,
            compose=composer, proposed=proposed_pairs(store),
        )  # fmt: skip
        report = msgspec.structs.replace(dreamt.report, degraded=_measured_by_words(asked))
        return dreamt._replace(report=report)

    def attempt() -> DreamReport:
        dreamt = sleep(steps)
        if (
            composer is not None and composer.away
        ):  # sources of a summary are not pruned, so these wait for it
            dreamt = sleep([phase for phase in steps if phase != PRUNE])
        without = () if composer is None else tuple(composer.degraded)
        report = msgspec.structs.replace(dreamt.report, degraded=(*dreamt.report.degraded, *without))
        refused = _refusal(report, numbers, max_churn)
        if dry_run or refused:
            return msgspec.structs.replace(report, dry_run=dry_run, refused=refused)
        return _commit(writer, dreamt.facts, report)

    if dry_run:
        return attempt()
    report = store.decide(attempt, attempts=_FREE_ATTEMPTS)
    retain_as_set(store, writer.actor)
    return report


def undream(writer: Writer, dream_id: str) -> DreamReport:
    """Take a dream back: its values return, what has changed since is named in `left` and stays."""
    return writer.store.decide(lambda: _commit(writer, *_undoing(writer.store, dream_id)))


@locked
def _asleep(
    writer: Writer, settings: Settings, now: int | None, due: Callable[[View], bool] | None
) -> tuple[WhatIf, list[Asked]]:
    """The hypothetical future that the phases run on, if a dream is due, and the questions to measure it with.

    Its clock is read after its view is taken, unless told: what others wrote before, a dream among it, is of the past.
    """
    store = writer.store
    view = store.view()
    writer.embedding.require_same(view.adoptions.embedder(view.seq))
    if due is not None and not due(view):
        raise DreamOvertaken("a dream is not due any more: another process dreamt; nothing was kept")
    asked = asked_before(store, settings.measure.questions)
    analyzers = {name for one in asked for name in one.formula.analyzers}
    store.require_analyzers(sorted({settings.scan.analyzer, *analyzers}))
    return WhatIf(store.projections, store.clock() if now is None else now), asked


class _Composer:
    """Asks a summariser once per set of texts, and never while other writers wait.

    The summaries of a model that is away wait for another dream; the rest of this one goes on, and says so.
    """

    def __init__(self, writer: Writer, summariser: Summariser) -> None:
        self.degraded: dict[str, None] = {}
        self._writer = writer
        self._summariser = summariser
        self._said: dict[tuple[str, ...], Composed | None] = {}
        self.away = False

    def __call__(self, ids: Sequence[MemoryId]) -> Composed | None:
        store = self._writer.store
        view = store.view()
        texts = tuple(reading.memo(store, view, id_).content for id_ in ids)
        if texts not in self._said and not store.is_deciding and not self.away:
            self._said[texts] = self._ask(texts)
        return self._said.get(texts)

    def _ask(self, texts: tuple[str, ...]) -> Composed | None:
        try:
            said = self._summariser(list(texts))
        except (ServerAway, ChatFailed) as away:
            self.away = True
            self.degraded[f"summarise: {away}; dreamt without new summaries, and nothing was pruned"] = None
            return None
        if said is None:
            return None
        text, said_by = (said.text, said.said_by) if isinstance(said, Summary) else (said, None)
        content, embedding = validate.content(text), self._writer.embedding
        vector = self._vector(content) if embedding.adopted is not None else None
        return Composed(content, vector, embedding.name if vector else None, said_by)

    def _vector(self, content: str) -> bytes | None:
        try:
            return self._writer.embedding.vectors([content])[0]
        except EmbedderAway as away:
            self.degraded[f"vector: {away}; summaries are kept without a vector"] = None
            return None


@locked
def _undoing(store: Store, dream_id: str) -> tuple[tuple[AnyFact, ...], DreamReport]:
    now, clock = store.view(), store.clock()
    dreamt = _dream(store, dream_id, now.seq)
    before, after = store.view(dreamt.began - 1), store.view(dreamt.ended)
    span = Span(dreamt, before, after, now, lambda seq: store.event(seq).fact)
    undoing = id_after(now.seq)
    undone = undo(span, store.log.read(dreamt.began, dreamt.ended), undoing=undoing)
    counts = {"restored": len(undone.changes), "left": len(undone.left)}
    facts = (
        DreamBegan(dream=undoing, basis=now.seq, now=clock, undoes=dreamt.id),
        *undone.facts,
        DreamEnded(dream=undoing, counts=counts),
    )
    phase = PhaseReport(
        phase="undo",
        looked_at=len(undone.changes) + len(undone.left),
        facts=len(undone.facts),
        changes=undone.changes,
    )
    report = DreamReport(
        id=undoing, dry_run=False, committed=False, basis=now.seq, now=clock, phases=(phase,),
        counts=counts, metrics={}, undoes=dreamt.id, left=undone.left,
    )  # fmt: skip
    return facts, report


def _commit(writer: Writer, facts: Sequence[AnyFact], report: DreamReport) -> DreamReport:
    """Append the dream if nothing was written since its basis; HeadMoved if it can be dreamt again with what was."""
    try:
        seqs = writer.append(facts, expect=report.basis)
    except HeadMoved:
        writer.store.catch_up()
        engine = writer.store.projections.adoptions
        others = [one.id for one in (*engine.dreams, *engine.undoings) if one.began > report.basis]
        if others:
            raise DreamOvertaken(
                f"{others[0]}, another dream or the undoing of one, was written while this one slept; nothing of this "
                f"one was kept. Dream again if one more is wanted"
            ) from None
        raise
    return msgspec.structs.replace(report, dry_run=False, committed=True, head=seqs[-1])


def _settings(given: Settings | Mapping[str, object] | str | Path | None) -> Settings:
    if given is None:
        return default_settings()
    if isinstance(given, Settings):
        return given
    return settings_from(given) if isinstance(given, Mapping) else load_settings(given)


def _refusal(report: DreamReport, settings: Settings, max_churn: float | None) -> str:
    """Why the dream is not committed; empty if it may be."""
    churn = report.metrics.get(churn_name(settings.measure), 0.0)
    if max_churn is None or churn <= max_churn:
        return ""
    return f"{churn_name(settings.measure)} would be {churn:.4f}, more than the {max_churn:g} allowed"


def _dream(store: Store, dream_id: str, head: int) -> Dream:
    """A dream that can be taken back."""
    engine = store.projections.adoptions
    if any(undoing.id == dream_id for undoing in engine.undoings):
        raise InvalidInput(f"{dream_id!r} took a dream back; to have its effect again, dream again")
    dream = next((one for one in engine.dreams if one.id == dream_id), None)
    if dream is None:
        known = ", ".join(one.id for one in engine.dreams[-5:]) or "none"
        raise InvalidInput(f"no dream has the id {dream_id!r}; the last ones are {known}")
    if 0 < dream.undone_at <= head:
        raise InvalidInput(f"dream {dream_id} was taken back already, at @{dream.undone_at}")
    return dream


def asked_before(store: Store, most: int, upto: int | None = None) -> list[Asked]:
    """The last recorded questions, up to a seq, each with its formula and what was of use in its answer.

    Vectors of two embedders are never compared: a question from before the embedder of that seq is asked by words.
    """
    projections = store.projections
    embedder = projections.adoptions.embedder(store.log.head if upto is None else upto)
    label = None if embedder is None else embedder.label
    recalls = projections.adoptions.recalls
    if upto is not None:
        recalls = recalls[: recalls.searchsorted(upto, side="right")]
    seqs = recalls[-most:].tolist() if most else []
    useful = _useful(store, seqs)
    asked = []
    for seq in seqs:
        fact = store.event(seq).fact
        if isinstance(fact, Recalled) and fact.formula in projections.adoptions.formulas:
            formula = from_canonical(projections.adoptions.formulas[fact.formula])
            by_words = fact.question.vector is not None and fact.question.embedder != label
            question = _without_vectors(fact.question) if by_words else fact.question
            asked.append(Asked(question, formula, frozenset(useful.get(seq, ())), f"r{seq}", by_words))
    return asked


def _measured_by_words(asked: Sequence[Asked]) -> tuple[str, ...]:
    by_words = sum(one.by_words for one in asked)
    why = "they were asked with another embedder than the store has now"
    said = f"vector: {by_words} of {len(asked)} recorded questions were measured by words only; {why}"
    return (said,) if by_words else ()


def _without_vectors(question: Question) -> Question:
    rewritings = question.effects.expansions or ()
    expansions = tuple(msgspec.structs.replace(one, vector=None) for one in rewritings)
    effects = msgspec.structs.replace(question.effects, expansions=expansions or question.effects.expansions)
    return msgspec.structs.replace(question, vector=None, embedder=None, effects=effects)


def _useful(store: Store, recalls: Sequence[int]) -> dict[int, set[MemoryId]]:
    """Per recall the memories that were used, or judged helpful, as part of its answer."""
    found: dict[int, set[MemoryId]] = {}
    for recorded in store.log.read(recalls[0]) if recalls else ():
        match recorded.fact:
            case Rated(verdict="helpful", id=id_, recall=int(recall)):
                found.setdefault(recall, set()).add(id_)
            case Accessed(how="used", ids=ids, recall=int(recall)):
                found.setdefault(recall, set()).update(ids)
            case _:
                pass
    return found
