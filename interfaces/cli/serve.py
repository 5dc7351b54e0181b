"""The command that serves a store over HTTP: serve."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import msgspec

from recollect.interfaces.cli.app import common_options, main, open_memory

if TYPE_CHECKING:
    from recollect.web.serving import Address


@main.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to bind to.")
@click.option(
    "--port", type=click.IntRange(0, 65_535), default=8377, show_default=True, help="0 takes any free one."
)
@click.option(
    "--token", envvar="RECOLLECT_TOKEN", help="Needed from other machines: Authorization: Bearer T."
)
@click.option("--read-only", is_flag=True, help="Answer, record nothing, change nothing.")
@click.option("--dream-every", metavar="INTERVAL", help="Dream by the clock: 24h, 90m, 7d.")
@click.option(
    "--origin", "origins", multiple=True, help="Another site whose pages may call; may be repeated."
)
@click.option("--host-name", "host_names", multiple=True, help="A name it is called by from other machines.")
@click.option("--open", "open_", is_flag=True, help="Open the page in a browser.")
@common_options
def serve(
    host: str, port: int, token: str | None, read_only: bool, dream_every: str | None, origins: tuple[str, ...],
    host_names: tuple[str, ...], open_: bool, store: str, embedder: str, as_json: bool,
) -> None:  # fmt: skip
    """A page and a JSON API over the store, until interrupted.

    \b
    Example:
      recollect serve --open
      recollect serve --port 0 --read-only
      recollect serve --host 0.0.0.0 --token "$(openssl rand -hex 16)" --dream-every 24h
    """

    from recollect.interfaces.mcp.http import mcp_application  # noqa: PLC0415 (a third of a second for --help)
    from recollect.web import serving  # noqa: PLC0415 (the same)

    def ready(address: Address) -> None:
        _announce(address, as_json)
        if open_:
            click.launch(address.page)

    with open_memory(store, embedder, make=True, actor="web") as memory:
        serving.serve(
            memory, host=host, port=port, token=token, read_only=read_only, dream_every=dream_every,
            origins=origins, host_names=host_names, mcp=mcp_application, ready=ready,
        )  # fmt: skip
        head = memory.store.log.head
    click.echo(f"recollect: stopped; the store is closed, its head is @{head}", err=True)


def _announce(address: Address, as_json: bool) -> None:
    """One line, at once: the caller may be waiting for it."""
    if as_json:
        click.echo(msgspec.json.encode(address))
    else:
        beside = ", read-only" if address.read_only else ""
        click.echo(f"{address.page}  (Ctrl-C stops{beside})")
