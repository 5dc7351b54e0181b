"""The rules of the house, checked: layers, sizes, and what the wheel carries."""

from __future__ import annotations

import ast
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LAYERS = ("events", "projections", "query", "dream", "replay", "engine", "interfaces")
MAY_IMPORT = {
    "events": {"events"},
    "projections": {"events", "projections"},
    "query": {"events", "projections", "query"},
    "dream": {"events", "projections", "query", "dream"},
    "replay": {"events", "projections", "query", "replay"},
    "engine": {"events", "projections", "query", "dream", "replay", "engine", "interfaces"},
    "interfaces": {"events", "projections", "query", "dream", "replay", "engine", "interfaces"},
}
FUNCTION_LINES_MAX = 60


def sources() -> list[Path]:
    return [path for layer in LAYERS for path in sorted((ROOT / layer).rglob("*.py"))]


def layer_of(module: str) -> str:
    """recollect.events.log -> events; recollect.interfaces.python.memory -> interfaces."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[1] in LAYERS else "interfaces"


def imported(path: Path) -> set[str]:
    tree = ast.parse(path.read_text("utf-8"))
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path}: imports are absolute"
            names.add(node.module)
            names.update(f"{node.module}.{alias.name}" for alias in node.names if node.module == "recollect")
        elif isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
    return {name for name in names if name.split(".")[0] == "recollect" and name != "recollect"}


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(ROOT)))
def test_dependencies_point_one_way(path: Path):
    layer = path.relative_to(ROOT).parts[0]
    for module in imported(path):
        assert layer_of(module) in MAY_IMPORT[layer], f"{path.relative_to(ROOT)} imports {module}"


def test_the_layer_check_sees_a_forbidden_import(tmp_path: Path):
    path = tmp_path / "wrong.py"
    path.write_text("from recollect.interfaces.python.memory import Memory\n", "utf-8")
    assert {layer_of(module) for module in imported(path)} == {"interfaces"}
    assert "interfaces" not in MAY_IMPORT["query"]


def test_functions_fit_on_a_screen():
    long = [
        f"{path.relative_to(ROOT)}:{node.name} has {node.end_lineno - node.lineno + 1} lines"
        for path in sources()
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.end_lineno - node.lineno >= FUNCTION_LINES_MAX
    ]
    assert long == []


def test_no_folder_shadows_the_package():
    assert not (ROOT / "recollect").exists()


@pytest.mark.slow
def test_the_wheel_holds_only_the_package_and_works_without_development_tools(tmp_path: Path):
    built = subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(tmp_path), str(ROOT)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names if ".dist-info/" not in name}
    assert tops == {"recollect"}
    assert "recollect/query/formulas/reverie.toml" in names
    assert "recollect/py.typed" in names
    unpacked = tmp_path / "unpacked"
    zipfile.ZipFile(wheel).extractall(unpacked)
    script = f"""
import sys
sys.path.insert(0, {str(unpacked)!r})
import recollect
assert recollect.__file__.startswith(sys.path[0]), recollect.__file__
sys.argv = ["recollect", "--help"]
from recollect.interfaces.cli.app import main
main()
"""
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert shown.returncode == 0, shown.stderr
    assert "recall" in shown.stdout
