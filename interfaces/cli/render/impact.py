"""What a memory did to recorded answers, and which of them were stale, for people."""

from __future__ import annotations

from recollect.engine.impact import Impact, ImpactedAnswer
from recollect.engine.proposals import Proposal
from recollect.engine.safe_text import drawing
from recollect.engine.stale import Stale, StaleAnswer
from recollect.interfaces.cli.render.common import echo_wrapped, excerpt
from recollect.interfaces.common.counting import counted


@drawing
def impact(result: Impact) -> None:
    echo_wrapped(f"{result.id}  {excerpt(result.content)}")
    if not result.answers:
        echo_wrapped("no recorded answer held it")
    else:
        told = ", ".join(f"{name} ({count})" for name, count in result.sessions.items())
        echo_wrapped(
            f"in {counted(len(result.answers), 'recorded answer')}{f', in the sessions {told}' if told else ''}; "
            f"used after {result.used}"
        )
        lost = f"; {result.unknown} cannot be ranked again" if result.unknown else ""
        echo_wrapped(
            f"without it {result.changed} would have been different, {result.first_changed} with another first hit{lost}"
        )
    for one in result.derived:
        echo_wrapped(f"derived from it: {one.id}{'' if one.visible else ' (hidden)'}  {excerpt(one.content)}")
    for answer in result.answers:
        _impacted(answer)


def _asked(answer: ImpactedAnswer | StaleAnswer) -> None:
    session = f"  session {answer.session}" if answer.session else ""
    by = f"  by {answer.actor}" if answer.actor else ""
    echo_wrapped(f"{answer.recall}  {answer.at}{session}{by}  {excerpt(answer.query)}")


def _impacted(answer: ImpactedAnswer) -> None:
    _asked(answer)
    echo_wrapped(f"  with it at {answer.rank}: {', '.join(answer.ids)}")
    if answer.without is None:
        echo_wrapped(f"  without it: not known, {answer.problem}")
        return
    new = f"  (new: {', '.join(answer.entered)})" if answer.entered else ""
    echo_wrapped(f"  without it: {', '.join(answer.without) or 'nothing'}{new}")
    if not answer.replayed:
        echo_wrapped("  comparing every vector gives another answer than was recorded, also with it")


@drawing
def stale(result: Stale) -> None:
    if not result.answers:
        echo_wrapped(f"none of {result.checked} recorded answers was stale")
        return
    told = f", told to {', '.join(result.sessions)}" if result.sessions else ""
    echo_wrapped(f"{counted(len(result.answers), 'stale answer')} in {result.checked} recorded recalls{told}")
    echo_wrapped(f"still answering: {', '.join(result.answering) or 'none of these memories'}")
    for answer in result.answers:
        _stale(answer)


def _stale(answer: StaleAnswer) -> None:
    _asked(answer)
    still = "still answers" if answer.answering else "answers no more"
    echo_wrapped(f"  {answer.id} at {answer.rank}, {still}: {excerpt(answer.content)}")
    for cause in answer.causes:
        by = f" by {cause.by}" if cause.by else ""
        late = "" if cause.known else ", which the store learned later"
        kind = "no longer valid" if cause.kind == "not valid" else cause.kind
        echo_wrapped(f"  {kind}{by} since {cause.since}{late}")


@drawing
def proposals(results: list[Proposal]) -> None:
    for one in results:
        echo_wrapped(
            f"{one.id}  {one.kind}, cosine {one.cosine:.2f}; accepting it changes {one.answers} recorded answers"
        )
        echo_wrapped(f"  new  {one.new}  {excerpt(one.new_content)}")
        echo_wrapped(f"  old  {one.old}  {excerpt(one.old_content)}")
    if not results:
        echo_wrapped("no open proposals")
