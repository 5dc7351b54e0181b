"""The command line: the group, and what all commands share; the commands are in `cli/<topic>.py`.

A command joins through the table in `commands.py`, so that calling one imports no other. Each parses, calls its
Python twin, and renders. Exit status: 0 done, 1 the answer is "no", 2 a usage or input error with one clear line
on stderr, 130 interrupted with one line saying what stays, 141 the reader of the output has gone (`| head`). Heavy
imports wait until a command needs them.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from errno import EDQUOT, EIO, ENOSPC
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import click
import msgspec

from recollect.engine.safe_text import cells, escaped
from recollect.events.errors import RecollectError
from recollect.events.named_files import named_path
from recollect.events.packs.urls import is_url, shown
from recollect.interfaces.cli.commands import Commands, Failure, completed_by, say
from recollect.interfaces.cli.progress import progress_bar
from recollect.interfaces.common.version import __version__

if TYPE_CHECKING:
    from recollect.engine.embedding.embedder import Embedder
    from recollect.interfaces.model_server.client import HelperUse
    from recollect.interfaces.python.memory import Memory

P = ParamSpec("P")
R = TypeVar("R")
Command = Callable[..., Any]
NO_DAEMON = "recollect.no_daemon"
ROWS_AS = "recollect.rows_as"
ALL_PROJECTS = "*"


def _note_no_daemon(context: click.Context, _: click.Parameter, value: bool) -> None:
    context.meta[NO_DAEMON] = value


no_daemon = click.option(
    "--no-daemon",
    is_flag=True,
    envvar="RECOLLECT_NO_DAEMON",
    expose_value=False,
    callback=_note_no_daemon,
    help="Load the model in this process; start no background helper.",
)


def _directory(_: click.Context, __: click.Parameter, value: str) -> str:
    if not value.strip():
        raise click.BadParameter(f"{value!r} names no directory")
    return value


json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
store_option = click.option(
    "--store",
    envvar="RECOLLECT_STORE",
    default="~/.recollect",
    show_default=True,
    type=click.Path(file_okay=False),
    callback=_directory,
    help="The store's directory, or a URL: nats://host:4222/name, s3://bucket/prefix, file:///directory.",
)
embedder_option = click.option(
    "--embedder",
    envvar="RECOLLECT_EMBEDDER",
    default="auto",
    shell_complete=completed_by("embedders"),
    help="minilm, hash, none, st:MODEL_OR_FOLDER or http://host:port/v1?model=NAME; unless told, a store keeps what it has, and a new one takes minilm if installed.",
)
reranker_option = click.option(
    "--reranker",
    help="A cross-encoder's name or folder, or http://host:port/v1?model=NAME, for formulas that rerank.",
)


def with_options(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Several options as one decorator, in this order in the help."""

    def decorate(function: Command) -> Command:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def common_options(function: Command) -> Command:
    """The options that every command takes."""
    return clear_errors(with_options(store_option, embedder_option, no_daemon, json_option)(function))


def store_options(function: Command) -> Command:
    """--store and --json alone, for a command that takes the embedder in its own way or none."""
    return clear_errors(with_options(store_option, json_option)(function))


def options_without_embedder(function: Callable[..., None]) -> Callable[..., None]:
    """The options that every command takes, for one that embeds nothing."""

    @wraps(function)
    def run(*, embedder: str, **options: Any) -> None:
        del embedder
        function(**options)

    return common_options(run)


_NO_ROOM = "; make room there and run it again"
_REMEDIES = {
    ENOSPC: _NO_ROOM,
    EDQUOT: _NO_ROOM,
    EIO: "; the disk failed to read or write it: see dmesg, and `recollect doctor` says what is harmed",
}


def clear_errors(function: Callable[P, R]) -> Callable[P, R]:
    @wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except RecollectError as error:
            raise Failure(str(error)) from None
        except OSError as error:
            if error.errno is None or isinstance(error, BrokenPipeError):
                raise  # a mistake of ours; a reader that has gone, which click takes as the end
            where = (
                f"{click.get_current_context().info_name} failed"
                if error.filename is None
                else error.filename
            )
            if isinstance(error, PermissionError) and error.filename is not None:
                raise Failure(f"no permission for {where}") from None
            raise Failure(f"{where}: {error.strerror}{_REMEDIES.get(error.errno, '')}") from None

    return run


def helper_use() -> HelperUse:
    """Whether this command may start a model helper."""
    return "never" if click.get_current_context().meta.get(NO_DAEMON) else "start"


def project_of(store: str, named: str | None) -> str | None:
    """The project of a command: the named one, or the configured one; '*' means all projects."""
    from recollect.engine.configuration import configured  # noqa: PLC0415 (imports wait until needed)

    project = configured(None if is_url(store) else store)["project"].value if named is None else named
    return None if project == ALL_PROJECTS else project


