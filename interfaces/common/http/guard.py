"""The guard that every server of a store stands behind: pure ASGI, so that answers stream through untouched.

A request reaches the application only if, in this order,

    its client has a token left in its bucket            429, with Retry-After (public paths take none)
    its Host header names this server                    421  (a page on another site that rebinds its name to
                                                               127.0.0.1 still sends its own name; any name will
                                                               do on another interface unless names were given)
    its Origin, if it has one, is this server or listed  403
    it carries the token, if there is one                401
    its body is small enough                             413, by Content-Length or, streamed, by counting

Without a token a server must be bound to the loopback interface; `guarded` refuses anything else. A refusal is a JSON
object whose `error` says what was wrong. Listed origins get the headers that let a browser read the answer.
"""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Iterable

import msgspec

from recollect.events.errors import InvalidInput
from recollect.interfaces.common.http.bucket import Buckets
from recollect.interfaces.common.http.exchange import (
    Application,
    Receive,
    Refusal,
    Scope,
    Send,
    pass_on,
    preflight,
    reading_headers,
    refuse,
    too_large,
    too_many,
)

__all__ = ["READS_ONLY", "Application", "guarded", "is_loopback"]

BODY_BYTES_MAX = 2_000_000
"""What a request to a store may send: a tool call or a JSON body with one long memory."""

REQUESTS_PER_MINUTE = 600
"""How many requests a client address may make."""

READS_ONLY = "recollect.reads_only"
"""In the scope of a request whose token may read and not write."""

_LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server that is bound to `host`."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def is_token(text: str) -> bool:
    """Whether a token can be sent in a header: printable ASCII characters without spaces, at least one."""
    return bool(text) and text.isascii() and text.isprintable() and " " not in text


def guarded(
    app: Application,
    *,
    host: str,
    port: int,
    token: str | None,
    read_token: str | None = None,
    body_bytes_max: int = BODY_BYTES_MAX,
    requests_per_minute: int = REQUESTS_PER_MINUTE,
    origins: Iterable[str] = (),
    host_names: Iterable[str] = (),
    public_paths: Iterable[str] = (),
    has_tokens: bool = False,
) -> Application:
    """`app` behind the guard of a server that is bound to `host` and `port`.

    `origins` are other sites whose pages may call it (https://example.org). `host_names` are the names by which a
    server with a token that is not on the loopback interface is called; any name if empty. `public_paths`
    are served without a token and without counting, and must tell nothing about the store. A request with `read_token` has READS_ONLY in
    its scope, and the application must let it change nothing. With `has_tokens` the application
    itself asks for tokens, and may be reached from other machines.
    """
    if token is None and not has_tokens and not is_loopback(host):
        raise InvalidInput(
            f"{host!r} can be reached from other machines, so a token is needed: give one (--token), "
            f"or bind to 127.0.0.1"
        )
    for one in (token, read_token):
        if one is not None and not is_token(one):
            raise InvalidInput(
                "a token is one or more printable ASCII characters without spaces; choose another"
            )
    if read_token is not None and token in (None, read_token):
        raise InvalidInput(
            "a token that only reads stands beside another one that writes: give both (--token)"
        )
    for what, value in (("body_bytes_max", body_bytes_max), ("requests_per_minute", requests_per_minute)):
        if value < 1:
            raise InvalidInput(f"{what} must be at least 1, not {value}")
    return _Guard(
        app=app,
        hosts=_hosts(host, port, host_names),
        token=None if token is None else token.encode(),
        read_token=None if read_token is None else read_token.encode(),
        body_bytes_max=body_bytes_max,
        buckets=Buckets(requests_per_minute),
        origins=frozenset(origin.rstrip("/").lower() for origin in origins),
        public_paths=frozenset(public_paths),
    )


def _hosts(host: str, port: int, host_names: Iterable[str]) -> frozenset[str] | None:
    """The Host headers that name this server; None accepts any."""
    names = {name.lower() for name in host_names}
    if not is_loopback(host) and not names:
        return None
    names |= {f"[{host}]" if ":" in host and not host.startswith("[") else host.lower(), *_LOOPBACK_NAMES}
    with_port = {f"{name}:{port}" for name in names}
    return frozenset(with_port | names if port in (80, 443) or not is_loopback(host) else with_port)


class _Guard(msgspec.Struct, frozen=True, kw_only=True):
    """`hosts` are the Host headers that name the server; None accepts any."""

    app: Application
    hosts: frozenset[str] | None
    token: bytes | None
    read_token: bytes | None
    body_bytes_max: int
    buckets: Buckets
    origins: frozenset[str]
    public_paths: frozenset[str]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        elif scope["type"] == "http":
            await self._http(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1008, "reason": "there are no websockets here"})

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = {name.lower(): value.decode("latin-1") for name, value in scope["headers"]}
        origin = headers.get(b"origin", "").lower()
        allowed = reading_headers(origin) if origin in self.origins else []
        refusal = self._unwelcome(scope, headers, origin)
        if refusal is None and allowed and b"access-control-request-method" in headers:
            await send({"type": "http.response.start", "status": 204, "headers": preflight(headers, allowed)})
            await send({"type": "http.response.body", "body": b""})
            return
        refusal = refusal or self._unauthorized(scope, headers) or self._oversized(headers)
        if refusal is not None:
            await refuse(send, refusal, allowed)
        else:
            await pass_on(self.app, scope, receive, send, body_bytes_max=self.body_bytes_max, allowed=allowed)

    def _unwelcome(self, scope: Scope, headers: dict[bytes, str], origin: str) -> Refusal | None:
        client = scope.get("client")
        is_counted = scope["path"] not in self.public_paths
        if is_counted and (wait_s := self.buckets.wait_s(client[0] if client else "")):
            return too_many(wait_s)
        host = headers.get(b"host", "").lower()
        if self.hosts is not None and host not in self.hosts:
            known = ", ".join(sorted(self.hosts))
            return Refusal(421, f"the Host header {host!r} does not name this server; it answers to {known}")
        own = {f"http://{host}", f"https://{host}"}
        if origin and origin not in self.origins and origin not in own:
            return Refusal(
                403, f"pages of {origin!r} may not call this server; list it as an origin if they should"
            )
        return None

    def _unauthorized(self, scope: Scope, headers: dict[bytes, str]) -> Refusal | None:
        if self.token is None or scope["path"] in self.public_paths:
            return None
        scheme, _, given = headers.get(b"authorization", "").partition(" ")
        sent = given.strip().encode("latin-1")
        if scheme.lower() == "bearer" and hmac.compare_digest(sent, self.token):
            return None
        if scheme.lower() == "bearer" and self.read_token and hmac.compare_digest(sent, self.read_token):
            scope[READS_ONLY] = True
            return None
        wrong = "this is not the server's token" if given else "this server needs a token"
        return Refusal(
            401, f"{wrong}; send it as `Authorization: Bearer <token>`", ((b"www-authenticate", b"Bearer"),)
        )

    def _oversized(self, headers: dict[bytes, str]) -> Refusal | None:
        length = headers.get(b"content-length")
        if length is None:
            return None
        if not (length.isascii() and length.isdecimal()):
            return Refusal(400, f"Content-Length {length!r} is not a number of bytes")
        return too_large(self.body_bytes_max) if int(length[:20]) > self.body_bytes_max else None
