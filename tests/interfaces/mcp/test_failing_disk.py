"""A server whose disk is full for a while: it answers all along, says what it could not write, and goes on."""

from __future__ import annotations

from pathlib import Path

from small_disk import small_disk

from recollect.engine.doctor import doctor


def test_a_server_on_a_full_disk_answers_and_writes_again_once_there_is_room(connect, tmp_path: Path):
    with small_disk(tmp_path / "disk") as disk:
        agent = connect(disk.path / "store")
        kept = agent.ok("remember", content="The parrot speaks Portuguese")["id"]
        disk.fill()
        long = "x" * 4_000
        while not agent.call("remember", content=f"note {long}").is_error:
            pass  # what was allocated already is used up first
        said = agent.refused("remember", content=f"The walrus does not {long}")
        assert "No space left" in said
        assert "the next write tries again" in said
        answer = agent.ok("recall", query=f"parrot Portuguese {long}")
        assert (answer["recall"], answer["hits"][0]["id"]) == (None, kept)
        assert [note for note in answer["degraded"] if "not recorded" in note and "No space left" in note]
        assert [note for note in agent.ok("status")["degraded"] if "the last write failed" in note]
        disk.free()
        fresh = agent.ok("remember", content="The walrus does not")["id"]
        answer = agent.ok("recall", query="walrus")
        assert answer["recall"] is not None
        assert answer["hits"][0]["id"] == fresh
        assert agent.ok("status")["degraded"] == []
        assert doctor(disk.path / "store").healthy
