"""Expectations for people: as they stand, and what a check found."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from recollect.engine.expectations import CheckReport, Expectation, Outcome
from recollect.engine.fixture import FixtureReport
from recollect.engine.safe_text import drawing
from recollect.interfaces.cli.render.common import console, escaped


@drawing
def stated(result: Mapping[str, object]) -> None:
    console().print(f"[green]expected[/] {result['name']}  [dim]`recollect check` asks it again[/]")


@drawing
def listed(results: Iterable[Expectation]) -> None:
    out, found = console(), list(results)
    for one in found:
        asked = "its question was erased" if one.query is None else f"“{one.query}”"
        out.print(f"[bold]{one.name}[/]  {escaped(one.expects)}  [dim]of {one.recall}[/]  {escaped(asked)}")
        if one.note:
            out.print(f"     [dim]{escaped(one.note)}[/]")
    if not found:
        out.print("there are no expectations; `recollect expect` states one")


@drawing
def checked(result: CheckReport) -> None:
    out = console()
    for one in result.failed:
        _failure(one)
    colour = "red" if result.failed else "green"
    out.print(f"[{colour}]{escaped(result.sentence)}[/]")
    for note in result.degraded:
        out.print(note, style="yellow", markup=False)


@drawing
def fixed(result: FixtureReport) -> None:
    out = console()
    names = ", ".join(f"{there} (was {here})" for here, there in result.recalls.items())
    kind = "redacted fixture" if result.redacted else "fixture"
    out.print(
        f"[green]{kind}[/] {escaped(result.path)}  [dim]{max(1, round(result.bytes / 1000)):,} KB, {result.events:,} events[/]"
    )
    out.print(
        f"{names}; {result.ranked:,} memories ranked, {result.memories:,} in all; {result.expectations} to check"
    )
    if result.kept_words:
        out.print(f"words that stay: {escaped(', '.join(result.kept_words))}")
    for note in result.degraded:
        out.print(note, style="yellow", markup=False)


def _failure(one: Outcome) -> None:
    out, expectation = console(), one.expectation
    asked = f"  “{expectation.query}”" if expectation.query is not None else ""
    out.print(f"[bold red]{expectation.name}[/]  [dim]{expectation.recall}[/]{escaped(asked)}")
    for part in one.sentence.split("; "):
        out.print(f"     {escaped(part)}")
    if expectation.note:
        out.print(f"     [dim]{escaped(expectation.note)}[/]")
