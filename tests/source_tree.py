"""The sources alone, for tests that build the package."""

from __future__ import annotations

import shutil
from pathlib import Path

ROOT = Path(__file__).parent.parent
LEFT_OUT = (".*", "build", "dist", "*.egg-info", "__pycache__", "tests", "bench")


def source_copy(folder: Path) -> Path:
    """A copy to build in: a build writes beside the sources, and tests build at the same time."""
    return shutil.copytree(ROOT, folder / "sources", ignore=shutil.ignore_patterns(*LEFT_OUT))
