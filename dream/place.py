"""Place: status and depth follow activity; what was recalled since the last dream is put back (reconsolidation).

    staged       -> consolidated   replayed tonight, or accessed often enough
    consolidated -> archived       idle for too long
    archived     -> consolidated   accessed again since the last dream
    depth 1 -> 2 -> 3              accessed since the last dream, with enough accesses and sessions in all
    depth 3 -> 2 -> 1              idle for too long

Depth moves one step a dream. A memory that was accessed since the last dream is labile: placing it, even where it
was, restabilises it, and the event says so. Tagged memories are neither archived nor made shallower. Source:
Reverie ADR-006 and its changelog (T51, T52), which give no thresholds: all numbers are ours.
"""

from __future__ import annotations

import numpy as np

from recollect.dream.candidates import Candidates, Row
from recollect.dream.phase import Change, Outcome, PhaseInput
from recollect.dream.settings import PlaceSettings
from recollect.events.facts import Placed, Placement, Status
from recollect.projections.lifecycle.condition import STATUSES

_ACTIVE = """
    SELECT memory, status, depth, tagged, accesses, accesses_since, spread, idle_days, replayed FROM memories
    WHERE replayed OR accesses_since > 0 OR (status = 0 AND accesses >= $consolidate_accesses)
       OR idle_days > $idle_days
    ORDER BY memory
"""


def next_status(row: Row, settings: PlaceSettings) -> Status:
    """Where a memory belongs by its activity."""
    match STATUSES[row["status"]]:
        case "staged" if row["replayed"] or row["accesses"] >= settings.consolidate_accesses:
            return "consolidated"
        case "consolidated" if row["idle_days"] > settings.archive_idle_days and not row["tagged"]:
            return "archived"
        case "archived" if row["accesses_since"] > 0:
            return "consolidated"
        case status:
            return status


def next_depth(row: Row, settings: PlaceSettings) -> int:
    """One step deeper for use across sessions, one step up again for long silence."""
    depth: int = row["depth"]
    if depth < 3 and row["accesses_since"] > 0:
        enough = row["accesses"] >= settings.deepen_accesses[depth - 1]
        return depth + 1 if enough and row["spread"] >= settings.deepen_spread[depth - 1] else depth
    if depth > 1 and row["idle_days"] > settings.shallow_idle_days[depth - 2] and not row["tagged"]:
        return depth - 1
    return depth


def place(given: PhaseInput) -> Outcome:
    settings = given.settings.place
    candidates = Candidates(given)
    candidates.add("replayed", np.isin(candidates.memories, np.array(given.picked, dtype=np.int64)))
    rows = candidates.ask(
        _ACTIVE,
        consolidate_accesses=settings.consolidate_accesses,
        idle_days=min(settings.archive_idle_days, *settings.shallow_idle_days),
    )
    ids = given.view.documents.ids.values
    placements = [_placement(ids[row["memory"]], row, settings) for row in rows]
    moved = [
        (placement, row)
        for placement, row in zip(placements, rows, strict=True)
        if placement.restabilized or _differs(placement)
    ]
    facts = (Placed(dream=given.dream, changes=tuple(p for p, _ in moved)),) if moved else ()
    return Outcome(facts, len(rows), tuple(change for p, row in moved for change in _changes(p, row)))


def _placement(id_: str, row: Row, settings: PlaceSettings) -> Placement:
    return Placement(
        id=id_,
        status_before=STATUSES[row["status"]],
        status=next_status(row, settings),
        depth_before=row["depth"],
        depth=next_depth(row, settings),
        restabilized=row["accesses_since"] > 0,
    )


def _differs(placement: Placement) -> bool:
    return (placement.status, placement.depth) != (placement.status_before, placement.depth_before)


def _changes(placement: Placement, row: Row) -> list[Change]:
    why = (
        f"{row['accesses']} accesses ({row['accesses_since']} since the last dream) in {row['spread']} sessions, "
        f"idle for {row['idle_days']:.1f} days" + (", replayed tonight" if row["replayed"] else "")
    )
    pairs = (
        ("status", placement.status_before, placement.status),
        ("depth", placement.depth_before, placement.depth),
    )
    changes = [
        Change(id=placement.id, what=what, before=before, after=after, why=why)
        for what, before, after in pairs
        if before != after
    ]
    if placement.restabilized:
        changes.append(Change(id=placement.id, what="restabilised", before="labile", after="stable", why=why))
    return changes
