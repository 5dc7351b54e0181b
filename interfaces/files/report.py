"""What an import did, or would do."""

from __future__ import annotations

from collections import Counter

import msgspec

from recollect.interfaces.files.records import Problem, Skipped

PROBLEMS_SHOWN = 20
UNREADABLE = "cannot be read"


class PartRead(msgspec.Struct, frozen=True, kw_only=True):
    """What was read of a folder as one format: a file by its path, or all files of a program that belong together."""

    path: str
    format: str
    files: int
    read: int


class ImportReport(msgspec.Struct, frozen=True, kw_only=True):
    """Counts of one import. `skipped` says why and how often; `problems` are the first of those, with their places
    (`problems_left_out` are more): entries that cannot be read, and links and special files that were left out.

    `events` were written (with `dry_run`: would be, without the store's own); `head` and `chain` are where the log
    stands afterwards. `parts` are what a folder of several programs was read as.
    """

    path: str
    format: str
    dry_run: bool
    read: int
    remembered: int
    revised: int
    forgotten: int
    linked: int
    unchanged: int
    skipped: dict[str, int]
    problems: tuple[Problem, ...]
    notes: tuple[str, ...]
    events: int
    head: int
    chain: str
    problems_left_out: int = 0
    parts: tuple[PartRead, ...] = ()

    @property
    def nothing_could_be_read(self) -> bool:
        """Whether there was something to read, and all of it was unreadable."""
        return 0 < self.read == self.skipped.get(UNREADABLE, 0)


class Tally(msgspec.Struct, kw_only=True):
    """The counts of an import that is under way."""

    read: int = 0
    remembered: int = 0
    revised: int = 0
    forgotten: int = 0
    linked: int = 0
    unchanged: int = 0
    events: int = 0
    skipped: Counter[str] = msgspec.field(default_factory=Counter)
    problems: list[Problem] = []
    problems_left_out: int = 0
    notes: list[str] = []
    parts: list[PartRead] = []

    def problem(self, problem: Problem) -> None:
        self.skipped[UNREADABLE] += 1
        self._list(problem)

    def skip(self, skipped: Skipped) -> None:
        self.skipped[skipped.reason] += 1
        if skipped.where:
            self._list(Problem(where=skipped.where, reason=skipped.reason))

    def _list(self, problem: Problem) -> None:
        if len(self.problems) < PROBLEMS_SHOWN:
            self.problems.append(problem)
        else:
            self.problems_left_out += 1

    def report(self, *, path: str, format_: str, dry_run: bool, head: int, chain: str) -> ImportReport:
        counts = msgspec.structs.asdict(self) | {"skipped": dict(sorted(self.skipped.items()))}
        where = {"path": path, "format": format_, "dry_run": dry_run, "head": head, "chain": chain}
        return msgspec.convert({**counts, **where}, ImportReport)

    def sentence(self) -> str:
        """How far an import came that was interrupted."""
        return f"{self.remembered:,} remembered and {self.revised:,} revised so far; run it again to go on"
