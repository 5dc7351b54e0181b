"""The commands about formulas: list, show, check, reference."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from recollect.engine.formula_lookup import extendable, formula_named
from recollect.engine.safe_text import block, inline, visible
from recollect.events.named_files import named_path, read_named
from recollect.events.packs.urls import is_url
from recollect.events.toml_file import TOML_BYTES_MAX
from recollect.interfaces.cli import app
from recollect.interfaces.cli.app import (
    clear_errors,
    json_option,
    main,
    open_memory,
    store_options,
    to_json,
)
from recollect.interfaces.cli.commands import Failure, completed_by
from recollect.query.flat_formula import flat_toml
from recollect.query.formula import (
    Formula,
    InvalidFormula,
    built_in,
    built_in_named,
    built_in_text,
    names,
    parse,
)
from recollect.query.formula_extension import NotExtended


@main.group(invoke_without_command=True)
@json_option
@click.pass_context
def formulas(context: click.Context, as_json: bool) -> None:
    """The built-in formulas; `show` prints one, `check` reads one of yours, `reference` lists all there is.

    \b
    Example:
      recollect formulas
      recollect formulas show reverie > mine.toml
      recollect formulas check mine.toml
      recollect formulas reference
    """
    if context.invoked_subcommand is None:
        app.show([_summary(built_in(name)) for name in names()], as_json, "formulas")


def _summary(formula: Formula) -> dict[str, object]:
    return {
        "name": formula.name,
        "description": formula.description,
        "source": formula.source,
        "digest": formula.digest,
        "stages": len(formula.stages),
        "labels": formula.labels,
    }


@formulas.command("show")
@click.argument("name", shell_complete=completed_by("formulas"))
@click.option(
    "--flat", is_flag=True, help="All that it means: what it extends, every label, default and version."
)
@store_options
def print_formula(name: str, flat: bool, store: str, as_json: bool) -> None:
    """Print a formula as it is written, with its notes: a start for one of your own.

    NAME is a built-in formula, a file (mine means mine.toml), or one that the store's log holds. With --flat it is printed
    whole; the digest is that of the whole.

    \b
    Example:
      recollect formulas show reverie > mine.toml
      recollect formulas show mine --flat
    """
    formula, text = _read(name, store)
    if flat or text is None:
        text = flat_toml(formula)
    if as_json:
        click.echo(to_json({**_summary(formula), "text": text}))
    else:
        click.echo(visible(text) if sys.stdout.isatty() else text, nl=False)


def _read(name: str, store: str) -> tuple[Formula, str | None]:
    """A formula and its text as it was written, None for one that only the log has."""
    file = _file(name)
    if name in names():
        return built_in(name), built_in_text(name)
    if file is None:
        with open_memory(store) as memory:
            return formula_named(memory.store, name, files=False), None
    text = _file_text(file)
    return _parsed(text, file, store), text


def _file(name: str) -> str | None:
    """The file that a name means: a path, or `mine` for mine.toml if that exists."""
    if name.endswith(".toml") or "/" in name:
        return name
    return f"{name}.toml" if Path(f"{name}.toml").is_file() else None


def _file_text(file: str) -> str:
    try:
        return read_named(file, bytes_max=TOML_BYTES_MAX).decode()
    except (OSError, UnicodeDecodeError) as error:
        raise Failure(f"{file} cannot be read: {getattr(error, 'strerror', None) or error}") from None


def _parsed(text: str, origin: str, store: str) -> Formula:
    """A formula of a file; the store is opened if it extends one of its log."""

    def find(named: str) -> Formula:
        try:
            return built_in_named(named)
        except NotExtended:
            if not is_url(store) and not (named_path(store) / "log").is_dir():
                raise
        with open_memory(store) as memory:
            return extendable(memory.store.view().adoptions, named)

    return parse(text, origin=origin, find=find)


@formulas.command()
@click.argument("file")
@store_options
def check(file: str, store: str, as_json: bool) -> None:
    """Say whether a formula can be used, or what is wrong and where; exit 1 if it cannot.

    \b
    Example:
      recollect formulas check mine.toml
    """
    text = built_in_text(file) if file in names() else _file_text(_file(file) or file)
    try:
        formula = _parsed(text, _file(file) or file, store)
    except InvalidFormula as error:
        click.echo(to_json({"ok": False, "problem": error.problem}) if as_json else block(str(error)))
        raise SystemExit(1) from None
    if as_json:
        click.echo(to_json({"ok": True, **_summary(formula)}))
    else:
        click.echo(f"OK  {inline(formula.label)}, {len(formula.stages)} stages")


@formulas.command()
@click.argument("word", required=False)
@json_option
@clear_errors
def reference(word: str | None, as_json: bool) -> None:
    """All that a formula may say: operations, factors, parameters with range and default, inputs, dials, analyzers.

    With WORD only what has that name.

    \b
    Example:
      recollect formulas reference
      recollect formulas reference recency_boost
    """
    from recollect.query import formula_reference  # noqa: PLC0415 (imports wait until needed)

    found = formula_reference.reference(word)
    click.echo(to_json(found) if as_json else formula_reference.text(found), nl=as_json)
