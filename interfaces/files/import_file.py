"""One import from a path to a report: tell the format, read, apply, count."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Self, TypedDict

import msgspec

from recollect.engine import validate
from recollect.engine.recall_options import refuse_unknown
from recollect.engine.store import Progress, Store
from recollect.engine.transfer import import_log
from recollect.engine.writer import Writer
from recollect.events.errors import InvalidInput
from recollect.interfaces.files.claude_code import INCLUDABLE
from recollect.interfaces.files.format_detection import FOLDER, LOG, READERS, TABLES, format_of, unread
from recollect.interfaces.files.import_folder import import_folder, table_namespace
from recollect.interfaces.files.import_plan import ACTOR
from recollect.interfaces.files.import_writer import Importer
from recollect.interfaces.files.input_streams import no_progress
from recollect.interfaces.files.records import Choices, Skipped
from recollect.interfaces.files.report import ImportReport, readable
from recollect.interfaces.files.rows import GUESSES, parse_mapping


class ImportArguments(TypedDict, total=False):
    """What is imported, and how, as `Memory.import_` says."""

    format: str | None
    mapping: str | Mapping[str, str]
    namespace: str | None
    include: Iterable[str]
    strict: bool
    dry_run: bool
    progress: Progress | None


class ImportOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of an import, checked."""

    format_: str | None
    choices: Choices
    namespace: str | None
    strict: bool
    dry_run: bool

    @classmethod
    def of(cls, given: ImportArguments) -> Self:
        refuse_unknown(given, ImportArguments.__annotations__)
        mapping, namespace = given.get("mapping", ""), given.get("namespace")
        wanted = frozenset(given.get("include", ()))
        for name in sorted(wanted - set(INCLUDABLE)):
            raise InvalidInput(f"{name!r} cannot be included; there are {', '.join(INCLUDABLE)}")
        columns = parse_mapping(mapping) if isinstance(mapping, str) else dict(mapping)
        for name in sorted(columns.keys() - GUESSES.keys()):
            raise InvalidInput(f"a memory has no {name!r} to map; it has {', '.join(GUESSES)}")
        if namespace is not None:
            validate.identifier(namespace, "namespace")
        return cls(
            format_=given.get("format"), choices=Choices(mapping=columns, include=wanted), namespace=namespace,
            strict=given.get("strict", False), dry_run=given.get("dry_run", False),
        )  # fmt: skip


def import_file(
    writer: Writer, path: Path, options: ImportOptions, *, progress: Progress | None = None
) -> ImportReport:
    """Import the file or folder into the store."""
    store, kind = writer.store, format_of(path, options.format_)
    _refuse_options_of_other_formats(options, kind)
    report = ImportReport(path=readable(str(path)), format=kind, dry_run=options.dry_run)
    if kind == LOG:
        done = import_log(store, path, progress=progress, write=not options.dry_run)
        report.read = report.events = done.events
        report.notes = done.degraded
        return _finished(report, store)
    importer = Importer(writer, report, strict=options.strict)
    try:
        passed_over = _read(importer, path, kind, options, progress or no_progress)
    except KeyboardInterrupt as stop:
        raise KeyboardInterrupt(report.sentence(), *stop.args) from None
    except RecursionError:
        raise InvalidInput(f"{path} is nested too deeply to be read ({report.sentence()})") from None
    except InvalidInput as error:
        if not report.read:
            raise
        raise InvalidInput(f"{error} ({report.sentence()})") from None
    for skipped in passed_over:
        if store.folder is None or not (path / skipped.where).resolve().is_relative_to(
            store.folder.resolve()
        ):
            report.skip(skipped)
    store.sealer.start()
    return _finished(report, store)


def _read(
    importer: Importer, path: Path, kind: str, options: ImportOptions, progress: Progress
) -> list[Skipped]:
    """Import the path as its format; return what was passed over in a folder, unless the user named a format."""
    if kind == FOLDER:
        return import_folder(importer, path, options.choices, progress)
    namespace = options.namespace or (table_namespace(path, path.parent) if kind in TABLES else kind)
    items = READERS[kind](path, options.choices, progress)
    importer.run(items, actor=f"{ACTOR}{kind}", namespace=namespace)
    return unread(path, kind) if options.format_ is None and path.is_dir() else []


def _refuse_options_of_other_formats(options: ImportOptions, kind: str) -> None:
    if kind == FOLDER:
        if options.namespace is not None:
            raise InvalidInput("a namespace is for one format; import the files of this folder one by one")
        return
    if options.choices.mapping and kind not in TABLES:
        raise InvalidInput(f"a mapping is for {' and '.join(TABLES)}; {kind} has fields of its own")
    if options.choices.include and kind != "claude-code":
        raise InvalidInput(f"include is for claude-code; this is {kind}")


def _finished(report: ImportReport, store: Store) -> ImportReport:
    report.skipped = dict(sorted(report.skipped.items()))
    report.head = store.catch_up()
    report.chain = store.log.chain_at(report.head).hex()
    return report
