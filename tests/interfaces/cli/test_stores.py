"""Which commands make a store: a mistyped path is no empty store that verifies as exact."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from recollect.interfaces.cli.app import main

ASKING = [
    ["verify"], ["status"], ["recall", "x"], ["recall", "x", "--at", "@0"], ["get", "a"], ["history", "a"], ["memories"],
    ["log"], ["sql", "select 1"], ["why", "r1", "a"], ["why-not", "r1", "a"], ["why-changed", "x", "a", "--since", "@1"],
    ["bisect", "x", "a"], ["compare", "reverie", "omega"], ["dream"], ["dream", "--dry-run"], ["forget", "a"],
    ["restore", "a"], ["access", "a"], ["rate", "a", "helpful"], ["link", "a", "b", "--kind", "supports"],
    ["unlink", "a", "b"], ["supersede", "a", "b"], ["revise", "a", "b"], ["undream", "d1"], ["export", "x.jsonl"],
]  # fmt: skip


@pytest.mark.parametrize("line", ASKING, ids=" ".join)
@pytest.mark.parametrize("there", [False, True], ids=["no folder", "an empty folder"])
def test_asking_makes_no_store(tmp_path: Path, line: list[str], there: bool):
    store = tmp_path / "typo"
    if there:
        store.mkdir()
    result = CliRunner().invoke(main, [*line, "--store", str(store), "--embedder", "hash"])
    assert result.exit_code == 2
    assert f"there is no store at {store}" in result.stderr
    assert list(tmp_path.iterdir()) == ([store] if there else [])
    assert not there or list(store.iterdir()) == []


@pytest.mark.parametrize(
    ("line", "said"), [(["remember", "  "], "content is empty"), (["serve", "--port", "99999"], "99999")]
)
def test_a_refused_command_makes_no_store(tmp_path: Path, line: list[str], said: str):
    result = CliRunner().invoke(main, [*line, "--store", str(tmp_path / "new"), "--embedder", "hash"])
    assert (result.exit_code, said in result.stderr) == (2, True)
    assert list(tmp_path.iterdir()) == []


def test_an_empty_name_is_no_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, ["remember", "x", "--store", "", "--embedder", "hash"])
    assert (result.exit_code, "'' names no directory" in result.stderr) == (2, True)
    assert list(tmp_path.iterdir()) == []


def test_an_empty_moment_is_not_now(tmp_path: Path):
    run = CliRunner().invoke
    assert run(main, ["remember", "x", "--store", str(tmp_path), "--embedder", "hash"]).exit_code == 0
    written = [path.read_bytes() for path in sorted((tmp_path / "log").iterdir())]
    result = run(main, ["recall", "x", "--at", "", "--store", str(tmp_path), "--embedder", "hash"])
    assert (result.exit_code, "'' is not a time" in result.stderr) == (2, True)
    assert [path.read_bytes() for path in sorted((tmp_path / "log").iterdir())] == written
