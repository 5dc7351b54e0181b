"""remember adds: what answers stays as it is, and a retry is no change."""

from __future__ import annotations

import pytest

from recollect.events.errors import InvalidInput
from recollect.interfaces.mcp import tool_arguments, tools
from recollect.interfaces.mcp.tool import Call, Scope

CALL = Call(scope=Scope(project="shop", session="monday"))
WHOLE = {
    "content": "Auth sessions live in Postgres", "id": "auth", "kind": "decision", "importance": 0.9,
    "tags": ("db", "auth"), "entities": ("Postgres",), "source": "a.md", "at": "2 days ago",
    "valid_from": "2025-01-01", "expires_at": "2099-01-01",
}  # fmt: skip


def remember(memory, **fields):
    return tools.remember(memory, tool_arguments.Remember(**fields), CALL)


def test_the_same_memory_told_again_is_a_success_that_writes_nothing(memory):
    assert not remember(memory, **WHOLE).unchanged
    head = memory.status().head
    again = remember(memory, **WHOLE | {"tags": ("auth", "db")})
    assert (again.id, again.revision, again.unchanged) == ("auth", 1, True)
    assert memory.status().head == head


@pytest.mark.parametrize(
    "other",
    [
        {"content": "Auth sessions live in Redis"},
        {"kind": "note"},
        {"importance": 0.5},
        {"tags": ("db",)},
        {"entities": ()},
        {"project": "other"},
        {"session": "tuesday"},
        {"source": None},
        {"at": "2020-01-01"},
        {"valid_from": "2025-01-02"},
        {"expires_at": None},
    ],
)
def test_a_known_id_that_says_something_else_is_refused_and_nothing_is_written(memory, other):
    remember(memory, **WHOLE)
    head = memory.status().head
    with pytest.raises(InvalidInput, match=r"'auth' is there already.*revise.*leave the id out"):
        remember(memory, **WHOLE | other)
    assert memory.status().head == head


def test_a_forgotten_id_is_refused_and_stays_forgotten(memory):
    remember(memory, content="The door code is 4711", id="code")
    memory.forget("code", "changed")
    head = memory.status().head
    with pytest.raises(InvalidInput, match=r"'code' is forgotten: changed, and nothing was written"):
        remember(memory, content="The door code is 4711", id="code")
    assert memory.status().head == head


def test_the_id_of_what_was_erased_is_free(memory):
    remember(memory, content="The door code is 4711", id="code")
    memory.erase("code", reason="private")
    assert not remember(memory, content="The door is open", id="code").unchanged
    assert memory.get("code").content == "The door is open"


@pytest.mark.parametrize(("theirs", "unchanged"), [("The door code is 4711", True), ("Another text", False)])
def test_an_id_that_another_server_takes_meanwhile_is_looked_at_again(memory, monkeypatch, theirs, unchanged):
    look = tools.existing_memory

    def overtaken(memory, memory_id):
        found = look(memory, memory_id)
        monkeypatch.setattr(tools, "existing_memory", look)
        memory.remember(theirs, id="code", project="shop", session="monday")
        return found

    monkeypatch.setattr(tools, "existing_memory", overtaken)
    if unchanged:
        assert remember(memory, content="The door code is 4711", id="code").unchanged
    else:
        with pytest.raises(InvalidInput, match="'code' is there already"):
            remember(memory, content="The door code is 4711", id="code")
    assert (memory.get("code").content, memory.get("code").state.revision_count) == (theirs, 1)
