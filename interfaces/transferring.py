"""A store to a file and back: the log itself as JSON lines, its tables as Parquet, its memories as Markdown.

Other programs' files come in through `files`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from recollect.events.errors import InvalidInput
from recollect.events.memory_log import MemoryLog
from recollect.events.segment_log import SegmentLog
from recollect.events.transfer import NotImportable, TransferableLog, export_lines, import_lines
from recollect.store import Progress, Store

Format = Literal["jsonl", "parquet", "markdown"]


class Transfer(msgspec.Struct, frozen=True, kw_only=True):
    """What was written: `events` of the log (imported: those that were new), its head and the chain value there."""

    path: str
    format: str
    events: int
    head: int
    chain: str


def format_of(path: Path, given: str | None) -> Format:
    """By name if given, else by the path: *.jsonl is the log, a directory or *.parquet the tables."""
    wanted = given or {".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet", "": "parquet"}.get(
        path.suffix
    )
    if wanted == "jsonl":
        return "jsonl"
    if wanted == "parquet":
        return "parquet"
    if wanted == "markdown":
        return "markdown"
    raise InvalidInput(
        f"cannot tell the format of {path}; name it *.jsonl (the log) or a directory (Parquet tables), or say "
        f"format jsonl, parquet or markdown"
    )


def export(
    store: Store, path: Path, *, format_: str | None = None, progress: Progress | None = None
) -> Transfer:
    """Write the log, or its tables; a file that exists is replaced only when the new one is whole."""
    head = store.catch_up()
    kind = format_of(path, format_)
    if kind == "parquet":
        from recollect.projections.sql import export_parquet  # noqa: PLC0415 (DuckDB waits until it is needed)

        with store.lock:
            export_parquet(store.log, store.projections, path)
    else:
        if path.is_dir():
            raise InvalidInput(f"{path} is a directory; name a file, such as {path / 'log.jsonl'}")
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_name(f".{path.name}.unfinished")
        with unfinished.open("wb") as file:
            file.writelines(export_lines(_transferable(store), upto=head, progress=progress))
        unfinished.replace(path)
    return Transfer(path=str(path), format=kind, events=head, head=head, chain=store.log.chain_at(head).hex())


def import_log(store: Store, path: Path, *, progress: Progress | None = None, write: bool = True) -> Transfer:
    """Write what the store lacks of an exported log; the head hash is then that of the file."""
    if not path.is_file():
        raise InvalidInput(
            f"there is no file {path}; import takes a JSONL file that `recollect export` wrote"
        )
    try:
        with path.open("rb") as file:
            written = import_lines(_transferable(store), file, progress=progress, write=write)
    except NotImportable as error:
        raise NotImportable(f"{path}: {error}") from None
    finally:
        head = store.catch_up()
    return Transfer(
        path=str(path), format="jsonl", events=written, head=head, chain=store.log.chain_at(head).hex()
    )


def _transferable(store: Store) -> TransferableLog:
    log = store.log.base
    if isinstance(log, (SegmentLog, MemoryLog)):
        return log
    raise InvalidInput(f"a log of kind {log.status().kind!r} cannot be copied frame by frame")
