"""What a comparison of two rankings' traffic says: numbers over all questions, rows per question, the movers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from recollect.replay.compare.sides import Mode, Pair

CAVEAT_FROZEN = (
    "Replayed traffic is off-policy: these questions were asked, and these memories used, in answer to what the "
    "recorded formula returned. Frozen mode ranks each question at its recorded state, which is exact, but does "
    "not show how the other formula would have changed what was accessed, asked and judged next."
)
CAVEAT_OPEN_LOOP = (
    "Replayed traffic is off-policy: these questions were asked, and these memories used, in answer to what the "
    "recorded formula returned. What was used is as recorded, but the formula also asks what a session was answered "
    "before, and in the fork that is what the fork answered: its state drifted from the recorded one."
)
CAVEAT_CLOSED_LOOP = (
    "Replayed traffic is off-policy: the questions are the recorded ones. In the closed loop, accesses followed "
    "what the fork's formula returned, so its state drifted from the recorded one; people might have asked and "
    "used something else."
)


class QuestionRow(msgspec.Struct, frozen=True, kw_only=True):
    """One question under both sides: the ids in order, and how they differ."""

    name: str
    text: str
    basis: int
    now: int
    a: tuple[str, ...]
    b: tuple[str, ...]
    unchanged: bool
    churn: float
    rbo: float
    entered: tuple[str, ...]
    left: tuple[str, ...]
    ndcg_a: float | None = None
    ndcg_b: float | None = None


class Mover(msgspec.Struct, frozen=True, kw_only=True):
    """One memory that changed its place in one question; None where it was not ranked at all."""

    question: str
    text: str
    id: str
    content: str
    rank_a: int | None
    rank_b: int | None
    places: int


class JudgedMetric(msgspec.Struct, frozen=True, kw_only=True):
    """A quality under both sides: means, their difference with its 95 % interval, and the test of it."""

    a: float
    b: float
    delta: float
    low: float
    high: float
    p_value: float
    wins: int
    ties: int
    losses: int


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """Two sides over the same questions. `metrics` are means over the questions, `entered` and `left` are sums.

    unchanged, top1_changed      share of questions whose whole answer, or first hit, is the same / another
    churn@k, jaccard@k           how much of the first k is exchanged
    rbo@p, tau_b                 similarity of the order; 1 is the same
    mean_abs_rank_change         places that a memory moved, on average
    entered, left                memories that came into and fell out of the answers
    delta_*, win, tie, loss,     with judgements only: b minus a; questions won, tied and lost by nDCG; the
    p_value, unjudged@k_a/_b     randomisation test of nDCG; share of the first k without a judgement

    `redacted` counts the questions whose recorded answer cannot come out again because of what was erased since
    (`verify` says so too). Where a side quotes the record they are `left_out` of everything else; formulas rank what
    is left. `sentence` says what changes for people: first answers, and the memories that were used (with judgements of a
    file: that are relevant). `note` says so in a sentence; it is empty where nothing was erased and every shard could be had.
    `degraded` says what could not be done beside.
    """

    a: str
    b: str
    mode: Mode
    questions: int
    judged_questions: int
    k: int
    metrics: dict[str, float]
    judged: dict[str, JudgedMetric]
    rows: tuple[QuestionRow, ...]
    movers: tuple[Mover, ...]
    caveat: str
    redacted: int = 0
    left_out: tuple[str, ...] = ()
    note: str = ""
    degraded: tuple[str, ...] = ()
    sentence: str = ""


def in_a_sentence(
    graded: Sequence[tuple[Pair, Mapping[str, float]]],
    top1_changed: float,
    *,
    used: bool,
) -> str:
    """13 % of the questions get another first answer; of 41 memories that were used, 5 rank lower and 7 higher."""
    first = f"{_percent(top1_changed)} of the questions get another first answer"
    moves = [move(pair, id_) for pair, gains in graded for id_, gain in gains.items() if gain > 0.0]
    what = "were used" if used else "are relevant"
    if not moves:
        return f"{first}; no memory is known to have been used, so nothing says which is better."
    lower, higher = sum(move > 0 for move in moves), sum(move < 0 for move in moves)
    counted = "1 memory that was used" if len(moves) == 1 and used else f"{len(moves):,} memories that {what}"
    return f"{first}; of {counted}, {lower:,} rank lower and {higher:,} higher."


def move(pair: Pair, memory_id: str) -> int:
    """Places that a memory fell (rose, below 0) from a to b; where it was not ranked it stands behind the longer order.

    Where only the answer of a side is known, nothing is known of a memory that neither answer has: it did not move.
    """
    a, b = pair.a, pair.b
    if (a.order == a.ids or b.order == b.ids) and memory_id not in (*a.ids, *b.ids):
        return 0
    behind = max(len(a.order), len(b.order))
    in_a, in_b = (side.order.index(memory_id) if memory_id in side.order else behind for side in (a, b))
    return in_b - in_a


def _percent(share: float) -> str:
    percent = 100.0 * share
    return (
        "under 1 %" if 0.0 < percent < 1.0 else "over 99 %" if 99.0 < percent < 100.0 else f"{percent:.0f} %"
    )


def erasure_note(redacted: int, left_out: int) -> str:
    """What a reader has to know about questions that saw what was erased since."""
    if not redacted:
        return ""
    who = f"{redacted} {'question' if redacted == 1 else 'questions'} saw memories that were erased since"
    if not left_out:
        return f"{who}; what is left of that state is ranked."
    if left_out == redacted:
        return f"{who} and cannot be answered as recorded; left out of all numbers."
    return f"{who}; {left_out} of them are quoted from the record and left out of all numbers."


def shard_note(pairs: Sequence[Pair]) -> str:
    """What a reader has to know about questions that were ranked without a shard that they were asked with."""
    missed = [
        {*pair.a.scanned, *pair.b.scanned}.difference(pair.asked.question.effects.scanned) for pair in pairs
    ]
    shards = sorted(set().union(*missed))
    if not shards:
        return ""
    named = ", ".join(digest[:12] for digest in shards)
    return (
        f"{sum(map(bool, missed))} questions differ from what was asked: the shard {named} cannot be had, and its rows "
        f"were compared one by one; see `recollect doctor`."
    )
