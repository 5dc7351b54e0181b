"""The embedder of a server or a hook: the helper process that all of a user's programs share, or this process.

One model for all: several agents on one machine would otherwise each hold their own. Without the helper
(`--no-daemon`), or where it cannot be started, the model is loaded in this process.
"""

from __future__ import annotations

import sys

from recollect.engine.embedding.embedder import Embedder, choose


def embedder_of(name: str, *, daemon: bool) -> Embedder | None:
    """The embedder behind a name on the command line; only MiniLM is heavy enough to be shared."""
    if daemon and (name == "minilm" or name.startswith("minilm/")):
        from recollect.interfaces.model_server.client import WarmEmbedder  # noqa: PLC0415 (only when there is a model to share)

        return WarmEmbedder("minilm", tell=_tell)
    return choose(name)


def _tell(note: str) -> None:
    sys.stderr.write(f"recollect: {note}\n")
