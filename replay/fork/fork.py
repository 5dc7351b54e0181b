"""fork: a second future. The log up to a point, and the rest lived again under other rules, in a store of its own.

Ingests, questions, clocks and recorded times are the same; recalls rank under the new formula at their own
moment. In a closed loop, what was read follows what the new formula returned (`following`), dreams may be dreamt
again, and so the state drifts from the recorded one. With another embedder every text is embedded again.

Event ids are kept, so that the same question can be found in both futures; what the fork adds has ids derived
from them. Running it again continues where it stopped (`fork_note`); what the source has erased since is then erased
in the fork too. The source is only read.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from recollect.events.envelope import EventId, type_name
from recollect.events.errors import InvalidInput
from recollect.events.facts import FormulaAdopted
from recollect.events.log import Log
from recollect.events.private_files import copy_private, make_private, sync_directory
from recollect.events.redacted_log import ERASED
from recollect.events.segment_log import SegmentLog
from recollect.projections.view import Projections
from recollect.query.formula import Formula, from_canonical
from recollect.replay.compare.sides import ForkSide, Mode, Said, answers
from recollect.replay.fork.fork_replay import ForkReplay
from recollect.replay.fork.note import GO_ON, ForkNote, finish_fork, leave_note, read_note
from recollect.replay.fork.reembedding import NewEmbedder
from recollect.replay.fork.rules import Dreaming, RecordedClock, Rules
from recollect.replay.fork.topic import looks_back

Progress = Callable[[int, int], None]


class ForkReport(msgspec.Struct, frozen=True, kw_only=True):
    """What was lived again; the counts are those of this run. `skipped` are of an unknown type, or erased with nothing
    left of them. `degraded` says what could not be done beside."""

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
    degraded: tuple[str, ...] = ()


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
    folder: Path | None = None,
    begun: Callable[[], None] = lambda: None,
    finish: bool = True,
    progress: Progress | None = None,
) -> ForkReport:
    """Live the events after `since` again, into the store directory `target`.

    Without a formula every recall keeps its own. `dreaming` dreams again in a closed loop; without it the
    recorded dreams stay as they are. `shard_dir` holds the source's built indexes, which are copied; `folder` is the
    source's directory, for the note. `begun` is called when the directory is the fork's own, before it holds anything
    of the source. Without `finish` the fork stays marked as unfinished until `finish_fork`.
    """
    head = source.head
    rules = Rules(since, formula, closed_loop, embedder, dreaming)
    _check(rules, head)
    leave_note(target, _note(source, rules, folder))
    begun()
    shards = target / "cache" / "shards"
    _copy(shard_dir, shards)
    clock = RecordedClock()
    with SegmentLog.open(target / "log", clock=clock) as log:
        projections = Projections(formula.analyzers if formula else (), shard_dir=shards)
        fork_replay = ForkReplay(source, log, clock, projections, rules)
        counts = fork_replay.run(progress)
        made = ForkReport(
            path=str(target),
            source_head=fork_replay.upto,
            head=log.head,
            since=since,
            formula=formula.label if formula else None,
            closed_loop=closed_loop,
            embedder=embedder.adoption.name if embedder else None,
            **msgspec.structs.asdict(counts),
        )
    if finish:
        finish_fork(target, upto=made.source_head)
    return made


def discard_fork(folder: Path) -> None:
    """Delete an unfinished fork, to make it anew."""
    note = read_note(folder)
    assert note is not None, folder
    assert note.finished is False, note
    for name in ("log", "cache"):
        shutil.rmtree(folder / name, ignore_errors=True)


def _copy(shard_dir: Path | None, shards: Path) -> None:
    """The source's indexes as they are now, in place of what an earlier run copied: it may have been erased since."""
    shutil.rmtree(shards.parent, ignore_errors=True)
    if shard_dir is None or not shard_dir.is_dir():
        return
    make_private(shards)
    for path in shard_dir.glob("*.hnsw"):
        # an erasure may delete it meanwhile; it is built again when needed
        with suppress(FileNotFoundError), path.open("rb") as shard:
            copy_private(shard, shards / path.name)
    sync_directory(shards)


def _check(rules: Rules, head: int) -> None:
    """Refuse rules that do not go together before anything is made."""
    if not 0 <= rules.since <= head:
        raise InvalidInput(f"@{rules.since} is not in this log, which ends at @{head}")
    if rules.dreaming and not rules.closed_loop:
        raise InvalidInput("dreams are dreamt again in a closed loop only")
    if rules.embedder and rules.since:
        raise InvalidInput(f"another embedder embeds from the start on; it cannot begin at @{rules.since}")


def _note(source: Log, rules: Rules, folder: Path | None) -> ForkNote:
    return ForkNote(
        origin=source.chain_at(max(rules.since, min(1, source.head))).hex(),
        since=rules.since,
        formula=rules.formula.label if rules.formula else None,
        closed_loop=rules.closed_loop,
        embedder=rules.embedder.adoption.name if rules.embedder else None,
        dream=rules.dreaming.settings if rules.dreaming else None,
        source=None if folder is None else str(folder.absolute()),
    )


def fork_side(source: Log, folder: Path) -> ForkSide:
    """A fork of this log as one side of a comparison: the questions after the point where it parted."""
    note = read_note(folder)
    if note is None:
        raise InvalidInput(f"{folder} is not a fork; `recollect fork --to {folder}` makes one")
    if note.since > source.head or source.chain_at(max(note.since, min(1, source.head))).hex() != note.origin:
        raise InvalidInput(f"{folder} is a fork of another store")
    if note.unfinished:
        raise InvalidInput(f"{folder}: {note.unfinished}; {GO_ON}")
    with SegmentLog.open(folder / "log", read_only=True) as log:
        _refuse_stale(source, log, folder)
        recorded = answers(source, note.since)
        mode: Mode = "closed loop" if note.closed_loop else _open_or_frozen(log, recorded)
        return ForkSide(log, among=recorded.keys(), label=note.label, mode=mode)


def _open_or_frozen(log: Log, recorded: Mapping[EventId, Said]) -> Mode:
    """Other answers are another state for formulas that ask what a session was answered."""
    again = [(one, recorded[event]) for event, one in answers(log).items() if event in recorded]
    if all(one.ids == before.ids for one, before in again):
        return "frozen"
    used = {one.formula for one, _ in again}
    formulas = [from_canonical(one.text) for one in _adoptions(log) if one.digest in used]
    return "open loop" if any(looks_back(formula) for formula in formulas) else "frozen"


def _adoptions(log: Log) -> list[FormulaAdopted]:
    facts = (log.get(seq).fact for seq in log.positions(type_name(FormulaAdopted)))
    return [fact for fact in facts if isinstance(fact, FormulaAdopted)]


def _refuse_stale(source: Log, log: Log, folder: Path) -> None:
    """A fork from before an erasure still holds, and ranks, what is gone from its source."""
    known = {log.get(seq).id for seq in log.positions(ERASED)}
    late = next((seq for seq in source.positions(ERASED) if source.get(seq).id not in known), None)
    if late is not None:
        raise InvalidInput(
            f"{folder} still holds what was erased from its source at @{late}; run the same `recollect fork` again, "
            f"which erases it there too"
        )
