"""verify: every recorded recall ranked again at its own basis, formula and clock, and compared bit for bit.

Each recall is one of

    exact       it came out with the same ids, order and scores
    attested    it cannot come out any more, and was exact when it still could (`attestation`)
    redacted    it cannot come out any more, because of what was erased since (`redaction`)
    not_here    ranking it again needs something that this machine cannot have
    different   it came out otherwise, cannot be ranked as it was recorded, or was attested as different

and the verdict over all of them and the log itself is `differs` if anything is different, else `partly` if anything is
redacted or not here, else `attested` if anything is, else `exact`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Literal

import msgspec

from recollect.events.checkpoint_note import Contradiction
from recollect.events.errors import InvalidInput, LogDamaged, RecollectError
from recollect.events.facts import AnyFact, Recalled, Redacted, Unknown
from recollect.events.log import Finding, Log
from recollect.projections.vectors.shard_cache import ShardUnavailable
from recollect.projections.view import Projections
from recollect.query.formula import Formula, from_canonical, problem_in_log, readable
from recollect.query.ranking import NotFinite, Ranking, rank
from recollect.replay.attestation import Attestation, Attestations
from recollect.replay.parallel import each
from recollect.replay.redaction import RedactedRecall, Touched, mover, redaction
from recollect.replay.unicode_reasons import UnicodeReasons

if TYPE_CHECKING:
    from recollect.replay.independent import IndependentViews

Progress = Callable[[int, int], None]
Found = Literal["exact", "attested", "redacted", "not_here", "different", "unreadable"]
Verdict = Literal["exact", "attested", "partly", "differs"]

INDEPENDENT_TOLERANCE = 1e-9
# How a ranking fails on what a log may hold and no recall can have recorded; damage, disks and memory speak for themselves.
_NOT_RANKED = (InvalidInput, NotFinite, ArithmeticError, LookupError, TypeError, ValueError)


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """One recall that replayed differently: at which rank first, what was recorded and what was replayed."""

    recall: str
    rank: int
    recorded: tuple[str, float] | None
    replayed: tuple[str, float] | None
    reason: str


class NotHere(msgspec.Struct, frozen=True, kw_only=True):
    """A recall that this machine cannot rank again: it needs the shard of this digest, neither there nor buildable.

    Without a shard, it is one that a newer program recorded."""

    recall: str
    reason: str
    shard: str = ""


class VerifyReport(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the recorded recalls (see above), and whether the log itself is as it was written (checksums,
    payload digests, hash chain).

    `exact` is true for the verdict `exact` alone; every recall `checked` is in one of the five counts. In an independent
    verification the scores may differ by a relative 1e-9: the second implementation adds the same numbers in another
    order.

    `touching` counts the recalls that saw a log with something in it that was erased since; those of them that are not
    verified are in `redactions`, those that cannot be verified on this machine in `missing`.

    Where the log is damaged, `damage` says where, and `unreadable` counts the recalls that could not be ranked again
    because of it. `contradictions` are what else shows that the log is not what it was: a checkpoint from elsewhere, or a
    cached one. Either makes the verdict `differs`.

    `attested_at` is the seq of the attestation that was just written, `against` the checkpoint that the log was compared
    with, if they were asked for. `notes` is what else should
    be known, such as erased bytes that could not be overwritten. `sentence` says all of it in one line.
    """

    verdict: Verdict
    exact: bool
    checked: int
    differences: tuple[Difference, ...]
    exact_count: int = 0
    attested: int = 0
    redacted: int = 0
    not_here: int = 0
    different: int = 0
    independent: bool = False
    damage: tuple[Finding, ...] = ()
    contradictions: tuple[Contradiction, ...] = ()
    touching: int = 0
    redactions: tuple[RedactedRecall, ...] = ()
    missing: tuple[NotHere, ...] = ()
    unreadable: int = 0
    attested_at: int | None = None
    against: str | None = None
    notes: tuple[str, ...] = ()
    sentence: str = ""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """The result for one recall, and the reason if it is not exact."""

    found: Found
    difference: Difference | None = None
    redacted: RedactedRecall | None = None
    missing: NotHere | None = None
    unreadable: Finding | None = None


