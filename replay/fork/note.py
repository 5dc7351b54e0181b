"""fork.json: what a fork is a fork of, beside its log.

    <fork>/fork.json    this note, written before the first event and again when all are there
    <fork>/log/         the other future

A directory with a note that says the same is a fork that was interrupted, or whose source lived on: it is
continued. Any other directory that holds something is left alone. While a fork is being made its note says that it is
not finished, so that a part of one is never taken for the whole.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from recollect.events.errors import InvalidInput
from recollect.events.private_files import make_private, sync_directory, write_private
from recollect.events.regular_files import read_whole

GO_ON = "run the same `recollect fork` again, which goes on where it stopped, or delete it"
_NAME = "fork.json"
_BYTES_MAX = 2**20


class ForkNote(msgspec.Struct, frozen=True, kw_only=True):
    """`origin` is the source's hash chain at `since` (at its first event for 0): whose future this is.

    `source` is the source's directory, `upto` how far of it is lived again. `finished` is None where an earlier
    version, which did not say, made the fork.
    """

    origin: str
    since: int
    formula: str | None
    closed_loop: bool
    embedder: str | None = None
    dream: str | None = None
    source: str | None = None
    upto: int | None = None
    finished: bool | None = None

    @property
    def label(self) -> str:
        """The fork in a few words."""
        formula = self.formula or "recorded formulas"
        embedder = f", embedded with {self.embedder}" if self.embedder else ""
        return f"fork since @{self.since}: {formula}{embedder}"

    @property
    def described(self) -> str:
        """What this is a fork of, in one line for people."""
        source = self.source or "a store that an earlier version did not note"
        parts = [
            f"of {source}",
            f"up to @{self.upto}" if self.upto is not None else "",
            f"lived again since @{self.since}",
            f"formula {self.formula}" if self.formula else "recorded formulas",
            f"embedded with {self.embedder}" if self.embedder else "",
            "closed loop" if self.closed_loop else "",
        ]
        return ", ".join(part for part in parts if part)

    @property
    def rules(self) -> tuple[object, ...]:
        """What makes two forks the same."""
        return self.origin, self.since, self.formula, self.closed_loop, self.embedder, self.dream

    @property
    def unfinished(self) -> str | None:
        """That its making was interrupted; None if it is whole, or does not say."""
        if self.finished is not False:
            return None
        return f"this fork of {self.source or 'a store'} is not finished: its making was interrupted, or is under way"


def read_note(folder: Path) -> ForkNote | None:
    """The note of a fork; None if the directory is not a fork."""
    path = folder / _NAME
    try:
        return msgspec.json.decode(read_whole(path, bytes_max=_BYTES_MAX, follow=True), type=ForkNote)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise InvalidInput(f"{path} is not the note of a fork: {error.strerror}") from None
    except msgspec.DecodeError as error:
        raise InvalidInput(f"{path} is not the note of a fork: {error}") from None


def leave_note(folder: Path, note: ForkNote) -> None:
    """Make the directory this fork's own, or refuse it; the fork is unfinished from here on."""
    found = read_note(folder) if folder.exists() else None
    if found is None and folder.exists() and (not folder.is_dir() or _holds_something(folder)):
        raise InvalidInput(f"{folder} is not empty; a fork needs a directory of its own")
    if found is not None and found.rules != note.rules:
        raise InvalidInput(f"{folder} is another fork ({found.label}); give this one a directory of its own")
    make_private(folder)
    _write(folder, msgspec.structs.replace(note, finished=False))


def _holds_something(folder: Path) -> bool:
    """Whether there is more than a note that a full disk or a kill left unwritten; the next note replaces that."""
    return any(path.name != f"{_NAME}.new" or not path.is_file() for path in folder.iterdir())


def finish_fork(folder: Path, *, upto: int) -> None:
    """Say that the fork is whole: it has lived its source up to a seq."""
    note = read_note(folder)
    assert note is not None, folder
    _write(folder, msgspec.structs.replace(note, upto=upto, finished=True))


def _write(folder: Path, note: ForkNote) -> None:
    new = folder / f"{_NAME}.new"
    try:
        write_private(new, msgspec.json.format(msgspec.json.encode(note), indent=2))
        new.replace(folder / _NAME)
    except OSError:
        new.unlink(missing_ok=True)
        raise
    sync_directory(folder)
