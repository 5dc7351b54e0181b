"""http://host:port/v1?model=NAME as a reranker.

    POST <path>/rerank  {"model": NAME, "query": text, "documents": [text, …], "texts": [text, …]}
    answers             {"results": [{"index": 0, "relevance_score": number}, …]}   or the list alone, with "score"

vLLM, Jina and Cohere read `documents` and call the score `relevance_score`; TEI reads `texts` and calls it `score`.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from recollect.engine.embedding.model_endpoint import Endpoint
from recollect.events.errors import RecollectError

_TIMEOUT_S = 10.0


class _Score(msgspec.Struct, frozen=True):
    index: int
    relevance_score: float | None = None
    score: float | None = None


class _Reply(msgspec.Struct, frozen=True):
    results: list[_Score]


class RerankerFailed(RecollectError):
    """A rerank server answered something else than one score per text."""


class RerankServer:
    """One model of one server. A question does not wait for it to come back."""

    def __init__(self, url: str, *, named_by_user: bool = True) -> None:
        self._server = Endpoint(url, kind="reranker", named_by_user=named_by_user)
        self.name = self._server.name

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        body = {"model": self._server.model, "query": query, "documents": texts, "texts": texts}
        said = self._server.post("rerank", body, timeout_s=min(self._server.timeout_s, _TIMEOUT_S))
        try:
            reply = msgspec.json.decode(said, type=_Reply | list[_Score])
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise RerankerFailed(f"the rerank server {self.name} gave no scores ({error})") from None
        rows = reply.results if isinstance(reply, _Reply) else reply
        scores = {
            row.index: row.score if row.relevance_score is None else row.relevance_score for row in rows
        }
        if len(rows) != len(texts) or scores.keys() != set(range(len(texts))):
            raise RerankerFailed(
                f"the rerank server {self.name} gave {len(rows)} scores for {len(texts)} texts"
            )
        found = [scores[place] for place in range(len(texts))]
        if any(score is None for score in found):
            raise RerankerFailed(f"the rerank server {self.name} gave a result without a score")
        return [float(score) for score in found if score is not None]
