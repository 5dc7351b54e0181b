"""The names that embedders are chosen by: apart from them, so that checking a name loads nothing."""

from __future__ import annotations

from recollect.events.errors import InvalidInput

BUILT_IN = ("minilm", "hash")
BY_ADDRESS = ("st:", "http://", "https://")
NONE = "none"
RECORDED = "recorded/"  # begins the names of spaces that hold cosines of recorded questions, and no texts
AUTO = "auto"
"""The store's own embedder; in an empty store MiniLM where it is installed, and otherwise words only."""


def is_known(name: str) -> bool:
    """Whether an embedder can be found by this name; what follows a slash in a built-in one is its model."""
    return name.startswith(BY_ADDRESS) or name.partition("/")[0] in BUILT_IN


def require_embedder(name: str) -> None:
    """InvalidInput unless the name is one that an embedder is chosen by."""
    if name not in {AUTO, NONE} and not is_known(name):
        raise InvalidInput(
            f"there is no embedder named {name!r}; there are 'minilm', 'hash', 'none', 'st:MODEL_OR_FOLDER' and "
            f"'http://host:port/v1?model=NAME'"
        )
