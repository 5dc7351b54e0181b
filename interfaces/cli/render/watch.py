"""Watching for people: a line per thing that happened, and the report of a run."""

from __future__ import annotations

import click
import msgspec
from rich.text import Text

from recollect.engine.safe_text import spelled
from recollect.interfaces.cli.app import shown_json, to_json
from recollect.interfaces.cli.render.common import console, print_pairs
from recollect.interfaces.common.counting import counted
from recollect.interfaces.folders.report import Happened, WatchReport

_COLOURS = {"paused": "yellow", "degraded": "yellow", "quarantined": "yellow", "forgotten": "red"}
_COUNTS = ("ingested", "revised", "moved", "forgotten", "restored", "linked", "unlinked")


def happened(thing: Happened, *, as_json: bool) -> None:
    if as_json:
        click.echo(shown_json(msgspec.json.encode(thing).decode()))
        return
    thing = spelled(thing)
    place = f"{thing.was} → {thing.path}" if thing.was else thing.path or thing.folder
    line = Text(f"{thing.what:<12}", style=_COLOURS.get(thing.what, "green"))
    line.append(f"{place}  " if place and thing.what != "paused" else "", style="default")
    line.append(thing.detail, style="default" if thing.what == "paused" else "dim")
    line.rstrip()
    console().print(line)


def report(result: WatchReport, *, as_json: bool, lines: bool) -> None:
    """The report as a table or one JSON document; on one line where every document is one."""
    if as_json:
        click.echo(shown_json(msgspec.json.encode(result).decode()) if lines else to_json(result))
        return
    result = spelled(result)
    memories = counted(result.chunks, "memory")
    done = [(name, getattr(result, name)) for name in _COUNTS]
    pairs = {
        "folders": ", ".join(result.folders),
        "holds": memories
        if lines
        else f"{counted(result.files, 'file')}, {memories}, {result.unchanged:,} of them unchanged",
        "done": ", ".join(f"{count:,} {name}" for name, count in done if count) or "nothing",
        "skipped": ", ".join(f"{count:,} {reason}" for reason, count in sorted(result.skipped.items())),
        "waiting": f"{result.waiting:,} files" if result.waiting else "",
    }
    quarantined = [f"{trouble.path}: {trouble.reason}" for trouble in result.quarantined]
    warnings = {"quarantined": quarantined, "degraded": result.degraded}
    print_pairs(
        {name: value for name, value in pairs.items() if value},
        {name: notes for name, notes in warnings.items() if notes},
    )
