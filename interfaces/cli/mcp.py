"""The command that serves a store to agents: mcp."""

from __future__ import annotations

import json
import logging
import sys

import click
from click.core import ParameterSource

from recollect.interfaces.cli.app import common_options, helper_use, main, project_of, reranker_option
from recollect.interfaces.mcp import http, stdio
from recollect.interfaces.mcp.lazy_store import LazyStore, opener
from recollect.interfaces.mcp.profiles import tools_of
from recollect.interfaces.mcp.tool import Scope


@main.command()
@click.option(
    "--profile",
    type=click.Choice(["default", "audit"]),
    default="default",
    show_default=True,
    help="The tools that agents need, or those that audit as well.",
)
@click.option(
    "--http",
    "address",
    metavar="[HOST:PORT]",
    is_flag=False,
    flag_value="",
    help="Streamable HTTP instead of stdio.",
)
@click.option(
    "--token", envvar="RECOLLECT_TOKEN", help="For --http: needed unless bound to the loopback interface."
)
@click.option(
    "--dream-every", help="Dream whenever this much time has passed and something is new: 24h, 90m."
)
@click.option(
    "--project", help="Memories are kept under it and recalled from it, unless a call says otherwise."
)
@click.option("--session", help="The session of calls that name none.")
@click.option("--list-tools", is_flag=True, help="Print the tools of the profile and exit.")
@reranker_option
@common_options
def mcp(
    profile: str, address: str | None, token: str | None, dream_every: str | None, project: str | None,
    session: str | None, list_tools: bool, reranker: str | None, store: str, embedder: str, as_json: bool,
) -> None:  # fmt: skip
    """Serve the store to agents over the Model Context Protocol.

    Over standard input and output, for the client that starts it, until that closes them; or over HTTP, at /mcp.
    Logs go to standard error.

    \b
    Example:
      recollect mcp
      recollect mcp --profile audit --project shop --dream-every 24h
      recollect mcp --http 127.0.0.1:8420
      recollect mcp --list-tools
    """
    if list_tools:
        _list(profile, as_json)
        return
    if as_json:
        raise click.UsageError("--json goes with --list-tools; a server speaks JSON-RPC")
    if (
        address is None
        and click.get_current_context().get_parameter_source("token") is ParameterSource.COMMANDLINE
    ):
        raise click.UsageError(
            "--token goes with --http; standard streams reach only the program that started it"
        )
    if dream_every is not None:
        from recollect.dream.schedule import parse_interval  # noqa: PLC0415 (refuses a wrong one before serving)

        parse_interval(dream_every)
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="recollect mcp: %(message)s")
    lazy_store = LazyStore(opener(store, embedder=embedder, reranker=reranker, helper=helper_use()))
    project = project_of(store, None) if project is None else project
    scope = Scope(
        profile=profile, project=project, session=session, files=address is None, dream_every=dream_every
    )  # fmt: skip
    if address is None:
        stdio.run_and_leave(lazy_store, scope)
    else:
        http.run_and_leave(lazy_store, scope, address, token)


def _list(profile: str, as_json: bool) -> None:
    """The tools as the server lists them, or a line for each: what it writes, and what it is for."""
    if as_json:
        from recollect.interfaces.mcp.server import described  # noqa: PLC0415 (the SDK takes a second to import)

        tools = [
            described(tool).model_dump(by_alias=True, exclude_none=True)
            for tool in tools_of(profile).values()
        ]
        click.echo(json.dumps(tools, indent=2))
        return
    for tool in tools_of(profile).values():
        writes = "reads" if tool.reads else "replaces" if tool.replaces else "adds"
        click.echo(f"{tool.name:<12} {writes:<9} {tool.description.partition('. ')[0].rstrip('.')}")
