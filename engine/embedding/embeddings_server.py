"""http://host:port/v1?model=NAME, an embeddings server (OpenAI, Ollama, vLLM, TEI, LM Studio).

    POST <path>/embeddings  {"model": NAME, "input": [text, …], "encoding_format": "float"}
    answers                 {"data": [{"index": 0, "embedding": [number, …]}, …]}

`&dim=256` asks the server for so many dimensions; `&batch=64` and `&timeout=30` (seconds) are this program's own. URL,
model and dim are the embedder's name, which a store records.

The key RECOLLECT_EMBEDDINGS_KEY goes only to a host that the user named, never to one that a log names, and no redirect
is followed. A host that only a log names is asked at all only if it is this machine. What fails for now is tried again
with growing pauses; a server that is still away then, or refuses, raises EmbedderAway, so that a recall ranks by words
and a memory is kept without a vector. What it answers wrongly is an error.
"""

from __future__ import annotations

import http.client
import ipaddress
import os
import random
import time
from collections.abc import Callable, Sequence
from urllib.parse import SplitResult, parse_qsl, quote, urlsplit

import msgspec
import numpy as np

from recollect.engine.embedding.embedder import DIMENSIONS_MAX, EmbedderAway, EmbedderFailed, Embeddings
from recollect.events.errors import InvalidInput

KEY = "RECOLLECT_EMBEDDINGS_KEY"
SCHEMES = ("http://", "https://")
_BATCH = 64
_BATCH_CHARACTERS = 500_000
_TIMEOUT_S = 30.0
_QUERY_TIMEOUT_S = 10.0
_PAUSES_S = (0.25, 1.0, 4.0)
_AVOIDED_S = 5.0
_REPLY_BYTES_MAX = 512 * 2**20
_FOR_NOW = frozenset({408, 409, 425, 429, 500, 502, 503, 504})


class _Row(msgspec.Struct, frozen=True):
    embedding: list[float]
    index: int = -1


class _Reply(msgspec.Struct, frozen=True):
    data: list[_Row]


class _Transient(Exception):
    """Worth another try."""


