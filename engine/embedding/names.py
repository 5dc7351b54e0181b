"""The names that models are chosen by: apart from them, so that checking a name loads nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from recollect.engine.validate import is_seq
from recollect.events.errors import InvalidInput

SCHEMES = ("http://", "https://")
Kind = Literal["embedder", "reranker", "chat"]
KEYS: dict[Kind, str] = {
    "embedder": "RECOLLECT_EMBEDDINGS_KEY",
    "reranker": "RECOLLECT_RERANKER_KEY",
    "chat": "RECOLLECT_CHAT_KEY",
}
"""Secrets come from these variables and nowhere else."""

BUILT_IN = ("minilm", "hash")
BY_ADDRESS = ("st:", *SCHEMES)
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
            f"there is no embedder named {shown(name)!r}; there are 'minilm', 'hash', 'none', 'st:MODEL_OR_FOLDER' and "
            f"'http://host:port/v1?model=NAME'"
        )


def shown(given: str) -> str:
    """A URL as it may be shown: without user, password and options that this program does not know."""
    if not given.startswith(SCHEMES):
        return given
    scheme, _, rest = given.partition("://")
    place, mark, query = rest.partition("?")
    authority, slash, path = place.partition("/")
    kept = [one for one in query.split("&") if one.partition("=")[0] in {"model", "dim", "batch", "timeout"}]
    hidden = ["…"] if mark and len(kept) < len(query.split("&")) else []
    bare = authority.rpartition("@")[2]
    return f"{scheme}://{'…@' if bare != authority else ''}{bare}{slash}{path}{mark}{'&'.join(kept + hidden)}"


def whole_option(what: str, options: Mapping[str, str], name: str, most: int) -> int | None:
    """A whole number among the options of a name; None if it is not there."""
    if name not in options:
        return None
    value = options[name]
    if not is_seq(value) or not 0 < int(value) <= most:
        raise InvalidInput(f"{what}: {name} is {value!r:.60}; it must be a whole number from 1 to {most:,}")
    return int(value)
