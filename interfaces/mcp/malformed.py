"""Answer lines on standard input that are not messages of the protocol.

The SDK passes over what it cannot read: half an emoji (a lone surrogate, which JSON text can spell and Unicode cannot
hold), a batch, a number with a fraction as the id. The client would wait for ever. So it is told what was wrong,
under the id of its request where one can be read, and a warning goes to the log.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextvars import Context
from typing import TYPE_CHECKING

from anyio.abc import ObjectReceiveStream
from mcp import types
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

if TYPE_CHECKING:
    from mcp.shared._stream_protocols import ReadStream, WriteStream

log = logging.getLogger("recollect.mcp")

Item = SessionMessage | Exception
RequestId = str | int | None

NOT_A_MESSAGE = (
    'this is not a message of the protocol: send one JSON object a line, with "jsonrpc": "2.0", a method, and for a '
    "request an id that is text or a whole number; batches are not taken"
)
_HINT = ": a lone surrogate (half of an emoji, such as \\ud83d) is not text; send the whole character or leave it out"
_NOTIFICATIONS = "notifications/"
_SHOWN = 80


class ReadableMessages(ObjectReceiveStream[Item]):
    """A stream of messages that answers the lines it cannot read and passes on the rest."""

    def __init__(self, incoming: ReadStream[Item], outgoing: WriteStream[SessionMessage]) -> None:
        self._incoming = incoming
        self._outgoing = outgoing

    @property
    def last_context(self) -> Context | None:
        """What the SDK reads beside a message."""
        return getattr(self._incoming, "last_context", None)

    async def receive(self) -> Item:
        while True:
            item = await self._incoming.receive()
            if isinstance(item, SessionMessage) and not _lacks_an_id(item):
                return item
            for reply in replies(item):
                await self._outgoing.send(SessionMessage(reply))

    async def aclose(self) -> None:
        await self._incoming.aclose()


def replies(item: Item) -> Iterator[types.JSONRPCError]:
    """The replies to a line that is not a message; none if it is blank, or an answer to us."""
    if isinstance(item, SessionMessage):
        log.warning("a request has no id that can be answered: %s", NOT_A_MESSAGE)
        yield _refused(None, types.INVALID_REQUEST, NOT_A_MESSAGE)
        return
    line, code, problem = _read(item)
    if isinstance(line, str) and not line.strip():
        return
    log.warning("a line was not understood (%s): %.*r", problem, _SHOWN, line)
    for request in _ids(line):
        yield _refused(request, code, problem)


def _lacks_an_id(item: SessionMessage) -> bool:
    """The SDK takes a request with an invalid id for a notification; real notifications have names of their own."""
    message = item.message
    return isinstance(message, types.JSONRPCNotification) and not message.method.startswith(_NOTIFICATIONS)


def _read(error: Exception) -> tuple[object, int, str]:
    """The line behind an error of the SDK, and what was wrong with it."""
    if not isinstance(error, ValidationError):
        return None, types.PARSE_ERROR, str(error)
    problems = error.errors()
    for one in problems:
        if one["type"] == "json_invalid":
            return one["input"], types.PARSE_ERROR, one["msg"] + _HINT * ("hex escape" in one["msg"])
    whole = (one["input"] for one in problems if len(one["loc"]) == 1 or one["type"] == "missing")
    return next(whole, None), types.INVALID_REQUEST, NOT_A_MESSAGE


def _ids(line: object) -> list[RequestId]:
    """The ids of the requests in a line that wait for an answer."""
    try:
        parsed = json.loads(line) if isinstance(line, str) else line
    except (ValueError, RecursionError):
        return [None]
    messages = parsed if isinstance(parsed, list) and parsed else [parsed]
    return [_id(one) for one in messages if not _expects_nothing(one)]


def _expects_nothing(message: object) -> bool:
    if not isinstance(message, dict):
        return False
    if "method" not in message:
        return "result" in message or "error" in message
    return "id" not in message


def _id(message: object) -> RequestId:
    """A request's id, or None if it cannot be sent back."""
    found = message.get("id") if isinstance(message, dict) else None
    if isinstance(found, str):
        return found if found.isascii() or found.encode("utf-8", "ignore").decode() == found else None
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def _refused(request: RequestId, code: int, problem: str) -> types.JSONRPCError:
    return types.JSONRPCError(jsonrpc="2.0", id=request, error=types.ErrorData(code=code, message=problem))
