"""One request and its answer, as the guard passes them on: refusals, whole bodies, headers for other origins."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
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


async def pass_on(
    app: Application, scope: Scope, receive: Receive, send: Send, *, body_bytes_max: int, allowed: Headers
) -> None:
    """Call the application once the whole body has arrived and is small enough; a client may disconnect before that."""
    body = bytearray()
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > body_bytes_max:
            await refuse(send, too_large(body_bytes_max), allowed)
            return
    unread: list[Message] = [{"type": "http.request", "body": bytes(body), "more_body": False}]

    async def receive_whole() -> Message:
        """Give the body once, then wait for the client's disconnect."""
        return unread.pop() if unread else await receive()

    async def send_allowed(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", ()), *allowed]}
        await send(message)

    await app(scope, receive_whole, send_allowed)


def too_large(most: int) -> Refusal:
    return Refusal(413, f"the body is larger than the {most} bytes allowed", ((b"connection", b"close"),))


def too_many(wait_s: int) -> Refusal:
    return Refusal(429, f"too many requests; try again in {wait_s} s", ((b"retry-after", b"%d" % wait_s),))


async def refuse(send: Send, refusal: Refusal, allowed: Iterable[tuple[bytes, bytes]] = ()) -> None:
    body = json.dumps({"error": refusal.error}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    headers += [*refusal.headers, *allowed]
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def reading_headers(origin: str) -> Headers:
    """Headers that let a page of a listed origin read the answer."""
    return [
        (b"access-control-allow-origin", origin.encode("latin-1")),
        (b"access-control-expose-headers", _EXPOSED),
        (b"vary", b"origin"),
    ]


def preflight(headers: dict[bytes, str], allowed: Headers) -> Headers:
    """Headers of a preflight's answer: a listed page may send the headers it asked for."""
    wanted = headers.get(b"access-control-request-headers", "authorization, content-type")
    return [
        *allowed,
        (b"access-control-allow-methods", b"GET, POST, PATCH, DELETE"),
        (b"access-control-allow-headers", wanted.encode("latin-1")),
        (b"access-control-max-age", b"600"),
    ]
