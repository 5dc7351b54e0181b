"""fork.json: what a fork is a fork of, beside its log.

    <fork>/fork.json    this note, written before the first event
    <fork>/log/         the other future

A directory with a note that says the same is a fork that was interrupted, or whose source lived on: it is
continued. Any other directory that holds something is left alone.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from recollect.events.errors import InvalidInput

_NAME = "fork.json"


class ForkNote(msgspec.Struct, frozen=True, kw_only=True):
    """`origin` is the source's hash chain at `since` (at its first event for 0): whose future this is."""

    origin: str
    since: int
    formula: str | None
    closed_loop: bool
    embedder: str | None = None
    dream: str | None = None

    @property
    def label(self) -> str:
        """The fork in a few words."""
        formula = self.formula or "recorded formulas"
        embedder = f", embedded with {self.embedder}" if self.embedder else ""
        return f"fork since @{self.since}: {formula}{embedder}"


def read_note(folder: Path) -> ForkNote | None:
    """The note of a fork; None if the directory is none."""
    path = folder / _NAME
    if not path.is_file():
        return None
    try:
        return msgspec.json.decode(path.read_bytes(), type=ForkNote)
    except msgspec.DecodeError as error:
        raise InvalidInput(f"{path} is not the note of a fork: {error}") from None


def leave_note(folder: Path, note: ForkNote) -> None:
    """Make the directory this fork's own, or refuse it."""
    found = read_note(folder) if folder.exists() else None
    if found == note:
        return
    if found is not None:
        raise InvalidInput(f"{folder} is another fork ({found.label}); give this one a directory of its own")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InvalidInput(f"{folder} is not empty; a fork needs a directory of its own")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / _NAME).write_bytes(msgspec.json.format(msgspec.json.encode(note), indent=2))
