"""Results for people: plain tables that read the same piped and on a terminal, with colour where there is one."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click
import msgspec

from recollect.engine.answers import Answer, Happening, Memo, Status
from recollect.engine.event_summaries import shorten
from recollect.engine.moments import iso
from recollect.engine.safe_text import block, drawing, inline
from recollect.interfaces.common.counting import counted
from recollect.interfaces.common.hit_fields import hit_fields

if TYPE_CHECKING:
    from rich.console import Console

    from recollect.events.checkpoint_note import LogCheckpoint
    from recollect.interfaces.cli.render.grid import Grid
    from recollect.replay.verify import Difference, VerifyReport

Thing = TypeVar("Thing")

_DIFFERENCES_SHOWN = 10
_PIPED_WIDTH = 1_000_000
_HIT_CHARACTERS = 400
_EXCERPT_CHARACTERS = 240


def console() -> Console:
    """Colour and the terminal's width, wrapped between words; plain and never wrapped when piped."""
    from rich.console import Console  # noqa: PLC0415 (a result as JSON draws nothing)

    class Piped(Console):
        def on_broken_pipe(self) -> NoReturn:  # rich would exit with 1
            raise BrokenPipeError

    out = Piped(highlight=False, emoji=False)
    if not out.is_terminal:
        out.width, out.soft_wrap = _PIPED_WIDTH, True
    return out


def draws() -> bool:
    """Whether to draw with colour: on a terminal, or with FORCE_COLOR."""
    return sys.stdout.isatty() or bool(os.environ.get("FORCE_COLOR"))


@drawing
def remembered(result: Mapping[str, Any]) -> None:
    without = ", without a vector" if result["degraded"] else ""
    _done("remembered", str(result["id"]), f"head @{result['head']}{without}")
    for one in result["similar"]:
        by = ", by words" if one.by == "words" else ""
        echo_wrapped(
            f"resembles {one.id} (cosine {one.cosine:.2f}{by}, {one.when[:10]}): {excerpt(one.content)}"
        )
    if result["similar"]:
        ids = (result["similar"][0].id, str(result["id"]))
        words = ("recollect", "supersede", *(("--",) if any(id_[0] == "-" for id_ in ids) else ()), *ids)
        click.echo(f"  `{shlex.join(words)}` would replace the first")


@drawing
def revised(result: Mapping[str, object]) -> None:
    without = ", without a vector" if result["degraded"] else ""
    _done("revised", str(result["id"]), f"revision {result['revision_count']}{without}")


@drawing
def written(result: Mapping[str, object]) -> None:
    _done("written", f"@{result['seq']}")


def _done(deed: str, to: str, note: str = "") -> None:
    line = f"{click.style(deed, fg='green')} {to}" + (f"  {click.style(note, dim=True)}" if note else "")
    click.echo(line, color=draws() and not os.environ.get("NO_COLOR"))


@drawing
def answer(result: Answer) -> None:
    if not draws():
        _answer_without_colour(result)
        return
    from rich.text import Text  # noqa: PLC0415 (a result as JSON draws nothing)

    out = console()
    head = f"{escaped(result.id)}  " if result.id else ""
    out.print(
        f"[bold]{head}[/][dim]basis @{result.basis}  formula {escaped(result.formula)}  now {escaped(result.now)}[/]"
    )
    for note in result.degraded:
        out.print(f"[yellow]degraded[/] {escaped(note)}")
    if not result.hits:
        out.print("nothing matches")
        return
    table = table_of(">#", ">score", "~memory", "id")
    for hit in result.hits:
        text = Text.assemble(shorten(hit.content, _HIT_CHARACTERS), (f" ({hit_fields(hit)})", "dim"))
        table.add_row(str(hit.rank), f"{hit.score:.12g}", text, Text(hit.id, "dim"))
    out.print(table)


