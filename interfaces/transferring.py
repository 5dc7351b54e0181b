"""A store to a file and back: the log itself as JSON lines, its tables as Parquet, its memories as Markdown.

Other programs' files come in through `files`.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Literal

import msgspec

from recollect.events.errors import InvalidInput, RecollectError
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


def target_of(store: Store, path: str | Path) -> Path:
    """Where to write: behind a symbolic link what it leads to, and never into the store."""
    if not str(path).strip() or str(path) == "-":
        raise InvalidInput(
            f"{str(path)!r} is no place; name a file (*.jsonl: the log) or a directory (its tables)"
        )
    target = Path(path).expanduser()
    if store.folder is not None and target.resolve().is_relative_to(store.folder.resolve()):
        raise InvalidInput(f"{path} lies in the store itself, {store.folder}; name another place")
    return target.resolve() if target.is_symlink() else target


def export(
    store: Store, path: Path, *, format_: str | None = None, progress: Progress | None = None
) -> Transfer:
    """Write the log, or its tables; a file that exists is replaced only when the new one is whole.

    The log goes out as it stands on disk, so one that still holds what was erased does not.
    """
    kind = format_of(path, format_)
    store.require_whole("export")
    if kind == "jsonl":
        _require_erased(store)
    head = store.catch_up()
    if kind == "parquet":
        from recollect.projections.sql import export_parquet  # noqa: PLC0415 (DuckDB waits until it is needed)

        if path.exists() and not path.is_dir():
            raise InvalidInput(f"{path} is not a directory, which the tables need; name another place")
        with store.lock, store.whole:
            export_parquet(store.log, store.projections, path, clock=store.clock)
    else:
        if path.is_dir():
            raise InvalidInput(f"{path} is a directory; name a file, such as {path / 'log.jsonl'}")
        if path.exists() and not path.is_file():
            raise InvalidInput(f"{path} is no regular file, and would be replaced by one; name another place")
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_name(f".{path.name}.unfinished")
        try:
            with unfinished.open("wb") as file:
                file.writelines(export_lines(_transferable(store), upto=head, progress=progress))
            unfinished.replace(path)
        finally:
            with suppress(OSError):
                unfinished.unlink()
    return Transfer(path=str(path), format=kind, events=head, head=head, chain=store.log.chain_at(head).hex())


def import_log(store: Store, path: Path, *, progress: Progress | None = None, write: bool = True) -> Transfer:
    """Write what the store lacks of an exported log; the head hash is then that of the file."""
    if not path.is_file():
        raise InvalidInput(
            f"there is no file {path}; import takes a JSONL file that `recollect export` wrote"
        )
    if write:
        store.require_writable()
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


def _require_erased(store: Store) -> None:
    try:
        store.finish_erasures()
    except RecollectError as error:
        raise RecollectError(
            f"the log was not exported, because it still holds what was erased: {error}"
        ) from None


def _transferable(store: Store) -> TransferableLog:
    log = store.log.base
    if isinstance(log, (SegmentLog, MemoryLog)):
        return log
    raise InvalidInput(f"a log of kind {log.status().kind!r} cannot be copied frame by frame")
