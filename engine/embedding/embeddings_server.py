"""http://host:port/v1?model=NAME, an embeddings server (OpenAI, Ollama, vLLM, TEI, LM Studio).

    POST <path>/embeddings  {"model": NAME, "input": [text, …], "encoding_format": "float"}
    answers                 {"data": [{"index": 0, "embedding": [number, …]}, …]}

`&dim=256` asks the server for so many dimensions; `&batch=64` and `&timeout=30` (seconds) are this program's own. URL,
model and dim are the embedder's name, which a store records.

What fails for now is tried again with growing pauses; a server that is still away then, or refuses, raises EmbedderAway,
so that a recall ranks by words and a memory is kept without a vector. What it answers wrongly is an error.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import msgspec
import numpy as np

from recollect.engine.embedding.embedder import DIMENSIONS_MAX, EmbedderAway, EmbedderFailed, Embeddings
from recollect.engine.embedding.model_endpoint import Endpoint, ServerAway

_BATCH = 64
_BATCH_CHARACTERS = 500_000
_QUERY_TIMEOUT_S = 10.0
_PAUSES_S = (0.25, 1.0, 4.0)
_AVOIDED_S = 5.0


class _Row(msgspec.Struct, frozen=True):
    embedding: list[float]
    index: int = -1


class _Reply(msgspec.Struct, frozen=True):
    data: list[_Row]


class EmbeddingsServer:
    """One model of one server. `named_by_user` lets it have the key."""

    def __init__(self, url: str, *, named_by_user: bool = True) -> None:
        self._server = Endpoint(
            url,
            kind="embedder",
            options=("dim", "batch"),
            named_by_user=named_by_user,
        )
        self._dim = self._server.number("dim", DIMENSIONS_MAX)
        self._batch = self._server.number("batch", 4_096) or _BATCH
        self._away: tuple[float, str] | None = None
        self.dimensions = 0
        self.name = self._server.name + (f"&dim={self._dim}" if self._dim else "")

    @property
    def ready(self) -> bool:
        """Whether it may be asked: it did not fail a moment ago."""
        return self._away is None or time.monotonic() - self._away[0] > _AVOIDED_S

    @property
    def failure(self) -> str | None:
        return None if self._away is None else self._away[1]

    @property
    def state(self) -> str:
        return f"server at {self._server.url.netloc}" if self._away is None else self._away[1]

    def warm(self) -> None:
        """Do nothing: the server loads its own model."""

    def cut_note(self, texts: Sequence[str]) -> str | None:  # noqa: ARG002 (servers do not say)
        return None

    def embed(self, texts: Sequence[str]) -> Embeddings:
        return self._all(texts, _PAUSES_S, self._server.timeout_s)

    def embed_at_once(self, texts: Sequence[str]) -> Embeddings:
        """As `embed`, for a question that waits."""
        return self.embed_queries(texts)

    def embed_queries(self, texts: Sequence[str]) -> Embeddings:
        """Embed questions, without waiting for a server to come back."""
        return self._all(texts, (), min(self._server.timeout_s, _QUERY_TIMEOUT_S))

    def _all(self, texts: Sequence[str], pauses_s: Sequence[float], timeout_s: float) -> Embeddings:
        try:
            parts = [self._ask(batch, pauses_s, timeout_s) for batch in self._batches(texts)]
        except ServerAway as away:
            self._away = (time.monotonic(), str(away))
            raise EmbedderAway(str(away)) from None
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

    def _ask(self, texts: list[str], pauses_s: Sequence[float], timeout_s: float) -> Embeddings:
        body: dict[str, object] = {"model": self._server.model, "input": texts, "encoding_format": "float"}
        if self._dim:
            body["dimensions"] = self._dim
        said = self._server.post("embeddings", body, timeout_s=timeout_s, pauses_s=pauses_s)
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
