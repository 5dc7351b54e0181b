"""Parse requests into typed Structs, and turn errors into answers.

Parameters are the fields of a Struct: a name that it does not have, or a value of another type, is refused with what
there is instead. Bodies are JSON objects and must say so: a page elsewhere cannot send that type without asking first.
"""

from __future__ import annotations

import re
from typing import TypeVar

import msgspec
from starlette.requests import Request

from recollect.engine.dream_schedule import DreamOvertaken
from recollect.engine.embedding.embedder import EmbedderMismatch
from recollect.events.errors import (
    EventIdReused,
    HeadMoved,
    InvalidInput,
    LogBusy,
    LogDamaged,
    LogFailed,
    LogReadOnly,
    RecollectError,
    UnknownMemory,
    UnknownRecall,
)
from recollect.interfaces.common.validation_errors import field_names, in_words, missing_field
from recollect.replay.why import NothingLeftToExplain

T = TypeVar("T", bound=msgspec.Struct)

_LISTS = {"tags", "kinds", "without", "ids", "recalls"}
_DEPTH_MAX = 64


class NotAllowed(RecollectError):
    """Not allowed on this server: 403."""


class NotJson(RecollectError):
    """The body is not JSON: 415."""


_STATUS: dict[type[RecollectError], int] = {
    UnknownMemory: 404,
    UnknownRecall: 404,
    NothingLeftToExplain: 404,
    HeadMoved: 409,
    EventIdReused: 409,
    EmbedderMismatch: 409,
    DreamOvertaken: 409,
    LogBusy: 503,
    LogDamaged: 503,
    LogFailed: 503,
    LogReadOnly: 503,
    NotAllowed: 403,
    NotJson: 415,
}


def status_of(error: RecollectError) -> int:
    """The HTTP status of an error; 400 unless the table says otherwise."""
    return next((status for kind, status in _STATUS.items() if isinstance(error, kind)), 400)


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """Why a request was refused: in words, as a code that stays, and which parameter it was about, if one."""

    error: str
    code: str
    field: str | None = None


class RefusedParameter(InvalidInput):
    """A parameter that is missing, unknown or wrong."""

    def __init__(self, message: str, field: str) -> None:
        super().__init__(message)
        self.field = field


def error_of(error: RecollectError) -> Problem:
    """An error as the API says it; the code is the error's name."""
    name = "InvalidInput" if isinstance(error, RefusedParameter) else type(error).__name__
    code = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
    return Problem(error=str(error), code=code, field=getattr(error, "field", None))


def parameters(request: Request, kind: type[T]) -> T:
    """The query string as a Struct."""
    params = request.query_params
    for name in params:
        if name not in _LISTS and len(params.getlist(name)) > 1:
            raise RefusedParameter(f"{request.url.path} got {name!r} more than once; give it once", name)
    given: dict[str, object] = {
        name: params.getlist(name) if name in _LISTS else params[name] for name in params
    }
    if "context" in given and "context" in kind.__struct_fields__:
        given["context"] = _object(params["context"], request.url.path)
    return _convert(given, kind, request.url.path, strict=False)


def _object(text: str, path: str) -> dict[str, object]:
    """An object in a query string, as JSON."""
    try:
        return msgspec.json.decode(text, type=dict[str, object])
    except (msgspec.DecodeError, RecursionError):
        raise InvalidInput(
            f'{path}: context is {text!r}; give it as JSON, such as {{"profile": "decision"}}'
        ) from None


async def body(request: Request, kind: type[T]) -> T:
    """The body as a Struct."""
    return _convert(await json_object(request), kind, request.url.path, strict=True)


async def json_object(request: Request) -> dict[str, object]:
    raw = await request.body()
    type_ = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if type_ != "application/json" and (raw or type_):
        raise NotJson(
            f"the body is {type_ or 'of no stated type'}; send JSON with Content-Type: application/json"
        )
    if not raw:
        return {}
    try:
        given = msgspec.json.decode(raw, type=dict[str, object])
        too_deep = _is_deeper(given, _DEPTH_MAX)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(f"the body is not a JSON object: {error}") from None
    except RecursionError:
        too_deep = True
    if too_deep:
        raise InvalidInput(f"the body is nested deeper than the {_DEPTH_MAX} levels allowed; send it flatter")
    return given


def _is_deeper(value: object, levels: int) -> bool:
    """Whether containers are nested deeper than `levels`."""
    layer: list[object] = [value]
    for _ in range(levels + 1):
        layer = [
            inner
            for one in layer
            if isinstance(one, (dict, list))
            for inner in (one.values() if isinstance(one, dict) else one)
        ]
    return bool(layer)


def _convert(given: dict[str, object], kind: type[T], path: str, *, strict: bool) -> T:
    unknown = sorted(set(given) - set(kind.__struct_encode_fields__))
    if unknown:
        known = ", ".join(field_names(kind)) or "nothing"
        raise RefusedParameter(f"{path} has no parameter {unknown[0]!r}; it takes {known}", unknown[0])
    try:
        return msgspec.convert(given, kind, strict=strict)
    except msgspec.ValidationError as error:
        field, said = _said(error, given, kind)
        raise RefusedParameter(f"{path}: {said}", field) from None


def _said(
    error: msgspec.ValidationError, given: dict[str, object], kind: type[msgspec.Struct]
) -> tuple[str, str]:
    """The parameter, and in words that it is missing, or that its value is wrong and why."""
    if missing := missing_field(kind, given):
        return missing, f"it needs {missing!r}"
    named = re.search(r"`\$\.(\w+)", str(error))
    return named[1] if named else "", in_words(error, given, kind)