Elsewhere = Callable[[Recalled], Outcome | None]
_EXACT = Outcome(found="exact")
_ATTESTED = Outcome(found="attested")
_OUTCOME: msgspec.msgpack.Decoder[Outcome] = msgspec.msgpack.Decoder(Outcome)


def verify(
    log: Log, projections: Projections, *, independent: bool = False, progress: Progress | None = None
) -> VerifyReport:
    return verified(log, projections, independent=independent, progress=progress)[0]


def verified(
    log: Log, projections: Projections, *, independent: bool = False, progress: Progress | None = None,
    elsewhere: Elsewhere = lambda _: None,
) -> tuple[VerifyReport, list[Outcome]]:  # fmt: skip
    """The report, and what became of every recall, in their order; `elsewhere` knows of recalls of other branches."""
    seqs = projections.adoptions.recalls.tolist()
    _prepare_all(log, projections)
    attestations = Attestations(log, projections.adoptions)
    damage: list[Finding] = []

    def check_chain() -> None:
        damage.extend(log.verify_chain())

    if independent:
        found = _independently(log, projections, seqs, attestations, progress)
        check_chain()
    else:
        _build_missing(log, projections, seqs)
        check = partial(_check, log, projections, attestations)
        found = each(seqs, check, _OUTCOME, progress=progress, beside=check_chain)
    found = [_asked_elsewhere(log, seq, one, elsewhere) for seq, one in zip(seqs, found, strict=True)]
    report = _report(log, projections, found, damage)
    notes = tuple(attestations.notes)
    return judged(msgspec.structs.replace(report, independent=independent, notes=notes)), found


def _asked_elsewhere(log: Log, seq: int, found: Outcome, elsewhere: Elsewhere) -> Outcome:
    """What became of a recall in the branch where it was asked, if that is here."""
    if found.found != "not_here" or not isinstance(fact := log.get(seq).fact, Recalled):
        return found
    return elsewhere(fact) or found


def _report(log: Log, projections: Projections, found: list[Outcome], damage: list[Finding]) -> VerifyReport:
    unicode = UnicodeReasons(log, projections)
    unreadable = [one.unreadable for one in found if one.unreadable is not None]
    count = Counter(one.found for one in found)
    return VerifyReport(
        verdict="exact",
        exact=True,
        checked=len(found) - len(unreadable),
        differences=tuple(
            _with_unicode(one.difference, unicode) for one in found if one.difference is not None
        ),
        exact_count=count["exact"],
        attested=count["attested"],
        redacted=count["redacted"],
        not_here=count["not_here"],
        different=count["different"],
        damage=tuple(damage or unreadable[:1]),
        touching=_touching(log, projections, projections.adoptions.recalls.tolist()),
        redactions=tuple(one.redacted for one in found if one.redacted is not None),
        missing=tuple(one.missing for one in found if one.missing is not None),
        unreadable=len(unreadable),
    )


def judged(report: VerifyReport) -> VerifyReport:
    """The report with the verdict and the sentence that its counts and findings give."""
    verdict: Verdict = "exact"
    if report.different or report.damage or report.unreadable or report.contradictions:
        verdict = "differs"
    elif report.redacted or report.not_here:
        verdict = "partly"
    elif report.attested:
        verdict = "attested"
    told = msgspec.structs.replace(report, verdict=verdict, exact=verdict == "exact")
    return msgspec.structs.replace(told, sentence=_sentence(told))


def _sentence(report: VerifyReport) -> str:
    how = "against rank-bm25 and a brute-force scan" if report.independent else "bit for bit"
    log = "the log is damaged" if report.damage else "the log's chain holds"
    if report.contradictions:
        log += f", and {report.contradictions[0].witness} contradicts it"
    elif report.against:
        log += f" and agrees with {report.against}"
    if report.exact:
        return f"{report.checked} recalls replayed {how}, no differences; {log}"
    counts = {
        "attested": report.attested,
        "redacted": report.redacted,
        "not verifiable here": report.not_here,
        "different": report.different,
        "unreadable": report.unreadable,
    }
    others = "".join(f", {count} {word}" for word, count in counts.items() if count)
    return (
        f"{report.exact_count} of {report.checked + report.unreadable} recalls replayed {how}{others}; {log}"
    )


