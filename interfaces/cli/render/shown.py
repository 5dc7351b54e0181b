"""One thing in full, for people: a recall, a memory, an event, a dream or a formula."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click
import msgspec
from rich.text import Text

from recollect.engine.event_summaries import spelled_filters
from recollect.engine.safe_text import block, drawing, inline, visible
from recollect.engine.show import Shown, ShownEvent, ShownFormula
from recollect.engine.show_dream import ShownDream
from recollect.engine.show_memory import ShownMemory, Version
from recollect.engine.show_recall import ShownRecall
from recollect.interfaces.cli.render.common import console, echo_wrapped, memo, print_pairs, table_of
from recollect.interfaces.cli.render.recorded import when

_STYLES = {"same": "", "added": "green", "removed": "red strike"}
_MARKS = {"same": ("", ""), "added": ("{+", "+}"), "removed": ("[-", "-]")}


@drawing
def shown(result: Shown) -> None:
    _DRAWN[type(result)](result)


def _recall(result: ShownRecall) -> None:
    echo_wrapped(block(result.query))
    asked = {
        "recall": result.id,
        "asked": f"{result.at}{f' by {result.actor}' if result.actor else ''}",
        "session": result.session,
        "filters": _spelled(spelled_filters(result.filters)),
        "context": _spelled(spelled_filters(result.context)),
        "formula": result.formula,
        "basis": f"@{result.basis}, clock {result.now}, k {result.k}",
        "embedder": result.embedder,
        "replayed": result.replayed.sentence,
    }
    print_pairs(
        {name: value for name, value in asked.items() if value},
        {"degraded": result.degraded} if result.degraded else {},
    )
    _hits(result)
    for one in result.afterwards:
        echo_wrapped(f"@{one.seq}  {one.at}  {one.what}: {', '.join(one.ids)}")


def _spelled(given: dict[str, str]) -> str:
    return "; ".join(f"{name} {value}" for name, value in given.items())


def _hits(result: ShownRecall) -> None:
    out = console()
    if not result.hits:
        out.print("no hits")
        return
    table = table_of(">#", ">score", "~memory")
    for hit in result.hits:
        facts = (hit.id, hit.kind, when(hit.at), hit.project, hit.source)
        about = "  ".join(fact for fact in facts if fact)
        table.add_row(str(hit.rank), f"{hit.score:.12g}", Text.assemble(hit.content, (f"\n{about}", "dim")))
    out.print(table)


def _memory(result: ShownMemory) -> None:
    memo(result)
    out = console()
    versions = table_of(">version", "seq", "when", "~text")
    for version in result.versions:
        versions.add_row(str(version.revision), f"@{version.seq}", when(version.at), _difference(version))
    out.print(versions)
    for link in result.links:
        out.print(Text(f"{link.a} -{link.kind}-> {link.b}  {link.weight:g}  since @{link.seq}"))
    if not result.recalls:
        out.print("in no recorded answer")
        return
    recalls = table_of("recall", "when", ">rank", ">score", "~question")
    for one in result.recalls:
        recalls.add_row(one.recall, when(one.at), str(one.rank), f"{one.score:.12g}", inline(one.query))
    out.print(recalls)


def _difference(version: Version) -> Text:
    """The words that a version added {+so+} and removed [-so-]; the whole text of the first."""
    if not version.words:
        return Text(inline(version.content))
    said = Text()
    for part in version.words:
        before, after = _MARKS[part.how]
        text = inline(part.text)
        space = text[: len(text) - len(text.lstrip())]
        said.append(f"{space}{before}{text.lstrip()}{after}", style=_STYLES[part.how])
    others = [name for name in version.changed if name != "content"]
    return said.append(f"  ({', '.join(others)})" if others else "", style="dim")


def _event(result: ShownEvent) -> None:
    by = f" by {result.actor}" if result.actor else ""
    print_pairs(
        {
            "event": f"@{result.seq}  {result.type} v{result.version}",
            "recorded": f"{result.at}{by}",
            "id": result.event_id,
            **({"session": result.session} if result.session else {}),
            "what": result.summary,
        }
    )
    fact = msgspec.json.format(msgspec.json.encode(result.fact), indent=2).decode()
    click.echo(visible(fact) if result.fact is not None else "its payload was erased")


def _dream(result: ShownDream) -> None:
    undone = "" if result.undone_at is None else f", taken back at @{result.undone_at}"
    undoes = {} if result.undoes is None else {"takes back": result.undoes}
    counts = ", ".join(f"{name} {count}" for name, count in result.counts.items())
    metrics = ", ".join(f"{name} {value:.4g}" for name, value in result.metrics.items())
    print_pairs(
        {
            "dream": result.id,
            "dreamt": f"{result.at}, @{result.began} to @{result.ended}, on @{result.basis}{undone}",
            **undoes,
            "counts": counts or "nothing",
            **({"metrics": metrics} if metrics else {}),
        }
    )
    table = table_of("memory", "what", ">before", ">after", "~why")
    for change in result.changes:
        table.add_row(change.id, change.what, _value(change.before), _value(change.after), inline(change.why))
    console().print(table if result.changes else "it changed nothing")


def _formula(result: ShownFormula) -> None:
    places = {"built in": result.built_in, "in the log": result.in_log, "in force": result.in_force}
    print_pairs(
        {
            "formula": f"{result.name}@{result.digest[:12]}",
            "what": result.description,
            "from": result.source,
            "where": ", ".join(name for name, holds in places.items() if holds),
        }
    )
    click.echo(visible(result.text), nl=False)


def _value(value: float | str | None) -> str:
    return "-" if value is None else value if isinstance(value, str) else f"{value:.6g}"


_DRAWN: dict[type, Callable[[Any], None]] = {
    ShownRecall: _recall,
    ShownMemory: _memory,
    ShownEvent: _event,
    ShownDream: _dream,
    ShownFormula: _formula,
}
