"""`recollect dream` and `recollect undream`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from recollect.interfaces.cli.app import main
from recollect.interfaces.python.memory import Memory


@pytest.fixture
def store(tmp_path: Path) -> Path:
    with Memory.open(tmp_path / "store", embedder="hash") as memory:
        for n in range(4):
            memory.remember(f"service {n} deploys daily", id=f"m{n}", at="3 days ago")
        memory.remember("nobody asked", id="unread", at="40 days ago")
        memory.recall("service deploys", k=3)
    return tmp_path / "store"


def run(store: Path, *arguments: str):
    return CliRunner().invoke(main, [*arguments, "--store", str(store), "--embedder", "hash"])


def report(store: Path, *arguments: str) -> dict:
    result = run(store, *arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.output)


def test_a_dry_run_shows_what_would_change_and_why(store):
    shown = run(store, "dream", "--dry-run")
    assert shown.exit_code == 0
    assert "dry run, nothing was written" in shown.output
    for part in ("downscale", "1 → 0.95", "unread", "visible → pruned", "never accessed in 40.0 days"):
        assert part in shown.output
    assert report(store, "get", "unread")["visible"]


def test_dream_and_undream_by_the_id_that_it_printed(store):
    dreamt = report(store, "dream")
    assert dreamt["committed"]
    assert not report(store, "get", "unread")["visible"]
    undone = report(store, "undream", dreamt["id"])
    assert undone["undoes"] == dreamt["id"]
    assert report(store, "get", "unread")["visible"]
    assert "undid" in run(store, "undream", report(store, "dream")["id"]).output


def test_only_the_named_phases_run_and_a_wrong_name_is_a_usage_error(store):
    assert [phase["phase"] for phase in report(store, "dream", "--phases", "downscale, prune")["phases"]] == [
        "downscale",
        "prune",
    ]
    wrong = run(store, "dream", "--phases", "nap")
    assert (wrong.exit_code, "no phase 'nap'" in wrong.output) == (2, True)
    assert run(store, "undream", "d1").exit_code == 2


def test_too_much_churn_is_an_answer_of_no(store, tmp_path):
    harsh = tmp_path / "harsh.toml"
    harsh.write_text('[kinds.other]\nstale = "prune"\nstale_after_days = 0.001\n', "utf-8")
    arguments = ("dream", "--settings", str(harsh), "--now", "2100-01-01", "--max-churn", "0.5")
    refused = run(store, *arguments)
    assert refused.exit_code == 1
    assert "refused" in refused.output
    assert "never, 5 new memories since the last dream" in run(store, "status").output
