"""MiniLM embeddings of the evaluation's texts, kept on disk by what was embedded.

`bench/results/minilm.npz` holds `digests` (SHA-256 of each text) and `vectors` (float32, one row each). A text is
embedded once, whichever data set it comes from; what is new is saved every few hundred texts, so that an
interrupted run loses little. The file may be deleted at any time.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from recollect.engine.embedding.minilm import MiniLm

Vectors = npt.NDArray[np.float32]
Embed = Callable[[Sequence[str]], Vectors]

CACHE = Path(__file__).parents[1] / "results" / "minilm.npz"
TEXTS_PER_SAVE = 512


def digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def embedded(texts: Sequence[str], *, cache: Path = CACHE, embed: Embed | None = None) -> Vectors:
    """One embedding per text, in order, from the cache where it has them."""
    known = _read(cache)
    wanted = {digest(text): text for text in texts}
    missing = [text for key, text in wanted.items() if key not in known]
    embed = embed or MiniLm().embed
    for start in range(0, len(missing), TEXTS_PER_SAVE):
        print(f"embedding: {start:,} of {len(missing):,} texts done", file=sys.stderr, flush=True)
        batch = missing[start : start + TEXTS_PER_SAVE]
        known.update(zip(map(digest, batch), embed(batch), strict=True))
        _write(cache, known)
    return np.array([known[digest(text)] for text in texts], dtype=np.float32)


def _read(cache: Path) -> dict[bytes, Vectors]:
    if not cache.exists():
        return {}
    with np.load(cache) as saved:
        keys = saved["digests"].tobytes()
        return {keys[32 * n : 32 * n + 32]: vector for n, vector in enumerate(saved["vectors"])}


def _write(cache: Path, known: dict[bytes, Vectors]) -> None:
    """The whole cache, moved into place at once, so that a reader never sees half a file."""
    cache.parent.mkdir(exist_ok=True)
    part = cache.with_suffix(".part.npz")
    np.savez(part, digests=np.frombuffer(b"".join(known), np.uint8), vectors=np.array(list(known.values())))
    part.replace(cache)