def embedder_named(name: str) -> Embedder | None:
    """The embedder behind a name, with its model in a helper unless that is not wanted."""
    from recollect.interfaces.model_server.client import choose_embedder  # noqa: PLC0415 (imports wait until needed)

    return choose_embedder(name, helper=helper_use(), tell=say)


class _Say(logging.Handler):
    """Print the engine's warnings as lines of the command."""

    def emit(self, record: logging.LogRecord) -> None:
        say(record.getMessage().removeprefix("recollect: "))


def _is_store(folder: Path) -> bool:
    if not (folder / "log").is_dir():
        from recollect.engine.opening import finish_swap  # noqa: PLC0415 (imports wait until needed)

        finish_swap(folder)
    return (folder / "log").is_dir()


@contextmanager
def open_memory(
    store: str,
    embedder: str | Embedder = "none",
    *,
    ahead: bool = False,
    make: bool = False,
    **options: Any,
) -> Iterator[Memory]:
    """Open a store; create it only with `make`, so that a mistyped path is not an empty store.

    With `ahead` a thread loads what a question needs. Note damage to its log after an answer, but not after an error.
    """
    if not make and not is_url(store) and not _is_store(named_path(store)):
        raise Failure(f"there is no store at {shown(store)}; `recollect remember` makes one")
    from recollect.interfaces.python.memory import Memory  # noqa: PLC0415 (imports wait until needed)

    logging.getLogger("recollect").handlers = [_Say()]
    with progress_bar("opening") as progress:
        memory = Memory.open(
            store,
            embedder=embedder,
            progress=progress,
            ahead=ahead and embedder != "none",
            helper=helper_use(),
            tell=say,
            **options,
        )
    with memory:
        if not make and is_url(store) and not memory.store.log.head:
            raise Failure(f"there is no store at {shown(store)}; `recollect remember` makes one")
        note = memory.store.damage_note
        if note and make:  # it may run for long
            say(note)
        try:
            yield memory
            if note and not make:
                say(note)
        except KeyboardInterrupt as stop:
            head = f"the store is whole, its head is @{memory.store.log.head}"
            raise KeyboardInterrupt(*stop.args, head) from None


def row_options(function: Command) -> Command:
    """--csv, --tsv and --nl, for a command that gives rows."""

    def note(context: click.Context, option: click.Parameter, chosen: bool) -> None:
        if chosen:
            context.meta[ROWS_AS] = option.name

    for name, says in (
        ("nl", "Print one JSON object a line."),
        ("tsv", "Print rows separated by tabs."),
        ("csv", "Print rows as CSV."),
    ):
        option = click.option(f"--{name}", is_flag=True, expose_value=False, callback=note, help=says)
        function = option(function)
    return function


def rows_wanted() -> str | None:
    """The form of rows that the command was told to print, if it was: csv, tsv or nl."""
    return click.get_current_context().meta.get(ROWS_AS)


def whole_texts(as_json: bool) -> bool:
    """Whether to print texts whole: for a program or a pipe."""
    from recollect.interfaces.cli.render.common import draws  # noqa: PLC0415 (imports wait until needed)

    return as_json or rows_wanted() is not None or not draws()


def show(value: object, as_json: bool, render: str) -> None:
    """Print a result as JSON, as rows, or by a function of a module in `render/`, such as "compare.drilldown"."""
    form = rows_wanted()
    if form is not None:
        from recollect.interfaces.cli.rows import as_rows  # noqa: PLC0415 (imports wait until needed)

        rows = as_rows(value, form)
        told = shown_json(rows) if form == "nl" else shown_rows(rows)
        click.echo(told, nl=False, color=True)  # else click takes escape sequences out
        return
    if as_json:
        click.echo(to_json(value))
        return
    module, _, function = render.rpartition(".")
    getattr(import_module(f"recollect.interfaces.cli.render.{module or 'common'}"), function)(value)


def to_json(value: object) -> str:
    """A result as JSON; a table of SQL as rows, with what JSON has no word for as text."""
    encoded = (
        msgspec.json.encode(value.dicts(), enc_hook=str)
        if hasattr(value, "dicts")
        else msgspec.json.encode(value)
    )
    return shown_json(msgspec.json.format(encoded, indent=2).decode())


def shown_json(document: str) -> str:
    """JSON as it is for a program; for a terminal the same with escapes in place of what that would obey."""
    return escaped(document) if sys.stdout.isatty() else document


def shown_rows(rows: str) -> str:
    """Rows as they are for a program; for a terminal with what that would obey spelled out."""
    return cells(rows) if sys.stdout.isatty() else rows


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="recollect")
def main() -> None:
    """An event-sourced memory for AI agents: any past ranking can be replayed exactly.

    \b
    Example:
      recollect remember "Auth sessions live in Postgres, not Redis" --kind decision
      recollect recall "where are auth sessions stored?"
      recollect verify
    """


def given_only(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value not in (None, ())}