class EmbeddingsServer:
    """One model of one server. `named_by_user` lets it have the key."""

    def __init__(
        self, url: str, *, named_by_user: bool = True, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._url, options = _parsed(url)
        self._model = options.get("model", "")
        self._dim = _number(url, options, "dim", DIMENSIONS_MAX)
        self._batch = int(_number(url, options, "batch", 4_096) or _BATCH)
        self._timeout_s = _number(url, options, "timeout", 3_600) or _TIMEOUT_S
        self._key = os.environ.get(KEY, "") if named_by_user else ""
        self._sleep = sleep
        self._away: tuple[float, str] | None = None
        self.dimensions = 0
        dim = f"&dim={self._dim}" if self._dim else ""
        self.name = f"{self._url.geturl()}?model={quote(self._model, safe='/:')}{dim}"
        if not named_by_user and not _is_this_machine(self._url.hostname or ""):
            raise InvalidInput(
                f"this store's embedder is {self.name!r}, which only its log names; name it yourself to have it asked: "
                f"`--embedder '{self.name}'`, or RECOLLECT_EMBEDDER"
            )

    @property
    def ready(self) -> bool:
        """Whether it may be asked: it did not fail a moment ago."""
        return self._away is None or time.monotonic() - self._away[0] > _AVOIDED_S

    @property
    def failure(self) -> str | None:
        return None if self._away is None else self._away[1]

    @property
    def state(self) -> str:
        return f"server at {self._url.netloc}" if self._away is None else self._away[1]

    def warm(self) -> None:
        """A server is as warm as it is."""

    def cut_note(self, texts: Sequence[str]) -> str | None:  # noqa: ARG002 (servers do not say)
        return None

    def embed(self, texts: Sequence[str]) -> Embeddings:
        return self._all(texts, _PAUSES_S, self._timeout_s)

    def embed_queries(self, texts: Sequence[str]) -> Embeddings:
        """A question does not wait for a server to come back."""
        return self._all(texts, (), min(self._timeout_s, _QUERY_TIMEOUT_S))

    def _all(self, texts: Sequence[str], pauses_s: Sequence[float], timeout_s: float) -> Embeddings:
        parts = [self._patiently(batch, pauses_s, timeout_s) for batch in self._batches(texts)]
        self._away = None
        if not parts:
            return np.zeros((0, self.dimensions), dtype=np.float32)
        widths = {part.shape[1] for part in parts} | ({self.dimensions} if self.dimensions else set())
        if len(widths) > 1:
            raise EmbedderFailed(
                self.name, f"gave vectors of {' and '.join(map(str, sorted(widths)))} dimensions"
            )
        (self.dimensions,) = widths
        return np.concatenate(parts)

    def _patiently(self, texts: list[str], pauses_s: Sequence[float], timeout_s: float) -> Embeddings:
        for pause_s in (*pauses_s, None):
            try:
                return self._ask(texts, timeout_s)
            except (_Transient, OSError, http.client.HTTPException) as error:
                if pause_s is None:
                    raise self._gone(str(error) or type(error).__name__) from None
                self._sleep(pause_s * (0.5 + random.random()))  # noqa: S311 (apart from other clients)
        raise AssertionError

    def _ask(self, texts: list[str], timeout_s: float) -> Embeddings:
        body: dict[str, object] = {"model": self._model, "input": texts, "encoding_format": "float"}
        if self._dim:
            body["dimensions"] = self._dim
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        of = http.client.HTTPSConnection if self._url.scheme == "https" else http.client.HTTPConnection
        connection = of(self._url.hostname or "", self._url.port, timeout=timeout_s)
        try:
            connection.request("POST", f"{self._url.path}/embeddings", msgspec.json.encode(body), headers)
            answer = connection.getresponse()
            said = answer.read(_REPLY_BYTES_MAX)
        finally:
            connection.close()
        if answer.length:
            raise _Transient("its answer ended in the middle")
        if answer.status in _FOR_NOW:
            raise _Transient(f"it answered {answer.status} {answer.reason}{self._reason(said)}")
        if answer.status != http.client.OK:
            remedy = f"; set {KEY}" if answer.status in {401, 403} else ""
            raise self._gone(f"it answered {answer.status} {answer.reason}{self._reason(said)}{remedy}")
        return self._rows(said, len(texts))

    def _rows(self, said: bytes, count: int) -> Embeddings:
        try:
            rows = msgspec.json.decode(said, type=_Reply).data
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise EmbedderFailed(self.name, f"gave no embeddings ({error})") from None
        if sorted(row.index for row in rows) == list(range(count)):
            rows = sorted(rows, key=lambda row: row.index)
        if len(rows) != count or len({len(row.embedding) for row in rows}) != 1:
            widths = sorted({len(row.embedding) for row in rows})
            raise EmbedderFailed(
                self.name, f"gave {len(rows)} vectors of {widths} dimensions for {count} texts"
            )
        return np.array([row.embedding for row in rows], dtype=np.float32)

    def _gone(self, reason: str) -> EmbedderAway:
        """What to raise, kept for those who ask in the next moments. A server may repeat the key; this does not."""
        said = f"the embeddings server {self.name} is away ({reason})"
        self._away = (time.monotonic(), said.replace(self._key, "…") if self._key else said)
        return EmbedderAway(self._away[1])

    def _reason(self, said: bytes) -> str:
        """What the server says about it, shortened to a line."""
        words = " ".join(said[:2_000].decode("utf-8", "replace").split())[:200]
        return f": {words}" if words else ""

    def _batches(self, texts: Sequence[str]) -> list[list[str]]:
        batches: list[list[str]] = []
        size = 0
        for text in texts:
            size += len(text)
            if not batches or len(batches[-1]) == self._batch or size > _BATCH_CHARACTERS:
                batches.append([])
                size = len(text)
            batches[-1].append(text)
        return batches


def _parsed(given: str) -> tuple[SplitResult, dict[str, str]]:
    """The URL without its options, and these."""
    try:
        url = urlsplit(given)
        host, port = url.hostname, url.port
    except ValueError as error:
        raise InvalidInput(f"embedder {given!r} is not a URL: {error}") from None
    if url.username is not None or url.password is not None:
        raise InvalidInput(f"an embedder's URL holds no password; the key comes from {KEY}")
    options = dict(parse_qsl(url.query, keep_blank_values=True))
    if unknown := options.keys() - {"model", "dim", "batch", "timeout"}:
        known = "model, dim, batch and timeout"
        raise InvalidInput(f"embedder {given!r} has no option {sorted(unknown)[0]!r}; there are {known}")
    if not host or not options.get("model"):
        raise InvalidInput(
            f"embedder {given!r} names no server and model; give http://host:port/v1?model=NAME"
        )
    where = f"[{host}]" if ":" in host else host
    plain = url._replace(netloc=where if port is None else f"{where}:{port}", query="", fragment="")
    return plain._replace(path=plain.path.rstrip("/")), options


def _number(given: str, options: dict[str, str], name: str, most: int) -> int | None:
    if name not in options:
        return None
    value = options[name]
    if not value.isdecimal() or not 0 < int(value) <= most:
        raise InvalidInput(
            f"embedder {given!r}: {name} is {value!r}; it must be a whole number from 1 to {most:,}"
        )
    return int(value)


def _is_this_machine(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
