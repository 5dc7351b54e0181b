"""compare: recorded questions ranked under two formulas, each at its own past moment, and the differences counted.

Nothing is written. The moment of a question is the one it was asked at: corpus, lifecycle, effects and clock are
the recorded ones, only the formula changes. One side may instead be the record itself or a fork (`sides`). What was
erased since is missing from that moment: an answer quoted from the record is then not compared with a ranking of what
is left.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from statistics import fmean

import msgspec

from recollect.events.errors import InvalidInput
from recollect.events.log import Log
from recollect.projections.view import Projections
from recollect.query.formula import Formula
from recollect.query.ranking_metrics import (
    churn_at,
    jaccard_at,
    kendall_tau_b,
    mean_abs_rank_change,
    ndcg_at,
    rbo,
)
from recollect.replay.compare.comparison import (
    CAVEAT_CLOSED_LOOP,
    CAVEAT_FROZEN,
    CAVEAT_OPEN_LOOP,
    Comparison,
    QuestionRow,
    erasure_note,
    in_a_sentence,
    shard_note,
)
from recollect.replay.compare.judgements import Gains, Judgements, from_events, gains_for, refuse_unless_any
from recollect.replay.compare.movers import movers
from recollect.replay.compare.quality import flat_metrics, judge, judged_names
from recollect.replay.compare.recorded_questions import Asked, recorded_questions
from recollect.replay.compare.shared_search import SharedSearch
from recollect.replay.compare.sides import FormulaSide, Mode, Pair, Ranked, Side
from recollect.replay.parallel import each
from recollect.replay.verify import redacted

Progress = Callable[[int, int], None]

DEPTHS = (3, 5, 10)
PERSISTENCES = (0.9, 0.5)
_CAVEATS: dict[Mode, str] = {
    "closed loop": CAVEAT_CLOSED_LOOP,
    "open loop": CAVEAT_OPEN_LOOP,
    "frozen": CAVEAT_FROZEN,
}
_ANSWERS = msgspec.msgpack.Decoder(tuple[Ranked, Ranked])


def compare(
    log: Log,
    projections: Projections,
    a: Formula | Side,
    b: Formula | Side,
    *,
    questions: Sequence[Asked] | None = None,
    last: int | None = None,
    qrels: Judgements | None = None,
    k: int = 10,
    progress: Progress | None = None,
) -> Comparison:
    """The recorded questions (or the last n, or the given ones) under both sides.

    Judgements are those of the log unless `qrels` are given; `k` is the depth of the judged metrics.
    """
    sides = [FormulaSide(log, projections, s) if isinstance(s, Formula) else s for s in (a, b)]
    asked = recorded_questions(log, projections, last=last) if questions is None else questions
    known = _known(asked, sides, recorded=all(one.recorded for one in asked))
    unlike = redacted(log, projections, [one.seq for one in known if one.recorded is not None])
    left_out = [one for one in known if one.seq in unlike and any(side.quotes(one) for side in sides)]
    known = _kept(known, left_out)
    if qrels is not None:
        refuse_unless_any(known, qrels)
    depth = max(side.depth for side in sides)

    def ranked(one: Asked) -> tuple[Ranked, Ranked]:
        view = SharedSearch(projections, one.basis, log.time_of(one.basis), depth=depth)
        return sides[0].rank(one, view), sides[1].rank(one, view)

    answers = each(known, ranked, _ANSWERS, progress=progress)
    pairs = [Pair(one, before, after) for one, (before, after) in zip(known, answers, strict=True)]
    judgements = from_events(log.read(known[0].basis, projections.position)) if qrels is None else qrels
    result = _report(log, projections, sides, pairs, judgements, k, used=qrels is None)
    return msgspec.structs.replace(
        result,
        redacted=len(unlike),
        left_out=tuple(one.name for one in left_out),
        note=" ".join(filter(None, (erasure_note(len(unlike), len(left_out)), shard_note(pairs)))),
    )


def _known(asked: Sequence[Asked], sides: Sequence[Side], *, recorded: bool) -> list[Asked]:
    """The questions that both sides can answer."""
    for side in sides:
        if asked and not any(side.knows(one) for one in asked):
            raise InvalidInput(
                f"{side.label!r} answered none of these questions; a fork answers those after it parted"
                if recorded
                else f"{side.label!r} has answers to recorded questions only, and these were never asked; name a "
                f"formula instead"
            )
    known = [one for one in asked if all(side.knows(one) for side in sides)]
    if not known:
        raise InvalidInput(
            "there are no recorded questions to compare; ask some with `recall`, or give a file of questions"
        )
    return known


def _kept(known: Sequence[Asked], left_out: Sequence[Asked]) -> list[Asked]:
    out = {one.seq for one in left_out}
    kept = [one for one in known if one.seq not in out]
    if not kept:
        raise InvalidInput(
            "every question saw memories that were erased since, so that no recorded answer can be compared with a "
            "ranking; compare two formulas instead"
        )
    return kept


def _report(
    log: Log,
    projections: Projections,
    sides: Sequence[Side],
    pairs: Sequence[Pair],
    judgements: Judgements,
    k: int,
    *,
    used: bool,
) -> Comparison:
    mode = next(mode for mode in _CAVEATS if any(side.mode == mode for side in sides))
    graded = [(pair, gains) for pair in pairs if (gains := gains_for(pair.asked, judgements))]
    judged = judge(graded, k)
    metrics = _differences(pairs, k) | flat_metrics(graded, judged, k)
    return Comparison(
        a=sides[0].label,
        b=sides[1].label,
        mode=mode,
        questions=len(pairs),
        judged_questions=len(graded),
        k=k,
        metrics=metrics,
        judged=judged,
        rows=tuple(_row(pair, gains_for(pair.asked, judgements), k) for pair in pairs),
        movers=movers(log, projections, pairs),
        caveat=_CAVEATS[mode],
        sentence=in_a_sentence(graded, metrics["top1_changed"], used=used),
    )


def metric_names(k: int) -> tuple[str, ...]:
    """Every metric that a comparison of this depth may have; those from `delta_` on need judgements."""
    depths = sorted({*DEPTHS, k})
    return (
        "unchanged",
        "top1_changed",
        *(f"churn@{depth}" for depth in depths),
        *(f"jaccard@{depth}" for depth in depths),
        *(f"rbo@{p:g}" for p in PERSISTENCES),
        "tau_b",
        "mean_abs_rank_change",
        "entered",
        "left",
        *judged_names(k),
    )


def _differences(pairs: Sequence[Pair], k: int) -> dict[str, float]:
    answers = [(pair.a.ids, pair.b.ids) for pair in pairs]
    depths = sorted({*DEPTHS, k})

    def mean(metric: Callable[[Sequence[str], Sequence[str]], float]) -> float:
        return fmean(metric(before, after) for before, after in answers)

    return {
        "unchanged": fmean(float(before == after) for before, after in answers),
        "top1_changed": fmean(float(before[:1] != after[:1]) for before, after in answers),
        **{f"churn@{depth}": mean(partial(churn_at, k=depth)) for depth in depths},
        **{f"jaccard@{depth}": mean(partial(jaccard_at, k=depth)) for depth in depths},
        **{f"rbo@{p:g}": mean(partial(rbo, p=p)) for p in PERSISTENCES},
        "tau_b": mean(kendall_tau_b),
        "mean_abs_rank_change": mean(mean_abs_rank_change),
        "entered": float(sum(len(set(after) - set(before)) for before, after in answers)),
        "left": float(sum(len(set(before) - set(after)) for before, after in answers)),
    }


def _row(pair: Pair, gains: Gains | None, k: int) -> QuestionRow:
    before, after = pair.a.ids, pair.b.ids
    return QuestionRow(
        name=pair.asked.name,
        text=pair.asked.question.text,
        basis=pair.asked.basis,
        now=pair.asked.question.now,
        a=before,
        b=after,
        unchanged=before == after,
        churn=churn_at(before, after, k),
        rbo=rbo(before, after, PERSISTENCES[0]),
        entered=tuple(id_ for id_ in after if id_ not in before),
        left=tuple(id_ for id_ in before if id_ not in after),
        ndcg_a=ndcg_at(before, gains, k) if gains else None,
        ndcg_b=ndcg_at(after, gains, k) if gains else None,
    )
