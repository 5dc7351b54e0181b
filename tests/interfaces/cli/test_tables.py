"""Tables at 80 columns lose no score and no id; in a pipe nothing is cut; rows come out as CSV, TSV and lines of JSON."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import NamedTuple

import pytest
from click.testing import CliRunner
from rich.cells import cell_len

from recollect.interfaces.cli.app import main
from recollect.interfaces.cli.commands import COMMANDS, FIRST, GROUPS
from recollect.interfaces.python.memory import Memory

QUESTION = "where are auth sessions stored?"
LONG = (
    "auth sessions live in Postgres, which took us a whole year to find out, and nobody will believe it again"
)
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tables") / "store"
    with Memory.open(path, embedder="hash") as memory:
        for number in range(4):
            memory.remember(f"{LONG}, part {number}", kind="decision", project="the-shop", tags=["auth"])
        first = memory.recall(QUESTION).hits[0]
        memory.revise(first.id, f"{LONG}, and so on")
        other = next(memo.id for memo in memory.memories() if memo.id != first.id)
        memory.forget(other, "it was the same as all the others, and nobody needs it four times")
        memory.recall(QUESTION, formula="reverie")
    return path


class Lived(NamedTuple):
    """A store in which much happened, and the names of what is asked about."""

    path: Path
    recall: str
    memory: str
    dream: str


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Lived:
    path = tmp_path_factory.mktemp("lived") / "store"
    with Memory.open(path, embedder="hash") as memory:
        old, *_, other = [memory.remember(f"{LONG}, part {n}", project="the-shop") for n in range(12)]
        memory.link(other, old, "contradicts")
        recall = memory.recall(f"{QUESTION} {LONG}?", k=12, session="monday").id
        assert recall is not None
        memory.revise(old, f"{LONG}, and so on")
        memory.rate(old, "helpful", recall=recall)
        memory.expect(recall, old, first=True, note=f"{LONG}, said the one who answered")
        memory.remember(f"{LONG}, but no longer", supersedes=old)
        dream = memory.dream(now="2027-01-01").id
    return Lived(path, recall, old, dream)


def run(store: Path, *arguments: str, columns: int | None = 80) -> str:
    env = {"COLUMNS": str(columns), "FORCE_COLOR": "1"} if columns else {"FORCE_COLOR": None}
    where = () if arguments[0] == "formulas" else ("--store", str(store))
    result = CliRunner().invoke(main, [*arguments, *where], env=env)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.output
    return _COLOUR.sub("", result.stdout)


def ids_of(store: Path) -> list[str]:
    return [memo["id"] for memo in json.loads(run(store, "memories", "--json"))]


def commands(store: Path) -> dict[str, tuple[list[str], list[str]]]:
    """Every command that draws a table, and what must be in it."""
    ids = ids_of(store)
    asked = ("recall", QUESTION, "--no-record", "--embedder", "hash")
    hits = json.loads(run(store, *asked, "--json", "--now", "2027-01-01"))["hits"]
    found = [cell for hit in hits for cell in (hit["id"], f"{hit['score']:.12g}")]
    recorded = json.loads(run(store, "recalls", "--json"))
    recalls = [row["id"] for row in recorded["recalls" if "recalls" in recorded else "rows"]]
    why = json.loads(run(store, "why", recalls[-1], hits[0]["id"], "--json"))
    return {
        "recall": ([*asked, "--now", "2027-01-01"], found),
        "memories": (["memories"], ids),
        "history": (["history", ids[0]], [f"@{one['seq']}" for one in json.loads(run(store, "history", ids[0], "--json"))]),
        "recalls": (["recalls"], recalls),
        "why": (["why", recalls[-1], hits[0]["id"]], [hits[0]["id"], why["below"]["id"], f"{why['score']:.12g}"]),
        "sql": (["sql", "SELECT id, content, created_at FROM memories"], ids),
        "compare": (["compare", "reverie", "omega", "--embedder", "hash"], ["top1_changed", "churn@5", *recalls]),
        "bisect": (["bisect", QUESTION, ids[0], "--since", "@2", "--until-rank", "1", "--embedder", "hash"], []),
        "ranks": (["history", ids[0], "--ranks", QUESTION, "--embedder", "hash"], []),
        "why-changed": (
            ["why-changed", QUESTION, ids[0], "--since", "@6", "--embedder", "hash"], ["together"],
        ),
    }  # fmt: skip


def more_commands(lived: Lived) -> dict[str, tuple[list[str], list[str]]]:
    """Every command that draws lines about recalls, memories and events, and what must be in them."""
    store, recall, memory, dream = lived
    asked, about = (json.loads(run(store, "show", name, "--json")) for name in (recall, memory))
    slept = json.loads(run(store, "show", dream, "--json"))
    log = json.loads(run(store, "log", "--json"))
    impact = json.loads(run(store, "impact", memory, "--json"))["answers"]
    stale = json.loads(run(store, "stale", "--json"))["answers"]
    expected = json.loads(run(store, "expectations", "--json"))[0]
    preview = json.loads(run(store, "dream", "--dry-run", "--now", "2027-03-01", "--json"))
    erasing = json.loads(run(store, "erase", memory, "--dry-run", "--json"))
    return {
        "show recall": (["show", recall], [recall, *(c for h in asked["hits"] for c in (h["id"], f"{h['score']:.12g}"))]),
        "show memory": (
            ["show", memory], [memory, *(c for r in about["recalls"] for c in (r["recall"], f"{r['score']:.12g}"))],
        ),
        "show dream": (["show", dream], [dream, *(change["id"] for change in slept["changes"])]),
        "log": (["log"], [f"@{one['seq']}" for one in log] + [memory, recall]),
        "impact": (["impact", memory], [memory, *(c for a in impact for c in (a["recall"], *a["ids"], *a["without"]))]),
        "stale": (["stale"], [c for a in stale for c in (a["recall"], a["id"])]),
        "expectations": (["expectations"], [expected["name"], expected["recall"], expected["id"]]),
        "check": (["check", "--embedder", "hash"], [expected["name"], expected["recall"], expected["id"]]),
        "dream": (
            ["dream", "--dry-run", "--now", "2027-03-01"],
            [c["id"] for phase in preview["phases"] for c in phase["changes"][:20] if c["id"] != "*"],
        ),
        "erase": (["erase", memory, "--dry-run"], [memory, *erasing["recalls"]]),
        "formulas": (["formulas"], ["recollect", "reverie", "omega"]),
        "doctor": (["doctor"], ["healthy", f"@{log[-1]['seq']}"]),
        "status": (["status"], [f"@{log[-1]['seq']}", "recollect@"]),
        "verify": (["verify"], ["exact"]),
    }  # fmt: skip


@pytest.mark.parametrize(
    "name",
    ["show recall", "show memory", "show dream", "log", "impact", "stale", "expectations", "check", "dream", "erase",
     "formulas", "doctor", "status", "verify"],
)  # fmt: skip
def test_at_80_columns_lines_wrap_and_keep_every_score_and_id(lived: Lived, name: str):
    arguments, needed = more_commands(lived)[name]
    assert needed
    for columns in (80, None):
        shown = run(lived.path, *arguments, columns=columns)
        assert [cell for cell in needed if cell not in shown] == []
        assert columns is None or [line for line in shown.splitlines() if cell_len(line) > columns] == []
        assert columns is not None or "…" not in shown


def test_an_event_is_shown_in_full_at_any_width(lived: Lived):
    """As JSON that can be copied: its lines are as long as its texts."""
    told = json.loads(run(lived.path, "history", lived.memory, "--json"))[0]["seq"]
    for columns in (80, None):
        assert json.dumps(f"{LONG}, part 0") in run(lived.path, "show", f"@{told}", columns=columns)


@pytest.mark.parametrize(
    "name",
    ["recall", "memories", "history", "recalls", "why", "sql", "compare", "bisect", "ranks", "why-changed"],
)
def test_at_80_columns_no_score_and_no_id_is_lost_and_no_line_is_wider(store: Path, name: str):
    arguments, needed = commands(store)[name]
    shown = run(store, *arguments)
    for cell in needed:
        assert cell in shown
    assert all(cell_len(line) <= 80 for line in shown.splitlines())
    piped = run(store, *arguments, columns=None)
    for cell in needed:
        assert cell in piped


def test_brackets_in_a_cell_are_shown_as_they_are(store: Path):
    assert "st:[bold]model" in run(store, "config", "--embedder", "st:[bold]model")


def test_in_a_pipe_no_text_is_cut(store: Path):
    for arguments in (("memories",), ("recall", QUESTION, "--no-record", "--embedder", "hash")):
        piped = run(store, *arguments, columns=None)
        assert "…" not in piped
        assert f"{LONG}, and so on" in piped


def test_rows_come_out_as_csv_as_tsv_and_as_lines_of_json(store: Path):
    ids = ids_of(store)
    listed = list(csv.DictReader(run(store, "memories", "--csv").splitlines()))
    assert [row["id"] for row in listed] == ids
    assert {row["state_kind"] for row in listed} == {"decision"}
    tabbed = [line.split("\t") for line in run(store, "memories", "--tsv").splitlines()]
    place = tabbed[0].index("id")
    assert [row[place] for row in tabbed[1:]] == ids
    lines = [json.loads(line) for line in run(store, "memories", "--nl", "--limit", "2").splitlines()]
    assert len(lines) == 2
    asked = ("recall", QUESTION, "--no-record", "--embedder", "hash", "-k", "9")
    hits = list(csv.DictReader(run(store, *asked, "--csv").splitlines()))
    assert {row["id"] for row in hits} <= set(ids)
    assert all(float(row["score"]) > 0 and json.loads(row["tags"]) == ["auth"] for row in hits)
    rows = [json.loads(line) for line in run(store, "sql", "SELECT 1 AS a, 'x' AS b", "--nl").splitlines()]
    assert rows == [{"a": 1, "b": "x"}]
    assert "query" in run(store, "recalls", "--csv").splitlines()[0]


@pytest.mark.parametrize(("name", "column"), [("log", "seq"), ("stale", "recall"), ("expectations", "name")])
def test_what_is_recorded_comes_out_as_rows_with_whole_texts(lived: Lived, name: str, column: str):
    store = lived.path
    document = json.loads(run(store, name, "--json"))
    wanted = [str(row[column]) for row in (document if isinstance(document, list) else document["answers"])]
    assert wanted
    assert [row[column] for row in csv.DictReader(run(store, name, "--csv").splitlines())] == wanted
    assert [str(json.loads(line)[column]) for line in run(store, name, "--nl").splitlines()] == wanted
    assert len(run(store, name, "--tsv").splitlines()) == 1 + len(wanted)
    assert LONG in run(store, name, "--csv")


def test_a_log_that_is_followed_has_no_table_to_end(store: Path):
    refused = CliRunner().invoke(main, ["log", "--follow", "--csv", "--store", str(store)])
    assert refused.exit_code == 2
    assert "--nl" in refused.output


def test_help_shows_first_what_a_newcomer_needs_and_then_every_command_in_its_group():
    shown = CliRunner().invoke(main, ["--help"], prog_name="recollect").output
    titles = re.findall(r"^(\w+):$", shown, re.MULTILINE)
    assert titles[titles.index("First") :] == [
        "First",
        "Tell",
        "Ask",
        "Explain",
        "Prove",
        "Sleep",
        "Files",
        "Serve",
    ]
    assert len(FIRST) == 8
    first = shown.partition("First:")[2].partition("Tell:")[0]
    assert re.findall(r"^  ([a-z-]+) ", first, re.MULTILINE) == list(FIRST)
    grouped = [name for names in GROUPS.values() for name in names]
    assert sorted(name for name in grouped if name in COMMANDS) == sorted(COMMANDS)
    assert len(grouped) == len(set(grouped))
