"""Which program wrote a file, judged by its content; refuse an unknown format and list the known ones.

A folder whose files are all of one program is of that format; one that holds several is `folder`, read file by file.
"""

from __future__ import annotations

import csv
import re
import zipfile
from itertools import islice
from pathlib import Path

import msgspec

from recollect.events.errors import InvalidInput
from recollect.events.transfer import NotImportable
from recollect.interfaces.files import (
    basic_memory,
    chatgpt,
    claude_ai,
    claude_code,
    csv_rows,
    markdown_pages,
    mem0,
    plain_jsonl,
    recollect_markdown,
)
from recollect.interfaces.files.input_streams import (
    CONVERSATIONS,
    PAGE_BYTES_MAX,
    conversation_streams,
    elements,
    files_under,
    json_lines,
    no_progress,
    reading,
)
from recollect.interfaces.files.records import Reader, Skipped
from recollect.interfaces.files.rows import GUESSES

LOG = "log"
FOLDER = "folder"
TABLES = ("jsonl", "csv")
READERS: dict[str, Reader] = {
    "jsonl": plain_jsonl.read,
    "csv": csv_rows.read,
    "claude-code": claude_code.read,
    "claude": claude_ai.read,
    "chatgpt": chatgpt.read,
    "mem0": mem0.read,
    "basic-memory": basic_memory.read,
    "recollect-markdown": recollect_markdown.read,
}
FORMATS = (LOG, *READERS, FOLDER)
WHOLE_FOLDERS: dict[str, tuple[str, ...]] = {
    "claude-code": ("*.jsonl",),
    "claude": (CONVERSATIONS,),
    "chatgpt": (CONVERSATIONS,),
    "basic-memory": basic_memory.PATTERNS,
    "recollect-markdown": recollect_markdown.PATTERNS,
}  # what is read of a folder that one program wrote
NO_FORMAT = "file of no known format"
LOG_IN_FOLDER = "exported log, to be imported by itself"

_LINES_LOOKED_AT = 50
_LOG_LINE = {"seq", "chain", "type"}
_MARKDOWN = (".md", ".markdown")
_TABLE_ENDINGS = (".jsonl", ".ndjson", ".csv", ".tsv")
_JOURNAL = re.compile("-(wal|shm|journal)$")


class Contents(msgspec.Struct, frozen=True):
    """The files of a folder by their formats, in order of their paths, and what is passed over."""

    files: dict[Path, str]
    passed_over: list[Skipped]


def format_of(path: Path, given: str | None = None) -> str:
    """The given format if there is one, else the one that the content shows."""
    if not path.exists():
        raise InvalidInput(f"there is no file or folder {path}; import takes one of {', '.join(FORMATS)}")
    if not path.is_dir():
        with reading(path):
            pass  # a FIFO or device is refused before anything waits for it
    if given is not None:
        if given not in FORMATS:
            raise InvalidInput(f"{given!r} is not a format; there are {', '.join(FORMATS)}")
        if given == FOLDER and not path.is_dir():
            raise InvalidInput(f"{path} is no folder; leave --from out, or say what it is")
        is_log = given == "jsonl" and path.is_file() and _of_lines(path) == LOG
        return LOG if is_log else given
    found = _of_folder(path) if path.is_dir() else _of_file(path)
    if found is None:
        raise NotImportable(f"cannot tell what {path} is; say it with --from ({', '.join(FORMATS)})")
    return found


def contents(folder: Path) -> Contents:
    """What every file of a folder is; an exported log is a store of its own and is not mixed into another."""
    found, refused = files_under(folder, "*")
    files: dict[Path, str] = {}
    passed_over = list(refused)
    for file in found:
        format_, reason = _in_folder(file)
        if format_ is not None:
            files[file] = format_
        elif Path(_JOURNAL.sub("", str(file))) not in files:
            passed_over.append(Skipped(reason=reason, where=file.relative_to(folder).as_posix()))
    return Contents(files, passed_over)


