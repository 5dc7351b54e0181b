"""What an import did, or would do."""

from __future__ import annotations

import msgspec

from recollect.interfaces.files.records import Problem, Skipped

PROBLEMS_SHOWN = 20
UNREADABLE = "cannot be read"


def readable(text: str) -> str:
    """The text with lone surrogates spelled out: bytes of a file name that are not UTF-8, halves of a pair in JSON."""
    return text.encode("utf-8", "backslashreplace").decode()


class PartRead(msgspec.Struct, frozen=True, kw_only=True):
    """What was read of a folder as one format: a file by its path, or all files of a program that belong together."""

    path: str
    format: str
    files: int
    read: int


class ImportReport(msgspec.Struct, kw_only=True):
    """Counts of one import. `skipped` says why and how often; `problems` are the first of those, with their places
    (`problems_left_out` are more): entries that cannot be read, and links and special files that were left out.

    `events` were written (with `dry_run`: would be, without the store's own); `head` and `chain` are where the log
    stands afterwards. `parts` are what a folder of several programs was read as.
    """

    path: str
    format: str
    dry_run: bool
    read: int = 0
    remembered: int = 0
    revised: int = 0
    forgotten: int = 0
    linked: int = 0
    unchanged: int = 0
    skipped: dict[str, int] = {}
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()
    events: int = 0
    head: int = 0
    chain: str = ""
    problems_left_out: int = 0
    parts: tuple[PartRead, ...] = ()

    @property
    def nothing_could_be_read(self) -> bool:
        """Whether there was something to read, and all of it was unreadable."""
        return 0 < self.read == self.skipped.get(UNREADABLE, 0)

    def problem(self, problem: Problem) -> None:
        """Count and list an entry that cannot be read."""
        self.left_out(UNREADABLE)
        self._list(problem.where, problem.reason)

    def skip(self, skipped: Skipped) -> None:
        """Count what was left out on purpose, and list what has a place."""
        self.left_out(skipped.reason)
        if skipped.where:
            self._list(skipped.where, skipped.reason)

    def left_out(self, reason: str, count: int = 1) -> None:
        reason = readable(reason)
        self.skipped[reason] = self.skipped.get(reason, 0) + count

    def note(self, text: str) -> None:
        self.notes += (readable(text),)

    def _list(self, where: str, reason: str) -> None:
        if len(self.problems) < PROBLEMS_SHOWN:
            self.problems += (Problem(where=readable(where), reason=readable(reason)),)
        else:
            self.problems_left_out += 1

    def sentence(self) -> str:
        """How far an import came that was interrupted."""
        return f"{self.remembered:,} remembered and {self.revised:,} revised so far; run it again to go on"
