"""The command that Claude Code runs at its hooks: hook."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from recollect.engine.safe_text import inline
from recollect.engine.validate import QUERY_CHARACTERS_MAX, optional_identifier
from recollect.events.errors import InvalidInput
from recollect.events.named_files import named_path
from recollect.events.packs.urls import is_url
from recollect.interfaces.cli.app import common_options, helper_use, main, project_of
from recollect.interfaces.cli.commands import AtOnce
from recollect.interfaces.cli.standard_input import standard_input
from recollect.interfaces.mcp import hook as prompt_hook

if TYPE_CHECKING:
    from recollect.interfaces.model_server.client import HelperUse
    from recollect.interfaces.python.memory import Memory

_SECONDS_MAX = 3_600.0
_INPUT_BYTES_MAX = 1 << 25


class _Mistyped(click.UsageError):
    exit_code = 1


class _NeverBlocking(click.Command):
    """Exit with 1 for a wrong option: Claude Code drops the prompt if a hook exits with 2."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            raise _Mistyped(error.format_message(), error.ctx) from None


def _seconds(_: click.Context, __: click.Parameter, value: float) -> float:
    if not math.isfinite(value) or not 0.0 < value <= _SECONDS_MAX:
        raise click.BadParameter(
            f"{value:g} is not a time to wait; give seconds above 0, at most {_SECONDS_MAX:g}"
        )
    return value


def _share(_: click.Context, __: click.Parameter, value: float) -> float:
    if not 0.0 <= value <= 1.0:
        raise click.BadParameter(f"{value:g} is not a share; give a number from 0 to 1")
    return value


@main.command(cls=_NeverBlocking)
@click.option("--prompt", help="Try it with this prompt instead of reading a hook's JSON.")
@click.option(
    "-k", type=click.IntRange(min=1), default=5, show_default=True, help="How many memories at most."
)
@click.option(
    "--max-tokens",
    type=click.IntRange(min=1),
    default=1_500,
    show_default=True,
    help="Budget of the memories, 4 characters a token.",
)
@click.option(
    "--min-share",
    default=0.3,
    show_default=True,
    callback=_share,
    help="Leave out what scores below this share of the best; 0 leaves in all.",
)
@click.option(
    "--timeout",
    "seconds",
    default=2.0,
    show_default=True,
    callback=_seconds,
    help="Give up after so many seconds.",
)
@click.option(
    "--project",
    help="Only memories of this project; else those of the folder's repository (cwd) and of no project.",
)
@common_options
def hook(
    prompt: str | None, k: int, max_tokens: int, min_share: float, seconds: float, project: str | None, store: str,
    embedder: str, as_json: bool,
) -> None:  # fmt: skip
    """Memories for a prompt or a new session, as Claude Code's hooks want them.

    Reads the JSON of the hook UserPromptSubmit, SessionStart or Stop on standard input. Prints JSON; for Stop it
    prints nothing and records which memories were used. A failure is a note on standard error; the exit status is 0, or 1
    for a wrong option, so that a prompt is never blocked. A command such as /clear is passed over.

    \b
    Example:
      recollect hook --prompt "where are auth sessions stored?"
    """
    del as_json  # the output is JSON either way
    try:
        given = (
            prompt_hook.HookInput(prompt=prompt)
            if prompt is not None
            else prompt_hook.run_within(seconds, _given)
        )
        limits = prompt_hook.Limits(k=k, tokens_max=max_tokens, seconds_max=seconds, share_min=min_share)
        project = project_of(store, project)
        optional_identifier(project, "project")
        scope = prompt_hook.scope_of(project, given.cwd)
        passed_over = given.hook_event_name == prompt_hook.EVENT and not prompt_hook.is_question(given.prompt)
        if not passed_over and _is_there(store):
            opening = partial(_open, store, embedder, helper=helper_use())
            click.echo(_printed(opening, given, limits, scope), nl=False)
    except prompt_hook.TooSlow as error:
        click.echo(f"recollect hook: {error}", err=True)
        raise AtOnce(0) from None
    except Exception as error:  # noqa: BLE001 (no failure may block the prompt)
        click.echo(f"recollect hook: {inline(str(error))}; nothing was injected", err=True)


def _given() -> prompt_hook.HookInput:
    """The JSON on standard input, which is whole when that is closed."""
    advice = "that is no hook's JSON, see docs/agents.md"
    return prompt_hook.read(standard_input(bytes_max=_INPUT_BYTES_MAX, advice=advice))


def _printed(
    opening: Callable[[], Memory], given: prompt_hook.HookInput, limits: prompt_hook.Limits, scope: Mapping[str, object]
) -> str:  # fmt: skip
    if given.hook_event_name == prompt_hook.EVENT:
        if (length := len(given.prompt)) > QUERY_CHARACTERS_MAX:
            note = f"the first {QUERY_CHARACTERS_MAX:,} of the prompt's {length:,} characters were asked with"
            click.echo(f"recollect hook: {note}", err=True)
        return prompt_hook.inject(opening, given, limits, scope)
    from recollect.interfaces.mcp import session_hooks  # noqa: PLC0415 (a prompt needs none of it)

    if given.hook_event_name == "Stop":
        return session_hooks.stop(opening, given, limits)
    return session_hooks.start(opening, given, limits, scope)


def _is_there(store: str) -> bool:
    """Whether there is a store to ask; the default one exists only after the first memory."""
    folder = named_path(store)
    if is_url(store) or folder.is_dir():
        return True
    if click.get_current_context().get_parameter_source("store") is not ParameterSource.DEFAULT:
        raise InvalidInput(f"there is no store at {folder}")
    return False


def _open(store: str, embedder: str, *, helper: HelperUse) -> Memory:
    from recollect.interfaces.python.memory import Memory  # noqa: PLC0415

    return Memory.open(store, embedder=embedder, actor="hook", helper=helper)
