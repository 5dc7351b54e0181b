"""Where the helper of this user lives: a directory that only they can enter, and the names in it.

    <directory>/<name>.sock    the helper's socket, mode 0600
    <directory>/<name>.run     the socket of its standby, mode 0600
    <directory>/<name>.lock    held by the helper as long as it lives, and by nobody else
    <directory>/<name>.start   held while somebody starts one
    <directory>/<name>.log     what it said when it went wrong

The directory is `recollect` in $XDG_RUNTIME_DIR, or /tmp/recollect-<uid>. One that belongs to somebody else, is a
link, or lets others in is refused: whoever owns it could answer in the helper's place.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from recollect.events.errors import RecollectError
from recollect.interfaces.model_server import names


class NoPlace(RecollectError):
    """There is no directory in which a helper could be trusted."""


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """The files of one helper."""

    directory: Path
    name: str

    @property
    def socket(self) -> Path:
        return self.directory / f"{self.name}.sock"

    @property
    def standby(self) -> Path:
        return self.directory / f"{self.name}.run"

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
    """The place of a model's helper; the directory is made if it is not there."""
    return Place(directory=_private(Path(names.directory())), name=names.name_of(model))


def _private(directory: Path) -> Path:
    """The directory, if it is ours alone."""
    try:
        directory.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise NoPlace(f"{directory} cannot be made: {error.strerror}") from None
    problem = names.intruders(str(directory))
    if problem is not None:
        raise NoPlace(problem)
    return directory
