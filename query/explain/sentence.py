"""The explanation in one plain sentence."""

from __future__ import annotations

import math
from collections.abc import Sequence

from recollect.query.explanation import ChannelPart, Drop, Neighbour, StagePart
from recollect.query.versions import unversioned

_WORDS_MAX = 4
_BY = {"lexical": "words", "vector": "meaning"}


def sentence(
    *,
    rank: int | None,
    candidates: int,
    channels: Sequence[ChannelPart],
    stages: Sequence[StagePart],
    above: Neighbour | None,
    below: Neighbour | None,
    drop: Drop | None,
) -> str:
    if rank is None:
        assert drop is not None
        return _missed(drop)
    parts = [_found_by(channels), _largest_effect(stages), _margin(above, below)]
    return f"Ranked {ordinal(rank)} of {candidates}: {'; '.join(part for part in parts if part)}."


def _missed(drop: Drop) -> str:
    where = "" if drop.number == 0 else f"stage {drop.number} ({drop.title}): "
    if drop.title.startswith("the best "):
        where = ""
    return f"Not in the answer: {where}{drop.reason}."


def ordinal(number: int) -> str:
    teen = 10 <= number % 100 <= 20
    return f"{number}{'th' if teen else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"


def _found_by(channels: Sequence[ChannelPart]) -> str:
    """words matched 'auth', 'sessions' (2nd by words, 5th by meaning)"""
    ranks = [f"{ordinal(c.rank)} by {_BY.get(c.name, c.name)}" for c in channels if c.rank is not None]
    words = list(dict.fromkeys(t.term for c in channels if c.rank for t in c.terms if t.tf > 0))
    shown = ", ".join(f"'{word}'" for word in words[:_WORDS_MAX])
    more = f" and {len(words) - _WORDS_MAX} more" if len(words) > _WORDS_MAX else ""
    places = ", ".join(ranks)
    if words:
        return f"words matched {shown}{more} ({places})"
    return places or "reached along edges from other candidates"


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


def _margin(above: Neighbour | None, below: Neighbour | None) -> str:
    if above is not None:
        if above.decided_by != "score":
            return f"behind {above.id} by {above.decided_by}"
        return f"{above.margin:.3g} below {above.id}"
    if below is not None:
        if below.decided_by != "score":
            return f"ahead of {below.id} by {below.decided_by}"
        return f"{below.margin:.3g} above {below.id}"
    return "the only one"
