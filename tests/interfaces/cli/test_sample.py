"""`recollect demo` makes a store to look at, and leaves what is there alone."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner

from recollect.interfaces.cli.app import main
from recollect.interfaces.python.memory import Memory


def test_demo_makes_a_store_that_replays_exactly_and_touches_nothing_that_is_there(tmp_path: Path):
    folder = tmp_path / "demo"
    done = CliRunner().invoke(main, ["demo", "--store", str(folder), "--json"])
    assert done.exit_code == 0, done.output
    made = json.loads(done.stdout)
    assert made == {"store": str(folder), "memories": 8 + 14 * 10, "recalls": 14 * 3, "head": made["head"]}
    with Memory.open(folder, embedder="hash") as memory:
        assert memory.verify().verdict == "exact"
        assert memory.status().degraded == ()
        assert memory.status().last_dream > 0
    again = CliRunner().invoke(main, ["demo", "--store", str(folder)])
    assert (again.exit_code, "is there already" in again.output) == (2, True)
