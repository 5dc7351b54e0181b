"""The command that shows what this is: demo."""

from __future__ import annotations

from pathlib import Path

import click

from recollect.engine.answers import Status
from recollect.engine.store import system_clock
from recollect.events.errors import InvalidInput
from recollect.events.named_files import named_path
from recollect.interfaces.cli.app import clear_errors, json_option, main, to_json
from recollect.interfaces.cli.demo import FACTS, QUESTION, TOPICS
from recollect.interfaces.python.memory import Memory

_DAY_US = 86_400_000_000
_DAYS = 14


@main.command()
@click.option(
    "--store", required=True, metavar="DIR", help="Where to make it: a directory that is not there yet."
)
@json_option
@clear_errors
def demo(store: str, *, as_json: bool) -> None:
    """Make a store to look at: two weeks of memories, questions, changes of mind and dreams.

    It needs no model (the hash embedder) and reads none of your data.

    \b
    Example:
      recollect demo --store demo
      recollect serve --store demo --open
    """
    folder = named_path(store)
    if folder.exists():
        raise InvalidInput(f"{folder} is there already; name a directory that is not")
    status = make(folder)
    if as_json:
        counts = {"memories": status.memories, "recalls": status.recalls, "head": status.head}
        click.echo(to_json({"store": str(folder), **counts}))
        return
    click.echo(
        f"{folder}: {status.memories} memories, {status.recalls} recorded recalls, {status.head} events"
    )
    click.echo(f"look at it:  recollect serve --store {folder} --open")


def make(folder: Path) -> Status:
    """Live two weeks, up to now, in a new store."""
    now = [system_clock() - _DAYS * _DAY_US]

    def clock() -> int:
        now[0] += 1_000_000
        return now[0]

    with Memory.open(folder, embedder="hash", clock=clock, actor="demo") as memory:
        ids = memory.remember_many([{"content": text, "kind": kind} for text, kind in FACTS])
        for day in range(_DAYS):
            now[0] += _DAY_US - 60_000_000
            _live(memory, day, ids)
        return memory.status()


def _live(memory: Memory, day: int, ids: list[str]) -> None:
    texts = [
        f"{topic.capitalize()} came up on day {day + 1}, point {n + 1}" for n, topic in enumerate(TOPICS)
    ]
    memory.remember_many([{"content": text, "project": "shop", "tags": ["meeting"]} for text in texts])
    for question in (QUESTION, "when do we deploy?", f"what about {TOPICS[day % len(TOPICS)]}?"):
        answer = memory.recall(question, k=5, session=f"day-{day + 1}")
        if answer.hits:
            memory.access(answer.hits[0].id, session=f"day-{day + 1}", recall=answer.id)
    if day == _DAYS // 2:
        memory.revise(ids[0], "Auth sessions moved to DynamoDB; Postgres keeps the audit trail")
    if day % 3 == 2:
        memory.dream()
