"""The commands of sleep: dream and undream."""

from __future__ import annotations

import time

import click

from recollect.dream.schedule import parse_interval
from recollect.engine.context_arguments import listed
from recollect.engine.dream_schedule import keep_dreaming, schedule_of
from recollect.engine.safe_text import inline
from recollect.events.errors import RecollectError
from recollect.interfaces.cli.app import common_options, main, open_memory, options_without_embedder, show


@main.command()
@click.option("--dry-run", is_flag=True, help="Show what would change and write nothing.")
@click.option("--phases", help="Only these, separated by commas: scan,consolidate,…")
@click.option("--now", help="The clock to dream with.")
@click.option("--max-churn", type=float, help="Refuse (exit 1) if recorded questions would change by more.")
@click.option("--settings", "settings_file", help="A TOML file with numbers of your own.")
@click.option(
    "--every", help="Stay and dream whenever this much time has passed and something is new: 24h, 90m."
)
@common_options
def dream(
    dry_run: bool, phases: str | None, now: str | None, max_churn: float | None, settings_file: str | None,
    every: str | None, store: str, embedder: str, as_json: bool,
) -> None:  # fmt: skip
    """Replay, downscale, stabilise, prune, place and promote: one cycle, written as one batch.

    \b
    Example:
      recollect dream --dry-run
      recollect dream --max-churn 0.2
      recollect dream --every 24h
    """
    if every is not None:
        if dry_run or phases or now or settings_file or max_churn is not None:
            raise click.UsageError("--every goes with no other option of dream")
        _stay(every, store, embedder, as_json)
        return
    named = None if phases is None else listed(phases)
    with open_memory(store, embedder) as memory:
        report = memory.dream(
            dry_run=dry_run, phases=named, now=now, max_churn=max_churn, settings=settings_file
        )
    show(report, as_json, "dream.dream")
    if report.refused:
        raise SystemExit(1)


def _stay(every: str, store: str, embedder: str, as_json: bool) -> None:
    """Dream by the clock until interrupted; say from the log what was written, since a report may not have been shown."""
    schedule = schedule_of(parse_interval(every))
    with open_memory(store, embedder) as memory:
        before = memory.status().last_dream
        try:
            for report in keep_dreaming(memory, schedule, sleep=time.sleep, on_failure=_failed):
                show(report, as_json, "dream.dream")
        except KeyboardInterrupt:
            last = memory.status().last_dream
            done = f"every dream is written, the last at @{last}" if last > before else "no dream was written"
            click.echo(f"recollect: stopped; {done}", err=True)


def _failed(error: RecollectError | None) -> None:
    if error is not None:
        click.echo(f"recollect: a dream failed and is tried again: {inline(str(error))}", err=True)


@main.command()
@click.argument("dream_id", metavar="DREAM")
@options_without_embedder
def undream(dream_id: str, store: str, as_json: bool) -> None:
    """Undo a dream; what has changed since is named and left alone.

    \b
    Example:
      recollect undream d1234
    """
    with open_memory(store) as memory:
        show(memory.undream(dream_id), as_json, "dream.dream")
