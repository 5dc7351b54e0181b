"""What `doctor` finds about dreams: two that were dreamt in place of one.

Several processes that dream by the clock are due at the same moment. Programs that did not decide this at the view
that the dream reads wrote a second dream behind the first, and every strength was downscaled twice. A dream's clock is
read when it begins, and its recorded time is when it was written, so the second of such a pair began before the first
was written. A dream that somebody asks for after another one begins after that was written, and is left alone.
"""

from __future__ import annotations

from collections.abc import Iterator

from recollect.engine.doctor_caches import Problem
from recollect.events.facts import Downscaled, DreamBegan
from recollect.events.redacted_log import RedactedLog
from recollect.projections.adoptions import Dream
from recollect.projections.view import Projections

# A dream that seems to last longer was asked for with another clock than the log's.
_LASTS_MAX = 3_600_000_000


def doubled_dreams(log: RedactedLog, projections: Projections) -> Iterator[Problem]:
    """Dreams that count and that began before the dream before them, which counts too, was written."""
    first: Dream | None = None
    for dream in projections.adoptions.dreams:
        if dream.undone_at or not _downscales(log, dream):
            continue
        if first is not None and _overlap(log, first, dream):
            yield _doubled(dream, first)
        else:
            first = dream


def _downscales(log: RedactedLog, dream: Dream) -> bool:
    return any(isinstance(recorded.fact, Downscaled) for recorded in log.read(dream.began, dream.ended))


def _overlap(log: RedactedLog, first: Dream, second: Dream) -> bool:
    """Whether the second began before the first was written; False where the log's clock stood still until then."""
    written = log.effective_time(first.ended)
    if written == log.effective_time(first.began - 1):
        return False
    began = _began_at(log, second)
    return _began_at(log, first) is not None and began is not None and began <= written


def _began_at(log: RedactedLog, dream: Dream) -> int | None:
    """When a dream began, by the clock that also recorded it."""
    fact = log.get(dream.began).fact
    if not isinstance(fact, DreamBegan) or not 0 <= log.effective_time(dream.ended) - fact.now <= _LASTS_MAX:
        return None
    return fact.now


def _doubled(dream: Dream, first: Dream) -> Problem:
    return Problem(
        severity="dreams",
        where=f"@{dream.began}",
        what=f"the dream {dream.id} began before {first.id} was written: two processes dreamt in one interval, and "
        f"strengths were downscaled twice",
        remedy=f"`recollect undream {dream.id}` takes it back",
    )
