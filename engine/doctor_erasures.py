"""What `doctor` finds of erasures that are not finished, and how `--fix` finishes them, in a damaged log too.

Overwriting a payload in place adds nothing to a log and cuts nothing from it, so damage elsewhere is no reason to keep
what was erased readable. In a damaged log every whole frame of its files is looked at, so erasures behind the damage count.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from recollect.engine.doctor_caches import Problem
from recollect.events.disk import RealDisk
from recollect.events.envelope import decode, draft
from recollect.events.erasure import INTENT
from recollect.events.errors import LogDamaged, RecollectError
from recollect.events.facts import Erased, RedactedPayload
from recollect.events.frame import decode_meta
from recollect.events.packs.store import StoreUnreachable
from recollect.events.packs.urls import is_mirror
from recollect.events.recovery import whole_frames
from recollect.events.redacted_log import ERASED, RedactedLog
from recollect.events.segment_log import SegmentLog

_STILL_THERE = (
    "still in the log: overwriting them was interrupted, or a backup that was restored brought them back"
)
_KEYS_BACK = "readable: their keys are back"


def unfinished_erasures(folder: Path, log: RedactedLog, *, damaged: bool = False) -> Iterator[Problem]:
    """Overwriting that was interrupted, and payloads that can be read although they were erased."""
    if (intent := folder / "log" / INTENT).exists():
        yield _unfinished(folder, str(intent), "an erasure was interrupted while payloads were overwritten")
    with suppress(LogDamaged, StoreUnreachable):  # an engine that is away is a problem of its own
        keyed = set(log.keys_left(log.read_all_erasures()) or ())
        for seq, fact in erasures_of(folder, log, damaged=damaged):
            left = _left(log, fact, keyed)
            if left:
                held = _STILL_THERE if keyed.isdisjoint(left) else _KEYS_BACK
                yield _unfinished(folder, f"@{seq}", f"{len(left)} payloads that it erased are {held}")


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


def erasures_of(folder: Path, log: RedactedLog, *, damaged: bool) -> list[tuple[int, Erased]]:
    """Every erasure and its seq; in a damaged log also those that stand whole behind the damage."""
    if damaged:
        return sorted(_in_whole_frames(folder / "log"), key=lambda erasure: erasure[0])
    facts = ((seq, log.get(seq).fact) for seq in log.erasures)
    return [(seq, fact) for seq, fact in facts if isinstance(fact, Erased)]


def finish_erasures(folder: Path, log: SegmentLog, *, damaged: bool) -> None:
    """Overwrite what is left of what was erased; where nothing can be written it stays a problem."""
    redacted = RedactedLog(log)
    redacted.learn()
    with suppress(RecollectError):
        erasures = erasures_of(folder, redacted, damaged=damaged)
        log.erase([seq for _, fact in erasures for seq in _left(redacted, fact)])


def erase_in_copy(erasures: Sequence[tuple[int, Erased]], copy: SegmentLog) -> None:
    """Overwrite in a copy of a log's beginning what was erased of it, and name there what was erased behind its end."""
    upto = copy.head
    for at, fact in erasures:
        remains = tuple(one for one in fact.remains if one.seq <= upto)
        if at > upto and remains:
            seqs = tuple(seq for seq in fact.seqs if seq <= upto)
            named = Erased(id=fact.id, seqs=seqs, reason=fact.reason, remains=remains)
            copy.append([draft(named, actor="recollect")])
    copy.erase([one.seq for _, fact in erasures for one in fact.remains if one.seq <= upto])


def _unfinished(folder: Path, where: str, what: str) -> Problem:
    fixing = "verify" if is_mirror(folder) else "doctor --fix"
    return Problem(severity="erasure", where=where, what=what, remedy=f"`recollect {fixing}` finishes it")


def _left(log: RedactedLog, erasure: Erased, keyed: Container[int] = ()) -> list[int]:
    """The payloads of an erasure that can still be read; what is damaged is told as damage."""
    left = []
    for seq in [one.seq for one in erasure.remains if one.seq <= log.head]:
        with suppress(LogDamaged):
            if seq in keyed or not log.overwritten(seq):
                left.append(seq)
    return left


def _in_whole_frames(log: Path) -> Iterator[tuple[int, Erased]]:
    """The erasures in whole frames of a log, latest first: an erasure may have been erased by a later one."""
    remains: dict[int, RedactedPayload] = {}
    frames = [one for one in whole_frames(RealDisk(), log) if decode_meta(one.meta)[0] == ERASED]
    for frame in sorted(frames, key=lambda one: one.header.seq, reverse=True):
        left = remains.get(frame.header.seq)
        fact = frame.recorded().fact if left is None else decode(ERASED, left.version, left.payload)
        if isinstance(fact, Erased):
            for one in fact.remains:
                remains.setdefault(one.seq, one)
            yield frame.header.seq, fact
