"""Spreading work over processes, tested in a process with a single thread: a test runner's worker has more."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def test_the_forking_cases_pass_in_a_process_of_their_own():
    cases = Path(__file__).with_name("forking_cases.py")
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", str(cases)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "16 passed" in ran.stdout
