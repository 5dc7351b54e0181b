"""Prune: what is superseded, doubled, stale or was never read stops answering, softly and with its numbers.

    superseded     a living memory has an edge `supersedes` to it
    duplicate      a newer one (by its last change) has the same topic key, layer and project
    stale          staleness = idle_days × decay_per_day(kind) > 1, as the kind's entry in the settings says:
                   prune, prune if it carries a tag such as "resolved", or archive instead
    worthless      signal / staleness below a limit (off unless it is set)
    never read     never accessed and more than 30 days old
    faded          downscaled to the strength floor, of a kind that may go stale
    test data      of a kind or with a tag that says so

Memories with an importance tag or of high importance are never pruned, nor are those younger than an hour or
those that a living summary was derived from; kinds that never go stale (reference, heuristic) are not pruned for
their age either. What has a source (an imported chat, a watched file) has the source's date, but is unread only since it
came: no rule counts the days before. What a `Superseded` event hid is
hidden already. `Restored` brings any of them back. Source: Reverie's specification of its prune rules, and its
changelog T49 for the strength floor; of duplicates the newest is kept, which is ours.
"""

from __future__ import annotations

import numpy as np

from recollect.dream.candidates import Candidates, Row, holding, when_stale
from recollect.dream.phase import Change, Outcome, PhaseInput
from recollect.dream.settings import PruneSettings
from recollect.events.facts import AnyFact, Placed, Placement, Pruned, Pruning
from recollect.projections.columns import BoolArray
from recollect.projections.lifecycle.condition import STATUSES
from recollect.query.inputs import MICROS_PER_DAY
from recollect.query.stages.ordering import DERIVED_FROM

_DOUBTFUL = """
    WITH ranked AS (
        SELECT *, CASE WHEN key < 0 THEN 1 ELSE row_number() OVER (
            PARTITION BY key, layer, project ORDER BY updated_at DESC, memory DESC) END AS place
        FROM memories
    )
    SELECT memory, status, depth, age_days, idle_days, accesses, revisions, staleness, signal, when_stale,
           superseded, resolved, test, strength, sourced_from, place - 1 AS newer
    FROM ranked
    WHERE NOT tagged AND importance < $protect_importance AND age_hours >= $min_age_hours AND NOT sourced
      AND (superseded OR place > 1 OR staleness > 1 OR (accesses = 0 AND age_days > $never_accessed_days)
           OR test OR strength <= $strength_floor OR signal < $score_floor * staleness)
    ORDER BY memory
"""


def verdict(row: Row, settings: PruneSettings) -> str | None:
    """Why this memory is pruned ("archive: …" if it is archived instead); None if it stays."""
    if row["superseded"]:
        return "superseded: a living memory supersedes it"
    if row["newer"] > 0:
        return f"duplicate: {row['newer']} newer with the same topic key in the same layer"
    fate = when_stale(row["when_stale"])
    if row["staleness"] > 1.0:
        stale = f"not accessed for {row['idle_days']:.1f} days, staleness {row['staleness']:.2f} > 1"
        if fate == "archive":
            return None if STATUSES[row["status"]] == "archived" else f"archive: {stale}"
        if fate == "prune" or (fate == "prune if resolved" and row["resolved"]):
            return f"stale: {stale}"
    if row["accesses"] == 0 and row["age_days"] > settings.never_accessed_days and fate not in _AGELESS:
        return f"never accessed in {row['age_days']:.1f} days"
    return None


def worn(row: Row, settings: PruneSettings) -> str | None:
    """Why a memory that is not stale is pruned for little use; None for kinds that are kept for ever or archived."""
    if when_stale(row["when_stale"]) in _AGELESS:
        return None
    if row["signal"] < settings.score_floor * row["staleness"]:
        score = row["signal"] / row["staleness"]
        return f"worthless: signal / staleness {score:.3f} < {settings.score_floor:g}"
    if settings.strength_floor > 0.0 and row["strength"] <= settings.strength_floor:
        return f"faded: strength {row['strength']:.4g}, at the floor {settings.strength_floor:g}"
    return None


