"""The commands that carry memories in and out: import, export."""

from __future__ import annotations

import click

from recollect.engine.safe_text import inline
from recollect.events.named_files import named_path
from recollect.events.packs.urls import is_url
from recollect.interfaces.cli.app import common_options, main, open_memory, options_without_embedder, show
from recollect.interfaces.cli.progress import progress_bar
from recollect.interfaces.files.format_detection import FOLDER, LOG, format_of

_EXPORTS = ("jsonl", "parquet", "markdown")
_IMPORTING = {"log": "importing", "mem0": "importing rows"}


@main.command("export")
@click.argument("path", type=click.Path())
@click.option("--format", "format_", type=click.Choice(_EXPORTS), help="By the path if not given.")
@click.option("--at", "when", help="Markdown as of a seq (@1234), a time, or '2 days ago'.")
@click.option(
    "--overwrite",
    is_flag=True,
    help="Replace what exists; of Markdown pages also those that were edited.",
)
@click.option(
    "--with-shards",
    is_flag=True,
    help="Put the log's vector indexes beside it (PATH.shards/), for machines that cannot build them.",
)
@options_without_embedder
def export_(
    path: str, format_: str | None, when: str | None, overwrite: bool, with_shards: bool, store: str, as_json: bool
) -> None:  # fmt: skip
    """Write the log as JSON lines, its tables as Parquet, or the memories as Markdown.

    PATH.jsonl is the log, a directory its tables; --format markdown makes a directory of pages, one per memory.

    \b
    Example:
      recollect export backup.jsonl
      recollect export backup.jsonl --with-shards
      recollect export tables/
      recollect export pages/ --format markdown --at "2 days ago"
    """
    with open_memory(store, "none") as memory, progress_bar("exporting") as progress:
        result = memory.export(
            path, format=format_, at=when, overwrite=overwrite, with_shards=with_shards, progress=progress
        )
    show(result, as_json, "files.exported")


@main.command("import")
@click.argument("path", type=click.Path())
@click.option("--from", "format_", metavar="FORMAT", help="By the content if not given; one of those above.")
@click.option(
    "--map", "mapping", default="", metavar="FIELD=COLUMN,…", help="Columns of plain JSONL and CSV."
)
@click.option("--namespace", help="What ids begin with; the format, or the name of a table.")
@click.option(
    "--include", multiple=True, metavar="WHAT", help="claude-code: thinking, tools or sidechains as well."
)
@click.option("--strict", is_flag=True, help="Stop at the first entry that cannot be read.")
@click.option("--dry-run", is_flag=True, help="Say what would be written, and write nothing.")
@common_options
def import_(
    path: str, format_: str | None, mapping: str, namespace: str | None, include: tuple[str, ...], strict: bool,
    dry_run: bool, store: str, embedder: str, as_json: bool,
) -> None:  # fmt: skip
    """Take memories from a file or folder of another program, or an exported log.

    FORMAT is log (what `export` wrote), jsonl, csv, claude-code, claude, chatgpt, mem0, basic-memory,
    recollect-markdown or folder (each file of it in its own format; files that are passed over are reported). Importing
    again writes only what is new or changed.

    \b
    Example:
      recollect import backup.jsonl --store ./copy
      recollect import ~/.claude/projects
      recollect import ~/Downloads/exports --dry-run
      recollect import conversations.zip --dry-run
      recollect import notes.csv --map content=body,at=written,id=number
    """
    kind = format_of(named_path(path), format_)
    if format_ is None and kind != LOG and not as_json:
        said = "holds files of several programs, or tables" if kind == FOLDER else f"looks like {kind}"
        click.echo(f"{inline(path)} {said}", err=True)
    if dry_run and not is_url(store) and not named_path(store).is_dir():
        store = ":memory:"
    used = "none" if kind == LOG or dry_run else embedder
    with (
        open_memory(store, used, make=True) as memory,
        progress_bar(_IMPORTING.get(kind, "importing bytes")) as progress,
    ):
        result = memory.import_(
            path, format=format_, mapping=mapping, namespace=namespace, include=include, strict=strict,
            dry_run=dry_run, progress=progress,
        )  # fmt: skip
    show(result, as_json, "files.imported")
    if result.nothing_could_be_read:
        click.echo(
            f"recollect: nothing of {inline(path)} could be read as {kind}; is it another format (--from)?",
            err=True,
        )
        raise SystemExit(1)
