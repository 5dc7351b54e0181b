"""The names of the embedders that are built in: apart from them, so that checking a name loads nothing."""

from __future__ import annotations

from recollect.events.errors import InvalidInput

BUILT_IN = ("minilm", "hash")
NONE = "none"
AUTO = "auto"
"""The store's own embedder; in an empty store MiniLM where it is installed, and otherwise words only."""


def is_built_in(name: str) -> bool:
    """Whether there is an embedder of this name; what follows a slash is its model."""
    return name.partition("/")[0] in BUILT_IN


def require_embedder(name: str) -> None:
    """InvalidInput unless the name is one that an embedder is chosen by."""
    if name not in {AUTO, NONE} and not is_built_in(name):
        raise InvalidInput(f"there is no embedder named {name!r}; there are 'minilm', 'hash' and 'none'")
