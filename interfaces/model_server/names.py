"""What the helper's files are called, for programs that have no time to import much: only `os`, `stat` and `zlib`."""

from __future__ import annotations

import os
import stat
import sys
import zlib


def directory() -> str:
    """`recollect` in $XDG_RUNTIME_DIR, or /tmp/recollect-<uid>."""
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    if runtime and os.path.isdir(runtime):  # noqa: PTH112 (pathlib takes 3 ms to import)
        return f"{runtime}/recollect"
    return f"/tmp/recollect-{os.getuid()}"  # noqa: S108 (its owner and mode are checked)


def name_of(model: str) -> str:
    """One helper per model, Python, copy of this program and search path for modules."""
    known = (sys.executable, __file__, os.environ.get("PYTHONPATH", ""))
    return f"{model}-{zlib.crc32(os.fsencode(chr(0).join(known))):08x}"


def intruders(path: str) -> str | None:
    """What is wrong with a directory that only this user should be able to enter; None if nothing is."""
    try:
        found = os.lstat(path)
    except OSError as error:
        return f"{path} cannot be read: {error.strerror}"
    if not stat.S_ISDIR(found.st_mode):
        return f"{path} is not a directory"
    if found.st_uid != os.getuid():
        return f"{path} belongs to user {found.st_uid}, not to you"
    if stat.S_IMODE(found.st_mode) & 0o077:
        return f"others may enter {path}; `chmod 700 {path}`, or remove it"
    return None
