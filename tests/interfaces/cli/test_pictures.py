"""The pictures in the documentation are what the program draws today."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
PICTURES = ROOT / "docs" / "pictures"


def test_the_pictures_are_current():
    checked = subprocess.run(
        [sys.executable, "docs/terminal_pictures.py", "--check"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_the_pictures_are_shown_and_ask_nothing_of_the_network():
    page = (ROOT / "docs" / "commands.md").read_text("utf-8")
    drawn = sorted(PICTURES.glob("terminal-*.svg"))
    assert [path.stem for path in drawn] == [
        f"terminal-{name}" for name in ("compare", "progress", "recall", "status", "why")
    ]
    for path in drawn:
        assert f"(pictures/{path.name})" in page
        assert "http" not in path.read_text("utf-8").replace(
            'xmlns="http://www.w3.org/2000/svg"', ""
        ).replace("https://www.textualize.io", "")
