"""The command line: a table of commands; each parses, calls its Python twin, and renders.

Exit status: 0 done, 1 the answer is "no", 2 a usage or input error with one clear line on stderr.
Heavy imports wait until a command needs them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import click

from recollect import __version__

if TYPE_CHECKING:
    from recollect.memory import Memory
    from recollect.store import Progress

P = ParamSpec("P")
R = TypeVar("R")
Command = Callable[..., Any]


class Failure(click.ClickException):
    """One clear line on stderr."""

    exit_code = 2

    def show(self, file: Any = None) -> None:  # noqa: ARG002 (click's signature)
        click.echo(f"recollect: {self.message}", err=True)


def _common(function: Command) -> Command:
    """The options that every command takes."""
    for option in (
        click.option("--json", "as_json", is_flag=True, help="Print one JSON document."),
        click.option(
            "--embedder",
            envvar="RECOLLECT_EMBEDDER",
            default="minilm",
            show_default=True,
            help="minilm, hash or none.",
        ),
        click.option(
            "--store",
            envvar="RECOLLECT_STORE",
            default="~/.recollect",
            show_default=True,
            help="The store's directory.",
        ),
    ):
        function = option(function)
    return _clear_errors(function)


def _clear_errors(function: Callable[P, R]) -> Callable[P, R]:
    @wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        from recollect.events.errors import RecollectError  # noqa: PLC0415 (imports wait until needed)

        try:
            return function(*args, **kwargs)
        except RecollectError as error:
            raise Failure(str(error)) from None
        except PermissionError as error:
            raise Failure(f"no permission for {error.filename}") from None

    return run


@contextmanager
def _memory(store: str, embedder: str, **options: Any) -> Iterator[Memory]:
    from recollect.memory import Memory  # noqa: PLC0415

    with progress_bar("opening") as progress:
        memory = Memory.open(
            store, embedder=None if embedder == "none" else embedder, progress=progress, **options
        )
    with memory:
        yield memory


@contextmanager
def progress_bar(label: str) -> Iterator[Progress]:
    """A bar on stderr that appears only if the work takes longer than a moment, and only on a terminal."""
    from recollect.render import progress  # noqa: PLC0415

    with progress(label) as report:
        yield report


def _show(value: object, as_json: bool, render: str) -> None:
    from recollect import render as renderers  # noqa: PLC0415

    if as_json:
        click.echo(renderers.to_json(value))
    else:
        getattr(renderers, render)(value)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="recollect")
def main() -> None:
    """An event-sourced memory for AI agents: any past ranking can be replayed exactly.

    \b
    Example:
      recollect remember "Auth sessions live in Postgres, not Redis" --kind decision
      recollect recall "where are auth sessions stored?"
      recollect verify
    """


_STORED = (
    click.option("--kind", help="note, decision, preference, bug, …"),
    click.option("--importance", type=float, help="0 to 1."),
    click.option("--priority", type=int, help="1 to 5."),
    click.option("--tag", "tags", multiple=True, help="May be repeated."),
    click.option("--entity", "entities", multiple=True, help="May be repeated."),
    click.option("--project"),
    click.option("--session"),
    click.option("--source"),
    click.option("--at", "at", help="When it happened: ISO 8601 or '2 days ago'."),
    click.option("--valid-from"),
    click.option("--valid-to"),
    click.option("--expires-at"),
    click.option("--importance-tag", help="Resists forgetting."),
    click.option("--key", help="Topic key."),
)


def _stored_options(function: Command) -> Command:
    for option in reversed(_STORED):
        function = option(function)
    return function


def _given(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value not in (None, ())}


@main.command()
@click.argument("text")
@click.option("--id", "id_", help="Known id: a new version of that memory.")
@_stored_options
@_common
def remember(text: str, id_: str | None, store: str, embedder: str, as_json: bool, **fields: Any) -> None:
    """Keep TEXT (or standard input for -).

    \b
    Example:
      recollect remember "Deploys happen on Tuesdays" --kind decision --tag ops
    """
    content = sys.stdin.read() if text == "-" else text
    with _memory(store, embedder) as memory:
        memory_id = memory.remember(content, id=id_, **_given(fields))
        _show({"id": memory_id, "head": memory.status().head}, as_json, "remembered")


@main.command()
@click.argument("memory_id", metavar="ID")
@click.argument("text", required=False)
@_stored_options
@_common
def revise(memory_id: str, text: str | None, store: str, embedder: str, as_json: bool, **fields: Any) -> None:
    """Give a memory a new version.

    \b
    Example:
      recollect revise 0192f0c1… "Deploys happen on Wednesdays" --importance 0.9
    """
    changes = _given(fields)
    if text is not None:
        changes["content"] = sys.stdin.read() if text == "-" else text
    with _memory(store, embedder) as memory:
        _show({"id": memory_id, "revision_count": memory.revise(memory_id, **changes)}, as_json, "revised")


@main.command()
@click.argument("query")
@click.option("-k", default=10, show_default=True, help="How many hits.")
@click.option("--formula", help="A built-in formula's name or the path of a TOML file.")
@click.option("--session")
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
    with _memory(store, embedder) as memory:
        source = memory.at(when) if when else memory
        answer = source.recall(
            query, k=k, filters=filters, track=not no_track, record=not no_record, **options
        )
        _show(answer, as_json, "answer")


@main.command()
@click.argument("memory_id", metavar="ID")
@click.option("--at", "when", help="As of a seq (@1234), a time, or '2 days ago'.")
@_common
def get(memory_id: str, when: str | None, store: str, embedder: str, as_json: bool) -> None:
    """Show one memory: content and whole state.

    \b
    Example:
      recollect get 0192f0c1… --at @120
    """
    with _memory(store, embedder) as memory:
        _show(memory.get(memory_id, at=when), as_json, "memo")


@main.command()
@click.argument("memory_ids", metavar="ID…", nargs=-1, required=True)
@click.option("--session")
@click.option("--how", type=click.Choice(["returned", "injected", "used"]), default="used", show_default=True)
@click.option("--recall", "recall_id", help="The recall that they came from.")
@_common
def access(
    memory_ids: tuple[str, ...], session: str | None, how: str, recall_id: str | None, store: str,
    embedder: str, as_json: bool,
) -> None:  # fmt: skip
    """Say that memories were read.

    \b
    Example:
      recollect access 0192f0c1… --how used --session monday
    """
    with _memory(store, embedder) as memory:
        seq = memory.access(memory_ids, session, how, recall=recall_id)
        _show({"seq": seq}, as_json, "written")


@main.command()
@click.argument("memory_id", metavar="ID")
@click.option("--reason", default="", help="Why.")
@_common
def forget(memory_id: str, reason: str, store: str, embedder: str, as_json: bool) -> None:
    """Forget a memory softly; `restore` brings it back.

    \b
    Example:
      recollect forget 0192f0c1… --reason "we moved to Redis after all"
    """
    with _memory(store, embedder) as memory:
        _show({"seq": memory.forget(memory_id, reason)}, as_json, "written")


@main.command()
@click.argument("memory_id", metavar="ID")
@click.option("--reason", default="", help="Why.")
@_common
def restore(memory_id: str, reason: str, store: str, embedder: str, as_json: bool) -> None:
    """Bring a forgotten memory back.

    \b
    Example:
      recollect restore 0192f0c1…
    """
    with _memory(store, embedder) as memory:
        _show({"seq": memory.restore(memory_id, reason)}, as_json, "written")


@main.command()
@click.argument("memory_id", metavar="ID")
@click.option("--ranks", "query", metavar="QUERY", help="Its rank over time for this question instead.")
@_common
def history(memory_id: str, query: str | None, store: str, embedder: str, as_json: bool) -> None:
    """Every event that touched a memory, or its rank over time.

    \b
    Example:
      recollect history 0192f0c1…
      recollect history 0192f0c1… --ranks "where are auth sessions stored?"
    """
    with _memory(store, embedder) as memory:
        if query is None:
            _show(memory.history(memory_id), as_json, "happenings")
        else:
            cli_travel.show(memory.ranks(memory_id, query), as_json, "ranks")


@main.command()
@click.option("--independent", is_flag=True, help="With rank-bm25 and a brute-force scan instead.")
@_common
def verify(independent: bool, store: str, embedder: str, as_json: bool) -> None:
    """Rank every recorded recall again and compare bit for bit; exit 1 if one differs.

    \b
    Example:
      recollect verify
      recollect verify --independent
    """
    with _memory(store, embedder) as memory, progress_bar("verifying") as progress:
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
    if not Path(store).expanduser().is_dir():
        raise Failure(f"there is no store at {store}; `recollect remember` makes one")
    with _memory(store, embedder) as memory:
        _show(memory.status(), as_json, "status")


from recollect import cli_compare, cli_dream, cli_explain, cli_relate, cli_travel  # noqa: E402, F401 (their commands join `main`)
