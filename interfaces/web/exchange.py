"""One request and its answer, as the guard passes them on: refusals, counted bodies, headers for other origins."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, NamedTuple

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]

_EXPOSED = b"mcp-session-id, mcp-protocol-version, retry-after"


class Refusal(NamedTuple):
    """An answer instead of the application's."""

    status: int
    error: str
    headers: tuple[tuple[bytes, bytes], ...] = ()


class Exchange:
    """One request and its answer: counts what comes in, and once it has refused, lets nothing more out."""

    def __init__(self, receive: Receive, send: Send, body_bytes_max: int, allowed: Headers) -> None:
        self._receive = receive
        self._send = send
        self._left = body_bytes_max
        self._max = body_bytes_max
        self._allowed = allowed
        self._started = False
        self._refused = False

    async def through(self, app: Application, scope: Scope) -> None:
        try:
            await app(scope, self.receive, self.send)
        except Exception:
            if not self._refused:
                raise

    async def receive(self) -> Message:
        if self._refused:
            return {"type": "http.disconnect"}
        message = await self._receive()
        self._left -= len(message.get("body", b""))
        if self._left >= 0:
            return message
        if not self._started:
            await refuse(self._send, too_large(self._max), self._allowed)
        self._refused = True
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        if self._refused:
            return
        if message["type"] == "http.response.start":
            self._started = True
            message = {**message, "headers": [*message.get("headers", ()), *self._allowed]}
        await self._send(message)


def too_large(most: int) -> Refusal:
    return Refusal(413, f"the body is larger than the {most} bytes allowed", ((b"connection", b"close"),))


async def refuse(send: Send, refusal: Refusal, allowed: Headers) -> None:
    body = json.dumps({"error": refusal.error}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    headers += [*refusal.headers, *allowed]
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def reading_headers(origin: str) -> Headers:
    """What lets a page of a listed origin read the answer."""
    return [
        (b"access-control-allow-origin", origin.encode("latin-1")),
        (b"access-control-expose-headers", _EXPOSED),
        (b"vary", b"origin"),
    ]


def preflight(headers: dict[bytes, str], allowed: Headers) -> Headers:
    """What a browser asks before it lets a listed page call: it may, with what it asked for."""
    wanted = headers.get(b"access-control-request-headers", "authorization, content-type")
    return [
        *allowed,
        (b"access-control-allow-methods", b"GET, POST, PATCH, DELETE"),
        (b"access-control-allow-headers", wanted.encode("latin-1")),
        (b"access-control-max-age", b"600"),
    ]
