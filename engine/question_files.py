"""Questions from a file, to be asked of a store: one per line, or as JSON lines with `recall`'s arguments.

    where are auth sessions stored?
    {"query": "when do we deploy?", "id": "deploys", "k": 5, "filters": {"project": "web"}}

A question's name is its `id`, or q and its line number.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple, cast

import msgspec

from recollect.engine import validate
from recollect.engine.recall_options import RecallOptions, refuse_unknown
from recollect.events.errors import InvalidInput

_OPTIONS = ("k", "session", "context", "filters", "now", "valid_at")


class NamedQuestion(NamedTuple):
    """A question, what was said beside it, and where it was read."""

    name: str
    query: str
    options: RecallOptions
    where: str


def parse_questions(lines: Iterable[str | Mapping[str, object]], *, origin: str) -> list[NamedQuestion]:
    """The questions in lines of text, in lines of JSON, or in mappings; empty lines are skipped."""
    found = []
    for number, given in enumerate(lines, 1):
        if isinstance(given, str) and not given.strip():
            continue
        where = f"{origin}, line {number}"
        try:
            found.append(_question(given, f"q{number}", where))
        except (InvalidInput, msgspec.DecodeError, RecursionError) as error:
            raise InvalidInput(f"{where}: {error}") from None
    if not found:
        raise InvalidInput(f"{origin} holds no questions; write one per line")
    names = [question.name for question in found]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InvalidInput(f"{origin} has two questions named {twice!r}")
    return found


def _question(given: object, name: str, where: str) -> NamedQuestion:
    if isinstance(given, str):
        text = given.strip()
        given = msgspec.json.decode(text, type=dict[str, object]) if text.startswith("{") else {"query": text}
    if not isinstance(given, Mapping):
        raise InvalidInput(f"a question is a text or the arguments of `recall`, not {given!r}")
    refuse_unknown(given, ("query", "id", *_OPTIONS))
    if "query" not in given:
        raise InvalidInput("a question needs a `query`")
    query = validate.query(given["query"])
    named = validate.optional_identifier(given.get("id"), "id")
    options = {option: given[option] for option in _OPTIONS if given.get(option) is not None}
    return NamedQuestion(named or name, query, cast("RecallOptions", options), where)
