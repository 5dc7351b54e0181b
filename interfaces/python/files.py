"""Files out of a store and into it: what `Memory.export` and `Memory.import_` do with formats beyond the log's own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from recollect.engine import transfer
from recollect.engine.embedding.store_embedder import Embedding
from recollect.engine.formula_lookup import formula_in_force
from recollect.engine.moments import When
from recollect.engine.store import Progress, Store
from recollect.engine.time_travel import moment_at
from recollect.engine.transfer import Transfer
from recollect.engine.writer import Writer
from recollect.events.errors import InvalidInput
from recollect.interfaces.files import markdown_export
from recollect.interfaces.files.import_file import ImportOptions, import_file
from recollect.interfaces.files.markdown_export import MarkdownExport
from recollect.interfaces.files.report import ImportReport
from recollect.query.formula import Formula


def export(
    store: Store, path: str | Path, *, format_: str | None, at: When | None, overwrite: bool, with_shards: bool,
    progress: Progress | None,
) -> Transfer | MarkdownExport:  # fmt: skip
    """The log, its tables, or its memories as pages."""
    target = transfer.target_of(store, path)
    kind = transfer.format_of(target, format_)
    if with_shards and kind != "jsonl":
        raise InvalidInput("shards go with the log alone; name a file *.jsonl, or leave them out")
    if kind != "markdown":
        if at is not None:
            raise InvalidInput("at is for format markdown; the log and its tables are whole")
        return transfer.export(
            store, target, format_=format_, overwrite=overwrite, with_shards=with_shards, progress=progress
        )  # fmt: skip
    store.require_whole("export")
    moment = moment_at(store, at)
    return markdown_export.export(
        store, target, at=None if at is None else moment.seq, now=moment.now, overwrite=overwrite, progress=progress
    )  # fmt: skip


def import_into(
    writer: Writer, path: str | Path, *, format_: str | None, mapping: str | Mapping[str, str], namespace: str | None,
    include: Iterable[str], strict: bool, dry_run: bool, progress: Progress | None,
) -> tuple[ImportReport, Formula | None]:  # fmt: skip
    """Import a file or folder of another program, or an exported log; the writer then has the embedder of the log.

    Also return the formula in force, if the import brought it into an empty store.
    """
    was_empty = writer.store.catch_up() == 0
    options = ImportOptions.of(
        format_=format_, mapping=mapping, namespace=namespace, include=include, strict=strict, dry_run=dry_run
    )
    done = import_file(writer, Path(path).expanduser(), options, progress=progress)
    adoptions = writer.store.projections.adoptions
    writer.embedding = Embedding(writer.embedding.embedder, adoptions.embedder(done.head))
    brought = was_empty and adoptions.formula_in_force(done.head)
    return done, formula_in_force(adoptions, done.head) if brought else None
