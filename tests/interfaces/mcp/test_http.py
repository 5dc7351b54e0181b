"""The server over streamable HTTP: the official client, and what the guard keeps out."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
from contextlib import closing

import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from recollect.events.errors import InvalidInput
from recollect.interfaces.common.http.guard import BODY_BYTES_MAX
from recollect.interfaces.mcp.http import DEFAULT_PORT, Address, parse_address

TOKEN = "open-sesame"
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


def status_of(url: str, body: bytes = json.dumps(PING).encode(), **headers: str) -> int:
    """The HTTP status of a plain request."""
    known = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    request = urllib.request.Request(url, data=body, headers=known | named)
    try:
        with urllib.request.urlopen(request, timeout=300) as answer:
            return answer.status
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code


def status_of_announced(url: str, body_bytes: int, **headers: str) -> int:
    """The status of a request whose body is announced and never sent: who refuses it does not wait for it."""
    address = urllib.parse.urlsplit(url)
    with closing(http.client.HTTPConnection(address.netloc, timeout=300)) as connection:
        connection.putrequest("POST", address.path)
        for name, value in {"Content-Type": "application/json", **headers}.items():
            connection.putheader(name, value)
        connection.putheader("Content-Length", str(body_bytes))
        connection.endheaders()
        return connection.getresponse().status


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_the_official_client_talks_to_the_server(connect, http_server, mode):
    agent = connect(http_server("--http", "127.0.0.1:0", "--profile", "audit"), mode=mode)
    memory = agent.ok("remember", text="Deploys happen on Tuesdays")["id"]
    answer = agent.ok("recall", q="when do deploys happen?")
    assert [hit["id"] for hit in answer["hits"]] == [memory]
    assert agent.ok("why", recall=answer["recall"], id=memory)["exact"]
    assert "is a path, which this server does not read" in agent.refused("compare", formula="./mine.toml")
    assert "no argument 'qery'" in agent.refused("recall", qery="x")
    assert "Deploys" in agent.get("read_resource", f"recollect://memory/{memory}").contents[0].text


def test_a_token_host_origin_and_size_are_asked_for(portal, http_server):
    url = http_server("--http", "127.0.0.1:0", "--token", TOKEN)
    port = url.split(":")[2].split("/")[0]
    bearer = f"Bearer {TOKEN}"
    assert status_of(url) == 401
    assert status_of(url, Authorization="Bearer wrong") == 401
    assert status_of(url, Authorization=bearer, Origin="https://evil.example") == 403
    assert status_of(url, Authorization=bearer, Host="evil.example") == 421
    assert status_of_announced(url, BODY_BYTES_MAX + 1, Authorization=bearer) == 413
    assert status_of(url, Authorization=bearer, Origin=f"http://127.0.0.1:{port}") not in {401, 403, 413, 421}
    with portal.wrap_async_context_manager(
        create_mcp_http_client(headers={"Authorization": bearer})
    ) as allowed:
        agent = portal.wrap_async_context_manager(Client(streamable_http_client(url, http_client=allowed)))
        with agent as client:
            assert portal.call(client.call_tool, "status", {}).structured_content["memories"] == 0


def test_a_server_that_others_can_reach_needs_a_token(tmp_path):
    command = [sys.executable, "-m", "recollect", "mcp", "--store", str(tmp_path), "--http", "0.0.0.0:0"]
    refused = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert refused.returncode == 2
    assert "a token is needed" in refused.stderr


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("", Address("127.0.0.1", DEFAULT_PORT)),
        ("9000", Address("127.0.0.1", 9000)),
        (":9000", Address("127.0.0.1", 9000)),
        ("0.0.0.0", Address("0.0.0.0", DEFAULT_PORT)),
        ("localhost:0", Address("localhost", 0)),
        ("[::1]:9000", Address("::1", 9000)),
        ("[::1]", Address("::1", DEFAULT_PORT)),
    ],
)
def test_an_address_is_read(text, address):
    assert parse_address(text) == address


@pytest.mark.parametrize("text", ["host:port", "host:99999", "host:-1"])
def test_an_invalid_address_is_refused(text):
    with pytest.raises(InvalidInput, match="is not an address"):
        parse_address(text)
