"""Branches: what a store was before it took over the log of others (`sync`), kept beside it to verify its recalls in.

    <store>/branches/<fork>-<chain>/log/    a whole log; the directory is a store of its own

A recall that was asked offline names the branch that it saw, by its seq and chain value there. Where the branch is, it is
ranked again in it; elsewhere it is `not_here`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import NamedTuple

import msgspec

from recollect.engine.doctor_caches import folded
from recollect.engine.opening import BRANCHES
from recollect.events.errors import RecollectError
from recollect.events.facts import Branch, Erased, Recalled, Redacted
from recollect.events.log import facts_of
from recollect.events.redacted_log import RedactedLog
from recollect.events.regular_files import kind_of
from recollect.events.segment_log import SegmentLog
from recollect.projections.view import Projections
from recollect.replay.verify import Outcome, replayed


def branch_logs(folder: Path) -> list[Path]:
    """The logs of the branches of a store, also where a link on the way to one leads nowhere."""
    branches = folder / BRANCHES
    logs = [path for path in branches.glob("*/*") if path.name == "log"]
    folders = filter(_leads_nowhere, [branches, *branches.glob("*")])
    return sorted([*logs, *(path / "log" for path in folders)])


def _leads_nowhere(path: Path) -> bool:
    return kind_of(path) == "a symbolic link" and not path.exists()


class Unerased(NamedTuple):
    """A branch that may hold what was erased: the erasures, with the branch's seqs, and `what` is known, for people."""

    folder: Path
    erased: tuple[Erased, ...]
    what: str


def left_in_branches(folder: Path, common: RedactedLog) -> Iterator[Unerased]:
    """The branches of a store that hold what its log erased, or cannot be read.

    A memory of the same id that was never in the store's log has other event ids, and may stay.
    """
    paths = branch_logs(folder)
    erased = [
        (fact, [common.get(seq).id for seq in fact.seqs])
        for _, fact in (facts_of(common, Erased) if paths else ())
        if fact.id
    ]
    for path in paths:
        try:
            with closing(SegmentLog.open(path, read_only=True)) as log:
                if erased and log.damage is not None:
                    raise log.damage
                named = [with_seqs(fact, log.find(events).values()) for fact, events in erased]
                left = tuple(one for one in named if any(_stands(log, seq) for seq in one.seqs))
        except (RecollectError, OSError) as error:
            if erased:
                yield Unerased(path.parent, (), f"whether it holds what was erased cannot be seen: {error}")
            continue
        if left:
            ids = dict.fromkeys(one.id for one in left)
            yield Unerased(path.parent, left, f"it still holds what the store erased: {', '.join(ids)}")


def with_seqs(erased: Erased, seqs: Iterable[int]) -> Erased:
    """An erasure of another log, to be carried out in one where the events that it named have these seqs."""
    return msgspec.structs.replace(erased, seqs=tuple(sorted(seqs)), remains=())


def _stands(log: SegmentLog, seq: int) -> bool:
    """Whether an event that was erased elsewhere has its payload here; an older erasure bears only its reason."""
    return not isinstance(log.get(seq).fact, Redacted | Erased)


class Branches:
    """The branches of a store, opened when a recall asks for one; use it as a context manager."""

    def __init__(self, folder: Path | None) -> None:
        self._paths = [] if folder is None else branch_logs(folder)
        self._opened: list[tuple[RedactedLog, Projections]] | None = None
        self._held = ExitStack()

    def __enter__(self) -> Branches:
        return self

    def __exit__(self, *_: object) -> None:
        self._held.close()

    def outcome(self, recalled: Recalled) -> Outcome | None:
        """Replay this recall in the branch where it was asked; None if it names no branch, or that is not here."""
        branch = recalled.branch
        for log, projections in () if branch is None else self._logs():
            assert branch is not None
            if branch.seq <= log.head and log.chain_at(branch.seq).hex() == branch.chain:
                return _as_recorded(log, projections, recalled, branch)
        return None

    def _logs(self) -> list[tuple[RedactedLog, Projections]]:
        if self._opened is None:
            self._opened = []
            for path in self._paths:
                try:
                    base = SegmentLog.open(path, read_only=True)
                except (RecollectError, OSError):
                    continue  # it is as good as not here
                self._held.callback(base.close)
                log = RedactedLog(base)
                log.learn()
                self._opened.append((log, folded(log, [], log.head, None, path.parent / "cache" / "shards")))
        return self._opened


def _as_recorded(
    log: RedactedLog, projections: Projections, recalled: Recalled, branch: Branch
) -> Outcome | None:
    """Rank it again in its branch, if the branch still holds what was merged from it."""
    there = log.get(branch.seq).fact
    if isinstance(there, Recalled) and (there.ids, there.scores, there.formula) != (
        recalled.ids,
        recalled.scores,
        recalled.formula,
    ):
        return None
    return replayed(log, projections, [branch.seq])[0]
