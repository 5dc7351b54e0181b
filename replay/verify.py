"""verify: every recorded recall ranked again at its own basis, formula and clock, and compared bit for bit."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from recollect.events.errors import LogDamaged
from recollect.events.facts import Recalled
from recollect.events.log import Finding, Log
from recollect.projections.vectors.shard_cache import ShardUnavailable
from recollect.projections.view import Projections
from recollect.query.formula import Formula, from_canonical
from recollect.query.ranking import Ranking, rank
from recollect.replay.parallel import each
from recollect.replay.redaction import RedactedRecall, Touched, redaction
from recollect.replay.unicode_reasons import UnicodeReasons

if TYPE_CHECKING:
    from recollect.replay.independent import IndependentViews

Progress = Callable[[int, int], None]

INDEPENDENT_TOLERANCE = 1e-9


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """One recall that came out otherwise: at which rank first, what was recorded and what was replayed."""

    recall: str
    rank: int
    recorded: tuple[str, float] | None
    replayed: tuple[str, float] | None
    reason: str


class VerifyReport(msgspec.Struct, frozen=True, kw_only=True):
    """`exact` is true if every recall checked gave the same ids, order and scores, bit for bit, and the log
    itself is as it was written (checksums, payload digests, hash chain).

    In an independent verification the scores may differ by a relative 1e-9: the second implementation adds
    the same numbers in another order.

    `touching` counts the recalls that saw a log with something in it that was erased since. Those of them that no
    longer come out the same are in `redactions`, and `redacted` counts them: they are not verified, and no
    difference either, as long as all that can still be compared agrees (see `redaction`).

    Where the log is damaged, `damage` says where, and `unreadable` counts the recalls that could not be ranked again
    because of it; the others are `checked`.

    `notes` is what else should be known, such as erased bytes that could not be overwritten.
    """

    exact: bool
    checked: int
    differences: tuple[Difference, ...]
    independent: bool = False
    damage: tuple[Finding, ...] = ()
    touching: int = 0
    redacted: int = 0
    redactions: tuple[RedactedRecall, ...] = ()
    unreadable: int = 0
    notes: tuple[str, ...] = ()


class _Outcome(msgspec.Struct, frozen=True, kw_only=True):
    difference: Difference | None = None
    redacted: RedactedRecall | None = None
    unreadable: Finding | None = None


_SAME = _Outcome()
_FOUND: msgspec.msgpack.Decoder[_Outcome] = msgspec.msgpack.Decoder(_Outcome)


def verify(
    log: Log, projections: Projections, *, independent: bool = False, progress: Progress | None = None
) -> VerifyReport:
    seqs = projections.adoptions.recalls.tolist()
    with suppress(LogDamaged):  # the recalls that need what cannot be read are counted below
        for text in projections.adoptions.formulas.values():
            prepare(log, projections, from_canonical(text))
    damage: list[Finding] = []

    def check_chain() -> None:
        damage.extend(log.verify_chain())

    if independent:
        found = _independently(log, projections, seqs, progress)
        check_chain()
    else:
        found = each(seqs, partial(_check, log, projections), _FOUND, progress=progress, beside=check_chain)
    unicode = UnicodeReasons(log, projections)
    differences = tuple(_with_unicode(one.difference, unicode) for one in found if one.difference is not None)
    redactions = tuple(one.redacted for one in found if one.redacted is not None)
    unreadable = [one.unreadable for one in found if one.unreadable is not None]
    damage += unreadable[:1] if not damage else []
    return VerifyReport(
        exact=not differences and not damage,
        checked=len(seqs) - len(unreadable),
        differences=differences,
        independent=independent,
        damage=tuple(damage),
        touching=_touching(log, projections, seqs),
        redacted=len(redactions),
        redactions=redactions,
        unreadable=len(unreadable),
    )


def _with_unicode(difference: Difference, unicode: UnicodeReasons) -> Difference:
    why = unicode.of(int(difference.recall[1:]))
    return (
        difference
        if why is None
        else msgspec.structs.replace(difference, reason=f"{difference.reason}; {why}")
    )


def redacted(log: Log, projections: Projections, seqs: Sequence[int]) -> set[int]:
    """Those of the recalls at these seqs that cannot come out as recorded because of what was erased since."""
    touched = Touched(projections.documents.erasures)
    recalls = (
        [(seq, fact) for seq in seqs if isinstance(fact := log.get(seq).fact, Recalled)] if touched else []
    )
    touching = [seq for seq, recalled in recalls if touched.at(recalled.basis) is not None]
    for text in projections.adoptions.formulas.values() if touching else ():
        prepare(log, projections, from_canonical(text))
    found = each(touching, partial(_check, log, projections), _FOUND)
    return {seq for seq, one in zip(touching, found, strict=True) if one.redacted is not None}


def _touching(log: Log, projections: Projections, seqs: list[int]) -> int:
    touched, count = Touched(projections.documents.erasures), 0
    for seq in seqs if touched else ():
        with suppress(LogDamaged):
            fact = log.get(seq).fact
            count += isinstance(fact, Recalled) and touched.at(fact.basis) is not None
    return count


def _independently(
    log: Log, projections: Projections, seqs: list[int], progress: Progress | None
) -> list[_Outcome]:
    """One after the other: the second implementation walks the log along with the recalls."""
    from recollect.replay.independent import IndependentViews  # noqa: PLC0415 (rank-bm25 waits until it is needed)

    second = IndependentViews(log, projections)
    found: list[_Outcome] = []
    for done, seq in enumerate(seqs, 1):
        behind = found and found[-1].unreadable  # it walks no further than the damage
        found.append(_Outcome(unreadable=behind) if behind else _check(log, projections, seq, second))
        if progress:
            progress(done, len(seqs))
    return found


def replay(log: Log, projections: Projections, recalled: Recalled) -> Ranking:
    """The ranking of a recorded recall, once more."""
    formula = formula_of(log, projections, recalled)
    view = projections.at(recalled.basis, log.time_of(recalled.basis))
    return rank(recalled.question, view, formula, finite=False)


def formula_of(log: Log, projections: Projections, recalled: Recalled) -> Formula:
    """The formula of a recorded recall, as the log has it."""
    formula = from_canonical(projections.adoptions.formulas[recalled.formula])
    prepare(log, projections, formula)
    return formula


def prepare(log: Log, projections: Projections, formula: Formula) -> None:
    """Make sure that the indexes which a formula reads exist."""
    for analyzer in formula.analyzers:
        if analyzer not in projections.lexicals:
            projections.index(analyzer, log.read(0, projections.position))


def _check(log: Log, projections: Projections, seq: int, second: IndependentViews | None = None) -> _Outcome:
    try:
        return _checked(log, projections, seq, second)
    except LogDamaged as damage:
        finding = Finding(path=damage.path, offset=damage.offset, seq=damage.seq, problem=damage.reason)
        return _Outcome(unreadable=finding)


def _checked(log: Log, projections: Projections, seq: int, second: IndependentViews | None) -> _Outcome:
    recalled = log.get(seq).fact
    if not isinstance(recalled, Recalled):
        return _SAME
    try:
        difference = _difference(log, projections, seq, recalled, second)
    except ShardUnavailable as error:
        difference = Difference(recall=f"r{seq}", rank=0, recorded=None, replayed=None, reason=str(error))
    if difference is None:
        return _SAME
    redacted = redaction(log, projections, seq, recalled)
    if isinstance(redacted, RedactedRecall):
        return _Outcome(redacted=redacted)
    reason = difference.reason if redacted is None else redacted
    return _Outcome(difference=msgspec.structs.replace(difference, reason=reason))


def _difference(
    log: Log, projections: Projections, seq: int, recalled: Recalled, second: IndependentViews | None
) -> Difference | None:
    if recalled.formula not in projections.adoptions.formulas:
        return Difference(
            recall=f"r{seq}",
            rank=0,
            recorded=None,
            replayed=None,
            reason=f"the log does not hold the formula {recalled.formula}",
        )
    recall = f"r{seq}"
    if second is None:
        again = replay(log, projections, recalled)
        return _first_difference(recall, recalled, again, "the replay differs from what was recorded")
    formula = formula_of(log, projections, recalled)
    again = second.rank(recalled, formula)
    if _agree(recalled, again):
        return None
    return _first_difference(recall, recalled, again, second.reason(recalled, formula))


def _agree(recalled: Recalled, again: Ranking) -> bool:
    """Same ids in the same order, and scores that differ by no more than another order of operations does."""
    return recalled.ids == again.ids and all(
        math.isclose(a, b, rel_tol=INDEPENDENT_TOLERANCE)
        for a, b in zip(recalled.scores, again.scores, strict=True)
    )


def _first_difference(recall: str, recalled: Recalled, again: Ranking, reason: str) -> Difference | None:
    before = list(zip(recalled.ids, recalled.scores, strict=True))
    after = list(zip(again.ids, again.scores, strict=True))
    if before == after:
        return None
    position = next((i for i, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), None)
    index = min(len(before), len(after)) if position is None else position
    return Difference(
        recall=recall,
        rank=index + 1,
        recorded=before[index] if index < len(before) else None,
        replayed=after[index] if index < len(after) else None,
        reason=reason,
    )