def _in_folder(file: Path) -> tuple[str | None, str]:
    """The format of a file that was met in a folder, or why it is passed over; a table there is called one."""
    try:
        with reading(file, follow=False):
            pass
        found = _of_file(file)
    except InvalidInput as error:
        return None, f"file that cannot be read ({error})"
    if found == LOG:
        return None, LOG_IN_FOLDER
    if found in TABLES and file.suffix.lower() not in _TABLE_ENDINGS:
        return None, NO_FORMAT
    return found, NO_FORMAT


def unread(folder: Path, format_: str) -> list[Skipped]:
    """The files of a folder of one program that its reader does not look at."""
    read = _read_as(format_, folder)
    return [
        Skipped(reason=f"not a file of {format_}", where=file.relative_to(folder).as_posix())
        for file in files_under(folder, "*").files
        if file not in read
    ]


def _read_as(format_: str, folder: Path) -> set[Path]:
    """The files of a folder that the reader of a format looks at."""
    patterns = WHOLE_FOLDERS.get(format_, ())
    return set(files_under(folder, *patterns, deep=patterns != (CONVERSATIONS,)).files)


def _of_folder(path: Path) -> str | None:
    """The one format of all its files, if a program keeps them so; `folder` if they are of several."""
    files = contents(path).files
    formats = set(files.values())
    if len(formats) != 1:
        return FOLDER if formats else None
    (only,) = formats
    return only if files.keys() <= _read_as(only, path) else FOLDER


def _of_file(path: Path) -> str | None:
    with reading(path) as file:
        head = file.read(1 << 12)
        packed = zipfile.is_zipfile(file)
    if head.startswith(mem0.MAGIC):
        return _of_database(path)
    if path.suffix.lower() in _MARKDOWN:
        return _of_markdown(path)
    if packed:
        return _of_conversations(path)
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text.startswith(b"["):
        return _of_conversations(path)
    if text.startswith(b"{"):
        return _of_lines(path) or _of_conversations(path)
    return _of_table(path) if text else None


def _of_markdown(path: Path) -> str:
    with reading(path) as file:
        text = file.read(PAGE_BYTES_MAX).decode("utf-8", "replace")
    ours = markdown_pages.read(text) is not None or text.startswith(markdown_pages.BEGINNING)
    return "recollect-markdown" if ours else "basic-memory"


def _of_database(path: Path) -> str | None:
    with mem0.opened(path) as database:
        return "mem0" if {"memory_id", "event"} <= mem0.columns_of(database) else None


def _of_conversations(path: Path) -> str | None:
    """By the first conversation that has messages, whichever program's."""
    try:
        for name, stream in conversation_streams(path, no_progress):
            for element in islice(elements(stream, name), _LINES_LOOKED_AT):
                if isinstance(element, dict) and "chat_messages" in element:
                    return "claude"
                if isinstance(element, dict) and "mapping" in element:
                    return "chatgpt"
    except InvalidInput:
        return None
    return None


def _of_lines(path: Path) -> str | None:
    """By the first lines that are JSON objects."""
    plain = False
    for _, row in islice(json_lines(path, no_progress), _LINES_LOOKED_AT):
        if isinstance(row, str):
            continue
        if row.get("recollect") == "log" or row.keys() >= _LOG_LINE:
            return LOG
        if "sessionId" in row and "type" in row and ({"uuid", "timestamp"} & row.keys()):
            return "claude-code"
        if row.get("type") == "summary" and "leafUuid" in row:
            return "claude-code"
        plain = plain or any(name.lower() in GUESSES["content"] for name in row)
    return "jsonl" if plain else None


def _of_table(path: Path) -> str | None:
    """By a header with a column for the content."""
    with reading(path) as file:
        header = file.readline(1 << 16).decode("utf-8-sig", "replace")
    try:
        cells = next(csv.reader([header], delimiter=csv_rows.delimiter_of(path)), [])
    except csv.Error:
        return None
    named = any(cell.strip().lower() in GUESSES["content"] for cell in cells)
    return "csv" if named or path.suffix.lower() in (".csv", ".tsv") else None
