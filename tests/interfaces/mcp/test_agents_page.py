"""docs/agents.md says what is so: the tools, the configurations, and the client that it prints."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from recollect.interfaces.cli.app import main
from recollect.interfaces.common.http.guard import BODY_BYTES_MAX, REQUESTS_PER_MINUTE
from recollect.interfaces.mcp.http import DEFAULT_ADDRESS, PATH
from recollect.interfaces.mcp.profiles import PROFILES, tools_of
from recollect.interfaces.mcp.prompts import PROMPTS
from recollect.interfaces.mcp.resources import TEMPLATES, TIMELINE

PAGE = (Path(__file__).parents[3] / "docs" / "agents.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def servers() -> list[dict[str, object]]:
    """Every server that a configuration on the page starts."""
    configured = [json.loads(block) for block in blocks("json")] + [
        tomllib.loads(block) for block in blocks("toml")
    ]
    return [
        server
        for one in configured
        for server in (one.get("mcpServers") or one.get("mcp_servers") or {}).values()
    ]


def check_command(arguments: list[str]) -> None:
    """The command line would be accepted."""
    command = main.get_command(click.Context(main), arguments[0])
    assert command is not None
    command.make_context(arguments[0], arguments[1:])


def test_the_table_of_tools_is_that_of_the_server():
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \| (\w+) \| (\w+) \| (\w+) \|$", PAGE, re.MULTILINE)
    default = set(tools_of("default"))
    said = {True: "yes", False: "no"}
    assert rows == [
        (
            tool.name,
            "default" if tool.name in default else "audit",
            said[tool.reads],
            said[tool.replaces],
            said[tool.reads or tool.repeatable],
        )
        for tool in tools_of("audit").values()
    ]


def test_every_configuration_on_the_page_starts_the_server():
    assert len(servers()) == 3
    for server in servers():
        assert server["command"] == "recollect"
        check_command(server["args"])
    shell = re.findall(r"-- recollect (.+)$", PAGE, re.MULTILINE)
    assert len(shell) == 2
    for line in shell:
        check_command(line.split())


def test_the_hook_on_the_page_is_a_command():
    (settings,) = (one for one in map(json.loads, blocks("json")) if "hooks" in one)
    (group,) = settings["hooks"]["UserPromptSubmit"]
    (hook,) = group["hooks"]
    assert hook["type"] == "command"
    check_command(hook["command"].split()[1:])


def test_allowed_tools_exist():
    (settings,) = (one for one in map(json.loads, blocks("json")) if "permissions" in one)
    names = {name.removeprefix("mcp__recollect__") for name in settings["permissions"]["allow"]}
    assert names <= set(tools_of("default"))


def test_addresses_limits_resources_and_prompts_are_the_real_ones():
    for value in (
        f"http://{DEFAULT_ADDRESS}{PATH}",
        f"{BODY_BYTES_MAX:,} bytes",
        f"{REQUESTS_PER_MINUTE} requests",
    ):
        assert value in PAGE
    for name in [TIMELINE, *(template.uri_template for template in TEMPLATES), *PROMPTS]:
        assert f"`{name}`" in PAGE


def test_the_client_on_the_page_runs_as_printed(tmp_path):
    (program,) = blocks("python")
    script = tmp_path / "bin" / "recollect"
    script.parent.mkdir()
    script.write_text(
        f'#!/bin/sh\nRECOLLECT_EMBEDDER=hash exec "{sys.executable}" -m recollect "$@"\n', "utf-8"
    )
    script.chmod(0o755)
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300,
        env={**os.environ, "PATH": f"{script.parent}:{os.environ['PATH']}"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert re.match(
        r"r\d+ recollect@\w+ \[\]\n1 \w+ Auth sessions live in Postgres, not Redis \{", done.stdout
    )


@pytest.mark.parametrize("profile", PROFILES)
def test_the_tools_are_listed_for_people_and_for_programs(profile):
    lines = CliRunner().invoke(main, ["mcp", "--list-tools", "--profile", profile]).output.splitlines()
    assert [line.split()[0] for line in lines] == list(tools_of(profile))
    listed = json.loads(
        CliRunner().invoke(main, ["mcp", "--list-tools", "--profile", profile, "--json"]).output
    )
    assert [tool["name"] for tool in listed] == list(tools_of(profile))
    assert all(tool["inputSchema"]["type"] == "object" for tool in listed)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--json"], "--json goes with --list-tools"),
        (["--profile", "all"], "'all' is not one of"),
        (["--dream-every", "often"], "'often' is not an interval"),
        (["--http", "host:port"], "'host:port' is not an address"),
        (["--token", "secret"], "--token goes with --http"),
        (["--embedder", "nope"], "there is no embedder named 'nope'"),
        (["--store", __file__], "is a file"),
        (["--project", ""], "project '' is empty"),
        (["--project", "*"], "leave it out to serve all projects"),
        (["--session", " "], "session ' ' is empty"),
    ],
)
def test_a_server_is_not_started_with_wrong_options(options, says, tmp_path):
    refused = CliRunner().invoke(main, ["mcp", "--store", str(tmp_path), *options])
    assert refused.exit_code == 2
    assert says in refused.stderr
