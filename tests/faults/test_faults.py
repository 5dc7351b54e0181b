"""Real commands on a real directory, with a failing call at the N-th file operation: one clear line, and nothing lost.

`make torture` fails every operation in every way; here each way fails every few of them.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from faults.runs import SCENES, compiled, run

STRIDE = {"dream": 16, "watch": 24, "export markdown": 40, "seal": 12, "import": 12, "reembed": 16}

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux") or shutil.which("gcc") is None, reason="needs Linux and gcc"
)


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("faults"))


@pytest.mark.parametrize("scene", SCENES)
def test_a_command_survives_a_fault_at_any_file_operation(scene: str, library: Path) -> None:
    figures = run(scene, library, stride=STRIDE.get(scene, 8))
    assert figures.operations > 5, "the faults were not where the files are"
    assert figures.problems == []
