"""The documentation cannot drift: commands are documented, and their output on the page is what they print."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from functools import cache
from pathlib import Path
from pkgutil import resolve_name

import click
import pytest
from click.testing import CliRunner

from recollect.interfaces.cli.app import main

ROOT = Path(__file__).parent.parent
GENERATED = [
    "docs/commands.md",
    "docs/incident.md",
    "docs/time-travel.md",
    "docs/questioning.md",
    "docs/sql.md",
    "docs/files.md",
    "docs/erasure.md",
    "docs/web.md",
    "docs/agents.md",
    "docs/folders.md",
    "docs/compose.md",
    "docs/tune.md",
    "docs/scale.md",
]


def shown_in_docs() -> set[str]:
    text = "\n".join((ROOT / name).read_text("utf-8") for name in GENERATED)
    return set(re.findall(r"^\$ recollect ([\w-]+)", text, re.MULTILINE))


@pytest.mark.parametrize("name", main.list_commands(click.Context(main)))
def test_every_command_has_an_example_with_generated_output_and_one_in_its_help(name: str):
    assert name in shown_in_docs()
    command = main.get_command(click.Context(main), name)
    assert command is not None
    assert "Example:" in (command.help or "")
    assert f"recollect {name}" in (command.help or "")
    options = {option for param in command.params if isinstance(param, click.Option) for option in param.opts}
    assert "--json" in options or isinstance(command, click.Group)


@pytest.mark.parametrize("name", GENERATED)
def test_the_output_on_the_page_is_what_the_command_prints(name: str):
    checked = subprocess.run(
        [sys.executable, "docs/generate_console.py", "--check", name],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert checked.returncode == 0, checked.stdout + checked.stderr


PAGES = sorted(str(p.relative_to(ROOT)) for p in [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])
OF_TODAY = [page for page in PAGES if page != "CHANGELOG.md"]


@pytest.mark.parametrize("page", PAGES)
def test_links_between_pages_lead_somewhere(page: str):
    text = (ROOT / page).read_text("utf-8")
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        if "://" not in target:
            assert ((ROOT / page).parent / target).exists(), target


@cache
def python_files() -> dict[str, str]:
    folders = ("src", "events", "projections", "query", "dream", "replay", "engine", "interfaces")
    found = [p for name in (*folders, "tests", "bench", "docs", "tools") for p in (ROOT / name).rglob("*.py")]
    return {f"/{path.relative_to(ROOT)}": path.read_text("utf-8") for path in found}


@pytest.mark.parametrize("page", OF_TODAY)
def test_files_and_tests_that_a_page_names_exist(page: str):
    text = (ROOT / page).read_text("utf-8")
    name = ""
    for file, test in re.findall(r"`([\w./-]+\.py)?(?:::(\w+))?`", text):
        name = file or name  # `::test_…` alone is of the file named before
        named = [source for path, source in python_files().items() if path.endswith(f"/{name}")]
        assert any(f"def {test}(" in source for source in named) if test else named or not file, (name, test)
    for test in re.findall(r"`(test_\w+?)_?…`", text):
        assert any(f"def {test}" in source for source in python_files().values()), test


@pytest.mark.parametrize("page", OF_TODAY)
def test_python_names_on_a_page_can_be_imported(page: str):
    text = (ROOT / page).read_text("utf-8")
    for name in re.findall(r"(?<!logger )`(recollect\.[\w.]+)[`(]", text):
        if not name.endswith(".toml"):
            resolve_name(name)


def test_no_example_on_the_page_of_commands_fails():
    text = (ROOT / "docs/commands.md").read_text("utf-8")
    assert re.findall(r"^(?:recollect: |Error|Usage:|Traceback).*", text, re.MULTILINE) == []


def readme_block(heading: str) -> str:
    text = (ROOT / "README.md").read_text("utf-8").split(f"## {heading}\n", 1)[1]
    return text.split("```", 2)[1].split("\n", 1)[1]


def test_the_command_lines_of_the_readme_work_as_printed(tmp_path, monkeypatch):
    monkeypatch.setenv("RECOLLECT_STORE", str(tmp_path / "store"))
    monkeypatch.setenv("RECOLLECT_EMBEDDER", "hash")
    lines = readme_block("On the command line").splitlines()
    assert len(lines) > 5
    for line in lines:
        result = CliRunner().invoke(main, shlex.split(line)[1:])
        assert result.exit_code == 0, f"{line}: {result.output}"


@pytest.mark.model
def test_the_python_of_the_readme_works_as_printed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(compile(readme_block("In Python"), "README.md", "exec"), names)
    assert names["memory"].verify().exact
    assert names["answer"].hits[0].id == names["a"]
    names["memory"].close()
