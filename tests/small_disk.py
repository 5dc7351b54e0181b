"""A real file system of two megabytes that can be filled, emptied and mounted for reading; needs root."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

_PIECE_BYTES = 4096


class SmallDisk:
    def __init__(self, path: Path) -> None:
        self.path = path
        self._ballast = path / "ballast"

    def fill(self) -> None:
        with self._ballast.open("ab", buffering=0) as file, suppress(OSError):
            while True:
                file.write(bytes(_PIECE_BYTES))

    def free(self) -> None:
        self._ballast.unlink()

    def mount_for_reading(self) -> None:
        _run("mount", "-o", "remount,ro", str(self.path))


@contextmanager
def small_disk(path: Path) -> Iterator[SmallDisk]:
    path.mkdir()
    if os.geteuid() != 0 or not _run(
        "mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(path), check=False
    ):
        pytest.skip("mounting a file system needs root")
    try:
        yield SmallDisk(path)
    finally:
        _run("umount", "--lazy", str(path))


def _run(*command: str, check: bool = True) -> bool:
    return subprocess.run(command, check=check, capture_output=True).returncode == 0
