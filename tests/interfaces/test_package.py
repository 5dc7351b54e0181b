"""The package as it is imported."""

from __future__ import annotations

import subprocess
import sys

import pytest


def test_memory_is_the_packages_front_door():
    import recollect
    from recollect import Memory

    assert recollect.Memory is Memory
    with pytest.raises(AttributeError, match="Memori"):
        recollect.Memori  # noqa: B018


@pytest.mark.parametrize("heavy", ["numpy", "hnswlib", "duckdb", "rich", "torch", "sentence_transformers"])
def test_the_command_line_starts_without_heavy_imports(heavy: str):
    script = f"import sys, recollect.cli; sys.exit({heavy!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_opening_a_store_does_not_import_the_model(tmp_path):
    script = (
        "import sys; from recollect import Memory; m = Memory.open(sys.argv[1]); m.status(); m.close(); "
        "sys.exit('torch' in sys.modules or 'sentence_transformers' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=False).returncode == 0
