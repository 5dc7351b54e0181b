"""Which program wrote a file, from what it holds; a file that could be two things, or none, is refused with the choices."""

from __future__ import annotations

import csv
import zipfile
from collections.abc import Iterator
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
    lines,
    no_progress,
    reading,
)
from recollect.interfaces.files.records import Reader
from recollect.interfaces.files.rows import GUESSES

LOG = "log"
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
FORMATS = (LOG, *READERS)

_LINES_LOOKED_AT = 50
_FILES_LOOKED_AT = 20
_LOG_LINE = {"seq", "chain", "type"}
_MARKDOWN = (".md", ".markdown")


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
        is_log = given == "jsonl" and path.is_file() and _of_lines(path) == LOG
        return LOG if is_log else given
    found = sorted(set(_of_folder(path))) if path.is_dir() else [f for f in [_of_file(path)] if f]
    if len(found) == 1:
        return found[0]
    choices = ", ".join(FORMATS)
    if found:
        raise NotImportable(f"{path} holds {' and '.join(found)}; say which with --from ({choices})")
    raise NotImportable(f"cannot tell what {path} is; say it with --from ({choices})")


def _of_folder(path: Path) -> Iterator[str]:
    """Everything that some of its files look like."""
    if files_under(path, CONVERSATIONS, deep=False).files:
        yield from filter(None, [_of_conversations(path)])
        return
    for file in files_under(path, "*.jsonl").files[:_FILES_LOOKED_AT]:
        if (found := _of_lines(file)) == "claude-code":
            yield found
    for file in files_under(path, *basic_memory.PATTERNS).files[:_FILES_LOOKED_AT]:
        yield _of_markdown(file)


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
    return "basic-memory" if markdown_pages.read(text) is None else "recollect-markdown"


def _of_database(path: Path) -> str | None:
    with mem0.opened(path) as database:
        return "mem0" if {"memory_id", "event"} <= mem0.columns_of(database) else None


def _of_conversations(path: Path) -> str | None:
    """By the first conversation that has messages, whichever program's."""
    try:
        with conversation_streams(path, no_progress) as streams:
            for name, stream in streams:
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
    for _, line in islice(lines(path, no_progress), _LINES_LOOKED_AT):
        try:
            row = msgspec.json.decode(line, type=dict[str, object])
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
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
