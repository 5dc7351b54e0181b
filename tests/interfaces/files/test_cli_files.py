"""import and export on the command line: what they say, their exit status, and that nothing is left behind."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from recollect.interfaces.cli.app import main
from recollect.interfaces.python.memory import Memory

SAMPLES = Path(__file__).parents[2] / "golden" / "foreign"
Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    environment = {"RECOLLECT_STORE": str(tmp_path / "store"), "RECOLLECT_EMBEDDER": "hash"}
    return lambda *arguments: CliRunner().invoke(main, [str(a) for a in arguments], env=environment)


def test_an_import_says_what_it_took_the_file_for_and_what_it_did(run: Run):
    done = run("import", SAMPLES / "chatgpt" / "conversations.json")
    assert done.exit_code == 0
    assert "looks like chatgpt" in done.stderr
    assert "remembered 6\n" in done.stdout
    assert (
        "skipped 1 × call of a tool, 1 × on another branch, 1 × system message, 1 × tool message"
        in done.stdout
    )
    assert "unchanged 6\n" in run("import", SAMPLES / "chatgpt" / "conversations.json").stdout


def test_json_is_one_document(run: Run):
    done = run(
        "import", SAMPLES / "tables" / "tea.csv", "--map", "content=body,id=number,at=written", "--json"
    )
    report = json.loads(done.stdout)
    assert (report["format"], report["remembered"], report["skipped"]) == ("csv", 3, {"cannot be read": 2})
    assert report["problems"][0] == {"where": "line 4", "reason": "no content in 'body'"}
    assert len(report["chain"]) == 64


def test_a_dry_run_makes_no_store(run: Run, tmp_path: Path):
    done = run("import", SAMPLES / "mem0" / "history.db", "--dry-run")
    assert "would import" in done.stdout
    assert "remembered 2  revised 1  forgotten 1" in done.stdout
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["nowhere.json"], "there is no file or folder nowhere.json"),
        ([SAMPLES / "tables" / "tea.csv", "--from", "folder"], "is no folder"),
        ([SAMPLES, "--namespace", "x"], "a namespace is for one format"),
        ([SAMPLES / "claude", "--from", "msn"], "'msn' is not a format"),
        ([SAMPLES / "claude", "--map", "content=x"], "a mapping is for jsonl and csv"),
        ([SAMPLES / "claude", "--include", "tools"], "include is for claude-code; this is claude"),
        ([SAMPLES / "tables" / "tea.csv", "--map", "x"], "'x' is not a mapping"),
        (
            [SAMPLES / "tables" / "tea.csv", "--map", "content=body", "--strict"],
            "line 4: no content in 'body'",
        ),
        ([SAMPLES / "tables" / "tea.csv", "--map", "content=nope"], "has no column 'nope'"),
    ],
)
def test_input_errors_are_one_line_and_status_2(run: Run, arguments: list[object], line: str):
    done = run("import", *arguments)
    assert done.exit_code == 2
    assert line in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


def test_an_import_of_which_nothing_could_be_read_is_status_1(run: Run, tmp_path: Path):
    for arguments, line in (
        (
            [SAMPLES / "chatgpt" / "conversations.json", "--from", "claude"],
            "could be read as claude; is it another format",
        ),
        (
            [SAMPLES / "tables" / "notes.jsonl", "--map", "content=nope"],
            "could be read as jsonl; is it another format",
        ),
    ):
        done = run("import", *arguments)
        assert done.exit_code == 1
        assert "× cannot be read" in done.stdout
        assert line in done.stderr.splitlines()[-1]
        assert json.loads(run("import", *arguments, "--json").stdout)["remembered"] == 0
    (tmp_path / "empty.jsonl").write_bytes(b"")
    assert run("import", tmp_path / "empty.jsonl", "--from", "claude-code").exit_code == 0


@pytest.mark.parametrize(
    ("sample", "label"), [("tables/notes.jsonl", "importing bytes"), ("mem0/history.db", "importing rows")]
)
def test_an_interrupted_import_says_what_it_counts(
    run: Run, monkeypatch: pytest.MonkeyPatch, sample: str, label: str
):
    def interrupted(*_: object, progress: Callable[[int, int], None], **__: object) -> None:
        progress(5, 10)
        raise KeyboardInterrupt

    monkeypatch.setattr(Memory, "import_", interrupted)
    assert f"interrupted; {label}: 5 of 10;" in run("import", SAMPLES / sample).stderr


def test_markdown_out_and_in(run: Run, tmp_path: Path):
    run("remember", "Kettles are descaled on Mondays", "--id", "kettle")
    notes = tmp_path / "notes"
    assert "exported 1 memories" in run("export", notes, "--format", "markdown").stdout
    (notes / "kettle.md").write_text("edited", "utf-8")
    kept = run("export", notes, "--format", "markdown")
    assert "kept kettle.md: it was edited since, or is not ours; --overwrite replaces it" in kept.stdout
    assert "written 1" in run("export", notes, "--format", "markdown", "--overwrite").stdout
    then = run("export", tmp_path / "then", "--format", "markdown", "--at", "@1")
    assert "exported 0 memories as of @1" in then.stdout
    assert "unchanged 1" in run("import", notes).stdout


def test_many_problems_are_counted_and_the_first_shown(run: Run, tmp_path: Path):
    (tmp_path / "x.jsonl").write_text('{"text": "good"}\n' + "bad\n" * 30, "utf-8")
    done = run("import", tmp_path / "x.jsonl")
    assert "skipped 30 × cannot be read" in done.stdout
    assert "… and 10 more" in done.stdout
    assert done.stdout.count("not a JSON object") == 20
