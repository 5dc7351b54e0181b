"""The commands that explain, as people and scripts see them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from recollect.interfaces.cli.app import main
from recollect.interfaces.cli.render.explanation import bar
from recollect.interfaces.python.memory import Memory
from recollect.query.formula import built_in, names


class Shell:
    """Runs commands on one store that holds a recall of two memories."""

    def __init__(self, folder: Path) -> None:
        self.store = folder / "store"
        with Memory.open(self.store, embedder="hash") as memory:
            memory.remember("Auth sessions live in Postgres", id="auth")
            memory.remember("Auth cookies expire", id="cookies")
            memory.remember("Deploys happen on Tuesdays", id="deploys")
            memory.forget("deploys", "moved")
            self.recall = memory.recall("auth sessions", k=1, formula="reverie").id
            self.head = memory.status().head

    def run(self, *arguments: str) -> Result:
        return CliRunner().invoke(main, list(arguments))

    def ask(self, *arguments: str) -> Result:
        return self.run(*arguments, "--store", str(self.store), "--embedder", "hash")


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


def test_why_shows_the_sentence_first_and_then_the_tree(shell: Shell):
    short = shell.ask("why", shell.recall, "auth").output
    assert "stages" not in short.replace("the stages and the events", "")
    result = shell.ask("why", shell.recall, "auth", "--full")
    assert result.exit_code == 0, result.output
    for shown in (short, result.output):
        assert shown.startswith("Ranked 1st of 2: words matched 'auth', 'sessions'")
        assert "against" in shown
    for shown in ("channels", "stages", "multiply by recency_boost", "tf 1", "the exact tail", "█", "set by"):
        assert shown in result.output


def test_why_not_shows_where_it_was_lost_and_what_would_have_done(shell: Shell):
    result = shell.ask("why-not", shell.recall, "cookies")
    assert result.exit_code == 0
    assert result.output.startswith("Not in the answer: it came in at 2 of 2")
    assert "needed" in result.output
    assert "to pass auth:" in result.output
    assert shell.ask("why-not", shell.recall, "deploys").output.startswith(
        "Not in the answer: forgotten: moved."
    )


@pytest.mark.parametrize(("command", "id_"), [("why", "auth"), ("why-not", "cookies")])
def test_json_is_the_same_object_as_in_python(shell: Shell, command: str, id_: str):
    shown = json.loads(shell.ask(command, shell.recall, id_, "--json").output)
    with Memory.open(shell.store, embedder="hash") as memory:
        explanation = memory.why(shell.recall, id_)
        assert shown["score"] == explanation.score
        assert shown["sentence"] == explanation.sentence
        assert [stage["title"] for stage in shown["stages"]] == [s.title for s in explanation.stages]
        assert memory.status().head == shell.head


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("why", "r999", "auth"), "r999"),
        (("why", "nonsense", "auth"), "recorded recall"),
        (("why-not", "{recall}", "nobody"), "nobody"),
    ],
)
def test_a_wrong_name_is_one_line_on_stderr_and_exit_2(shell: Shell, arguments: tuple, complaint: str):
    result = shell.ask(*(argument.format(recall=shell.recall) for argument in arguments))
    assert result.exit_code == 2
    assert complaint in result.stderr
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""


def test_formulas_lists_every_built_in_formula_with_its_source(shell: Shell):
    result = shell.run("formulas")
    assert result.exit_code == 0
    for name in names():
        assert name in result.output
        assert built_in(name).source in result.output
    listed = json.loads(shell.run("formulas", "--json").output)
    assert [entry["name"] for entry in listed] == [built_in(name).name for name in names()]


def test_formulas_show_prints_a_text_that_check_accepts(shell: Shell, tmp_path: Path):
    text = shell.run("formulas", "show", "reverie").output
    assert text.startswith("# Reverie's eight-factor ranking.")
    mine = tmp_path / "mine.toml"
    mine.write_text(text, "utf-8")
    checked = shell.run("formulas", "check", str(mine))
    assert checked.exit_code == 0
    assert checked.output == f"OK  {built_in('reverie').label}, {len(built_in('reverie').stages)} stages\n"
    assert shell.run("formulas", "show", str(mine)).output == text


def test_formulas_check_says_what_is_wrong_and_where(shell: Shell, tmp_path: Path):
    mine = tmp_path / "mine.toml"
    mine.write_text('name = "mine"\nstages = [{ op = "fuse", channels = ["vibes"] }]\n', "utf-8")
    result = shell.run("formulas", "check", str(mine))
    assert result.exit_code == 1
    assert "stage 1 reads 'vibes.rank'" in result.output
    shown = json.loads(shell.run("formulas", "check", str(mine), "--json").output)
    assert shown["ok"] is False
    assert "vibes" in shown["problem"]


def test_a_formula_that_is_not_there_is_exit_2(shell: Shell, tmp_path: Path):
    for arguments in (("check", str(tmp_path / "none.toml")), ("show", "reverse"), ("check", str(tmp_path))):
        result = shell.run("formulas", *arguments)
        assert result.exit_code == 2, arguments
        assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "command", [("why",), ("why-not",), ("formulas",), ("formulas", "show"), ("formulas", "check")]
)
def test_every_help_text_has_an_example(shell: Shell, command: tuple[str, ...]):
    assert "Example:\n  recollect " in shell.run(*command, "--help").output.replace(
        "    recollect", "  recollect"
    )


def test_bars_are_as_long_as_their_share():
    assert [len(bar(share, 1.0)) for share in (0.0, 0.5, 1.0, 2.0)] == [0, 12, 24, 24]
    assert bar(1.0, 0.0) == ""
