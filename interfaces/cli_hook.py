"""The command that Claude Code runs before each prompt: hook."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from recollect.cli import _common, embedder_named, main, was_named
from recollect.commands import AtOnce

if TYPE_CHECKING:
    from recollect.embedder import Embedder
    from recollect.memory import Memory


class _Mistyped(click.UsageError):
    exit_code = 1


class _NeverBlocking(click.Command):
    """Claude Code shows what a hook says and goes on, unless its exit status is 2: then the prompt is lost."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            raise _Mistyped(error.format_message(), error.ctx) from None


@main.command(cls=_NeverBlocking)
@click.option("--prompt", help="Try it with this prompt instead of reading a hook's JSON.")
@click.option("-k", default=5, show_default=True, help="How many memories at most.")
@click.option(
    "--max-tokens", default=1_500, show_default=True, help="Budget of the memories, 4 characters a token."
)
@click.option("--timeout", "seconds", default=2.0, show_default=True, help="Give up after so many seconds.")
@click.option("--project", help="Only memories of this project.")
@_common
def hook(
    prompt: str | None, k: int, max_tokens: int, seconds: float, project: str | None, store: str, embedder: str,
    as_json: bool,
) -> None:  # fmt: skip
    """Memories for a prompt, as Claude Code's UserPromptSubmit hook wants them.

    Reads the hook's JSON on standard input and prints JSON. Whatever goes wrong is a note on standard error; the
    exit status is 0, and 1 for an unknown option: a prompt is never blocked.

    \b
    Example:
      recollect hook --prompt "where are auth sessions stored?"
    """
    del as_json  # the output is JSON either way
    from recollect.agents import hook as hooks  # noqa: PLC0415 (imports wait until needed)

    try:
        given = hooks.Prompted(prompt=prompt) if prompt is not None else hooks.read(sys.stdin.buffer.read())
        limits = hooks.Limits(k=k, tokens_max=max_tokens, seconds_max=seconds)
        if given.prompt.strip() and Path(store).expanduser().is_dir():
            opening = partial(_open, store, embedder_named(embedder), yielding=not was_named("embedder"))
            click.echo(hooks.inject(opening, given, limits, project), nl=False)
    except hooks.TooSlow as error:
        click.echo(f"recollect hook: {error}", err=True)
        raise AtOnce(0) from None
    except Exception as error:  # noqa: BLE001 (whatever it is, it must not block the prompt)
        click.echo(f"recollect hook: {error}; nothing was injected", err=True)


def _open(store: str, embedder: str | Embedder | None, *, yielding: bool) -> Memory:
    from recollect.memory import Memory  # noqa: PLC0415

    return Memory.open(store, embedder=embedder, actor="hook", yielding=yielding)
