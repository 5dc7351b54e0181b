"""The commands about the processes that keep a model loaded: helper status, helper stop."""

from __future__ import annotations

import click

from recollect.interfaces.cli.app import clear_errors, json_option, main, to_json
from recollect.interfaces.cli.render.common import size
from recollect.interfaces.model_server.running import FoundHelper, helpers, stop_helpers


@main.group(invoke_without_command=True)
@json_option
@click.pass_context
@clear_errors
def helper(context: click.Context, as_json: bool) -> None:
    """The model helpers: `status` shows them, `stop` ends them.

    A helper keeps one model loaded for all programs of this user, and ends after ten idle minutes
    (RECOLLECT_WARM_MINUTES). Together they hold at most half of this machine's memory (RECOLLECT_HELPER_MEMORY=2GB): the
    one that was idle for longest makes room. One that does not answer within two seconds is avoided for a minute.

    \b
    Example:
      recollect helper status
      recollect helper stop
    """
    if context.invoked_subcommand is None:
        _show(helpers(), as_json)


@helper.command()
@json_option
@clear_errors
def status(as_json: bool) -> None:
    """Which models are loaded, by which process, and how much memory they hold.

    \b
    Example:
      recollect helper status --json
    """
    _show(helpers(), as_json)


@helper.command()
@json_option
@clear_errors
def stop(as_json: bool) -> None:
    """End all helpers; one that does not answer is killed. Exit 1 if one is still there.

    \b
    Example:
      recollect helper stop
    """
    found = stop_helpers()
    _show(found, as_json)
    if not all(one.stopped for one in found):
        raise SystemExit(1)


def _show(found: list[FoundHelper], as_json: bool) -> None:
    if as_json:
        click.echo(to_json(found))
        return
    for one in found:
        state = "stopped" if one.stopped else one.state
        limit = f" of {size(one.memory_bytes_max)}" if one.memory_bytes_max else ""
        used = (
            f"  idle {one.idle_minutes:.0f} of {one.idle_minutes_max:g} min  {size(one.memory_bytes)}{limit}"
        )
        click.echo(f"pid {one.pid}  {one.model}  {state}{used if one.idle_minutes_max else ''}")
    if not found:
        click.echo("no model helper is running")
