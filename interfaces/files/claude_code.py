"""Transcripts of Claude Code: one session's `*.jsonl`, or the folder of projects (`~/.claude/projects`).

A line is an entry with `type`. Of "user" and "assistant" entries the text of `message.content` is a memory (a text,
or blocks of which those of type "text" are taken); a "summary" is one of kind "summary". What the program itself put
in (`isMeta`, slash commands and their output, `isApiErrorMessage`) is left out, and so are tool calls and results,
thinking, and the work of subagents (`isSidechain`), unless `include` names "tools", "thinking" or "sidechains". A resumed session repeats
entries under the same `uuid`: they are one memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath, PureWindowsPath

import msgspec

from recollect.events.errors import InvalidInput
from recollect.interfaces.files.chats import text_at, turn, value_at
from recollect.interfaces.files.input_streams import files_under, json_lines, modified_at, place_of, size_of
from recollect.interfaces.files.records import ByteProgress, Choices, Item, Problem, Record, Skipped

INCLUDABLE = ("thinking", "tools", "sidechains")
_SAID = ("user", "assistant")
_OWN_WORDS = (
    "<command-",
    "<local-command-",
    "<system-reminder>",
    "Caveat: The messages below",
    "[Request interrupted",
)


def read(path: Path, choices: Choices, progress: ByteProgress) -> Iterator[Item]:
    files, refused = files_under(path, "*.jsonl", chosen=choices.files)
    yield from refused
    total, before = sum(map(size_of, files)), 0
    for file in files:
        name = place_of(file, path)
        try:
            for number, entry in json_lines(file, progress, total=total, before=before, follow=file == path):
                where = f"{name} line {number}"
                if isinstance(entry, str):
                    yield Problem(where=where, reason=entry)
                else:
                    yield from _entry(entry, file, choices.include, where)
        except InvalidInput as error:
            yield Problem(where=name, reason=str(error))
        before += size_of(file)


def _entry(entry: Mapping[str, object], file: Path, include: frozenset[str], where: str) -> Iterator[Item]:
    type_ = text_at(entry, "type")
    if type_ == "summary":
        yield _summary(entry, file, where)
    elif type_ not in _SAID:
        yield Skipped(reason=f"{type_ or 'unknown'} entry")
    elif entry.get("isSidechain") is True and "sidechains" not in include:
        yield Skipped(reason="work of a subagent")
    elif entry.get("isMeta") is True:
        yield Skipped(reason="put in by the program")
    elif entry.get("isApiErrorMessage") is True:
        yield Skipped(reason="error of the API")
    else:
        yield from _said(entry, type_, file, include, where)


def _summary(entry: Mapping[str, object], file: Path, where: str) -> Item:
    text, leaf = text_at(entry, "summary"), text_at(entry, "leafUuid")
    if not text.strip() or not leaf:
        return Problem(where=where, reason="a summary without text or leafUuid")
    return Record(
        external=f"summary-{leaf}", content=text, kind="summary", session=file.stem, source="claude-code",
        at=modified_at(file), where=where,
    )  # fmt: skip


def _said(
    entry: Mapping[str, object], role: str, file: Path, include: frozenset[str], where: str
) -> Iterator[Item]:
    content = value_at(value_at(entry, "message"), "content")
    parts: list[str] = []
    for block in content if isinstance(content, list) else [content]:
        taken = block if isinstance(block, str) else _block(block, include)
        if isinstance(taken, Skipped):
            yield taken
        elif taken.strip():
            parts.append(taken)
    text, external = "\n\n".join(parts), text_at(entry, "uuid")
    if not parts:
        if not isinstance(content, list) or not content:
            yield Skipped(reason="entry without text")
    elif not external:
        yield Problem(where=where, reason="an entry without a uuid")
    elif text.lstrip().startswith(_OWN_WORDS):
        yield Skipped(reason="put in by the program")
    else:
        kind = "summary" if entry.get("isCompactSummary") is True else "turn"
        yield turn(
            external, text, role=role, at=text_at(entry, "timestamp"), session=text_at(entry, "sessionId") or file.stem,
            program="claude-code", project=_project(text_at(entry, "cwd")), kind=kind, where=where,
        )  # fmt: skip


def _block(block: object, include: frozenset[str]) -> str | Skipped:
    type_ = text_at(block, "type")
    if type_ == "text":
        return text_at(block, "text")
    if type_ == "thinking" and "thinking" in include:
        return text_at(block, "thinking")
    if type_ in ("tool_use", "tool_result") and "tools" in include:
        name = text_at(block, "name")
        said = value_at(block, "input" if name else "content")
        try:
            return f"{name} {said if isinstance(said, str) else msgspec.json.encode(said).decode()}".strip()
        except RecursionError:
            return Skipped(reason="block nested too deeply")
    return Skipped(reason=f"{type_ or 'unknown'} block")


def _project(folder: str) -> str | None:
    """The last name of the working folder, whichever system it was on."""
    path = PureWindowsPath(folder) if "\\" in folder else PurePosixPath(folder)
    return path.name.strip() or None
