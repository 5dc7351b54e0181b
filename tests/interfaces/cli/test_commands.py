"""The command line as a whole: every command is reachable, explains itself, and imports no more than it needs."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from recollect.interfaces.cli.app import main
from recollect.interfaces.cli.commands import COMMANDS

INTERFACES = Path(__file__).parents[3] / "interfaces" / "cli"
CONTEXT = click.Context(main)
COMMAND_MODULES = {f"recollect.interfaces.cli.{module}" for module, _ in COMMANDS.values()}
HEAVY = (
    "duckdb",
    "hnswlib",
    "rich",
    "numpy",
    "mcp",
    "starlette",
    "uvicorn",
    "torch",
    "yaml",
    "pypdf",
    "watchfiles",
)


def written() -> dict[str, tuple[str, str]]:
    """Every command in `cli/*.py`: its module, and the first sentence of its help, read off the source."""
    found = {}
    for path in sorted(INTERFACES.glob("*.py")):
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.FunctionDef):
                for name in filter(None, map(_command_name, node.decorator_list)):
                    line = " ".join((ast.get_docstring(node) or "").split("\n\n")[0].split())
                    found[name if name != "-" else node.name.rstrip("_").replace("_", "-")] = (
                        path.stem,
                        line,
                    )
    return found


def _command_name(decorator: ast.expr) -> str | None:
    """The name given to @main.command or @main.group, "-" if it is the function's own, None for anything else."""
    if not (isinstance(decorator, ast.Call) and isinstance(decorator.func, ast.Attribute)):
        return None
    if ast.unparse(decorator.func) not in {"main.command", "main.group"}:
        return None
    return str(ast.literal_eval(decorator.args[0])) if decorator.args else "-"


def commands() -> list[tuple[str, click.Command]]:
    """Every command and subcommand with the words that call it."""
    found: list[tuple[str, click.Command]] = []
    for name in main.list_commands(CONTEXT):
        command = main.get_command(CONTEXT, name)
        assert command is not None
        found.append((name, command))
        if isinstance(command, click.Group):
            found += [
                (f"{name} {inner}", command.commands[inner]) for inner in command.list_commands(CONTEXT)
            ]
    return found


def test_the_table_names_every_command_with_its_module_and_the_first_sentence_of_its_help():
    assert written() == COMMANDS


def test_the_source_is_read_as_click_reads_it():
    assert set(written()) == {name for name, _ in commands() if " " not in name}
    assert len(written()) > 25


@pytest.mark.parametrize(("words", "command"), commands(), ids=[words for words, _ in commands()])
def test_help_shows_an_example_and_says_what_every_option_does(words: str, command: click.Command):
    result = CliRunner().invoke(main, [*words.split(), "--help"], prog_name="recollect")
    assert result.exit_code == 0
    shown = " ".join(result.output.split())
    assert f"Usage: recollect {words}" in shown
    assert "Example:" in shown
    assert f"recollect {words}" in shown.split("Example:")[1]
    options = [param for param in command.params if isinstance(param, click.Option)]
    assert "--json" in {name for option in options for name in option.opts}
    for option in options:
        assert option.help, f"{words} {option.opts[0]} has no help"
        assert " ".join(option.help.split()) in re.sub(r"-\s", "-", shown) or option.help.split()[0] in shown
        assert option.opts[0] in shown


def test_help_lists_every_command_and_is_what_you_get_without_a_command():
    result = CliRunner().invoke(main, ["--help"], prog_name="recollect")
    assert result.exit_code == 0
    for name in main.list_commands(CONTEXT):
        assert re.search(rf"^  {name} ", result.output, re.MULTILINE)


def loaded(*arguments: str, env: dict[str, str] | None = None) -> set[str]:
    """The names of all modules that a command imported."""
    code = (
        "import sys\nfrom recollect.interfaces.cli.app import main\n"
        "try: main(sys.argv[1:], prog_name='recollect')\nexcept SystemExit as end: assert not end.code, end.code\n"
        "print('\\n'.join(sys.modules), file=sys.stderr)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True, env=env
    )
    return set(ran.stderr.split())


def test_help_and_version_import_no_command_and_nothing_heavy():
    for arguments in (["--help"], ["--version"]):
        modules = loaded(*arguments)
        assert not [name for name in modules if name in COMMAND_MODULES]
        assert not modules & set(HEAVY)


def test_a_command_imports_its_own_module_and_what_answers_need_but_no_database_model_or_server(tmp_path):
    store = ["--store", str(tmp_path), "--embedder", "hash"]
    told = loaded("remember", "Auth sessions live in Postgres", *store)
    asked = loaded("recall", "where are auth sessions?", *store)
    seen = loaded("status", *store)
    for modules in (told, asked, seen):
        assert not modules & (set(HEAVY) - {"numpy", "rich"})
        assert not [
            name
            for name in modules
            if name.startswith(("recollect.dream.cycle", "recollect.replay.compare.compare"))
        ]
    assert {name for name in asked if name in COMMAND_MODULES} == {"recollect.interfaces.cli.ask"}
    assert "rich" not in loaded("recall", "where are auth sessions?", "--json", *store)


# --- exit status -----------------------------------------------------------------------------------


def test_done_is_0_no_is_1_and_a_mistake_is_2_with_one_line(tmp_path):
    def run(*arguments: str) -> tuple[int, str]:
        result = CliRunner().invoke(
            main, [*arguments, "--store", str(tmp_path / "store")], env={"RECOLLECT_EMBEDDER": "hash"}
        )
        return result.exit_code, result.output

    assert run("remember", "a note", "--id", "a")[0] == 0
    assert run("verify")[0] == 0
    assert run("bisect", "zebra", "a", "--since", "@2", "--until", "@2")[0] == 1
    code, said = run("get", "nobody")
    assert (code, said.count("\n"), said.startswith("recollect: ")) == (2, 1, True)
    assert run("recall")[0] == 2
    assert run("nonsense")[0] == 2
    assert run("remember", "x", "--importance", "7")[0] == 2


def test_a_store_that_is_not_there_is_not_made_by_looking(tmp_path):
    result = CliRunner().invoke(main, ["status", "--store", str(tmp_path / "none")])
    assert result.exit_code == 2
    assert "there is no store at" in result.output
    assert not (tmp_path / "none").exists()


def test_check_exits_1_with_the_event_that_broke_an_expectation(tmp_path):
    def run(*arguments: str) -> tuple[int, str]:
        result = CliRunner().invoke(
            main, [*arguments, "--store", str(tmp_path / "store")], env={"RECOLLECT_EMBEDDER": "hash"}
        )
        return result.exit_code, result.output

    run("remember", "a note about foxes", "--id", "a")
    recall = run("recall", "foxes", "--no-track")[1].split()[0]
    assert run("expect", recall, "a", "--first")[0] == 0
    assert run("check")[0] == 0
    run("forget", "a")
    code, said = run("check", "--junit", str(tmp_path / "report.xml"))
    assert (code, "forgot a" in said) == (1, True)
    assert "<failure" in (tmp_path / "report.xml").read_text()
    assert run("expect", recall, "a")[0] == 2
    name = run("expectations")[1].split()[0]
    assert run("expectations", "--withdraw", name)[0] == 0
    assert run("check")[0] == 0