def _answer_without_colour(result: Answer) -> None:
    """Print the same lines, with whole texts, without importing rich: for a pipe."""
    head = f"{result.id}  " if result.id else ""
    click.echo(f"{head}basis @{result.basis}  formula {result.formula}  now {result.now}")
    for note in result.degraded:
        click.echo(f"degraded {note}")
    if not result.hits:
        click.echo("nothing matches")
        return
    rows = [
        (str(hit.rank), f"{hit.score:.12g}", f"{shorten(hit.content, None)} ({hit_fields(hit)})", hit.id)
        for hit in result.hits
    ]
    rows.insert(0, ("#", "score", "memory", "id"))
    rank, score, memory, _ = (max(map(width_of, column)) for column in zip(*rows, strict=True))
    for place, points, text, id_ in rows:
        click.echo(f"{place:>{rank}}  {points:>{score}}  {text}{' ' * (memory - width_of(text))}  {id_}")


def width_of(text: str) -> int:
    """How many cells a terminal gives to a text."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len  # noqa: PLC0415 (only what is not plain needs it)

    return cell_len(text)


def table_of(*names: str) -> Grid:
    """A table with these columns; `>name` are numbers, `~name` texts that may wrap."""
    from recollect.interfaces.cli.render.grid import Grid  # noqa: PLC0415 (a result as JSON draws nothing)

    return Grid(*names)


def echo_wrapped(text: str) -> None:
    """Print a text: wrapped between words on a terminal, as it is in a pipe."""
    if not draws():
        click.echo(text)
        return
    from rich.text import Text  # noqa: PLC0415 (a result as JSON draws nothing)

    console().print(Text(text))


def first_of(things: Sequence[Thing], count: int) -> Sequence[Thing]:
    """The first so many on a terminal, all of them in a pipe."""
    return things[:count] if draws() else things


def excerpt(text: str) -> str:
    """A text on one line: its beginning on a terminal, all of it in a pipe."""
    return shorten(text, _EXCERPT_CHARACTERS if draws() else None)


def escaped(text: str) -> str:
    """Escape a text for rich, so that its brackets are shown as they are."""
    from rich.markup import escape  # noqa: PLC0415

    return escape(inline(text))


@drawing
def memo(result: Memo) -> None:
    echo_wrapped(block(result.content))
    pairs: dict[str, object] = {
        "id": result.id,
        "as of": f"@{result.at}",
        "visible": "yes" if result.visible else f"no: {result.hidden_because}",
        **msgspec.to_builtins(result.state),
    }
    print_pairs(
        {name: _readable(name, value) for name, value in pairs.items() if value not in (None, [], "")}
    )


def _readable(name: str, value: object) -> str:
    if isinstance(value, int) and name.endswith(("_at", "_from", "_to")):
        return iso(value)
    return (
        ", ".join(map(str, value))
        if isinstance(value, Sequence) and not isinstance(value, str)
        else str(value)
    )


@drawing
def happenings(results: Sequence[Happening]) -> None:
    table = table_of("seq", "recorded", "event", "~what")
    for result in results:
        table.add_row(f"@{result.seq}", result.at, result.type, result.summary)
    console().print(table)


@drawing
def formulas(results: Sequence[Mapping[str, object]]) -> None:
    table = table_of("formula", "~what")
    for result in results:
        table.add_row(str(result["name"]), f"{result['description']}\nfrom {result['source']}")
    console().print(table)


def log_checkpoint(result: LogCheckpoint) -> None:
    """The note as it is, so that it can be kept as it is printed."""
    click.echo(result.note, nl=False)


_VERDICT_STYLES = {"exact": "green", "attested": "green", "partly": "yellow", "differs": "red"}


@drawing
def verification(report: VerifyReport) -> None:
    out = console()
    out.print(f"[{_VERDICT_STYLES[report.verdict]}]{report.verdict}[/]  {escaped(report.sentence)}")
    for contradiction in report.contradictions:
        out.print(f"  {escaped(contradiction.witness)}: {escaped(contradiction.problem)}")
    for finding in first_of(report.damage, _DIFFERENCES_SHOWN):
        out.print(
            f"  the log is damaged at @{finding.seq}: {escaped(finding.problem)} "
            f"({escaped(finding.path)}, byte {finding.offset})"
        )
    for difference in first_of(report.differences, _DIFFERENCES_SHOWN):
        out.print(f"  different  {escaped(_difference(difference))}")
    for redacted in first_of(report.redactions, _DIFFERENCES_SHOWN):
        out.print(f"  redacted  {escaped(redacted.recall)}: {escaped(redacted.reason)}")
    for missing in first_of(report.missing, _DIFFERENCES_SHOWN):
        shard = f"shard {missing.shard[:12]}, " if missing.shard else ""
        out.print(f"  not here  {escaped(missing.recall)}: {shard}{escaped(missing.reason)}")
    if report.attested_at is not None:
        out.print(f"  what was found is attested at @{report.attested_at}")
    for note in report.notes:
        out.print(f"[yellow]note[/]  {escaped(note)}")


def _difference(difference: Difference) -> str:
    if difference.rank == 0:
        return f"{difference.recall}: {difference.reason}"
    return (
        f"{difference.recall} rank {difference.rank}: recorded {difference.recorded}, "
        f"replayed {difference.replayed}; {difference.reason}"
    )


@drawing
def status(result: Status) -> None:
    counts = ", ".join(f"{count:,} {name}" for name, count in result.by_status.items()) or "none"
    sizes = f"log {size(result.log_bytes)} in {result.segments} segments, cache {size(result.cache_bytes)}"
    print_pairs(
        {
            "store": result.store,
            **({"fork": result.fork} if result.fork else {}),
            "head": f"@{result.head}{_ago(result.head_at, result.now)}",
            **(
                {"copies": result.replication, "behind": f"{result.behind:,} events"}
                if result.replication
                else {}
            ),
            "unsynced": f"{size(result.unsynced_bytes)}, durable up to @{result.durable}",
            "memories": f"{result.visible:,} visible of {result.memories:,} ({counts})",
            "recalls": f"{result.recalls:,}",
            "size": sizes,
            "formula": result.formula,
            "embedder": f"{result.embedder.name or 'none'} ({result.embedder.state})",
            "vectors": f"{result.shards} shards, {result.rows_unsealed:,} rows scanned exactly",
            "last dream": _last_dream(result),
            "checkpoint": _checkpoint(result),
        },
        {"degraded": result.degraded},
    )


def _last_dream(result: Status) -> str:
    when = f"@{result.last_dream}{_ago(result.last_dream_at, result.now)}" if result.last_dream else "never"
    return f"{when}, {result.new_since_dream:,} new memories since the last dream"


def _checkpoint(result: Status) -> str:
    if not result.checkpoint:
        return f"none, {result.checkpoint_age_events:,} events are read from the log on opening"
    of = f"of @{result.checkpoint}{_ago(result.checkpoint_at, result.now)}"
    return f"{of}, {result.checkpoint_age_events:,} events behind"


def size(count: int) -> str:
    """A number of bytes for people: 1.5 MB."""
    if count < 1_000:
        return f"{count} bytes"
    value, unit = float(count), "kB"
    for unit in ("kB", "MB", "GB", "TB"):  # noqa: B007 (the unit that it ended with is used)
        value /= 1_000
        if value < 999.95:
            break
    return f"{value:.1f} {unit}"


def _ago(then: str | None, now: str) -> str:
    """How long ago, in the largest unit that fits: ", 3 hours ago"."""
    if then is None or not now:
        return ""
    seconds = max(0.0, (datetime.fromisoformat(now) - datetime.fromisoformat(then)).total_seconds())
    for unit, length in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds >= length:
            return f", {counted(int(seconds // length), unit)} ago"
    return ", just now"


def print_pairs(pairs: Mapping[str, str], warnings: Mapping[str, Sequence[str]] = {}) -> None:
    if not draws():
        _pairs_without_colour(pairs, warnings)
        return
    from rich.table import Table  # noqa: PLC0415

    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="dim")
    table.add_column(overflow="fold")
    for name, value in pairs.items():
        table.add_row(name, escaped(value))
    for name, notes in warnings.items():
        for note in notes:
            table.add_row(f"[yellow]{name}[/]", f"[yellow]{escaped(note)}[/]")
        if not notes:
            table.add_row(name, "nothing")
    console().print(table)


def _pairs_without_colour(pairs: Mapping[str, str], warnings: Mapping[str, Sequence[str]]) -> None:
    """Print the same lines, however long, without importing rich."""
    notes = [(name, note) for name, found in warnings.items() for note in found or ("nothing",)]
    lines = [*pairs.items(), *notes]
    indent = max(len(name) for name, _ in lines) + 2
    for name, value in lines:
        click.echo(f"{name:<{indent}}" + value.replace("\n", "\n" + " " * indent))
