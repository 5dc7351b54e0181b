"""Files and places that a person names: what is wrong with one is said in a line, and no file is read without end."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from recollect.events.errors import InvalidInput
from recollect.events.regular_files import read_whole

KEY_BYTES_MAX = 1 << 16
"""Of a file with a key, credentials or a checkpoint, which take some hundred bytes to a few thousand."""


def named_path(path: str | PathLike[str]) -> Path:
    """The path with ~ and ~user in place."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        user = str(path).partition("/")[0]
        raise InvalidInput(f"{path} cannot be found: there is no home of {user}") from None


def resolved(path: str | PathLike[str]) -> Path:
    """Where a named path leads to, behind all links."""
    try:
        return named_path(path).resolve()
    except RuntimeError:
        raise InvalidInput(f"{path} leads nowhere: its symbolic links go in a circle") from None


def read_named(path: str | PathLike[str], *, bytes_max: int) -> bytes:
    """The bytes of a named file, behind links too; OSError if it is not a regular file, or too long for its kind."""
    return read_whole(named_path(path), bytes_max=bytes_max, follow=True)
