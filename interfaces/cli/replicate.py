"""The command that carries a store from place to place: replicate."""

from __future__ import annotations

import click

from recollect.engine.replicate import replicate
from recollect.interfaces.cli.app import clear_errors, main, progress_bar, show


@main.command("replicate")
@click.argument("source")
@click.argument("target")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
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
