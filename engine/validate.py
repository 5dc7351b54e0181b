"""Checks at the edge: what a caller gives, before anything is written. Refusals name the value and the way out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import get_args

from recollect.events.errors import InvalidInput
from recollect.events.facts import AccessKind, Verdict

CONTENT_BYTES_MAX = 1_000_000
QUERY_CHARACTERS_MAX = 10_000
STATEMENT_CHARACTERS_MAX = 100_000
ID_CHARACTERS_MAX = 256
K_MAX = 10_000
WEIGHT_MAX = 1e6
_SEQ_DIGITS_MAX = 19


def text(value: object, what: str, *, characters_max: int = 1_000) -> str:
    """A string that UTF-8 can hold."""
    if not isinstance(value, str):
        raise InvalidInput(f"{what} must be text, not {type(value).__name__} ({value!r:.100})")
    if len(value) > characters_max:
        raise InvalidInput(f"{what} has {len(value):,} characters; at most {characters_max:,} are taken")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(
            f"{what} holds a lone surrogate (U+{ord(value[error.start]):04X}) at character {error.start}, "
            f"which is not valid Unicode text; decode it properly or remove it"
        ) from None
    return value


def query(value: object, what: str = "query") -> str:
    """A question, short enough to be answered quickly."""
    if isinstance(value, str) and len(value) > QUERY_CHARACTERS_MAX:
        raise InvalidInput(
            f"{what} has {len(value):,} characters; at most {QUERY_CHARACTERS_MAX:,} are taken: ask with the part that matters"
        )
    return text(value, what, characters_max=QUERY_CHARACTERS_MAX)


def content(value: object) -> str:
    checked = text(value, "content", characters_max=CONTENT_BYTES_MAX)
    if not checked.strip():
        raise InvalidInput("content is empty; a memory needs a text")
    if len(checked.encode()) > CONTENT_BYTES_MAX:
        raise InvalidInput(
            f"content takes {len(checked.encode()):,} bytes; at most {CONTENT_BYTES_MAX:,} are taken: split it"
        )
    return checked


def identifier(value: object, what: str = "id") -> str:
    checked = text(value, what, characters_max=ID_CHARACTERS_MAX)
    if not checked.strip() or checked != checked.strip():
        raise InvalidInput(f"{what} {checked!r} is empty or has space around it")
    return checked


def is_recall_id(value: object) -> bool:
    """Whether this has the form of a recall's id, such as r12."""
    return isinstance(value, str) and value.startswith("r") and is_seq(value[1:])


def is_seq(digits: str) -> bool:
    """Whether these are the digits of a seq; Python makes no number of very many."""
    return len(digits) <= _SEQ_DIGITS_MAX and digits.isascii() and digits.isdecimal()


def optional_identifier(value: object, what: str) -> str | None:
    return None if value is None else identifier(value, what)


def number(value: object, what: str, *, low: float, high: float) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InvalidInput(f"{what} must be a number, not {value!r}")
    if not low <= value <= high:  # nor is NaN
        raise InvalidInput(f"{what} is {shown(value)}; it must be from {low:g} to {high:g}")
    return float(value)


def shown(value: object) -> str:
    """A value in a refusal; Python writes no number of very many digits."""
    try:
        return f"{value!r:.100}"
    except ValueError:
        return "too large"


def whole(value: object, what: str, *, low: int, high: int) -> int:
    index = None if isinstance(value, bool) else getattr(value, "__index__", None)
    if index is None or not low <= index() <= high:
        raise InvalidInput(f"{what} is {shown(value)}; it must be a whole number from {low} to {high}")
    return int(index())


def labels(values: object, what: str) -> tuple[str, ...]:
    """Tags, entities: texts without repeats, in the given order."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InvalidInput(f"{what} must be a list of texts, not {values!r}")
    return tuple(dict.fromkeys(identifier(value, f"{what} entry") for value in values))


def access_kind(value: object) -> AccessKind:
    return _one_of(value, "how", get_args(AccessKind))  # type: ignore[return-value]


def verdict(value: object) -> Verdict:
    return _one_of(value, "verdict", get_args(Verdict))  # type: ignore[return-value]


def _one_of(value: object, what: str, allowed: tuple[str, ...]) -> str:
    if value not in allowed:
        raise InvalidInput(f"{what} is {value!r}; it must be one of {', '.join(allowed)}")
    return str(value)


def validity(valid_from: int | None, valid_to: int | None) -> None:
    if valid_from is not None and valid_to is not None and valid_from >= valid_to:
        raise InvalidInput(
            "valid_from and valid_to are in the wrong order: the first must come before the second"
        )
