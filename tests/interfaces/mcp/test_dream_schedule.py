"""A server dreams when it is time, and not when nothing is new."""

from __future__ import annotations

from agent_clients import until


def test_a_server_dreams_by_the_clock(connect, tmp_path):
    agent = connect(tmp_path / "store", "--dream-every", "1s")
    agent.ok("remember", content="Sheep jump over fences")
    until(lambda: agent.ok("status")["last_dream"] is not None, "a dream")
    assert agent.ok("status")["new_since_dream"] == 0
