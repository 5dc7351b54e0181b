"""The commands that ask: recall, get, history, verify, status."""

from __future__ import annotations

import click

from recollect.interfaces.cli import completions as completing
from recollect.interfaces.cli.app import (
    _common,
    _given,
    _memory,
    _show,
    _unembedded,
    main,
    progress_bar,
    was_named,
)


@main.command()
@click.argument("query")
@click.option("-k", default=10, show_default=True, help="How many hits.")
@click.option(
    "--formula",
    shell_complete=completing.formulas,
    help="A built-in formula's name or the path of a TOML file.",
)
@click.option("--session", help="The conversation that asks.")
@click.option("--project", help="Only memories of this project.")
@click.option("--tag", "tags", multiple=True, help="Only memories with one of these tags.")
@click.option("--kind", "kinds", multiple=True, help="Only memories of these kinds.")
@click.option("--at", "when", help="As of a seq (@1234), a time, or '2 days ago'; records nothing.")
@click.option("--valid-at", help="Only what held at this time (valid_from, valid_to).")
@click.option("--now", help="The clock to rank with.")
@click.option("--no-track", is_flag=True, help="The hits do not count as accessed.")
@click.option("--no-record", is_flag=True, help="Write nothing.")
@_common
def recall(
    query: str, k: int, formula: str | None, session: str | None, project: str | None, tags: tuple[str, ...],
    kinds: tuple[str, ...], when: str | None, valid_at: str | None, now: str | None, no_track: bool,
    no_record: bool, store: str, embedder: str, as_json: bool,
) -> None:  # fmt: skip
    """Rank the memories for QUERY, now or as of a moment.

    \b
    Example:
      recollect recall "where are auth sessions stored?" -k 3
      recollect recall "where are auth sessions stored?" --at "2 days ago"
    """
    filters = _given({"project": project, "tags": tags, "kinds": kinds, "valid_at": valid_at})
    options = _given({"formula": formula, "session": session, "now": now})
    with _memory(store, embedder, asked=query) as memory:
        source = memory if when is None else memory.at(when)
        answer = source.recall(
            query, k=k, filters=filters, track=not no_track, record=not no_record, **options
        )
        _show(answer, as_json, "answer")
        if answer.hits and len(answer.hits) < k and was_named("k") and not as_json:
            click.echo(f"{len(answer.hits)} of the {k} asked for were found")


@main.command()
@click.argument("memory_id", metavar="ID", shell_complete=completing.memory_ids)
@click.option("--at", "when", help="As of a seq (@1234), a time, or '2 days ago'.")
@_unembedded
def get(memory_id: str, when: str | None, store: str, as_json: bool) -> None:
    """Show one memory: content and whole state.

    \b
    Example:
      recollect get 0192f0c1… --at @120
    """
    with _memory(store) as memory:
        _show(memory.get(memory_id, at=when), as_json, "memo")


@main.command()
@click.argument("memory_id", metavar="ID", shell_complete=completing.memory_ids)
@click.option("--ranks", "query", metavar="QUERY", help="Its rank over time for this question instead.")
@_common
def history(memory_id: str, query: str | None, store: str, embedder: str, as_json: bool) -> None:
    """Every event that touched a memory, or its rank over time.

    \b
    Example:
      recollect history 0192f0c1…
      recollect history 0192f0c1… --ranks "where are auth sessions stored?"
    """
    with _memory(store, "none" if query is None else embedder) as memory:
        if query is None:
            _show(memory.history(memory_id), as_json, "happenings")
        else:
            from recollect.interfaces.cli.time_travel import show  # noqa: PLC0415 (only for this form of the command)

            show(memory.ranks(memory_id, query), as_json, "ranks")


@main.command()
@click.option("--independent", is_flag=True, help="With rank-bm25 and a brute-force scan instead.")
@_unembedded
def verify(independent: bool, store: str, as_json: bool) -> None:
    """Rank every recorded recall again and compare bit for bit; exit 1 if one differs.

    \b
    Example:
      recollect verify
      recollect verify --independent
    """
    with _memory(store) as memory, progress_bar("verifying") as progress:
        report = memory.verify(independent=independent, progress=progress)
    _show(report, as_json, "verification")
    if not report.exact:
        raise SystemExit(1)


@main.command()
@_common
def status(store: str, embedder: str, as_json: bool) -> None:
    """The store's health and sizes on one screen.

    \b
    Example:
      recollect status --store ./store
    """
    from recollect.engine.embedding.embedder import Elsewhere, EmbedderMismatch  # noqa: PLC0415 (imports wait until needed)

    try:
        with _memory(store, embedder) as memory:
            result = memory.status()
    except EmbedderMismatch as mismatch:
        with _memory(store, Elsewhere(mismatch)) as memory:
            result = memory.status()
    _show(result, as_json, "status")
