"""The wheel in a virtual environment of its own, with what it depends on and without the packages of the models."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from source_tree import source_copy

ROOT = Path(__file__).parent.parent.parent.parent
MISSING = "vector: no model is installed, ranked by words only; `pip install 'recollect[local]'` adds meaning"


def needed(name: str, found: set[str]) -> set[str]:
    """The distributions that one needs without its extras, and itself."""
    if (name := canonicalize_name(name)) not in found:
        found.add(name)
        for line in distribution(name).requires or []:
            one = Requirement(line)
            if one.marker is None or one.marker.evaluate({"extra": ""}):
                needed(one.name, found)
    return found


def link(name: str, site: Path) -> None:
    """The files of an installed distribution, in another environment."""
    for file in distribution(name).files or []:
        top = file.parts[0]
        source = Path(str(distribution(name).locate_file(top)))
        if top not in {"..", "__pycache__"} and source.exists() and not (site / top).exists():
            (site / top).symlink_to(source)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("plain")
    build = [sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", str(folder)]
    subprocess.run([*build, str(source_copy(folder))], capture_output=True, check=True)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module", params=["from the index", "with what is here"])
def recollect(wheel: Path, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """The program of a plain install: `pip install -c constraints.txt WHEEL`, and the same without an index."""
    folder = tmp_path_factory.mktemp("fresh")
    venv.create(folder / "env", symlinks=True)
    if request.param == "from the index":
        return from_the_index(wheel, folder)
    return with_what_is_here(wheel, folder)


def from_the_index(wheel: Path, folder: Path) -> Path:
    pip = [sys.executable, "-m", "pip", "--python", str(folder / "env/bin/python"), "--retries", "0"]
    reached = subprocess.run(
        [*pip, "download", "--no-deps", "-d", str(folder), "pathspec"], capture_output=True, check=False
    )
    if reached.returncode:
        pytest.skip("no package index can be reached")
    command = [*pip, "install", "-q", "--no-compile", "-c", str(ROOT / "constraints.txt"), str(wheel)]
    subprocess.run(command, capture_output=True, check=True)
    return folder / "env/bin/recollect"


def with_what_is_here(wheel: Path, folder: Path) -> Path:
    (site,) = (folder / "env").glob("lib/python*/site-packages")
    for name in sorted(needed("recollect", set()) - {"recollect"}):
        link(name, site)
    pip = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        str(folder / "env/bin/python"),
        "install",
        "--no-deps",
        "--no-index",
    ]
    subprocess.run([*pip, "-c", str(ROOT / "constraints.txt"), str(wheel)], capture_output=True, check=True)
    return folder / "env/bin/recollect"


def surroundings() -> dict[str, str]:
    return {key: value for key, value in os.environ.items() if not key.startswith(("RECOLLECT", "PYTHON"))}


def run(program: Path, *line: str, store: Path) -> dict[str, object]:
    ran = subprocess.run(
        [str(program), *line, "--json", "--store", str(store)],
        capture_output=True,
        text=True,
        check=False,
        env=surroundings(),
    )
    assert ran.returncode == 0, ran.stderr
    found: dict[str, object] = json.loads(ran.stdout)
    return found


@pytest.mark.slow
def test_remember_and_recall_work_without_flags_and_say_what_is_missing(recollect: Path, tmp_path: Path):
    kept = run(recollect, "remember", "Auth sessions live in Postgres", store=tmp_path)
    answer = run(recollect, "recall", "auth sessions", store=tmp_path)
    assert [hit["id"] for hit in answer["hits"]] == [kept["id"]]  # type: ignore[attr-defined]
    assert answer["degraded"] == [MISSING]
    status = run(recollect, "status", store=tmp_path)
    assert status["degraded"] == [MISSING]
    assert run(recollect, "verify", store=tmp_path)["exact"] is True
    no_model = [str(recollect.parent / "python"), "-c", "import sentence_transformers"]
    assert subprocess.run(no_model, capture_output=True, check=False).returncode == 1
    refused = subprocess.run(
        [str(recollect), "reembed", "--store", str(tmp_path)],
        capture_output=True, text=True, check=False, env=surroundings(),
    )  # fmt: skip
    assert refused.returncode == 2
    assert refused.stderr.startswith(
        "recollect: no model is installed; `pip install 'recollect[local]'` adds one"
    )
    assert len(refused.stderr.splitlines()) == 1
