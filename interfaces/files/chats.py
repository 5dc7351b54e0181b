"""What conversations of all programs share: how a turn becomes a record.

A turn is a memory of kind "turn" with the role as a tag (user, assistant), the conversation as its session, so that
turns stand beside each other, and the conversation's name in its source.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from recollect.interfaces.files.foreign_times import moment
from recollect.interfaces.files.input_streams import (
    CONVERSATIONS,
    conversation_streams,
    elements,
    files_under,
)
from recollect.interfaces.files.records import ByteProgress, Choices, Item, Problem, Record

SOURCE_CHARACTERS_MAX = 200


def conversations(
    path: Path, choices: Choices, progress: ByteProgress, items: Callable[[object, str], Iterator[Item]]
) -> Iterator[Item]:
    """The items of every conversation in a file, a folder or a zip archive; `items` gets one and where it stands."""
    if path.is_dir():
        yield from files_under(path, CONVERSATIONS, deep=False).refused
    for name, stream in conversation_streams(path, progress, follow=choices.follow):
        for number, element in enumerate(elements(stream, name), 1):
            yield from items(element, f"{name}, conversation {number}")


def turn(
    external: str,
    content: str,
    *,
    role: str,
    at: object,
    session: str | None,
    program: str,
    title: str = "",
    project: str | None = None,
    kind: str = "turn",
    where: str,
) -> Record | Problem:
    try:
        time = moment(at)
    except ValueError as error:
        return Problem(where=where, reason=str(error))
    name = " ".join(title.split())
    source = f"{program}: {name}" if name else program
    return Record(
        external=external, content=content, at=time, kind=kind, role=role, session=session, project=project,
        source=source[:SOURCE_CHARACTERS_MAX].strip(), where=where,
    )  # fmt: skip


def value_at(value: object, name: str) -> object:
    """A field of an object; None if there is no such field, or it is no object."""
    return value.get(name) if isinstance(value, Mapping) else None


def text_at(value: object, *names: str) -> str:
    """The first of these fields that is a text, or an empty text."""
    return next((found for name in names if isinstance(found := value_at(value, name), str)), "")


def list_at(value: object, name: str) -> list[object]:
    found = value_at(value, name)
    return found if isinstance(found, list) else []
