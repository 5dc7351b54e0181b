"""One import from a path to a report: tell the format, read, apply, count."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Self

import msgspec

from recollect.engine import validate
from recollect.engine.store import Progress, Store
from recollect.engine.transfer import import_log
from recollect.engine.writer import Writer
from recollect.events.errors import InvalidInput
from recollect.interfaces.files.claude_code import INCLUDABLE
from recollect.interfaces.files.format_detection import LOG, READERS, format_of
from recollect.interfaces.files.import_plan import ACTOR
from recollect.interfaces.files.import_writer import Importer
from recollect.interfaces.files.input_streams import no_progress
from recollect.interfaces.files.records import Choices
from recollect.interfaces.files.report import ImportReport, Tally
from recollect.interfaces.files.rows import GUESSES, parse_mapping

_TABLES = ("jsonl", "csv")
_NOT_A_WORD = re.compile(r"[^A-Za-z0-9._-]+")


class ImportOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What a caller may say about an import, checked."""

    format_: str | None
    choices: Choices
    namespace: str | None
    strict: bool
    dry_run: bool

    @classmethod
    def of(
        cls, *, format_: str | None, mapping: str | Mapping[str, str], namespace: str | None, include: Iterable[str],
        strict: bool, dry_run: bool,
    ) -> Self:  # fmt: skip
        wanted = frozenset(include)
        for name in sorted(wanted - set(INCLUDABLE)):
            raise InvalidInput(f"{name!r} cannot be included; there are {', '.join(INCLUDABLE)}")
        columns = parse_mapping(mapping) if isinstance(mapping, str) else dict(mapping)
        for name in sorted(columns.keys() - GUESSES.keys()):
            raise InvalidInput(f"a memory has no {name!r} to map; it has {', '.join(GUESSES)}")
        if namespace is not None:
            validate.identifier(namespace, "namespace")
        return cls(
            format_=format_, choices=Choices(mapping=columns, include=wanted), namespace=namespace, strict=strict,
            dry_run=dry_run,
        )  # fmt: skip


def import_file(
    writer: Writer, path: Path, wishes: ImportOptions, *, progress: Progress | None = None
) -> ImportReport:
    """Whatever the path holds, into the store."""
    store, kind = writer.store, format_of(path, wishes.format_)
    _refuse_what_means_nothing(wishes, kind)
    if kind == LOG:
        return _import_log(store, path, dry_run=wishes.dry_run, progress=progress)
    importer = Importer(
        writer, actor=f"{ACTOR}{kind}",
        namespace=wishes.namespace or _namespace(path, kind), dry_run=wishes.dry_run, strict=wishes.strict,
    )  # fmt: skip
    try:
        importer.run(READERS[kind](path, wishes.choices, progress or no_progress))
    except KeyboardInterrupt as stop:
        raise KeyboardInterrupt(importer.tally.sentence(), *stop.args) from None
    except RecursionError:
        raise InvalidInput(f"{path} is nested too deeply to be read ({importer.tally.sentence()})") from None
    except InvalidInput as error:
        if not importer.tally.read:
            raise
        raise InvalidInput(f"{error} ({importer.tally.sentence()})") from None
    store.sealer.start()
    return _report(importer.tally, store, path, kind, dry_run=wishes.dry_run)


def _refuse_what_means_nothing(wishes: ImportOptions, kind: str) -> None:
    if wishes.choices.mapping and kind not in _TABLES:
        raise InvalidInput(f"a mapping is for {' and '.join(_TABLES)}; {kind} has fields of its own")
    if wishes.choices.include and kind != "claude-code":
        raise InvalidInput(f"include is for claude-code; this is {kind}")


def _namespace(path: Path, kind: str) -> str:
    """The format's name; ids of a table are only unique in it, so theirs is the file's name."""
    return _NOT_A_WORD.sub("-", path.stem).strip("-") or kind if kind in _TABLES else kind


def _import_log(store: Store, path: Path, *, dry_run: bool, progress: Progress | None) -> ImportReport:
    done = import_log(store, path, progress=progress, write=not dry_run)
    tally = Tally()
    tally.read = tally.events = done.events
    tally.notes.extend(done.degraded)
    return _report(tally, store, path, LOG, dry_run=dry_run)


def _report(tally: Tally, store: Store, path: Path, kind: str, *, dry_run: bool) -> ImportReport:
    head = store.catch_up()
    chain = store.log.chain_at(head).hex()
    return tally.report(path=str(path), format_=kind, dry_run=dry_run, head=head, chain=chain)
