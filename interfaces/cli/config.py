"""The command that says what is configured: config."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec

from recollect.engine import configuration
from recollect.events.named_files import named_path
from recollect.events.packs.urls import is_url
from recollect.interfaces.cli.app import main, reranker_option, show, store_options


@main.command()
@click.option("--embedder", help="Show what this option would change.")
@reranker_option
@click.option("--formula", help="Show what this option would change.")
@click.option("--project", help="Show what this option would change.")
@store_options
def config(
    embedder: str | None, reranker: str | None, formula: str | None, project: str | None, store: str,
    as_json: bool,
) -> None:  # fmt: skip
    """The settings in force, and where each value comes from.

    A flag goes before the environment (RECOLLECT_EMBEDDER, …_RERANKER, …_CHAT_URL, …_CHAT_MODEL, …_FORMULA, …_PROJECT),
    that before config.toml in the store, and that before your own config.toml. Keys come from the environment alone,
    and are never shown.

    \b
    Example:
      recollect config
      recollect config --embedder hash --json
    """
    flags: dict[configuration.Name, str | None] = {
        "embedder": embedder, "reranker": reranker, "formula": formula, "project": project,
    }  # fmt: skip
    folder = None if is_url(store) else named_path(store)
    found = configuration.explained(folder, flags)
    kept = _kept_embedder(folder)
    if kept is not None:
        note = f"this store has {kept} and keeps it; `recollect reembed --embedder NAME` gives it another"
        replace = msgspec.structs.replace
        noted = [replace(one, note=note) if one.name == "embedder" else one for one in found.settings]
        found = replace(found, settings=tuple(noted))
    show(found, as_json, "config.settings")


def _kept_embedder(folder: Path | None) -> str | None:
    """The embedder that the store has, which goes before one that a file names."""
    if folder is None or not (folder / "log").is_dir():
        return None
    from recollect.engine.store import Store  # noqa: PLC0415 (imports wait until needed)

    store = Store.open(folder)
    try:
        adopted = store.projections.adoptions.embedder(store.log.head)
    finally:
        store.close()
    return None if adopted is None else adopted.label
