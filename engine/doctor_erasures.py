"""What `doctor` finds of erasures that are not finished, and how `--fix` finishes them, in a damaged log too.

Overwriting a payload in place adds nothing to a log and cuts nothing from it, so damage elsewhere is no reason to keep
what was erased readable.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from recollect.engine.doctor_caches import Problem
from recollect.events.envelope import draft
from recollect.events.erasure import INTENT
from recollect.events.errors import LogDamaged, RecollectError
from recollect.events.facts import Erased
from recollect.events.redacted_log import RedactedLog
from recollect.events.segment_log import SegmentLog


def unfinished_erasures(folder: Path, log: RedactedLog) -> Iterator[Problem]:
    intent = folder / "log" / INTENT
    if intent.exists():
        yield _unfinished(str(intent), "an erasure was interrupted while payloads were overwritten")
    for erasure, left in _left(log):
        yield _unfinished(
            f"@{erasure}",
            f"{len(left)} payloads that it erased are still in the log: overwriting them was interrupted, or a backup "
            f"that was restored brought them back",
        )


def unnamed_erasures(log: RedactedLog) -> Iterator[Problem]:
    """Payloads that are gone although no erasure names them: a memory's version is missing from every view."""
    unnamed = log.unnamed()
    if unnamed:
        yield Problem(
            severity="damage",
            where=f"@{unnamed[0]}",
            what=f"{len(unnamed)} payloads were overwritten and no erasure names them",
            remedy="restore the store from a copy",
        )


def finish_erasures(log: SegmentLog) -> None:
    """Overwrite what is left of what was erased; where nothing can be written it stays a problem."""
    redacted = RedactedLog(log)
    redacted.learn()
    with suppress(RecollectError):
        log.erase([seq for _, left in _left(redacted) for seq in left])


def erase_in_copy(log: RedactedLog, copy: SegmentLog, upto: int) -> None:
    """Overwrite in a copy of the events up to a seq what was erased of them, and name there what later events erased."""
    for erasure in log.erasures:
        fact = log.get(erasure).fact
        if erasure <= upto or not isinstance(fact, Erased):
            continue
        remains = tuple(one for one in fact.remains if one.seq <= upto)
        if remains:
            seqs = tuple(seq for seq in fact.seqs if seq <= upto)
            named = Erased(id=fact.id, seqs=seqs, reason=fact.reason, remains=remains)
            copy.append([draft(named, actor="recollect")])
    copy.erase([seq for one in log.erasures for seq in log.remains_of(one) if seq <= upto])


def _unfinished(where: str, what: str) -> Problem:
    return Problem(severity="erasure", where=where, what=what, remedy="`recollect doctor --fix` finishes it")


def _left(log: RedactedLog) -> Iterator[tuple[int, list[int]]]:
    """The erasures of which payloads can still be read, and the seqs of these; what is damaged is told as damage."""
    for erasure in log.erasures:
        left = []
        with suppress(LogDamaged):
            for seq in log.remains_of(erasure):
                with suppress(LogDamaged):
                    if not log.overwritten(seq):
                        left.append(seq)
        if left:
            yield erasure, left
