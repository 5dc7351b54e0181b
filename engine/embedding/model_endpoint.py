"""A server that speaks /v1/embeddings, /v1/rerank or /v1/chat/completions: its URL, its key, and one request to it.

    http://host:port/v1?model=NAME&timeout=30        what follows ? is for this program

The key comes from the environment and goes only to a host that the user named: by a flag, the environment or the user's
own configuration, never to one that a log or a store's configuration names, and no redirect is followed. A host that
only these name is asked at all only if it is this machine. A server may repeat the key; no message of ours does.
"""

from __future__ import annotations

import http.client
import ipaddress
import os
import random
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from time import sleep
from urllib.parse import SplitResult, parse_qsl, quote, urlsplit

import msgspec

from recollect.engine.embedding.names import KEYS, Kind, shown, whole_option
from recollect.events.errors import InvalidInput, RecollectError

TIMEOUT_S = 30.0
_TITLES: dict[Kind, str] = {"embedder": "embeddings", "reranker": "rerank", "chat": "chat"}
_BY_YOU: dict[Kind, str] = {
    "embedder": "`--embedder`, RECOLLECT_EMBEDDER",
    "reranker": "`--reranker`, RECOLLECT_RERANKER",
    "chat": "RECOLLECT_CHAT_URL",
}
_REPLY_BYTES_MAX = 512 * 2**20
_FOR_NOW = frozenset({408, 409, 425, 429, 500, 502, 503, 504})


class ServerAway(RecollectError):
    """A server does not answer, or refuses to; it may be asked again later."""


class _Transient(Exception):
    """Worth another try."""


class Endpoint:
    """One model of one server. `kind` is what an error calls it, `named_by_user` lets it have the key."""

    def __init__(self, given: str, *, kind: Kind, options: Sequence[str] = (), named_by_user: bool) -> None:
        self._kind = kind
        self._key_name = KEYS[kind]
        self._key = os.environ.get(self._key_name, "") if named_by_user else ""
        self.url, self.options = _parsed(given, kind, {"model", "timeout", *options})
        self.model = self.options["model"]
        self.name = f"{self.url.geturl()}?model={quote(self.model, safe='/:')}"
        self.timeout_s = self.number("timeout", 3_600) or TIMEOUT_S
        if not named_by_user and not is_this_machine(self.url.hostname or ""):
            raise InvalidInput(
                f"this store's {kind} is {self.name!r}, which only its log names, or its config.toml; name it yourself to "
                f"have it asked: {_BY_YOU[kind]}, or in your own config.toml (`recollect config` says where that is)"
            )

    def number(self, name: str, most: int) -> int | None:
        """A whole number among the options."""
        return whole_option(f"{self._kind} {self.name!r}", self.options, name, most)

    def post(
        self, path: str, body: object, *, timeout_s: float | None = None, pauses_s: Sequence[float] = ()
    ) -> bytes:
        """What the server answers; ServerAway once it has failed after every pause, or refused."""
        for pause_s in (*pauses_s, None):
            try:
                return self._ask(path, body, timeout_s or self.timeout_s)
            except (_Transient, OSError, http.client.HTTPException) as error:
                if pause_s is None:
                    raise self._away(str(error) or type(error).__name__) from None
                sleep(pause_s * (0.5 + random.random()))  # noqa: S311 (apart from other clients)
        raise AssertionError

    def without_key(self, text: str) -> str:
        return text.replace(self._key, "…") if self._key else text

    def _ask(self, path: str, body: object, timeout_s: float) -> bytes:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        of = http.client.HTTPSConnection if self.url.scheme == "https" else http.client.HTTPConnection
        connection = of(self.url.hostname or "", self.url.port, timeout=timeout_s)
        try:
            connection.connect()
            with _deadline(connection.sock, timeout_s):
                connection.request("POST", f"{self.url.path}/{path}", msgspec.json.encode(body), headers)
                answer = connection.getresponse()
                with answer:
                    said = answer.read(_REPLY_BYTES_MAX)
        except ValueError:  # a key with a line break in it, which http.client would repeat
            raise self._away(f"the value of {self._key_name} is no key") from None
        finally:
            connection.close()
        if answer.length:
            raise _Transient("its answer ended in the middle")
        if answer.status in _FOR_NOW:
            raise _Transient(f"it answered {answer.status} {answer.reason}{_reason(said)}")
        if answer.status != http.client.OK:
            remedy = f"; set {self._key_name}" if answer.status in {401, 403} else ""
            raise self._away(f"it answered {answer.status} {answer.reason}{_reason(said)}{remedy}")
        return said

    def _away(self, reason: str) -> ServerAway:
        return ServerAway(
            self.without_key(f"the {_TITLES[self._kind]} server {self.name} is away ({reason})")
        )


@contextmanager
def _deadline(connection: socket.socket, seconds: float) -> Iterator[None]:
    """End the connection if the block takes longer: a socket's own timeout holds for each piece of an answer anew."""
    late = threading.Event()

    def end() -> None:
        late.set()
        with suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    except (OSError, http.client.HTTPException):
        if not late.is_set():
            raise
    finally:
        timer.cancel()
    if late.is_set():
        raise _Transient(f"it took longer than {seconds:g} seconds")


def _reason(said: bytes) -> str:
    """What the server says about it, shortened to a line."""
    words = " ".join(said[:2_000].decode("utf-8", "replace").split())[:200]
    return f": {words}" if words else ""


def _parsed(given: str, kind: Kind, known: set[str]) -> tuple[SplitResult, dict[str, str]]:
    """The URL without its options, and these. What is wrong is said without what may be a secret."""
    try:
        url = urlsplit(given)
        host, port = url.hostname, url.port
    except ValueError as error:
        raise InvalidInput(f"{kind} {shown(given)!r} is not a URL: {error}") from None
    if url.username is not None or url.password is not None:
        raise InvalidInput(f"the {kind}'s URL holds no password; the key comes from {KEYS[kind]}")
    options = dict(parse_qsl(url.query, keep_blank_values=True))
    if unknown := options.keys() - known:
        there = ", ".join(sorted(known))
        raise InvalidInput(f"{kind} {shown(given)!r} has no option {sorted(unknown)[0]!r}; there are {there}")
    if not host or not options.get("model"):
        raise InvalidInput(
            f"{kind} {shown(given)!r} names no server and model; give http://host:port/v1?model=NAME"
        )
    where = f"[{host}]" if ":" in host else host
    plain = url._replace(netloc=where if port is None else f"{where}:{port}", query="", fragment="")
    return plain._replace(path=plain.path.rstrip("/")), options


def is_this_machine(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
