"""fork: a second future. The log up to a point, and the rest lived again under other rules, in a store of its own.

Ingests, questions, clocks and recorded times are the same; recalls rank under the new formula at their own
moment. In a closed loop, what was read follows what the new formula returned (`following`), dreams may be dreamt
again, and so the state drifts from the recorded one. With another embedder every text is embedded again.

Event ids are kept, so that the same question can be found in both futures; what the fork adds has ids derived
from them. Running it again continues where it stopped (`fork_note`). The source is only read.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec

from recollect.events.errors import InvalidInput
from recollect.events.log import Log
from recollect.events.segment_log import SegmentLog
from recollect.projections.view import Projections
from recollect.query.formula import Formula
from recollect.replay.fork_note import ForkNote, leave_note, read_note
from recollect.replay.fork_rules import Dreaming, RecordedClock, Rules
from recollect.replay.reembedding import NewEmbedder
from recollect.replay.reliving import Reliving
from recollect.replay.sides import ForkSide, Mode

Progress = Callable[[int, int], None]


class ForkReport(msgspec.Struct, frozen=True, kw_only=True):
    """What was lived again; the counts are those of this run. `skipped` were erased, or of an unknown type."""

    path: str
    source_head: int
    head: int
    since: int
    formula: str | None
    closed_loop: bool
    embedder: str | None
    recalls: int
    recalls_changed: int
    accesses_changed: int
    accesses_dropped: int
    dreams: int
    dreams_again: int
    skipped: int


def fork(
    source: Log,
    target: Path,
    *,
    since: int = 0,
    formula: Formula | None = None,
    closed_loop: bool = False,
    embedder: NewEmbedder | None = None,
    dreaming: Dreaming | None = None,
    shard_dir: Path | None = None,
    progress: Progress | None = None,
) -> ForkReport:
    """Live the events after `since` again, into the store directory `target`.

    Without a formula every recall keeps its own. `dreaming` dreams again in a closed loop; without it the
    recorded dreams stay as they are. `shard_dir` holds the source's built indexes, which are copied.
    """
    head = source.head
    rules = Rules(since, formula, closed_loop, embedder, dreaming)
    _check(rules, head)
    leave_note(target, _note(source, since, formula, closed_loop, embedder, dreaming))
    shards = target / "cache" / "shards"
    if shard_dir is not None and shard_dir.is_dir():
        shutil.copytree(shard_dir, shards, dirs_exist_ok=True)
    clock = RecordedClock()
    with SegmentLog.open(target / "log", clock=clock) as log:
        projections = Projections(formula.analyzers if formula else (), shard_dir=shards)
        counts = Reliving(source, log, clock, projections, rules).run(progress)
        return ForkReport(
            path=str(target),
            source_head=head,
            head=log.head,
            since=since,
            formula=formula.label if formula else None,
            closed_loop=closed_loop,
            embedder=embedder.adoption.name if embedder else None,
            **counts,
        )


def _check(rules: Rules, head: int) -> None:
    """Refuse rules that do not go together before anything is made."""
    if not 0 <= rules.since <= head:
        raise InvalidInput(f"@{rules.since} is not in this log, which ends at @{head}")
    if rules.dreaming and not rules.closed_loop:
        raise InvalidInput("dreams are dreamt again in a closed loop only")
    if rules.embedder and rules.since:
        raise InvalidInput(f"another embedder embeds from the start on; it cannot begin at @{rules.since}")


def _note(
    source: Log,
    since: int,
    formula: Formula | None,
    closed_loop: bool,
    embedder: NewEmbedder | None,
    dreaming: Dreaming | None,
) -> ForkNote:
    return ForkNote(
        origin=source.chain_at(max(since, min(1, source.head))).hex(),
        since=since,
        formula=formula.label if formula else None,
        closed_loop=closed_loop,
        embedder=embedder.adoption.name if embedder else None,
        dream=dreaming.settings if dreaming else None,
    )


def fork_side(source: Log, folder: Path) -> ForkSide:
    """A fork of this log as one side of a comparison: the questions after the point where it parted."""
    note = read_note(folder)
    if note is None:
        raise InvalidInput(f"{folder} is not a fork; `recollect fork --to {folder}` makes one")
    if note.since > source.head or source.chain_at(max(note.since, min(1, source.head))).hex() != note.origin:
        raise InvalidInput(f"{folder} is a fork of another store")
    with SegmentLog.open(folder / "log", read_only=True) as log:
        mode: Mode = "closed loop" if note.closed_loop else "frozen"
        lived_again = {event.id for event in source.read(note.since)}
        return ForkSide(log, among=lived_again, label=note.label, mode=mode)
