"""Questions from a file, to be asked of a store: one per line, or as JSON lines with `recall`'s arguments.

    where are auth sessions stored?
    {"query": "when do we deploy?", "id": "deploys", "k": 5, "filters": {"project": "web"}}

A question's name is its `id`, or q and its line number.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec

from recollect.events.errors import InvalidInput


class Line(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One question as a file has it."""

    query: str
    id: str | None = None
    k: int = 10
    session: str | None = None
    context: dict[str, object] | None = None
    filters: dict[str, object] | None = None
    now: str | None = None


class NamedQuestion(NamedTuple):
    """A question and where it was read."""

    name: str
    line: Line
    where: str


def parse_questions(lines: Iterable[str | Mapping[str, object]], *, origin: str) -> list[NamedQuestion]:
    """The questions in lines of text, in lines of JSON, or in mappings; empty lines are skipped."""
    found = []
    for number, given in enumerate(lines, 1):
        if isinstance(given, str) and not given.strip():
            continue
        where = f"{origin}, line {number}"
        line = _line(given, where)
        found.append(NamedQuestion(line.id or f"q{number}", line, where))
    if not found:
        raise InvalidInput(f"{origin} holds no questions; write one per line")
    names = [question.name for question in found]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InvalidInput(f"{origin} has two questions named {twice!r}")
    return found


def _line(given: object, where: str) -> Line:
    if not isinstance(given, str | Mapping):
        raise InvalidInput(f"{where}: a question is a text or the arguments of `recall`, not {given!r}")
    try:
        if isinstance(given, Mapping):
            return msgspec.convert(dict(given), Line)
        text = given.strip()
        return msgspec.json.decode(text, type=Line) if text.startswith("{") else Line(query=text)
    except (msgspec.ValidationError, msgspec.DecodeError, RecursionError) as error:
        raise InvalidInput(f"{where}: {error}") from None
