"""st:NAME_OR_PATH, any model of sentence-transformers.

    st:BAAI/bge-small-en-v1.5            a name that sentence-transformers can load
    st:./models/mine?dim=256             a folder; the first 256 dimensions of a Matryoshka model
    st:NAME?device=cuda&batch=16         where it runs, and how many texts at once

The model and `dim` are the embedder's name, which a store records; `device` and `batch` are not. A model's own prompts
are put before questions and texts; e5 and bge, whose prompts are only on their pages, get those. No code that comes
with a model is run. Importing sentence-transformers takes seconds, so it happens on the first need, in a thread of its
own; `warm` starts it earlier.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

import msgspec
import numpy as np

from recollect.engine.embedding.embedder import DIMENSIONS_MAX, Embeddings
from recollect.engine.embedding.names import whole_option
from recollect.events.errors import InvalidInput, RecollectError
from recollect.events.named_files import named_path

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

INSTALL = "`pip install 'recollect[local]'`"
SCHEME = "st:"
_BATCH = 64
_BATCH_MAX = 4_096
_KNOWN_PROMPTS = (
    (re.compile(r"(^|/)(multilingual-)?e5-(small|base|large)(-v2)?$"), ("query: ", "passage: ")),
    (
        re.compile(r"(^|/)bge-(small|base|large)-en(-v1\.5)?$"),
        ("Represent this sentence for searching relevant passages: ", ""),
    ),
)


class ModelMissing(RecollectError):
    """A model, or the packages that run it, could not be loaded."""


class ModelSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What is said about a model after `st:`."""

    source: str
    dim: int | None = None
    device: str = "cpu"
    batch: int = _BATCH

    @property
    def name(self) -> str:
        """What a store records."""
        return f"{SCHEME}{self.source}" + (f"?dim={self.dim}" if self.dim else "")

    @property
    def whole(self) -> str:
        """The same with everything that was said, for another process."""
        dim = f"dim={self.dim}&" if self.dim else ""
        return f"{SCHEME}{self.source}?{dim}device={self.device}&batch={self.batch}"


def parse_spec(given: str) -> ModelSpec:
    """A spec, checked; a folder is named by its whole path, so that it is found from everywhere."""
    head, mark, tail = given.removeprefix(SCHEME).rpartition("?")
    source, options = (head, dict(parse_qsl(tail, keep_blank_values=True))) if mark else (tail, {})
    if unknown := options.keys() - {"dim", "device", "batch"}:
        raise InvalidInput(
            f"embedder {given!r} has no option {sorted(unknown)[0]!r}; there are dim, device and batch"
        )
    if not source.strip():
        raise InvalidInput(f"embedder {given!r} names no model; give st:NAME or st:FOLDER")
    folder = named_path(source)
    return ModelSpec(
        source=str(folder.resolve()) if folder.is_dir() else source,
        dim=whole_option(f"embedder {given!r}", options, "dim", DIMENSIONS_MAX),
        device=options.get("device") or "cpu",
        batch=whole_option(f"embedder {given!r}", options, "batch", _BATCH_MAX) or _BATCH,
    )


class SentenceModel:
    """A model by its spec. With `offline` only what is on this machine already is loaded."""

    def __init__(self, spec: ModelSpec, *, offline: bool = False) -> None:
        self.spec = spec.whole
        self._spec = spec
        self._offline = offline
        self._model: SentenceTransformer | None = None
        self._error: Exception | None = None
        self._dimensions = 0
        self._loaded = threading.Event()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None

    @property
    def name(self) -> str:
        return self._spec.name

    @property
    def dimensions(self) -> int:
        """Known once a text was embedded, and 0 before."""
        return self._dimensions

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
                self._thread = threading.Thread(target=self._load, name="recollect-model", daemon=True)
                self._thread.start()

    def embed(self, texts: Sequence[str]) -> Embeddings:
        return self._encode(texts, query=False)

    def embed_queries(self, texts: Sequence[str]) -> Embeddings:
        return self._encode(texts, query=True)

    def cut_note(self, texts: Sequence[str]) -> str | None:
        """How many of these texts are longer than the model reads; None if none is."""
        limit = 0 if self._model is None else int(self._model.get_max_seq_length() or 0)
        perhaps = [text for text in texts if len(text.encode("utf-8", "replace")) > limit] if limit else []
        if self._model is None or not perhaps:
            return None
        tokens = self._model.tokenizer(perhaps, truncation=False, verbose=False)["input_ids"]
        cut = sum(len(one) > limit for one in tokens)
        texts_are = "text is" if cut == 1 else "texts are"
        note = f"{cut} {texts_are} longer than the {limit} tokens that {self.name} reads, and embedded by the beginning"
        return note if cut else None

    def _encode(self, texts: Sequence[str], *, query: bool) -> Embeddings:
        self.warm()
        self._loaded.wait()
        model = self._model
        if model is None:
            raise ModelMissing(
                f"the embedder {self.name!r} could not be loaded: {self._error}"
            ) from self._error
        encode = model.encode_query if query else model.encode_document
        prompt = None if any(model.prompts.values()) else _known_prompt(self._spec.source, query=query)
        given = encode(list(texts), prompt=prompt, batch_size=self._spec.batch, show_progress_bar=False)
        vectors = np.asarray(given, dtype=np.float32)
        self._dimensions = vectors.shape[1] if vectors.ndim == 2 else 0
        return vectors

    def _source(self) -> str:
        """What sentence-transformers is asked to load."""
        return self._spec.source

    def _load(self) -> None:
        try:
            self._model = load(self._source(), self._spec, offline=self._offline)
        except Exception as error:  # noqa: BLE001 (raised for every text, and said in `failure`)
            self._error = error
        finally:
            self._loaded.set()


def runs_here() -> bool:
    """Whether the package that runs local models is installed; imports nothing."""
    return find_spec("sentence_transformers") is not None


def _known_prompt(source: str, *, query: bool) -> str | None:
    for pattern, (for_queries, for_texts) in _KNOWN_PROMPTS:
        if pattern.search(source):
            return for_queries if query else for_texts
    return None


def load(source: str, spec: ModelSpec, *, offline: bool) -> SentenceTransformer:
    if offline:
        os.environ.setdefault("HF_HUB_OFFLINE", "1")
    model: SentenceTransformer = package_for(source).SentenceTransformer(
        source, device=spec.device, truncate_dim=spec.dim, local_files_only=offline, trust_remote_code=False
    )
    return model


def package_for(source: str) -> ModuleType:
    """sentence-transformers, imported to load this model; ModelMissing if there is no such folder, or no package."""
    if source.startswith(("/", "~", ".")) and not Path(source).is_dir():
        raise ModelMissing(f"there is no folder {source}")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    try:
        import sentence_transformers  # noqa: PLC0415 (takes seconds: only when needed)
        from transformers.utils import logging  # noqa: PLC0415
    except ImportError:
        raise ModelMissing(f"the package sentence-transformers is not installed; {INSTALL}") from None
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    return sentence_transformers
