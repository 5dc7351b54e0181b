"""A test that hangs ends the run and names itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
HANGS = "import threading\n\ndef test_that_waits_for_ever():\n    threading.Event().wait()\n"


def test_a_test_that_hangs_ends_the_run_and_is_named(tmp_path: Path):
    (tmp_path / "test_it.py").write_text(HANGS)
    command = [sys.executable, "-m", "pytest", "-q", "-c", str(ROOT / "pyproject.toml"), "-p", "no:cacheprovider"]  # fmt: skip
    limit = ["-o", "faulthandler_timeout=1"]
    run = subprocess.run(
        [*command, *limit, str(tmp_path)], capture_output=True, text=True, timeout=180, check=False
    )
    assert run.returncode == 1
    assert "in test_that_waits_for_ever" in run.stderr
