"""Dreaming and taking a dream back: what an open store does while its agent sleeps.

The phases run on a hypothetical future (`recollect.dream`), at first off the store's lock; then all of their facts are
appended at once, on the condition that the log still ends where the dream began. If others wrote meanwhile it is
dreamt again, the last time with the writer's lock held; if another dream was among it, this one gives way. What a
summariser said is kept from one attempt to the next, and under the lock it is not asked again. A dream by the clock is dreamt only if it is due at the very
view that it reads, so of several processes one dreams.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from recollect.engine import memories as reading
from recollect.engine import validate
from recollect.engine.embedding.store_embedder import Embedding
from recollect.engine.moments import parse_time
from recollect.engine.store import Store
from recollect.events.errors import HeadMoved, InvalidInput, RecollectError
from recollect.events.facts import Accessed, AnyFact, DreamBegan, DreamEnded, MemoryId, Rated, Recalled
from recollect.projections.adoptions import Dream
from recollect.projections.view import View
from recollect.query.formula import from_canonical

if TYPE_CHECKING:
    from recollect.dream.cycle import Dreamt
    from recollect.dream.measure import Asked
    from recollect.dream.report import DreamReport
    from recollect.dream.settings import Settings
    from recollect.dream.summarise import Compose, Composed

Summariser = Callable[[Sequence[str]], str | None]
_FREE_ATTEMPTS = 2  # a dream takes long: two that were overtaken are enough


class DreamOvertaken(RecollectError):
    """Something else was written while this dream slept; nothing of it was kept."""


class Dreaming:
    """What an open store dreams: mixed into `Memory`."""

    _store: Store
    _embedding: Embedding
    _actor: str

    def dream(
        self,
        dry_run: bool = False,
        phases: Iterable[str] | None = None,
        now: str | datetime | float | None = None,
        settings: Settings | Mapping[str, object] | str | Path | None = None,
        max_churn: float | None = None,
        summariser: Summariser | None = None,
        due: Callable[[View], bool] | None = None,
    ) -> DreamReport:
        """One cycle of phases, appended as one batch. A dry run reports the same and writes nothing.

        Beyond `max_churn` (the mean share of new hits among the first k of recorded questions) nothing is
        written either, and `refused` says so. A `summariser` makes one text of several, or None. With `due` it is
        dreamt only if that is true of the view that the dream reads (DreamOvertaken if not).
        """
        from recollect.dream.cycle import chosen_phases  # noqa: PLC0415 (DuckDB waits until it is needed)

        numbers = _settings(settings)
        steps = chosen_phases(phases)
        if max_churn is not None:
            validate.number(max_churn, "max_churn", low=0.0, high=1.0)
        clock = self._store.clock()
        moment = clock if now is None else parse_time(now, now=clock, what="now")
        compose = None if summariser is None else self._composer(summariser)

        def attempt() -> DreamReport:
            dreamt = self._sleep(numbers, steps, moment, compose, due)
            refused = _refusal(dreamt.report, numbers, max_churn)
            if dry_run or refused:
                return msgspec.structs.replace(dreamt.report, dry_run=dry_run, refused=refused)
            return self._commit(dreamt.facts, dreamt.report)

        return attempt() if dry_run else self._store.decide(attempt, attempts=_FREE_ATTEMPTS)

    def undream(self, dream_id: str) -> DreamReport:
        """Take a dream back: its values return, what has changed since is named in `left` and stays."""
        return self._store.decide(lambda: self._commit(*self._undoing(dream_id)))

    # --- inside ----------------------------------------------------------------------------------

    def _sleep(
        self,
        settings: Settings,
        phases: Sequence[str],
        now: int,
        compose: Compose | None,
        due: Callable[[View], bool] | None,
    ) -> Dreamt:
        """Dream at the head, if it is due there, and commit nothing."""
        from recollect.dream.cycle import dream  # noqa: PLC0415
        from recollect.dream.what_if import WhatIf  # noqa: PLC0415

        with self._store.lock, self._store.whole:
            view = self._store.view()
            if due is not None and not due(view):
                raise DreamOvertaken("a dream is not due any more: another process dreamt; nothing was kept")
            asked = _asked(self._store, settings.measure.questions)
            analyzers = {name for one in asked for name in one.formula.analyzers}
            self._store.require_analyzers(sorted({settings.scan.analyzer, *analyzers}))
            what_if = WhatIf(self._store.projections, now)
        return dream(what_if, settings=settings, now=now, phases=phases, asked=asked, compose=compose)

    def _composer(self, summariser: Summariser) -> Compose:
        from recollect.dream.summarise import Composed  # noqa: PLC0415

        said: dict[tuple[str, ...], Composed | None] = {}

        def compose(ids: Sequence[MemoryId]) -> Composed | None:
            view = self._store.view()
            texts = tuple(reading.memo(self._store, view, id_).content for id_ in ids)
            if texts not in said and not self._store.is_deciding:
                said[texts] = composed(summariser(list(texts)))
            return said.get(texts)

        def composed(text: str | None) -> Composed | None:
            if text is None:
                return None
            content = validate.content(text)
            adopted = self._embedding.adopted is not None
            vector = self._embedding.vectors([content])[0] if adopted else None
            return Composed(content, vector, self._embedding.name if vector else None)

        return compose

    def _undoing(self, dream_id: str) -> tuple[tuple[AnyFact, ...], DreamReport]:
        from recollect.dream.cycle import dream_id as id_after  # noqa: PLC0415
        from recollect.dream.report import DreamReport, PhaseReport  # noqa: PLC0415
        from recollect.dream.undo import Span, undo  # noqa: PLC0415

        store = self._store
        with store.lock, store.whole:
            now, clock = store.view(), store.clock()
            dream = _dream(store, dream_id, now.seq)
            before, after = store.view(dream.began - 1), store.view(dream.ended)
            span = Span(dream, before, after, now, lambda seq: store.event(seq).fact)
            undoing = id_after(now.seq)
            undone = undo(span, store.log.read(dream.began, dream.ended), undoing=undoing)
        counts = {"restored": len(undone.changes), "left": len(undone.left)}
        facts = (
            DreamBegan(dream=undoing, basis=now.seq, now=clock, undoes=dream.id),
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
            counts=counts, metrics={}, undoes=dream.id, left=undone.left,
        )  # fmt: skip
        return facts, report

    def _commit(self, facts: Sequence[AnyFact], report: DreamReport) -> DreamReport:
        """Append the dream if nothing was written since its basis; HeadMoved if something was that it can dream with."""
        try:
            seqs = self._store.append(facts, actor=self._actor, expect=report.basis)
        except HeadMoved:
            self._store.catch_up()
            engine = self._store.projections.adoptions
            others = [one.id for one in (*engine.dreams, *engine.undoings) if one.began > report.basis]
            if others:
                raise DreamOvertaken(
                    f"another dream, {others[0]}, was written while this one slept; nothing of this one was kept. "
                    f"Dream again if one more is wanted"
                ) from None
            raise
        self._store.catch_up()
        return msgspec.structs.replace(report, dry_run=False, committed=True, head=seqs[-1])


def _settings(given: Settings | Mapping[str, object] | str | Path | None) -> Settings:
    from recollect.dream.settings import (  # noqa: PLC0415
        Settings,
        default_settings,
        load_settings,
        settings_from,
    )

    if given is None:
        return default_settings()
    if isinstance(given, Settings):
        return given
    return settings_from(given) if isinstance(given, Mapping) else load_settings(given)


def _refusal(report: DreamReport, settings: Settings, max_churn: float | None) -> str:
    """Why the dream is not committed; empty if it may be."""
    from recollect.dream.measure import churn_name  # noqa: PLC0415

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


def _asked(store: Store, most: int) -> list[Asked]:
    """The last recorded questions, each with its formula and what was of use in its answer."""
    from recollect.dream.measure import Asked  # noqa: PLC0415

    projections = store.projections
    seqs = projections.adoptions.recalls[-most:].tolist() if most else []
    useful = _useful(store, seqs)
    asked = []
    for seq in seqs:
        fact = store.event(seq).fact
        if isinstance(fact, Recalled) and fact.formula in projections.adoptions.formulas:
            formula = from_canonical(projections.adoptions.formulas[fact.formula])
            asked.append(Asked(fact.question, formula, frozenset(useful.get(seq, ()))))
    return asked


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
