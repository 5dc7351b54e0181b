"""Which files of a folder are taken, and why others are not.

The first of these that matches a path decides whether it is ignored: the patterns given by the caller; the
ignore files `.gitignore`, `.ignore` and `.recollectignore` (in one folder the later named wins) from the path's
own folder up to the root; the built-in list. All speak the language of .gitignore, so `!pattern` takes back. As
with git, nothing below an ignored folder can be taken back. Symbolic links are never followed.
"""

from __future__ import annotations

import os
import posixpath
import stat
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

from pathspec import GitIgnoreSpec

from recollect.events.errors import InvalidInput
from recollect.events.regular_files import NOT_REGULAR, SYMBOLIC_LINK, read_whole
from recollect.interfaces.folders.folder import Marker
from recollect.interfaces.folders.formats import is_known_format

IGNORE_FILES = (".gitignore", ".ignore", ".recollectignore")
MAX_BYTES = 5_000_000
_IGNORE_BYTES_MAX = 1_000_000
BUILT_IN = (
    ".*",
    "*~", "#*#", "~$*", "*.tmp", "*.temp", "*.swp", "*.swo", "*.bak", "*.orig", "*.part", "*.crdownload", "4913",
    "node_modules/", "bower_components/", "__pycache__/", "venv/", "site-packages/", "*.egg-info/", "vendor/",
    "*.min.js", "*.min.css", "*.map", "package-lock.json", "pnpm-lock.yaml", "yarn.lock", "*.lock",
)  # fmt: skip


class Rules:
    """One folder's rules. Ignore files are read when first needed; make new rules to read them again."""

    def __init__(
        self,
        folder: str,
        *,
        ignore: Sequence[str] = (),
        own: Marker | None = None,
    ) -> None:
        """`own` is the store's folder, which is never entered, also not through a link."""
        self._folder = folder
        self._given = spec_of(tuple(ignore))
        self._own = own
        self._specs: dict[str, GitIgnoreSpec | None] = {}

    def refuses_folder(self, path: str, found: os.stat_result) -> str | None:
        """Why a folder below the root is not entered; None if it is."""
        if stat.S_ISLNK(found.st_mode):
            return SYMBOLIC_LINK
        if Marker(found.st_dev, found.st_ino) == self._own:
            return "the store itself"
        return "ignored" if self._ignored(f"{path}/") else None

    def refuses_file(self, path: str, found: os.stat_result) -> str | None:
        """Why a file is not taken; None if it is, as far as its name and sort can say."""
        if stat.S_ISLNK(found.st_mode):
            return SYMBOLIC_LINK
        if not stat.S_ISREG(found.st_mode):
            return NOT_REGULAR
        if self._ignored(path):
            return "ignored"
        return None if is_known_format(path) else "no text format by its name"

    def _ignored(self, path: str) -> bool:
        said = self._given.check_file(path).include
        folder = posixpath.dirname(path.rstrip("/"))
        while said is None:
            said = self._said_in(folder, path)
            if not folder:
                break
            folder = posixpath.dirname(folder)
        return bool(spec_of(BUILT_IN).check_file(path).include if said is None else said)

    def _said_in(self, folder: str, path: str) -> bool | None:
        if folder not in self._specs:
            self._specs[folder] = self._load(folder)
        spec = self._specs[folder]
        return None if spec is None else spec.check_file(path[len(folder) :].lstrip("/")).include

    def _load(self, folder: str) -> GitIgnoreSpec | None:
        lines: list[str] = []
        for name in IGNORE_FILES:
            with suppress(OSError):
                data = read_whole(Path(self._folder, folder, name), bytes_max=_IGNORE_BYTES_MAX, follow=True)
                lines += data.decode("utf-8", "replace").splitlines()
        return spec_of(tuple(line for line in lines if _is_pattern(line))) if lines else None


@cache
def spec_of(lines: tuple[str, ...]) -> GitIgnoreSpec:
    try:
        return GitIgnoreSpec.from_lines(lines)
    except ValueError as error:
        raise InvalidInput(f"an ignore pattern cannot be read: {error}") from None


@cache
def _is_pattern(line: str) -> bool:
    """Whether a line of an ignore file is a pattern; git passes over other lines too."""
    try:
        GitIgnoreSpec.from_lines([line])
    except ValueError:
        return False
    return True
