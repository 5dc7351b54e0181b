"""The command that examines a store: doctor."""

from __future__ import annotations

import click

from recollect.engine.doctor import doctor as examine
from recollect.interfaces.cli.app import main, options_without_embedder, show
from recollect.interfaces.cli.progress import progress_bar


@main.command()
@click.option(
    "--fix",
    is_flag=True,
    help="Repair what is safe: caches, leftovers, an interrupted erasure, a clock that ran ahead.",
)
@click.option(
    "--salvage", metavar="NEW_DIR", help="Copy what can be read before the damage into a new store."
)
@click.option("--scrub", is_flag=True, help="Read all sealed segments again from the disk itself; slow.")
@options_without_embedder
def doctor(fix: bool, salvage: str | None, scrub: bool, store: str, as_json: bool) -> None:
    """Examine a store end to end and say what is wrong; exit 1 if anything is.

    Checks every frame and the hash chain of the log, compares checkpoints with the log and shards with their
    digests, and looks for unfinished erasures, leftover files and a clock that ran ahead. Looking changes nothing;
    damage to the log is never cut.

    Without --scrub frames are found by the stored indexes, and read from memory where the system has them there.
    With it every byte of the sealed segments comes from the disk, no index is believed, and the report says how much
    was read: what has rotted is found while there is still a good copy.

    \b
    Example:
      recollect doctor
      recollect doctor --fix
      recollect doctor --scrub
      recollect doctor --salvage ./rescued
    """
    with progress_bar("examining") as progress:
        result = examine(store, fix=fix, salvage=salvage, scrub=scrub, progress=progress)
    show(result, as_json, "erase.diagnosis")
    if not result.healthy:
        raise click.exceptions.Exit(1)
