"""One dream: the phases in order, each seeing what the ones before it did, on a future that is not written yet.

The facts are DreamBegan, those of the phases, DreamEnded. The caller appends them in one batch,
on the condition that the log still ends where the dream began; the dream's id is `d` and the seq that its first
event gets. The same basis, settings and clock give the same facts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from recollect.dream.cluster import cluster
from recollect.dream.consolidate import consolidate
from recollect.dream.downscale import downscale
from recollect.dream.measure import Asked, answers_changed, changed, measured, ranked_twice
from recollect.dream.phase import Outcome, PhaseInput
from recollect.dream.place import place
from recollect.dream.promote import promote
from recollect.dream.propose import propose
from recollect.dream.prune import prune
from recollect.dream.report import DreamReport, PhaseReport
from recollect.dream.scan import scan
from recollect.dream.settings import Settings
from recollect.dream.stabilize import stabilize
from recollect.dream.summarise import Compose, summarise
from recollect.dream.what_if import WhatIf
from recollect.events.errors import InvalidInput
from recollect.events.facts import AnyFact, DreamBegan, DreamEnded, MemoryId, Micros

PHASES: dict[str, Callable[[PhaseInput], Outcome]] = {
    "scan": scan,
    "consolidate": consolidate,
    "downscale": downscale,
    "stabilize": stabilize,
    "prune": prune,
    "place": place,
    "promote": promote,
    "cluster": cluster,
    "propose": propose,
}
PROPOSE = "propose"
SUMMARISE = "summarise"
PRUNE = "prune"
_BEFORE_SUMMARISE = ("scan", "consolidate", "downscale", "stabilize")


class Dreamt(NamedTuple):
    """The facts of a dream and its report; nothing is written yet."""

    facts: tuple[AnyFact, ...]
    report: DreamReport


def dream_id(basis: int) -> str:
    """The id of a dream whose first event comes right after `basis`."""
    return f"d{basis + 1}"


def chosen_phases(names: Iterable[str] | None) -> tuple[str, ...]:
    """The phases to run, in their own order. Consolidate works on what scan picks, so it brings scan along.

    Propose ranks recorded questions again for every pair, so it runs only where it is named.
    """
    if names is None:
        return tuple(name for name in PHASES if name != PROPOSE)
    wanted = set(names)
    unknown = sorted(wanted - PHASES.keys())
    if unknown:
        raise InvalidInput(f"a dream has no phase {unknown[0]!r}; its phases are {', '.join(PHASES)}")
    if not wanted:
        raise InvalidInput(f"no phases were named; a dream's phases are {', '.join(PHASES)}")
    if "consolidate" in wanted:
        wanted.add("scan")
    return tuple(name for name in PHASES if name in wanted)


def dream(
    what_if: WhatIf,
    *,
    settings: Settings,
    now: Micros,
    phases: Sequence[str],
    recorded_at: Callable[[int], Micros],
    asked: Sequence[Asked] = (),
    compose: Compose | None = None,
    proposed: frozenset[tuple[MemoryId, MemoryId]] = frozenset(),
) -> Dreamt:
    """Dream on from the hypothetical future's present, which is the basis."""
    before = what_if.view()
    id_ = dream_id(before.seq)
    facts: list[AnyFact] = [DreamBegan(dream=id_, basis=before.seq, now=now, settings=settings.text)]
    what_if.apply(facts)
    steps = _steps(phases, compose)
    given = PhaseInput(
        what_if.view(), settings, now, id_, before.adoptions.last_dream(before.seq), recorded_at, proposed=proposed,
        answers_changed_by=lambda fact: answers_changed(asked, what_if, fact),
    )  # fmt: skip
    reports = []
    for name, phase in steps:
        outcome = phase(given)
        what_if.apply(outcome.facts)
        facts += outcome.facts
        reports.append(_report(name, outcome))
        given = given._replace(view=what_if.view(), picked=outcome.picked or given.picked)
    counts = {report.phase: len(report.changes) for report in reports}
    what_if.apply([DreamEnded(dream=id_)])
    answers = ranked_twice(asked, what_if.view(before.seq), what_if.view())
    metrics = measured(answers, settings.measure)
    facts.append(DreamEnded(dream=id_, counts=counts, metrics=metrics))
    report = DreamReport(
        id=id_,
        dry_run=True,
        committed=False,
        basis=before.seq,
        now=now,
        phases=tuple(reports),
        counts=counts,
        metrics=metrics,
        answers=changed(answers),
    )
    return Dreamt(tuple(facts), report)


def _steps(
    phases: Sequence[str], compose: Compose | None
) -> list[tuple[str, Callable[[PhaseInput], Outcome]]]:
    """The phases by name. Summaries are made before anything is pruned, for their sources stay."""
    steps = [(name, PHASES[name]) for name in phases]
    if compose is not None:
        earlier = sum(name in _BEFORE_SUMMARISE for name, _ in steps)
        steps.insert(earlier, (SUMMARISE, lambda given: summarise(given, compose)))
    return steps


def _report(name: str, outcome: Outcome) -> PhaseReport:
    return PhaseReport(
        phase=name, looked_at=outcome.looked_at, facts=len(outcome.facts), changes=outcome.changes
    )
