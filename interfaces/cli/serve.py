"""The command that serves a store over HTTP: serve."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import FrameType
from typing import TYPE_CHECKING

import click
import msgspec

from recollect.dream.schedule import parse_interval
from recollect.interfaces.cli.app import common_options, helper_use, main, open_memory, reranker_option
from recollect.interfaces.cli.commands import Failure, say

if TYPE_CHECKING:
    from recollect.interfaces.python.memory import Memory
    from recollect.web.serving import Address


@main.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to bind to.")
@click.option(
    "--port", type=click.IntRange(0, 65_535), default=8377, show_default=True, help="0 takes any free one."
)
@click.option(
    "--token", envvar="RECOLLECT_TOKEN", help="Needed from other machines: Authorization: Bearer T."
)
@click.option(
    "--read-token", envvar="RECOLLECT_READ_TOKEN", help="With --token: one that reads and does not write."
)
@click.option("--read-only", is_flag=True, help="Answer, record nothing, change nothing.")
@click.option(
    "--profile",
    type=click.Choice(["default", "audit"]),
    default="default",
    show_default=True,
    help="The tools at /mcp: those that agents need, or those that audit as well.",
)
@click.option("--dream-every", metavar="INTERVAL", help="Dream by the clock: 24h, 90m, 7d.")
@click.option(
    "--origin", "origins", multiple=True, help="Another site whose pages may call; may be repeated."
)
@click.option("--host-name", "host_names", multiple=True, help="A name it is called by from other machines.")
@click.option("--open", "open_", is_flag=True, help="Open the page in a browser.")
@click.option(
    "--stores", metavar="URL|DIR", help="Serve every store there that --tokens names, each at /stores/NAME/."
)
@click.option(
    "--tokens", metavar="FILE", help="Which token opens which store, with which rights and limits; TOML."
)
@click.option(
    "--idle",
    metavar="INTERVAL",
    default="5m",
    show_default=True,
    help="With --stores: close one unused for so long.",
)
@reranker_option
@common_options
def serve(
    host: str, port: int, token: str | None, read_token: str | None, read_only: bool, profile: str, dream_every: str | None,
    origins: tuple[str, ...], host_names: tuple[str, ...], open_: bool, stores: str | None, tokens: str | None, idle: str,
    reranker: str | None, store: str, embedder: str, as_json: bool,
) -> None:  # fmt: skip
    """A page and a JSON API over the store, until interrupted; with --stores over many.

    With --stores each store has tokens of its own, that read or write, and its page, API and MCP server at
    /stores/NAME/; it is opened when it is asked for. /metrics is Prometheus text.

    \b
    Example:
      recollect serve --open
      recollect serve --port 0 --read-only
      recollect serve --profile audit
      recollect serve --host 0.0.0.0 --token "$(openssl rand -hex 16)" --dream-every 24h
      recollect serve --stores ./tenants --tokens tokens.toml
    """

    from recollect.interfaces.mcp.http import mcp_application  # noqa: PLC0415 (a third of a second for --help)
    from recollect.web import serving  # noqa: PLC0415 (the same)

    agents = partial(mcp_application, profile=profile)
    answers = click.get_current_context().with_resource(_interrupted_until_it_answers())

    def ready(address: Address) -> None:
        answers()
        _announce(address, as_json)
        if open_:
            click.launch(address.page)

    if stores is not None or tokens is not None:
        if stores is None or tokens is None or token or read_token or dream_every or open_:
            raise Failure(
                "many stores: --stores and --tokens belong together, without --token, --read-token, --dream-every, --open"
            )
        serving.serve_stores(
            stores, tokens, _opener(embedder), host=host, port=port, read_only=read_only, origins=origins,
            host_names=host_names, idle_s=parse_interval(idle) / 1e6, mcp=agents, ready=ready,
        )  # fmt: skip
        click.echo("recollect: stopped; all stores are closed", err=True)
        return
    with open_memory(store, embedder, ahead=True, make=True, actor="web", reranker=reranker) as memory:
        serving.serve(
            memory, host=host, port=port, token=token, read_token=read_token, read_only=read_only, dream_every=dream_every,
            origins=origins, host_names=host_names, mcp=agents, ready=ready,
        )  # fmt: skip
        head = memory.store.log.head
    click.echo(f"recollect: stopped; the store is closed, its head is @{head}", err=True)


@contextmanager
def _interrupted_until_it_answers() -> Iterator[Callable[[], None]]:
    """Ctrl-C interrupts until it is said that the server answers; from then on it is the server's alone.

    So a second Ctrl-C never breaks off the closing of the store, or the end of the process after it.
    """
    answering = threading.Event()

    def interrupt(_: int, __: FrameType | None) -> None:
        if not answering.is_set():
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield answering.set
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN if answering.is_set() else before)


def _opener(embedder: str) -> Callable[[str], Memory]:
    """How a store of many is opened: with one model helper for all of them."""
    from recollect.interfaces.python.memory import Memory  # noqa: PLC0415 (imports wait until needed)

    helper = helper_use()

    def open_(place: str) -> Memory:
        return Memory.open(place, embedder=embedder, actor="web", helper=helper, tell=say)

    return open_


def _announce(address: Address, as_json: bool) -> None:
    """One line, at once: the caller may be waiting for it."""
    if as_json:
        click.echo(msgspec.json.encode(address))
    else:
        beside = ", read-only" if address.read_only else ""
        click.echo(f"{address.page}  (Ctrl-C stops{beside})")