def _prepare_all(log: Log, projections: Projections) -> None:
    with suppress(LogDamaged):  # the recalls that need what cannot be read are counted as unreadable
        for formula in readable(projections.adoptions.formulas):
            prepare(log, projections, formula)


def check_one(log: Log, projections: Projections, seq: int) -> Outcome:
    """Replay the recall at this seq."""
    _prepare_all(log, projections)
    return _check(log, projections, Attestations(log, projections.adoptions), seq)


def replayed(
    log: Log, projections: Projections, seqs: Sequence[int], progress: Progress | None = None,
    elsewhere: Elsewhere = lambda _: None,
) -> list[Outcome]:  # fmt: skip
    """Replay the recalls at these seqs."""
    if not seqs:
        return []
    _prepare_all(log, projections)
    attestations = Attestations(log, projections.adoptions)
    _build_missing(log, projections, seqs)
    found = each(seqs, partial(_check, log, projections, attestations), _OUTCOME, progress=progress)
    return [_asked_elsewhere(log, seq, one, elsewhere) for seq, one in zip(seqs, found, strict=True)]


def _build_missing(log: Log, projections: Projections, seqs: Sequence[int]) -> None:
    """Build the shards that these recalls need and that have no file, before the work is spread over processes."""
    vectors = projections.vectors
    if all(vectors.shards.has(one.digest) for one in vectors.every_seal() if one.count):
        return
    bases: set[int] = set()
    for seq in seqs:
        with suppress(LogDamaged):  # counted when it is checked
            fact = log.get(seq).fact
            if isinstance(fact, Recalled) and fact.question.vector is not None:
                bases.add(fact.basis)
    vectors.build_missing(sorted(bases))


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
    found = replayed(log, projections, touching) if touching else []
    return {seq for seq, one in zip(touching, found, strict=True) if one.found in ("redacted", "attested")}


def _touching(log: Log, projections: Projections, seqs: list[int]) -> int:
    touched, count = Touched(projections.documents.erasures), 0
    for seq in seqs if touched else ():
        with suppress(LogDamaged):
            fact = log.get(seq).fact
            count += isinstance(fact, Recalled) and touched.at(fact.basis) is not None
    return count


def _independently(
    log: Log, projections: Projections, seqs: list[int], attestations: Attestations, progress: Progress | None
) -> list[Outcome]:
    """Replay in order: the second implementation folds the log alongside."""
    from recollect.replay.independent import IndependentViews  # noqa: PLC0415 (rank-bm25 waits until it is needed)

    second = IndependentViews(log, projections)
    found: list[Outcome] = []
    for done, seq in enumerate(seqs, 1):
        behind = found and found[-1].unreadable  # it walks no further than the damage
        found.append(_unreadable(behind) if behind else _check(log, projections, attestations, seq, second))
        if progress:
            progress(done, len(seqs))
    return found


def replay(log: Log, projections: Projections, recalled: Recalled) -> Ranking:
    """Rank a recorded recall again."""
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


def _unreadable(finding: Finding) -> Outcome:
    return Outcome(found="unreadable", unreadable=finding)


def _check(
    log: Log, projections: Projections, attestations: Attestations, seq: int, second: IndependentViews | None = None
) -> Outcome:  # fmt: skip
    try:
        return _checked(log, projections, attestations, seq, second)
    except LogDamaged as damage:
        return _unreadable(Finding.of(damage))


def _checked(
    log: Log, projections: Projections, attestations: Attestations, seq: int, second: IndependentViews | None
) -> Outcome:
    """A replay weighs more than an attestation, but for one that says different: what was erased may hide that."""
    recalled = log.get(seq).fact
    attested = attestations.of(seq)
    if attested is not None and not attested.exact:
        return _different(
            seq, f"it was ranked again when it still could be, and attested at @{attested.seq} as different"
        )
    if not isinstance(recalled, Recalled):
        return _gone(seq, recalled, attested)
    found = _ranked_again(log, projections, seq, recalled, second)
    if attested is None or found.found in ("exact", "different"):
        return found
    if found.found == "redacted" and not moved_since(projections, recalled, attested):
        reason = (
            f"it was attested at @{attested.seq} as exact, and what was erased since cannot have moved it"
        )
        return _different(seq, reason)
    return _ATTESTED


