"""Promote: what many sessions came back to, or what is deep and strongly used, becomes canonical; what falls silent leaves.

    session_spread ≥ 5                   -> the canonical layer, depth 3
    depth 3 and signal ≥ threshold       -> the canonical layer
    signal < 0.01 and idle for 180 days  -> out of it, unless it carries an importance tag
    signal = accesses_per_day × revision_count × weight(kind)

What is silent is not promoted either. A promotion happens once; later depth is for place to decide. Source: Reverie
ADR-006 (`signal_score` is the input to promote and demote, canonical layer) and its dashboard (spread ≥ 5 promotes); the
thresholds of signal and idleness are ours.
"""

from __future__ import annotations

from recollect.dream.candidates import Candidates, Row
from recollect.dream.phase import Change, Outcome, PhaseInput
from recollect.dream.settings import PromoteSettings
from recollect.events.facts import Promoted, Promotion

_DEEP = 3
_NO_SUCH_LAYER = -2
_MOVING = """
    WITH judged AS (SELECT *, signal < $demote_signal AND idle_days > $demote_idle_days AS silent FROM memories)
    SELECT memory, layer, depth, spread, signal, idle_days, silent FROM judged
    WHERE (layer = $layer AND silent AND NOT tagged)
       OR (layer <> $layer AND NOT silent AND (spread >= $session_spread OR (depth >= $depth AND signal >= $signal)))
    ORDER BY memory
"""


def reason(row: Row, settings: PromoteSettings) -> str | None:
    """Why this memory is promoted; None if it is not."""
    if row["spread"] >= settings.session_spread:
        return f"session spread {row['spread']} ≥ {settings.session_spread}"
    if row["depth"] >= settings.depth and row["signal"] >= settings.signal:
        return f"depth {row['depth']} and signal {row['signal']:.3f} ≥ {settings.signal:g}"
    return None


def _silence(row: Row, settings: PromoteSettings) -> str:
    return f"idle for {row['idle_days']:.1f} days and signal {row['signal']:.3f} < {settings.demote_signal:g}"


def promote(given: PhaseInput) -> Outcome:
    settings = given.settings.promote
    candidates = Candidates(given)
    strings = candidates.now.strings
    known = strings.find(settings.layer)
    rows = candidates.ask(
        _MOVING,
        layer=known if known >= 0 else _NO_SUCH_LAYER,
        session_spread=settings.session_spread,
        depth=settings.depth,
        signal=settings.signal,
        demote_signal=settings.demote_signal,
        demote_idle_days=settings.demote_idle_days,
    )
    ids = given.view.documents.ids.values
    promotions, changes = [], []
    for row in rows:
        why = _silence(row, settings) if row["silent"] else reason(row, settings)
        if why is None:
            continue
        promotion = Promotion(
            id=ids[row["memory"]],
            layer_before=strings.values[row["layer"]] if row["layer"] >= 0 else "",
            layer="" if row["silent"] else settings.layer,
            depth_before=row["depth"],
            depth=row["depth"] if row["silent"] else _DEEP,
        )
        promotions.append(promotion)
        changes += _changes(promotion, why)
    facts = (Promoted(dream=given.dream, changes=tuple(promotions)),) if promotions else ()
    return Outcome(facts, len(candidates), tuple(changes))


def _changes(promotion: Promotion, why: str) -> list[Change]:
    changes = [
        Change(id=promotion.id, what="layer", before=promotion.layer_before, after=promotion.layer, why=why)
    ]
    if promotion.depth != promotion.depth_before:
        before, after = promotion.depth_before, promotion.depth
        changes.append(Change(id=promotion.id, what="depth", before=before, after=after, why=why))
    return changes
