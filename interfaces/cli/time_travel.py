"""The commands that travel through the log: memories, log, why-changed, bisect, sql."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click
import msgspec

from recollect.interfaces.cli.app import (
    common_options,
    given_only,
    main,
    open_memory,
    options_without_embedder,
    row_options,
    rows_wanted,
    show,
    shown_json,
    whole_texts,
    with_options,
)
from recollect.interfaces.cli.commands import AtOnce, Failure, completed_by
from recollect.interfaces.cli.progress import progress_bar
from recollect.interfaces.cli.recall_options import QUESTION, arguments_of, recall_options

if TYPE_CHECKING:
    from collections.abc import Iterable

    from recollect.engine.answers import Happening

_AT = click.option("--at", "when", help="As of a moment: @1234, a time, 'last tuesday'.")
_VALID_AT = click.option("--valid-at", help="Only what held at this time (valid_from, valid_to).")
_scoped = with_options(
    click.option("--project", help="Only memories of this project."),
    click.option("--session", help="Only memories of this session."),
    click.option("--tag", "tags", multiple=True, help="Only memories with one of these tags."),
    click.option("--kind", "kinds", multiple=True, help="Only memories of these kinds."),
)


@main.command()
@_AT
@_VALID_AT
@_scoped
@click.option("--limit", type=click.IntRange(min=1), help="Only the last so many.")
@row_options
@options_without_embedder
def memories(
    when: str | None,
    valid_at: str | None,
    limit: int | None,
    store: str,
    as_json: bool,
    **scope: Any,
) -> None:
    """List the memories that would answer, now or as of a moment.

    \b
    Example:
      recollect memories --kind decision --limit 20
      recollect memories --at @120 --valid-at 2026-03-01
    """
    with open_memory(store) as memory:
        found = memory.memories(given_only({**scope, "valid_at": valid_at}), at=when, limit=limit)
    show(found, as_json, "time_travel.memos")


@main.command()
@click.option("--memory", help="Only events that name this memory.")
@click.option("--session", help="Only events of this session.")
@click.option("--type", help="Only this type: memory.ingested, or dream for dream.*.")
@click.option("--since", help="From this seq or time on.")
@click.option("--until", help="Up to this seq or time.")
@click.option("--limit", type=int, help="Only the last so many.")
@click.option("--follow", is_flag=True, help="Wait for more, until Ctrl-C.")
@row_options
@options_without_embedder
def log(limit: int | None, follow: bool, store: str, as_json: bool, **filters: Any) -> None:
    """The log in words, oldest first.

    \b
    Example:
      recollect log --memory 0192f0c1… --since "2 days ago"
      recollect log --type dream --limit 20
      recollect log --follow
    """
    if follow and rows_wanted() not in (None, "nl"):
        raise Failure("--follow has no end; --nl prints what comes, one JSON object a line")
    with open_memory(store) as memory:
        events = memory.log(limit=limit, follow=follow, full=whole_texts(as_json), **filters)
        try:
            _print_log(events, as_json=as_json, follow=follow)
        except KeyboardInterrupt:
            if not follow:
                raise
            click.echo("", err=True)


def _print_log(events: Iterable[Happening], *, as_json: bool, follow: bool) -> None:
    if rows_wanted():
        for rows in ([event] for event in events) if follow else (list(events),):
            show(rows, as_json, "time_travel.echo_line")
        return
    if as_json:
        _print_json(events, lines=follow)
        return
    from recollect.interfaces.cli.render.time_travel import echo_line  # noqa: PLC0415

    for event in events:
        echo_line(event)


def _print_json(events: Iterable[Happening], *, lines: bool) -> None:
    """One array; while following, which has no end, one object per line."""
    first = True
    for event in events:
        text = shown_json(msgspec.json.encode(event).decode())
        click.echo(text if lines else f"{'[' if first else ','}\n  {text}", nl=lines)
        first = False
    if not lines:
        click.echo("[]" if first else "\n]")


@main.command("why-changed")
@click.argument("query", metavar=QUESTION)
@click.argument("memory_id", metavar="ID", shell_complete=completed_by("memory_ids"))
@click.option("--since", required=True, help="The earlier moment: @1234, r1234, a time, or 'last tuesday'.")
@click.option("--until", help="The later moment; now if not given.")
@recall_options(between=True)
@common_options
def why_changed(
    query: str, memory_id: str, since: str, until: str | None, store: str, embedder: str, as_json: bool, **given: Any
) -> None:  # fmt: skip
    """Why a memory's rank and score for QUERY differ between two moments, cause by cause.

    QUERY may be the id of a recorded recall: what was said beside it comes along, and options say otherwise.

    \b
    Example:
      recollect why-changed "where are auth sessions stored?" 0192f0c1… --since @2 --until @900
      recollect why-changed r2390 0192f0c1… --since "last tuesday"
    """
    with open_memory(store, embedder) as memory:
        options = arguments_of(given, store=store, query=query).options()
        result = memory.why_changed(query, memory_id, since, until, **options)
    show(result, as_json, "time_travel.change")


@main.command()
@click.argument("query", metavar=QUESTION)
@click.argument("memory_id", metavar="ID", shell_complete=completed_by("memory_ids"))
@click.option("--since", help="Where to begin: @1234, r1234, a time, 'last tuesday'; its birth if not given.")
@click.option("--until", help="Where to end; now if not given.")
@click.option("--until-rank", default=10, show_default=True, help="In or out of so many first places.")
@click.option(
    "--all", "every", is_flag=True, help="Ask at every event: the first for sure, and all crossings."
)
@recall_options(between=True)
@common_options
def bisect(
    query: str, memory_id: str, since: str | None, until: str | None, until_rank: int, every: bool, store: str,
    embedder: str, as_json: bool, **given: Any,
) -> None:  # fmt: skip
    """The first event after which a memory left, or entered, the first places for QUERY; exit 1 if none.

    QUERY may be the id of a recorded recall: its filters, k, session, context, formula and clock come along, and options
    say otherwise.

    \b
    Example:
      recollect bisect "where are auth sessions stored?" 0192f0c1… --since @2 --until-rank 3 --project web
      recollect bisect r2390 0192f0c1… --until-rank 1
    """
    options = arguments_of(given, store=store, query=query).options()
    with open_memory(store, embedder) as memory, progress_bar("asking") as progress:
        result = memory.bisect(
            query, memory_id, since, until, until_rank=until_rank, every=every, progress=progress, **options
        )  # fmt: skip
    show(result, as_json, "time_travel.bisection")
    if result.seq is None:
        raise SystemExit(1)


@main.command()
@click.argument("query")
@click.option(
    "--param",
    "params",
    multiple=True,
    metavar="NAME=VALUE",
    help="Bound to $NAME; may be repeated. 123, true and null are read as such, '\"123\"' as text.",
)
@click.option(
    "--timeout",
    "seconds",
    type=click.FloatRange(min=0, min_open=True, max=86_400),
    default=30.0,
    show_default=True,
    help="End the query after so many seconds.",
)
@row_options
@options_without_embedder
def sql(query: str, params: tuple[str, ...], seconds: float, store: str, as_json: bool) -> None:
    """Ask the store in SQL (DuckDB, read only).

    Tables: events, memories, memory_history, recalls, rankings, edges, dreams, and memories_as_of(seq).
    RECOLLECT_SQL_MEMORY in the environment says how much memory a query may use, such as 2GB.

    \b
    Example:
      recollect sql "SELECT kind, count(*) FROM memories GROUP BY kind"
      recollect sql 'SELECT id, access_count FROM memories_as_of($seq)' --param seq=120
    """
    from recollect.projections.sql.limits import QueryAbandoned, bounded_memory  # noqa: PLC0415

    given = dict(_parameter(text) for text in params)
    try:
        with open_memory(store) as memory:
            memory.sql("SELECT 1")  # the tables are made before the query's own memory is measured
            with bounded_memory():
                result = memory.sql(query, **{"timeout": seconds, **given})
    except QueryAbandoned as error:
        Failure(str(error)).show()
        raise AtOnce(Failure.exit_code) from None
    show(result, as_json, "time_travel.sql")


def _parameter(text: str) -> tuple[str, Any]:
    """Parse numbers, true, false and null as JSON; take anything else as text."""
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise Failure(f"--param {text!r} is not NAME=VALUE")
    try:
        parsed = json.loads(value)
    except (ValueError, RecursionError):
        return name, value
    return name, parsed if isinstance(parsed, (int, float, bool, str)) or parsed is None else value
