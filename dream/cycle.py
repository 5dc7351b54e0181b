"""One dream: the phases in order, each seeing what the ones before it did, on a future that is only imagined.

The facts are DreamBegan, those of the phases, DreamEnded. Whoever asked for the dream appends them in one batch,
on the condition that the log still ends where the dream began; the dream's id is `d` and the seq that its first
event gets. The same basis, settings and clock give the same facts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from recollect.dream.cluster import cluster
from recollect.dream.consolidate import consolidate
from recollect.dream.downscale import downscale
from recollect.dream.measure import Asked, measured
from recollect.dream.phase import Night, Outcome
from recollect.dream.place import place
from recollect.dream.promote import promote
from recollect.dream.prune import prune
from recollect.dream.report import DreamReport, PhaseReport
from recollect.dream.scan import scan
from recollect.dream.settings import Settings
from recollect.dream.stabilize import stabilize
from recollect.dream.summarise import Compose, summarise
from recollect.dream.what_if import Imagined
from recollect.events.errors import InvalidInput
from recollect.events.facts import AnyFact, DreamBegan, DreamEnded, Micros

PHASES: dict[str, Callable[[Night], Outcome]] = {
    "scan": scan,
    "consolidate": consolidate,
    "downscale": downscale,
    "stabilize": stabilize,
    "prune": prune,
    "place": place,
    "promote": promote,
    "cluster": cluster,
}
SUMMARISE = "summarise"
_BEFORE_SUMMARISE = ("scan", "consolidate", "downscale", "stabilize")


class Dreamt(NamedTuple):
    """The facts of a dream and its report; nothing is written yet."""

    facts: tuple[AnyFact, ...]
    report: DreamReport


def dream_id(basis: int) -> str:
    """The id of a dream whose first event comes right after `basis`."""
    return f"d{basis + 1}"


def chosen_phases(names: Iterable[str] | None) -> tuple[str, ...]:
    """The phases to run, in their own order. Consolidate works on what scan picks, so it brings scan along."""
    if names is None:
        return tuple(PHASES)
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
    imagined: Imagined,
    *,
    settings: Settings,
    now: Micros,
    phases: Sequence[str],
    asked: Sequence[Asked] = (),
    compose: Compose | None = None,
) -> Dreamt:
    """Dream on from the imagined future's present, which is the basis."""
    before = imagined.view()
    id_ = dream_id(before.seq)
    facts: list[AnyFact] = [DreamBegan(dream=id_, basis=before.seq, now=now, settings=settings.text)]
    imagined.happen(facts)
    steps = _steps(phases, compose)
    night = Night(imagined.view(), settings, now, id_, before.engine.last_dream(before.seq))
    reports = []
    for name, phase in steps:
        outcome = phase(night)
        imagined.happen(outcome.facts)
        facts += outcome.facts
        reports.append(_report(name, outcome))
        night = night._replace(view=imagined.view(), picked=outcome.picked or night.picked)
    counts = {report.phase: len(report.changes) for report in reports}
    imagined.happen([DreamEnded(dream=id_)])
    metrics = measured(asked, imagined.view(before.seq), imagined.view(), settings.measure)
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
    )
    return Dreamt(tuple(facts), report)


def _steps(phases: Sequence[str], compose: Compose | None) -> list[tuple[str, Callable[[Night], Outcome]]]:
    """The phases by name. Summaries are made before anything is pruned, for their sources stay."""
    steps = [(name, PHASES[name]) for name in phases]
    if compose is not None:
        earlier = sum(name in _BEFORE_SUMMARISE for name, _ in steps)
        steps.insert(earlier, (SUMMARISE, lambda night: summarise(night, compose)))
    return steps


def _report(name: str, outcome: Outcome) -> PhaseReport:
    return PhaseReport(
        phase=name, looked_at=outcome.looked_at, facts=len(outcome.facts), changes=outcome.changes
    )
