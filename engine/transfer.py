"""A store to a file and back: the log itself as JSON lines, its tables as Parquet, its memories as Markdown.

Other programs' files come in through `files`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast, get_args

import msgspec

from recollect.engine.copies import copied, refuse_inside, require_erased
from recollect.engine.lazy import LazyModule
from recollect.engine.shard_copies import (
    CarriedShards,
    copy_out,
    folder_beside,
    put_out,
    take_in,
)
from recollect.engine.store import Progress, Store
from recollect.engine.torn_state import locked
from recollect.engine.unfinished_files import (
    exists_already,
    put_in_place,
    refuse_existing,
    remove_debris,
    unfinished_file,
    unfinished_folder,
)
from recollect.events.errors import InvalidInput
from recollect.events.memory_log import MemoryLog
from recollect.events.named_files import named_path, resolved
from recollect.events.private_files import make_private, sync_directory
from recollect.events.regular_files import opened
from recollect.events.segment_log import SegmentLog
from recollect.events.transfer import NotImportable, TransferableLog, export_lines, import_lines, lines_of

if TYPE_CHECKING:
    from recollect.projections.sql import face, limits, schema
else:  # DuckDB waits until it is needed
    face, limits, schema = (
        LazyModule(f"recollect.projections.sql.{one}") for one in ("face", "limits", "schema")
    )

Format = Literal["jsonl", "parquet", "markdown"]

_EXPORT_INSTEAD = (
    "is not exported as one file: copy it with `recollect replicate URL DIRECTORY`, and export that store"
)
_IMPORT_INSTEAD = "takes no exported log: import it into a new store in a directory, and copy that with `recollect replicate DIRECTORY URL`"


class Transfer(msgspec.Struct, frozen=True, kw_only=True):
    """What was written: `events` of the log (imported: those that were new), its head and the chain value there.

    `shards` went along (imported: those that were new). `degraded` says what could not be done beside.
    """

    path: str
    format: str
    events: int
    head: int
    chain: str
    shards: int = 0
    degraded: tuple[str, ...] = ()


def format_of(path: Path, given: str | None) -> Format:
    """By name if given, else by the path: *.jsonl is the log, a directory or *.parquet the tables."""
    wanted = given or {".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet", "": "parquet"}.get(
        path.suffix
    )
    if wanted in get_args(Format):
        return cast("Format", wanted)
    raise InvalidInput(
        f"cannot tell the format of {path}; name it *.jsonl (the log) or a directory (Parquet tables), or say "
        f"format jsonl, parquet or markdown"
    )


def target_of(store: Store, path: str | Path) -> Path:
    """Where to write: behind a symbolic link what it leads to, and never into this store or another one."""
    if not str(path).strip() or str(path) == "-":
        raise InvalidInput(
            f"{str(path)!r} is no place; name a file (*.jsonl: the log) or a directory (its tables)"
        )
    target = named_path(path)
    refuse_inside(store.folder, path)
    return resolved(target) if target.is_symlink() else target


def export(
    store: Store,
    path: Path,
    *,
    format_: str | None = None,
    overwrite: bool = False,
    with_shards: bool = False,
    progress: Progress | None = None,
) -> Transfer:
    """Write the log, or its tables; a file that exists is replaced only on request, and when the new one is whole.

    `with_shards` puts the log's shards beside it, for machines that cannot build them.
    """
    if format_of(path, format_) == "parquet":
        return _export_tables(store, path, overwrite=overwrite, progress=progress)
    _transferable(store, _EXPORT_INSTEAD)
    refuse_existing(path, overwrite=overwrite)
    if with_shards:
        return _export_with_shards(store, path, overwrite=overwrite, progress=progress)
    store.require_whole("export")
    require_erased(store, "export")
    with unfinished_file(path) as file:

        def make() -> tuple[Transfer, int]:
            head = store.catch_up()
            file.write(export_lines(_transferable(store, _EXPORT_INSTEAD), upto=head, progress=progress))
            return _transfer(store, path, "jsonl", head), head

        def put(_: Transfer) -> None:
            file.put(path, overwrite=overwrite)

        made, notes = copied(store, "export", "jsonl", file.path, path, make, put)
    return msgspec.structs.replace(made, degraded=notes)


def _export_with_shards(store: Store, path: Path, *, overwrite: bool, progress: Progress | None) -> Transfer:
    """The shards first: a log that is there has all of its shards beside it."""
    shards = folder_beside(path)
    if shards.exists() and (not overwrite or not shards.is_dir()):
        raise exists_already(shards)
    store.require_whole("export")
    with unfinished_folder(shards) as folder:

        def make() -> tuple[CarriedShards, int]:
            store.catch_up()
            return copy_out(store, folder, progress=progress), store.log.head

        def put(_: CarriedShards) -> None:
            put_out(folder, shards)
            sync_directory(shards.parent)

        carried, notes = copied(store, "export", "shards", folder, shards, make, put)
    made = export(store, path, format_="jsonl", overwrite=overwrite, progress=progress)
    said = (*made.degraded, *carried.notes, *notes)
    return msgspec.structs.replace(made, shards=len(carried.digests), degraded=said)


def _export_tables(store: Store, path: Path, *, overwrite: bool, progress: Progress | None) -> Transfer:
    """Each table goes to its place when all of them are whole."""
    if path.exists() and not path.is_dir():
        raise InvalidInput(f"{path} is not a directory, which the tables need; name another place")
    names = [f"{table}.parquet" for table in schema.SHOWN_TABLES]
    for name in names:
        if (path / name).exists() and not (path / name).is_file():
            raise InvalidInput(
                f"{path / name} is no regular file, as a table needs; remove it or name another place"
            )
        refuse_existing(path / name, overwrite=overwrite)
    store.require_whole("export")
    require_erased(store, "export")
    make_private(path.parent)
    remove_debris(path)
    with unfinished_folder(path / "tables" if path.is_dir() else path) as folder:

        def make() -> tuple[Transfer, int]:
            head = store.catch_up()
            _write_tables(store, folder, progress)
            sync_directory(folder)
            return _transfer(store, path, "parquet", head), head

        def put(_: Transfer) -> None:
            make_private(path)
            for name in names:
                put_in_place(folder / name, path / name, overwrite=overwrite)
            sync_directory(path)
            sync_directory(path.parent)

        made, notes = copied(store, "export", "parquet", folder, path, make, put)
    return msgspec.structs.replace(made, degraded=notes)


@locked
def _write_tables(store: Store, folder: Path, progress: Progress | None) -> None:
    allowed = limits.allowed_bytes(store.log.status().bytes)
    face.export_parquet(
        store.log, store.projections, folder, clock=store.clock, memory_bytes=allowed, progress=progress
    )


def _transfer(store: Store, path: Path, kind: Format, head: int) -> Transfer:
    return Transfer(path=str(path), format=kind, events=head, head=head, chain=store.log.chain_at(head).hex())


def import_log(store: Store, path: Path, *, progress: Progress | None = None, write: bool = True) -> Transfer:
    """Write what the store lacks of an exported log, and take the shards beside it; the head hash is then the file's."""
    if not path.is_file():
        raise InvalidInput(
            f"there is no file {path}; import takes a JSONL file that `recollect export` wrote"
        )
    if write:
        store.require_writable()
    try:
        with opened(path, follow=True) as file:
            written = import_lines(
                _transferable(store, _IMPORT_INSTEAD), lines_of(file), progress=progress, write=write
            )
    except NotImportable as error:
        raise NotImportable(f"{path}: {error}") from None
    finally:
        head = store.catch_up()
    taken = take_in(store, path) if write else CarriedShards((), ())
    return Transfer(
        path=str(path), format="jsonl", events=written, head=head, chain=store.log.chain_at(head).hex(),
        shards=len(taken.digests), degraded=taken.notes,
    )  # fmt: skip


def _transferable(store: Store, instead: str) -> TransferableLog:
    """The log as it is on this machine's disk or in memory; of one on many machines what to do `instead`."""
    log = store.log.base
    if isinstance(log, (SegmentLog, MemoryLog)):
        return log
    raise InvalidInput(f"{log.status().path} is a log on other machines and {instead}")
