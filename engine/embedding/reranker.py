"""What scores texts against a question, seen from the engine: a name and `score`.

A cross-encoder reads question and text together: slower than comparing vectors and better, so formulas ask for
it on a few candidates only. Its scores are recorded with the recall; a replay never loads it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from recollect.events.errors import InvalidInput, RecollectError

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder

RerankFunction = Callable[[str, list[str]], Sequence[float]]


class RerankerMissing(RecollectError):
    """The package that runs cross-encoders is not installed."""


@runtime_checkable
class Reranker(Protocol):
    """A source of scores: larger means nearer to the question."""

    @property
    def name(self) -> str: ...

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """One score per text."""
        ...


class FunctionReranker:
    """Any callable from a question and a list of texts to scores, as a reranker."""

    def __init__(self, function: RerankFunction) -> None:
        self._function = function
        self.name = str(getattr(function, "name", getattr(function, "__qualname__", type(function).__name__)))

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        return [float(score) for score in self._function(query, list(texts))]


class CrossEncoderReranker:
    """A cross-encoder by the path of its folder or its name, through sentence-transformers; loaded when needed."""

    def __init__(self, model: str | Path) -> None:
        self._source = str(model)
        self._model: CrossEncoder | None = None
        self._loading = threading.Lock()
        self.name = f"cross-encoder/{Path(self._source).name}"

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        with self._loading:
            if self._model is None:
                self._model = _load(self._source)
        scores = self._model.predict([(query, text) for text in texts], show_progress_bar=False)
        return [float(score) for score in scores]


def _load(source: str) -> CrossEncoder:
    try:
        from sentence_transformers import CrossEncoder  # noqa: PLC0415 (takes seconds: only when needed)
        from transformers.utils import logging  # noqa: PLC0415
    except ImportError as error:
        raise RerankerMissing(
            "sentence-transformers is not installed; `pip install 'recollect[local]'`, or give a callable"
        ) from error
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    model: CrossEncoder = CrossEncoder(source, device="cpu")
    return model


def choose_reranker(given: str | Path | Reranker | RerankFunction | None) -> Reranker | None:
    """The reranker behind a path, a name, a callable or an object."""
    if given is None:
        return None
    if isinstance(given, (str, Path)):
        return CrossEncoderReranker(given)
    if isinstance(given, Reranker):
        return given
    if callable(given):
        return FunctionReranker(given)
    raise InvalidInput(
        f"reranker {given!r} is neither the path or name of a cross-encoder, nor a callable from a question "
        f"and texts to scores, nor None"
    )
