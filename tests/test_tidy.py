"""The rules of the house, checked: layers, sizes, and what the wheel carries."""

from __future__ import annotations

import ast
import subprocess
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path

import grimp
import pytest
from source_tree import source_copy

ROOT = Path(__file__).parent.parent
LAYERS = ("events", "projections", "query", "dream", "replay", "engine", "interfaces")
MEMORY = "recollect.interfaces.python.memory"
SERVERS = (
    "recollect.interfaces.mcp",
    "recollect.interfaces.mcp.http",
    "recollect.web.serving",
)  # it can start these
FUNCTION_LINES_MAX = 60
FILE_LINES_MAX = 500


def sources() -> list[Path]:
    return [path for layer in LAYERS for path in sorted((ROOT / layer).rglob("*.py"))]


def import_graph() -> grimp.ImportGraph:
    """All imports, also those inside functions and of type checkers."""
    return grimp.build_graph("recollect", exclude_type_checking_imports=False, cache_dir=None)


def cycles(graph: grimp.ImportGraph) -> list[set[str]]:
    """The groups of modules that import each other, directly or not."""
    below = {module: graph.find_downstream_modules(module) for module in graph.modules}
    groups = {frozenset({one, *(other for other in below[one] if one in below[other])}) for one in below}
    return [set(group) for group in groups if len(group) > 1]


def test_the_contracts_of_the_layers_are_kept():
    """`lint-imports` says more; the contracts are in pyproject.toml."""
    ran = subprocess.run(
        [sys.executable, "-c", "from importlinter.cli import lint_imports; raise SystemExit(lint_imports(no_cache=True))"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout


def test_no_module_imports_itself_through_others():
    graph = import_graph()
    for server in SERVERS:
        graph.remove_import(importer=MEMORY, imported=server)
    assert cycles(graph) == []


def test_nothing_is_imported_by_name_alone():
    """A `LazyModule` whose module is not imported for type checkers either is one that no tool sees."""
    graph = import_graph()
    unseen = {
        (module, node.args[0].value)
        for module in graph.modules
        if (spec := find_spec(module)) and spec.origin
        for node in ast.walk(ast.parse(Path(spec.origin).read_text("utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "LazyModule"
        and node.args and isinstance(node.args[0], ast.Constant)
        and node.args[0].value not in graph.find_modules_directly_imported_by(module)
    }  # fmt: skip
    assert unseen == set()


def test_the_check_of_cycles_finds_one():
    graph = grimp.ImportGraph()
    for importer, imported in (("a", "b"), ("b", "c"), ("c", "a"), ("d", "a")):
        graph.add_import(importer=importer, imported=imported)
    assert cycles(graph) == [{"a", "b", "c"}]


def test_imports_are_absolute():
    relative = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in sources()
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ImportFrom) and node.level
    ]
    assert relative == []


def test_a_file_is_one_idea():
    lengths = {str(path.relative_to(ROOT)): len(path.read_text("utf-8").splitlines()) for path in sources()}
    long = {path: lines for path, lines in lengths.items() if lines > FILE_LINES_MAX}
    assert long == {}


def test_functions_fit_on_a_screen():
    long = [
        f"{path.relative_to(ROOT)}:{node.name} has {node.end_lineno - node.lineno + 1} lines"
        for path in sources()
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.end_lineno - node.lineno >= FUNCTION_LINES_MAX
    ]
    assert long == []


def test_a_first_recall_passes_through_at_most_55_files_and_15_levels_of_calls():
    """`python -m bench.hops recall` lists them. In its table: files, functions, depth, each with that of a later recall."""
    counted = subprocess.run(
        [sys.executable, "-m", "bench.hops"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    (row,) = [line.split() for line in counted.stdout.splitlines() if line.startswith("recall ")]
    files, depth = int(row[1]), int(row[5])
    assert (files <= 55, depth <= 15) == (True, True), counted.stdout


def test_no_folder_shadows_the_package():
    assert not (ROOT / "recollect").exists()


@pytest.mark.slow
def test_the_wheel_holds_only_the_package_and_works_without_development_tools(tmp_path: Path):
    built = subprocess.run(
        [
            sys.executable,
            "-m",
            "build",
            "--no-isolation",
            "--outdir",
            str(tmp_path),
            str(source_copy(tmp_path)),
        ],
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
