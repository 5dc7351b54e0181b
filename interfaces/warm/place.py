"""Where the helper of this user lives: a directory that only they can enter, and the names in it.

    <directory>/<name>.sock    the helper's socket, mode 0600
    <directory>/<name>.lock    held by the helper as long as it lives, and by nobody else
    <directory>/<name>.start   held while somebody starts one
    <directory>/<name>.log     what it said when it went wrong

The directory is `recollect` in $XDG_RUNTIME_DIR, or /tmp/recollect-<uid>. One that belongs to somebody else, is a
link, or lets others in is refused: whoever owns it could answer in the helper's place.
"""

from __future__ import annotations

import hashlib
import os
import stat
import sys
from pathlib import Path

import msgspec

from recollect.events.errors import RecollectError


class NoPlace(RecollectError):
    """There is no directory in which a helper could be trusted."""


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """The files of one helper: one per model and Python."""

    directory: Path
    name: str

    @property
    def socket(self) -> Path:
        return self.directory / f"{self.name}.sock"

    @property
    def lock(self) -> Path:
        return self.directory / f"{self.name}.lock"

    @property
    def start(self) -> Path:
        return self.directory / f"{self.name}.start"

    @property
    def log(self) -> Path:
        return self.directory / f"{self.name}.log"


def place_of(model: str) -> Place:
    """The place of a model's helper under this Python; the directory is made if it is not there."""
    python = hashlib.sha256(os.fsencode(sys.executable)).hexdigest()[:8]
    return Place(directory=_private(_directory()), name=f"{model}-{python}")


def _directory() -> Path:
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    if runtime and Path(runtime).is_dir():
        return Path(runtime) / "recollect"
    return Path(f"/tmp/recollect-{os.getuid()}")  # noqa: S108 (its owner and mode are checked)


def _private(directory: Path) -> Path:
    """The directory, if it is ours alone."""
    try:
        directory.mkdir(mode=0o700, exist_ok=True)
        found = directory.lstat()
    except OSError as error:
        raise NoPlace(f"{directory} cannot be made: {error.strerror}") from None
    if not stat.S_ISDIR(found.st_mode):
        raise NoPlace(f"{directory} is not a directory")
    if found.st_uid != os.getuid():
        raise NoPlace(f"{directory} belongs to user {found.st_uid}, not to you")
    if stat.S_IMODE(found.st_mode) & 0o077:
        raise NoPlace(f"others may enter {directory}; `chmod 700 {directory}`, or remove it")
    return directory
