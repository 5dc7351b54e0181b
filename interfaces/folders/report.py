"""What a watcher reports: each change as it happens, and a summary of the run."""

from __future__ import annotations

from typing import Literal

import msgspec

What = Literal[
    "ingested", "revised", "moved", "forgotten", "restored", "linked", "quarantined", "paused", "resumed", "degraded",
    "dreamed", "watching",
]  # fmt: skip


class Happened(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that happened. `detail` counts the memories that it touched, or says why."""

    what: What
    folder: str
    path: str = ""
    was: str = ""
    detail: str = ""


class Trouble(msgspec.Struct, frozen=True, kw_only=True):
    """A file that cannot be read as its format; it is tried again when it changes."""

    path: str
    reason: str


class WatchReport(msgspec.Struct, kw_only=True):
    """What a run did. Files and moved count files, the rest from chunks to unchanged counts memories.

    `skipped` counts files and folders by the reason why they are not taken. `waiting` counts files that are gone but
    still in their grace period, or were being written. `degraded` says what kept the store from being made equal
    to the folders.
    """

    folders: tuple[str, ...]
    files: int = 0
    chunks: int = 0
    ingested: int = 0
    revised: int = 0
    moved: int = 0
    forgotten: int = 0
    restored: int = 0
    linked: int = 0
    unlinked: int = 0
    unchanged: int = 0
    skipped: dict[str, int] = {}
    quarantined: tuple[Trouble, ...] = ()
    waiting: int = 0
    degraded: tuple[str, ...] = ()
