"""The explanation in one plain sentence."""

from __future__ import annotations

import math
from collections.abc import Sequence

from recollect.query.explanation import ChannelPart, Drop, Neighbour, Reason, StagePart
from recollect.query.versions import unversioned

_WORDS_MAX = 4
_BY = {"lexical": "words", "vector": "meaning"}
_WORDS = {"lexical", "words", "keywords", "coverage", "covered"}
_PLAIN = {
    "vector": "meaning", "topic": "words of the turns around it", "around": "words of the turns around it",
    "half_life_recency": "how new it is", "recency": "how new it is", "recency_boost": "how new it is",
    "temporal_fit": "the time it is of", "floored_decay": "how new it is", "log_usage": "how often it was used",
    "feedback_factor": "how it was rated", "asking": "that it asks itself", "asked": "the question before it",
    "before": "the turn before it", "after": "the turn after it", "session": "the session it is in",
    "under_label": "who said it", "by_asker": "that the asker said it", "in_span": "that it is of the time asked for",
    "tells_time": "that it tells a time", "access_count": "how often it was read", "used_count": "how often it was used",
    "cluster_boost": "its cluster", "depth_weight": "how deeply it was consolidated", "priority_factor": "priority",
    "type_weight": "its kind", "rerank": "the cross-encoder",
}  # fmt: skip


def sentence(
    *,
    rank: int | None,
    candidates: int,
    channels: Sequence[ChannelPart],
    stages: Sequence[StagePart],
    above: Neighbour | None,
    below: Neighbour | None,
    drop: Drop | None,
    reasons: Sequence[Reason] = (),
    against: str | None = None,
) -> str:
    """What decided against the next one comes first, then the margins; without such reasons, how it was found."""
    if rank is None:
        assert drop is not None
        return _missed(drop, reasons, against)
    if reasons:
        ahead = against is None or (below is not None and below.id == against)
        parts = [_decided(reasons, channels, ahead=ahead), _margins(above, below)]
    else:
        parts = [_found_by(channels), _largest_effect(stages), _margins(above, below)]
    return f"Ranked {ordinal(rank)} of {candidates}: {'; '.join(part for part in parts if part)}."


def _missed(drop: Drop, reasons: Sequence[Reason], against: str | None) -> str:
    where = "" if drop.number == 0 else f"stage {drop.number} ({drop.title}): "
    if drop.title.startswith("the best "):
        where = ""
    why = ", ".join(_compared(reason) for reason in reasons)
    behind = f"; {against} was ahead by {why}" if reasons and against else ""
    return f"Not in the answer: {where}{drop.reason}{behind}."


def _decided(reasons: Sequence[Reason], channels: Sequence[ChannelPart], *, ahead: bool) -> str:
    """words matched 'auth' (1st by words), importance (0.9 against 0.5)"""
    spoken = [
        _found_by(channels) if ahead and reason.name in _WORDS and reason.own else _compared(reason)
        for reason in reasons
    ]
    return ("" if ahead else "behind by ") + ", ".join(dict.fromkeys(spoken))


def _compared(reason: Reason) -> str:
    """importance (0.9 against 0.5)"""
    name = "words" if reason.name in _WORDS else _PLAIN.get(reason.name, reason.name.replace("_", " "))
    own, other = (_value(value, reason) for value in (reason.own, reason.other))
    return f"{name} ({own} against {other})"


def _value(value: float | None, reason: Reason) -> str:
    if value is None:
        return "none"
    return ordinal(int(value)) if reason.rank else f"{value:.3g}"


def ordinal(number: int) -> str:
    teen = 10 <= number % 100 <= 20
    return f"{number}{'th' if teen else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"


def _found_by(channels: Sequence[ChannelPart]) -> str:
    """words matched 'auth', 'sessions' (2nd by words, 5th by meaning)"""
    ranks = [f"{ordinal(c.rank)} by {_BY.get(c.name, c.name)}" for c in channels if c.rank is not None]
    words = list(dict.fromkeys(word for c in channels if c.rank for word in _matched(c)))
    shown = ", ".join(f"'{word}'" for word in words[:_WORDS_MAX])
    more = f" and {len(words) - _WORDS_MAX} more" if len(words) > _WORDS_MAX else ""
    places = ", ".join(ranks)
    if words:
        return f"words matched {shown}{more} ({places})"
    return places or "reached along edges from other candidates"


def _matched(channel: ChannelPart) -> list[str]:
    """The question's terms that the memory has, as the question writes them."""
    words = channel.words or tuple(term.term for term in channel.terms)
    return [word for word, term in zip(words, channel.terms, strict=True) if term.tf > 0]


def _largest_effect(stages: Sequence[StagePart]) -> str:
    """recency_boost lifted it by 1.29×"""
    effects = [(stage, _ratio(stage)) for stage in stages if stage.scored]
    stage, ratio = max(effects, key=lambda effect: abs(math.log(effect[1])), default=(None, 1.0))
    if stage is None or ratio == 1.0:
        return ""
    verb = "lifted" if ratio > 1.0 else "lowered"
    return f"{_named(stage)} {verb} it by {ratio:.3g}×"


def _named(stage: StagePart) -> str:
    """What did it: of several amounts, those that this memory got."""
    if stage.op == "boost":
        return f"the boost for {' and '.join(name for name, value in stage.reads.items() if value)}"
    return unversioned(stage.title.removeprefix("multiply by "))


def _ratio(stage: StagePart) -> float:
    """The score after over the score before; 1 where there is no such thing."""
    if stage.before is None or stage.after is None or stage.before <= 0.0 or stage.after <= 0.0:
        return 1.0
    ratio = stage.after / stage.before
    return ratio if math.isfinite(ratio) and ratio > 0.0 else 1.0


def _margins(above: Neighbour | None, below: Neighbour | None) -> str:
    parts = []
    if below is not None:
        tied = below.decided_by != "score"
        parts.append(
            f"ahead of {below.id} by {below.decided_by}" if tied else f"{below.margin:.3g} above {below.id}"
        )
    if above is not None:
        tied = above.decided_by != "score"
        parts.append(
            f"behind {above.id} by {above.decided_by}" if tied else f"{above.margin:.3g} below {above.id}"
        )
    return " and ".join(parts) or "the only one"
