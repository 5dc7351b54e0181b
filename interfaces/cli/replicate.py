"""The commands that carry a store from place to place: replicate, sync."""

from __future__ import annotations

import click

from recollect.engine.replicate import replicate
from recollect.engine.sync import sync
from recollect.interfaces.cli.app import clear_errors, json_option, main, options_without_embedder, show
from recollect.interfaces.cli.progress import progress_bar


@main.command("replicate")
@click.argument("source")
@click.argument("target")
@json_option
@clear_errors
def replicate_(source: str, target: str, as_json: bool) -> None:
    """Copy a store to another place, with the same chain; again brings over what is new.

    SOURCE and TARGET are a store's directory or a URL: nats://host:4222/name, s3://bucket/prefix, file:///directory.
    Interrupted, it goes on where it stopped.

    \b
    Example:
      recollect replicate ~/.recollect nats://localhost:4222/memory
      recollect replicate nats://localhost:4222/memory s3://bucket/memory
    """
    with progress_bar("replicating") as progress:
        result = replicate(source, target, progress=progress)
    show(result, as_json, "files.replicated")


@main.command("sync")
@click.argument("remote")
@options_without_embedder
def sync_(remote: str, store: str, as_json: bool) -> None:
    """Bring this machine's store and a remote one level, with what was written offline.

    What is new there comes here, what is new here goes there. Where both went on, what was written here is appended to the
    remote log in its order; what no longer holds there is listed and not taken, and the store as it was is kept in
    branches/, where its recalls verify. Again, it goes on where it stopped. Exit 1 if something was not taken.

    \b
    Example:
      recollect sync nats://localhost:4222/memory
      recollect sync s3://bucket/memory --store ~/notes/.recollect
    """
    with progress_bar("syncing") as progress:
        result = sync(store, remote, actor="sync", progress=progress)
    show(result, as_json, "files.synced")
    if result.not_taken:
        raise click.exceptions.Exit(1)
