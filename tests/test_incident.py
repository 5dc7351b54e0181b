"""The incident of docs/incident.md: the program that makes its store, and the page that solves it."""

from __future__ import annotations

import re
import shlex
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest
from click.testing import CliRunner

from recollect import Memory
from recollect.interfaces.cli.app import main

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs/incident.md").read_text("utf-8")


@pytest.fixture(scope="module")
def incident() -> ModuleType:
    spec = spec_from_file_location("incident", ROOT / "docs/examples/incident.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["incident"] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def commands(section: str) -> list[str]:
    """The commands that a section of the page shows."""
    text = PAGE.split(f"## {section}\n", 1)[1].split("\n## ", 1)[0]
    return re.findall(r"^\$ recollect (.+)$", text, re.MULTILINE)


def test_the_page_solves_it_in_at_most_four_commands(incident, tmp_path, monkeypatch):
    """The whole store, and every command of the page, run one after the other as they are printed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RECOLLECT_STORE", str(tmp_path / "store"))
    incident.make(tmp_path / "store")
    clock = incident.Clock(incident.END_US)
    monkeypatch.setattr("time.time_ns", lambda: clock() * 1_000)

    def run(command: str) -> tuple[int, str]:
        result = CliRunner().invoke(main, shlex.split(command))
        return result.exit_code, result.output

    with Memory.open(tmp_path / "store", embedder="hash", clock=clock) as memory:
        status = memory.status()
        counted = memory.sql(
            "SELECT (SELECT count(*) FROM dreams), (SELECT count(*) FROM events WHERE type = 'memory.erased')"
        )
        assert (status.memories, status.recalls) == (2_000, 300)
        assert [tuple(row) for row in counted.rows] == [(20, 2)]
    four = commands("Four commands")
    assert len(four) == 4
    said = [run(command) for command in four]
    assert [code for code, _ in said] == [0, 0, 0, 1]
    assert incident.CULPRIT in said[-1][1]
    assert [run(command)[0] for command in commands("Repair, and keep it repaired")] == [0, 0, 0]
    assert [run(command)[0] for command in commands("A test that can be committed")] == [0, 0, 0]


def test_the_program_is_deterministic_and_takes_other_sizes(incident, tmp_path):
    size = incident.Size(memories=120, recalls=30, days=8, dreams=2, erasures=1)
    stores = []
    for name in ("one", "other"):
        incident.make(tmp_path / name, size)
        with Memory.open(tmp_path / name, embedder="hash", clock=incident.Clock(incident.END_US)) as memory:
            assert memory.verify().verdict in {"exact", "attested"}
            assert (memory.status().memories, memory.status().recalls) == (120, 30)
            stores.append([(event.seq, event.at, event.type, event.summary) for event in memory.log()])
    assert stores[0] == stores[1]
    assert any(incident.CULPRIT in summary for *_, summary in stores[0])
