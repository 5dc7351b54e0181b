"""The server beside its tools: handshake, profiles, scope, resources and prompts."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from mcp.shared.exceptions import MCPError

from recollect import __version__
from recollect.events.errors import InvalidInput
from recollect.interfaces.mcp.lazy_store import opener
from recollect.interfaces.mcp.resources import NoSuchResource, listed, read, title_of, uri_of
from recollect.interfaces.mcp.tool import Scope
from recollect.interfaces.mcp.tool_arguments import Recall
from recollect.interfaces.python.memory import Memory
from recollect.query import formula as formulas


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_clients_of_both_protocol_eras_are_greeted(connect, tmp_path, mode):
    agent = connect(tmp_path / "store", mode=mode)
    assert (agent.client.server_info.name, agent.client.server_info.version) == ("recollect", __version__)
    assert "Recall before" in agent.client.instructions
    assert [tool.name for tool in agent.get("list_tools").tools] == [
        "remember", "recall", "get", "revise", "forget", "status", "recent", "used", "why",
    ]  # fmt: skip
    with pytest.raises(
        MCPError, match="belongs to the profile 'audit'; start the server with --profile audit"
    ):
        agent.call("verify")
    with pytest.raises(MCPError, match="there is no tool 'reminisce'"):
        agent.call("reminisce")


def test_the_tools_of_every_server_are_listed_before_the_engine_is_loaded():
    """So that a client is greeted within a second."""
    code = (
        "import sys; from recollect.interfaces.mcp import server, stdio; server.tools_of('default');"
        "print({'numpy', 'duckdb', 'recollect.engine.store'} & set(sys.modules))"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "set()\n"


def test_a_server_of_a_project_keeps_and_finds_in_it_unless_told_otherwise(connect, tmp_path):
    agent = connect(tmp_path / "store", "--project", "shop", "--session", "monday")
    ours = agent.ok("remember", content="Orders are kept for a year")["id"]
    theirs = agent.ok("remember", content="Orders are kept for two years", project="archive")["id"]
    assert agent.ok("get", id=ours)["project"] == "shop"
    assert agent.ok("get", id=ours)["session"] == "monday"
    found = {
        p: {h["id"] for h in agent.ok("recall", query="orders", project=p)["hits"]} for p in ("archive", "*")
    }
    assert found == {"archive": {theirs}, "*": {ours, theirs}}
    assert [hit["id"] for hit in agent.ok("recall", query="orders")["hits"]] == [ours]
    for nothing in ("", " ", None):
        assert [h["id"] for h in agent.ok("recall", query="orders", project=nothing)["hits"]] == [ours]
    blank = agent.ok("remember", content="Returns are free", project="", session=" ")["id"]
    kept = agent.ok("get", id=blank)
    assert (kept["project"], kept["session"]) == ("shop", "monday")


def test_a_store_that_cannot_be_opened_is_reported_by_every_call(connect, tmp_path):
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "log").write_text("a file\n", "utf-8")
    agent = connect(tmp_path / "store")
    assert "log" in agent.refused("recall", query="x")
    assert "log" in agent.refused("remember", content="x")


def test_a_store_that_cannot_be_opened_is_refused_before_the_server_starts(tmp_path):
    (tmp_path / "file").write_text("a file\n", "utf-8")
    with pytest.raises(InvalidInput, match="is a file; a store is a directory"):
        opener(tmp_path / "file", embedder="hash")
    with pytest.raises(InvalidInput, match="there is no embedder named 'nope'"):
        opener(tmp_path / "store", embedder="nope")


def test_memories_recalls_and_the_timeline_can_be_read(audited):
    memory = audited.ok("remember", content="The archive is in the cellar", id="the archive/1")["id"]
    recall = audited.ok("recall", query="where is the archive?")["recall"]
    resources = audited.get("list_resources").resources
    by_uri = {resource.uri: resource for resource in resources}
    assert resources[0].uri == "recollect://timeline"
    assert by_uri[uri_of(memory)].title == "The archive is in the cellar"
    templates = [one.uri_template for one in audited.get("list_resource_templates").resource_templates]
    assert templates == ["recollect://memory/{id}", "recollect://recall/{id}"]

    def text(uri: str) -> str:
        return audited.get("read_resource", uri).contents[0].text

    assert "The archive is in the cellar" in text(uri_of(memory))
    assert "where is the archive?" in text(f"recollect://recall/{recall}")
    assert "Ranked 1st" in text(f"recollect://recall/{recall}")
    assert f"@{recall[1:]} " in text("recollect://timeline")
    for uri in ("recollect://memory/nobody", "recollect://recall/r999999", "recollect://elsewhere"):
        with pytest.raises(MCPError):
            text(uri)


def test_many_memories_are_listed_in_pages_newest_first(memory):
    ids = memory.remember_many(f"memory {number}" for number in range(250))
    memory.forget(ids[200])
    seen, cursor = [], None
    while True:
        page = listed(memory, cursor)
        seen += [one.uri for one in page.resources]
        if page.next_cursor is None:
            break
        assert len(page.resources) == 100 + (cursor is None)
        cursor = page.next_cursor
    assert seen[0] == "recollect://timeline"
    assert seen[1:] == [uri_of(id_) for id_ in reversed(ids) if id_ != ids[200]]
    with pytest.raises(InvalidInput, match="cursor 'x'"):
        listed(memory, "x")
    with pytest.raises(NoSuchResource):
        read(memory, "recollect://memory/")


def test_the_timeline_of_an_empty_store_is_empty(memory):
    assert read(memory, "recollect://timeline") == ""


def test_a_long_memory_has_a_short_title():
    assert title_of("one\n  two") == "one two"
    assert len(title_of("x" * 500)) == 80


def test_prompts_put_memories_before_the_model_and_record_them_as_injected(audited):
    memory = audited.ok("remember", content="The anchor is painted red", id="anchor")["id"]
    prompts = {prompt.name: prompt for prompt in audited.get("list_prompts").prompts}
    assert set(prompts) == {"what_do_you_remember_about", "why_did_you"}
    about = audited.get("get_prompt", "what_do_you_remember_about", {"topic": "the anchor"}).messages[0]
    assert "What do you remember about the anchor?" in about.content.text
    assert "[anchor] The anchor is painted red" in about.content.text
    why = audited.get("get_prompt", "why_did_you", {"what": "paint the anchor"}).messages[0]
    assert "Why did you paint the anchor?" in why.content.text
    injected = [e for e in audited.ok("history", id=memory)["events"] if "injected" in e["summary"]]
    assert len(injected) == 2
    for name, arguments in (("nonsense", {}), ("why_did_you", {}), ("why_did_you", {"who": "me"})):
        with pytest.raises(MCPError):
            audited.get("get_prompt", name, arguments)


def test_over_a_network_no_formula_is_read_from_a_file():
    with Memory.open(":memory:", embedder=None) as memory:
        for path in ("../secret.toml", "/etc/passwd", "secret.toml"):
            with pytest.raises(InvalidInput, match="is a path, which this server does not read"):
                Scope(files=False).formula(memory, path)
        label = formulas.built_in("reverie").label
        assert Scope(files=False).formula(memory, label) == formulas.built_in("reverie")
        assert Scope().formula(memory, "./mine.toml") == "./mine.toml"
        assert Scope().formula(memory, "") is None
    assert Recall(query="x").formula is None


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"project": ""}, "project '' is empty"),
        ({"project": " x"}, "project ' x' is empty or has space around it"),
        ({"project": "*"}, "leave it out to serve all projects"),
        ({"session": " "}, "session ' ' is empty"),
    ],
)
def test_a_server_has_a_project_and_a_session_that_memories_can_have(given, says):
    with pytest.raises(InvalidInput, match=re.escape(says)):
        Scope(**given)
