"""The command that follows folders: watch."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from recollect.interfaces.cli.app import common_options, main, open_memory, project_of
from recollect.interfaces.cli.progress import progress_bar
from recollect.interfaces.cli.render import watch as render
from recollect.interfaces.folders.report import Happened

if TYPE_CHECKING:
    from types import FrameType


@main.command()
@click.argument("folders", metavar="DIR…", nargs=-1, required=True, type=click.Path(file_okay=False))
@click.option("--once", is_flag=True, help="Make the store equal to the folders, print a report, and end.")
@click.option(
    "--every", metavar="SECONDS", default=300.0, show_default=True, help="Compare everything this often."
)
@click.option(
    "--grace", metavar="SECONDS", default=2.0, show_default=True, help="A file gone for this long is deleted."
)
@click.option("--ignore", metavar="PATTERN", multiple=True, help="As in .gitignore; may be repeated.")
@click.option("--max-bytes", type=int, help="Skip larger files.  [default: 5000000]")
@click.option("--project", help="The project of all memories from these folders.")
@click.option("--dream-every", metavar="INTERVAL", help="Dream by the clock as well: 24h, 90m, 7d.")
@click.option("--poll", is_flag=True, help="Look every 2 s instead of waiting for events: network drives.")
@click.option(
    "--accept-root",
    is_flag=True,
    help="The folder was replaced or emptied on purpose: go on with what is there.",
)
@common_options
def watch(
    folders: tuple[str, ...], once: bool, every: float, grace: float, ignore: tuple[str, ...],
    max_bytes: int | None, project: str | None, dream_every: str | None, poll: bool, accept_root: bool,
    store: str, embedder: str, as_json: bool,
) -> None:  # fmt: skip
    """Keep the store equal to folders of notes, until interrupted or --once.

    \b
    Example:
      recollect watch ~/notes ~/projects/docs
      recollect watch ~/notes --once --json
      recollect watch ~/notes --ignore 'drafts/' --project notes --dream-every 24h
    """
    if once and dream_every:
        raise click.UsageError("--dream-every goes with a watch that stays, not with --once")

    def tell(happened: Happened) -> None:
        render.happened(happened, as_json=as_json)

    with open_memory(store, embedder, make=True) as memory, _interruptible() as stop:
        report = memory.watch(
            folders, once=once, every=every, grace=grace, ignore=ignore, max_bytes=max_bytes, project=project_of(store, project),
            dream_every=dream_every, poll=poll, accept_root=accept_root, tell=None if once else tell, stop=stop,
            bars=progress_bar,
        )  # fmt: skip
        head = memory.store.log.head
    render.report(report, as_json=as_json, lines=not once)
    if stop.is_set():
        click.echo(f"recollect: stopped; everything shown is written, the head is @{head}", err=True)
    elif report.degraded:
        raise SystemExit(1)


@contextmanager
def _interruptible() -> Iterator[threading.Event]:
    """The first Ctrl-C or SIGTERM asks to stop after the batch at hand; another one interrupts at once."""
    stop = threading.Event()

    def ask(_: int, __: FrameType | None) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
