"""A line that is not a message of the protocol is answered and logged, so that no client waits for ever."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from agent_clients import HANG_S
from mcp import types
from pydantic import ValidationError

from recollect.interfaces.mcp.malformed import replies

REMEMBER = '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"remember","arguments":{"content":"x\\ud800y"}}}'
INITIALIZE = (
    '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},'
    '"clientInfo":{"name":"t","version":"0"}}}'
)


def test_a_server_answers_what_it_cannot_read_and_goes_on(tmp_path):
    lines = [
        "garbage", INITIALIZE, '{"jsonrpc":"2.0","method":"notifications/initialized"}', REMEMBER,
        '{"jsonrpc":"2.0","id":5.5,"method":"ping"}', '[{"jsonrpc":"2.0","id":6,"method":"ping"}]', "",
        '{"jsonrpc":"2.0","id":99,"method":"ping"}',
    ]  # fmt: skip
    command = [sys.executable, "-m", "recollect", "mcp", "--store", str(tmp_path), "--embedder", "hash"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as server:
        server.stdin.write("\n".join(lines) + "\n")
        server.stdin.flush()
        said = [json.loads(server.stdout.readline()) for _ in range(6)]
        _, noted = server.communicate(timeout=HANG_S)
    assert server.returncode == 0
    by_id = {answer["id"]: answer for answer in said if answer["id"] is not None}
    nameless = [answer["error"]["code"] for answer in said if answer["id"] is None]
    assert nameless == [types.PARSE_ERROR, types.INVALID_REQUEST]
    assert by_id[7]["error"]["code"] == types.PARSE_ERROR
    assert "lone surrogate" in by_id[7]["error"]["message"]
    assert "batches are not taken" in by_id[6]["error"]["message"]
    assert by_id[99]["result"] == {}
    assert noted.count("a line was not understood") == 3
    assert noted.count("no id that can be answered") == 1


def unread(line: str) -> Exception:
    """What the SDK makes of a line that it cannot read."""
    with pytest.raises(ValidationError) as refused:
        types.jsonrpc_message_adapter.validate_json(line, by_name=False)
    return refused.value


@pytest.mark.parametrize(
    ("line", "ids"),
    [
        ("nonsense", [None]),
        ("[" * 100_000, [None]),
        ("{}", [None]),
        ("[]", [None]),
        ('{"jsonrpc":"1.0","id":"a","method":"ping"}', ["a"]),
        ('{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}', [None]),
        ('[{"id":1,"method":"x"},{"method":"notifications/x"},{"id":2,"method":"x"}]', [1, 2]),
        ("  \n", []),
        ('{"jsonrpc":"2.0","id":9,"result":{"a":"\\ud800"}}', []),
        ('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"reason":"\\ud800"}}', []),
    ],
)
def test_every_request_in_the_line_is_answered(line, ids):
    assert [reply.id for reply in replies(unread(line))] == ids


def test_an_error_that_is_not_about_a_line_is_said_as_it_is():
    (reply,) = replies(RuntimeError("the pipe is odd"))
    assert (reply.id, reply.error.message) == (None, "the pipe is odd")
