"""Files out of a store and into it: what `Memory.export` and `Memory.import_` do with formats beyond the log's own."""

from __future__ import annotations

from pathlib import Path
from typing import TypedDict

from recollect.engine import transfer
from recollect.engine.embedding.store_embedder import Embedding
from recollect.engine.moments import When
from recollect.engine.recall_options import refuse_unknown
from recollect.engine.store import Progress, Store
from recollect.engine.time_travel import moment_at
from recollect.engine.transfer import Transfer
from recollect.engine.writer import Writer
from recollect.events.errors import InvalidInput
from recollect.events.named_files import named_path
from recollect.interfaces.files import markdown_export
from recollect.interfaces.files.import_file import ImportArguments, ImportOptions, import_file
from recollect.interfaces.files.markdown_export import MarkdownExport
from recollect.interfaces.files.report import ImportReport

__all__ = ["ExportOptions", "Exported", "ImportArguments", "export", "import_into"]


Exported = Transfer | MarkdownExport


class ExportOptions(TypedDict, total=False):
    """What is exported, as `Memory.export` says."""

    format: str | None
    at: When | None
    overwrite: bool
    with_shards: bool
    progress: Progress | None


def export(store: Store, path: str | Path, options: ExportOptions) -> Exported:
    """The log, its tables, or its memories as pages."""
    refuse_unknown(options, ExportOptions.__annotations__)
    format_, at, progress = options.get("format"), options.get("at"), options.get("progress")
    overwrite, with_shards = options.get("overwrite", False), options.get("with_shards", False)
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


def import_into(writer: Writer, path: str | Path, arguments: ImportArguments) -> ImportReport:
    """Import a file or folder of another program, or an exported log; the writer then has the embedder of the log."""
    options = ImportOptions.of(arguments)
    done = import_file(writer, named_path(path), options, progress=arguments.get("progress"))
    adopted = writer.store.projections.adoptions.embedder(done.head)
    writer.embedding = Embedding(writer.embedding.embedder, adopted)
    return done