def _why(row: Row, settings: PruneSettings) -> str | None:
    if row["test"]:
        return "test data: its kind or a tag says so"
    return verdict(row, settings) or worn(row, settings)


_AGELESS = ("never", "archive")
_NUMBERS = ("age_days", "idle_days", "accesses", "revisions", "staleness", "signal", "strength")


def prune(given: PhaseInput) -> Outcome:
    settings = given.settings.prune
    candidates = Candidates(given)
    candidates.add("superseded", _pointed_at(given, candidates, settings.superseding_kind))
    candidates.add("sourced", _pointed_at(given, candidates, DERIVED_FROM))
    candidates.add("sourced_from", candidates.now.source)
    candidates.add("resolved", holding(candidates.now, settings.resolved_tags))
    of_kind = candidates.of_kinds(settings.test_kinds)
    candidates.add("test", of_kind | holding(candidates.now, settings.test_tags))
    rows = candidates.ask(
        _DOUBTFUL,
        protect_importance=settings.protect_importance,
        min_age_hours=settings.min_age_hours,
        never_accessed_days=settings.never_accessed_days,
        strength_floor=settings.strength_floor,
        score_floor=settings.score_floor,
    )
    ids = given.view.documents.ids.values
    items, archived, changes = [], [], []
    for row in (_since_it_came(given, row) for row in rows):
        why = _why(row, settings)
        if why is None:
            continue
        id_ = ids[row["memory"]]
        if why.startswith("archive: "):
            archived.append(_archive(id_, row))
            before: str = archived[-1].status_before
            changes.append(Change(id=id_, what="status", before=before, after="archived", why=why))
        else:
            numbers = {name: float(row[name]) for name in _NUMBERS}
            if row["staleness"] > 0.0:
                numbers["score"] = row["signal"] / row["staleness"]
            items.append(Pruning(id=id_, reason=why, numbers=numbers))
            changes.append(Change(id=id_, what="visibility", before="visible", after="pruned", why=why))
    facts: list[AnyFact] = []
    if items:
        facts.append(Pruned(dream=given.dream, items=tuple(items)))
    if archived:
        facts.append(Placed(dream=given.dream, changes=tuple(archived)))
    return Outcome(tuple(facts), len(candidates), tuple(changes))


def _since_it_came(given: PhaseInput, row: Row) -> Row:
    """The row of what has a source without the days before it came; any other as it is."""
    if row["sourced_from"] < 0:
        return row
    came = given.recorded_at(given.view.lifecycle.last_touch(row["memory"], given.view.seq))
    had_days = max(given.now - came, 0) / MICROS_PER_DAY
    idle_days = min(row["idle_days"], had_days)
    age_days = min(row["age_days"], had_days) if row["accesses"] == 0 else row["age_days"]
    share = idle_days / row["idle_days"] if row["idle_days"] else 1.0
    return {**row, "age_days": age_days, "idle_days": idle_days, "staleness": row["staleness"] * share}


def _archive(id_: str, row: Row) -> Placement:
    return Placement(
        id=id_,
        status_before=STATUSES[row["status"]],
        status="archived",
        depth_before=row["depth"],
        depth=row["depth"],
    )


def _pointed_at(given: PhaseInput, candidates: Candidates, kind: str) -> BoolArray:
    """To which of the memories an edge of this kind leads from another living one."""
    if kind not in given.view.graph.edges.kinds:
        return np.zeros(len(candidates), dtype=np.bool_)
    edges = given.view.graph.neighbours(candidates.memories, given.view.seq, direction="in", kinds=(kind,))
    others = edges.memory != edges.of
    alive = np.isin(edges.memory, candidates.memories) & others
    return np.isin(candidates.memories, edges.of[alive])
