"""The commands that explain: why, why-not, and the formulas that answers come from."""

from __future__ import annotations

import sys
from importlib import resources

import click

from recollect.engine.safe_text import block, inline, visible
from recollect.events.regular_files import read_whole
from recollect.events.toml_file import TOML_BYTES_MAX
from recollect.interfaces.cli.app import (
    clear_errors,
    json_option,
    main,
    open_memory,
    options_without_embedder,
    show,
    to_json,
)
from recollect.interfaces.cli.commands import Failure, completed_by
from recollect.query.formula import Formula, InvalidFormula, built_in, load, names, parse


@main.command()
@click.argument("recall")
@click.argument("memory_id", metavar="ID", shell_complete=completed_by("memory_ids"))
@options_without_embedder
def why(recall: str, memory_id: str, store: str, as_json: bool) -> None:
    """Why a memory ranked where it did in a recorded recall, replayed.

    \b
    Example:
      recollect why r11 0192f0c1…
    """
    with open_memory(store) as memory:
        show(memory.why(recall, memory_id), as_json, "explanation.explanation")


@main.command("why-not")
@click.argument("recall")
@click.argument("memory_id", metavar="ID", shell_complete=completed_by("memory_ids"))
@options_without_embedder
def why_not(recall: str, memory_id: str, store: str, as_json: bool) -> None:
    """Why a memory was not in a recorded answer: where it was lost, what it had and what it needed.

    \b
    Example:
      recollect why-not r11 0192f0c1…
    """
    with open_memory(store) as memory:
        show(memory.why_not(recall, memory_id), as_json, "explanation.explanation")


@main.group(invoke_without_command=True)
@json_option
@click.pass_context
def formulas(context: click.Context, as_json: bool) -> None:
    """The built-in formulas; `show` prints one, `check` reads one of yours.

    \b
    Example:
      recollect formulas
      recollect formulas show reverie > mine.toml
      recollect formulas check mine.toml
    """
    if context.invoked_subcommand is None:
        _list(as_json)


def _list(as_json: bool) -> None:
    found = [_summary(built_in(name)) for name in names()]
    if as_json:
        click.echo(to_json(found))
        return
    for summary in found:
        click.echo(f"{summary['name']:<16} {summary['description']}\n{'':<16} from {summary['source']}")


def _summary(formula: Formula) -> dict[str, object]:
    return {
        "name": formula.name,
        "description": formula.description,
        "source": formula.source,
        "digest": formula.digest,
        "stages": len(formula.stages),
    }


@formulas.command("show")
@click.argument("name", shell_complete=completed_by("formulas"))
@json_option
@clear_errors
def print_formula(name: str, as_json: bool) -> None:
    """Print a formula as it is written, with its notes: a start for one of your own.

    \b
    Example:
      recollect formulas show reverie > mine.toml
    """
    formula, text = load(name), _text(name)
    if as_json:
        click.echo(to_json({**_summary(formula), "text": text}))
    else:
        click.echo(visible(text) if sys.stdout.isatty() else text, nl=False)


def _text(name: str) -> str:
    """The TOML text of a built-in formula or of a file."""
    file = resources.files("recollect.query.formulas").joinpath(f"{name}.toml")
    if file.is_file():
        return file.read_text("utf-8")
    return read_whole(name, bytes_max=TOML_BYTES_MAX, follow=True).decode()


@formulas.command()
@click.argument("file")
@json_option
@clear_errors
def check(file: str, as_json: bool) -> None:
    """Say whether a formula can be used, or what is wrong and where; exit 1 if it cannot.

    \b
    Example:
      recollect formulas check mine.toml
    """
    try:
        text = _text(file)
    except (OSError, UnicodeDecodeError) as error:
        raise Failure(f"{file} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    try:
        formula = parse(text, origin=file)
    except InvalidFormula as error:
        click.echo(to_json({"ok": False, "problem": error.problem}) if as_json else block(str(error)))
        raise SystemExit(1) from None
    if as_json:
        click.echo(to_json({"ok": True, **_summary(formula)}))
    else:
        click.echo(f"OK  {inline(formula.label)}, {len(formula.stages)} stages")
