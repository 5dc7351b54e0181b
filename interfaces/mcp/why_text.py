"""What `why` and `why_not` answer: a memory's place in a recorded answer, in short and in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.engine.safe_text import telling
from recollect.interfaces.mcp.audit_arguments import ChannelResult, DropResult, WhyResult
from recollect.interfaces.mcp.results import short_form

if TYPE_CHECKING:
    from recollect.query.explanation import ChannelPart, Explanation


def explained(found: Explanation) -> WhyResult:
    drop = found.dropped_at
    return short_form(
        WhyResult,
        found,
        dropped_at=None if drop is None else short_form(DropResult, drop, stage=drop.title),
        channels=[short_form(ChannelResult, part, terms=_matched(part)) for part in found.channels],
    )


def _matched(channel: ChannelPart) -> list[str]:
    """The words of the question that the memory has."""
    return [word for word, term in zip(channel.words, channel.terms, strict=True) if term.contribution]


@telling
def in_words(result: WhyResult) -> str:
    lines = [result.sentence]
    if result.dropped_at is not None:
        lines.append(f"lost at {result.dropped_at.stage}: {result.dropped_at.reason}")
    for channel in result.channels:
        place = (
            "not found" if channel.rank is None else f"rank {channel.rank}, value {_number(channel.value)}"
        )
        words = f" ({', '.join(channel.terms)})" if channel.terms else ""
        lines.append(f"{channel.name}: {place}{words}")
    lines += [
        f"{stage.number}. {stage.title}: {_number(stage.before)} → {_number(stage.after)}"
        for stage in result.stages
        if stage.before != stage.after
    ]
    replay = {True: "replayed exactly", False: "the replay DIFFERS from the record", None: "not recorded"}
    where = f"at @{result.basis} with {result.formula}"
    return "\n".join([*lines, f"({result.recall or 'asked now'} {where}; {replay[result.exact]})"])


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.6g}"
