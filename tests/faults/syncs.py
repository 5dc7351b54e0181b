"""The law of syncs: what a power cut after a command could take back, read from the trace of its file operations.

A line of a trace is `create|write|sync|rename|link|remove`, a path and a new path (`faults.c`, FAULT_TRACE). A file
that is renamed or linked to its name was synced after its last write, and all in a folder that is; at the end every file
and every entry of a directory that the command made is synced.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from fnmatch import fnmatch
from pathlib import Path

TESTS = Path(__file__).parent.parent

_INDEX = "a cache with a checksum, made anew if it is not whole"
_STAMPS = "which files were looked at; half of it does not decode, and they are looked at again"
_LOOKS = "what files looked like; half of it does not decode, and they are read again"

LOST = {
    "*.lock": "a lock is empty; what holds it is the kernel",
    "*/active.index": _INDEX,
    "*/head": "synced with its event; what is written after that tells readers how far to read, and is found again",
    "*/cache/erased.stamps": _STAMPS,
    "*/cache/checkpoints/*": "synced before it gets its name; without the name the log is folded from an earlier one",
    "*/cache/folders/*": _LOOKS,
}
"""What a power cut may take back, and why. Sockets and locks of helpers and servers lie in a directory of the boot."""

HALF_WRITTEN = {"*/active.index": _INDEX, "*/cache/erased.stamps": _STAMPS, "*/cache/folders/*": _LOOKS}
"""What may have its name before it is synced, and why."""


class Trace:
    """What is not synced after each line of a trace, and what was published so."""

    def __init__(self) -> None:
        self.unsynced: set[str] = set()  # files with content
        self.entries: set[str] = set()  # names in directories
        self.problems: list[str] = []

    def follow(self, what: str, path: str, new: str) -> None:
        if what in ("create", "write"):
            (self.entries if what == "create" else self.unsynced).add(path)
        elif what == "sync":
            self.unsynced.discard(path)
            self.entries -= {entry for entry in self.entries if os.path.dirname(entry) == path}  # noqa: PTH120
        elif what == "remove":
            self._gone(path)
        else:
            self._published(path, new, moved=what == "rename")

    def _published(self, path: str, new: str, *, moved: bool) -> None:
        inside = {one for one in self.unsynced if _within(one, path)}
        inside |= {one for one in self.entries if _within(one, path) and one != path}
        self.problems += [
            f"{one} was published as {new} before it was synced"
            for one in sorted(inside)
            if not _any(new, HALF_WRITTEN) and not (one != path and _any(one, LOST))
        ]
        if moved:
            self._gone(path)
        self.entries.add(new)

    def _gone(self, path: str) -> None:
        self.unsynced = {one for one in self.unsynced if not _within(one, path)}
        self.entries = {one for one in self.entries if not _within(one, path)}

    def at_the_end(self) -> list[str]:
        left = [(one, "its content is not synced") for one in sorted(self.unsynced)]
        left += [(one, "its entry in the directory is not synced") for one in sorted(self.entries)]
        left = [(one, what) for one, what in left if os.path.lexists(one) and not _any(one, LOST)]
        return [*self.problems, *(f"{one}: {what}" for one, what in left)]


def _within(one: str, path: str) -> bool:
    return one == path or one.startswith(f"{path}/")


def _any(path: str, patterns: Iterable[str]) -> bool:
    return any(fnmatch(path, pattern) for pattern in patterns)


def lines(trace: Path) -> list[tuple[str, str, str]]:
    found = [line.split("\t") for line in trace.read_text("utf-8").splitlines()]
    return [(what, path, new) for what, path, new in found]


def traced(library: Path, root: Path, arguments: list[str], trace: Path) -> subprocess.Popen[str]:
    """Python with these arguments; what it and its children do below `root` is traced."""
    env = {
        **os.environ, "LD_PRELOAD": str(library), "FAULT_ROOT": str(root), "FAULT_TRACE": str(trace),
        "PYTHONPATH": str(TESTS), "PYTHONWARNINGS": "ignore",
    }  # fmt: skip
    return subprocess.Popen(
        [sys.executable, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env
    )


def left_unsynced(trace: Path, root: Path) -> list[str]:
    """What a power cut could take back, or leave half written, with paths below `root`."""
    following = Trace()
    for what, path, new in lines(trace):
        following.follow(what, path, new)
    return [problem.replace(f"{root}/", "") for problem in following.at_the_end()]
