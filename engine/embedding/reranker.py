"""What scores texts against a question, seen from the engine: a name and `score`.

A cross-encoder reads question and text together: slower than comparing vectors and better, so formulas ask for
it on a few candidates only. Its scores are recorded with the recall; a replay never loads it.

    cross-encoder/ms-marco-MiniLM-L6-v2     a name that sentence-transformers can load, or a folder
    http://host:port/v1?model=NAME          a server: POST <path>/rerank {"model", "query", "documents"}, which answers
                                            {"results": [{"index": 0, "relevance_score": 0.9}, …]} (TEI, vLLM, Jina, Cohere)
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from recollect.engine.embedding.names import NONE, SCHEMES
from recollect.engine.embedding.sentence_model import package_for
from recollect.events.errors import InvalidInput
from recollect.events.named_files import named_path

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder

RerankFunction = Callable[[str, list[str]], Sequence[float]]


@runtime_checkable
class Reranker(Protocol):
    """A source of scores: larger means nearer to the question."""

    @property
    def name(self) -> str: ...

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """One score per text."""
        ...


AnyReranker = str | Path | Reranker | RerankFunction


class FunctionReranker:
    """Any callable from a question and a list of texts to scores, as a reranker."""

    def __init__(self, function: RerankFunction) -> None:
        self._function = function
        self.name = str(getattr(function, "name", getattr(function, "__qualname__", type(function).__name__)))

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        return [float(score) for score in self._function(query, list(texts))]


class CrossEncoderReranker:
    """A cross-encoder by the path of its folder or its name, through sentence-transformers; loaded when needed.

    With `offline` only what is on this machine already is loaded. No code that comes with a model is run.
    """

    def __init__(self, model: str | Path, *, offline: bool = False) -> None:
        folder = named_path(model)
        self._source = str(folder.absolute()) if folder.is_dir() else str(model)
        self._offline = offline
        self._model: CrossEncoder | None = None
        self._loading = threading.Lock()
        self.name = f"cross-encoder/{Path(self._source).name}"

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        with self._loading:
            if self._model is None:
                self._model = _load(self._source, offline=self._offline)
        scores = self._model.predict([(query, text) for text in texts], show_progress_bar=False)
        return [float(score) for score in scores]


def _load(source: str, *, offline: bool) -> CrossEncoder:
    model: CrossEncoder = package_for(source).CrossEncoder(
        source, device="cpu", local_files_only=offline, trust_remote_code=False
    )
    return model


def choose_reranker(given: AnyReranker | None, *, named_by_user: bool = True) -> Reranker | None:
    """The reranker behind a path, a name, a URL, a callable or an object."""
    if given is None or given == NONE:
        return None
    if isinstance(given, str) and given.startswith(SCHEMES):
        from recollect.engine.embedding.rerank_server import RerankServer  # noqa: PLC0415 (http takes 15 ms)

        return RerankServer(given, named_by_user=named_by_user)
    if isinstance(given, (str, Path)):
        return CrossEncoderReranker(given, offline=not named_by_user)
    if isinstance(given, Reranker):
        return given
    if callable(given):
        return FunctionReranker(given)
    raise InvalidInput(
        f"reranker {given!r} is neither the path or name of a cross-encoder, nor a URL, nor a callable from a question "
        f"and texts to scores, nor None"
    )