def _ranked_again(
    log: Log, projections: Projections, seq: int, recalled: Recalled, second: IndependentViews | None
) -> Outcome:
    """Rank a recall again, ignoring attestations."""
    impossible = _impossible(projections, seq, recalled)
    if impossible is not None:
        return _different(seq, impossible)
    if recalled.branch is not None:
        reason = f"it was asked offline, in a branch of the log that ended at @{recalled.branch.seq} or later"
        return Outcome(found="not_here", missing=NotHere(recall=f"r{seq}", reason=reason))
    difference: Difference | NotHere | None
    try:
        difference = _difference(log, projections, seq, recalled, second)
    except ShardUnavailable as error:
        if error.proven:
            return _different(seq, str(error))
        difference = NotHere(recall=f"r{seq}", shard=error.digest, reason=error.reason)
    except _NOT_RANKED as error:
        why = str(error) if isinstance(error, RecollectError) else f"{type(error).__name__}: {error}"
        return _different(seq, f"what was recorded cannot be ranked: {why}")
    return _EXACT if difference is None else _unequal(log, projections, seq, recalled, difference)


def moved_since(projections: Projections, recalled: Recalled, attested: Attestation) -> bool:
    """Whether something that was erased after this attestation can have moved the ranking."""
    since = [one for one in projections.documents.erasures if one.seq > attested.seq]
    return mover(projections, recalled, since) is not None


def _impossible(projections: Projections, seq: int, recalled: Recalled) -> str | None:
    """Why no recall can have recorded this; None if one can."""
    if not 0 <= recalled.basis < seq:
        return f"it says that it was ranked at @{recalled.basis}, which is not before it"
    if len(recalled.ids) != len(recalled.scores):
        return f"it names {len(recalled.ids)} memories and {len(recalled.scores)} scores"
    text = projections.adoptions.formulas.get(recalled.formula)
    if text is None:
        return f"the log does not hold the formula {recalled.formula}"
    if problem := problem_in_log(text, recalled.formula):
        return f"what the log holds as the formula {recalled.formula} cannot rank: it {problem}"
    return None


def _unequal(
    log: Log, projections: Projections, seq: int, recalled: Recalled, difference: Difference | NotHere
) -> Outcome:
    """A recall that replays differently: redacted if an erasure can explain it."""
    erased = mover(projections, recalled, projections.documents.erasures)
    redacted = None if erased is None else redaction(log, projections, seq, recalled, erased)
    if isinstance(redacted, RedactedRecall):
        return Outcome(found="redacted", redacted=redacted)
    if isinstance(difference, NotHere):
        return (
            Outcome(found="not_here", missing=difference) if redacted is None else _different(seq, redacted)
        )
    reason = difference.reason if redacted is None else redacted
    return Outcome(found="different", difference=msgspec.structs.replace(difference, reason=reason))


def _different(seq: int, reason: str) -> Outcome:
    """A recall that is different without a rank to show."""
    return Outcome(
        found="different",
        difference=Difference(recall=f"r{seq}", rank=0, recorded=None, replayed=None, reason=reason),
    )


def _gone(seq: int, fact: AnyFact | Unknown | Redacted, attested: Attestation | None) -> Outcome:
    """A recall whose own question and answer were erased, or which a newer program wrote."""
    if isinstance(fact, Unknown):
        reason = f"it was recorded by a newer version of this program ({fact.type} v{fact.version})"
        return Outcome(found="not_here", missing=NotHere(recall=f"r{seq}", reason=reason))
    if attested is not None and isinstance(fact, Redacted) and attested.seq < (fact.erased_at or 0):
        return _ATTESTED
    when = f" at @{fact.erased_at}" if isinstance(fact, Redacted) and fact.erased_at else ""
    reason = f"its question and answer were erased{when}"
    return Outcome(found="redacted", redacted=RedactedRecall(recall=f"r{seq}", ranks=(), reason=reason))


def _difference(
    log: Log, projections: Projections, seq: int, recalled: Recalled, second: IndependentViews | None
) -> Difference | None:
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
