"""The guard: who gets through to the application, and what the others are told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, StreamingResponse
from starlette.routing import Route

from recollect.events.errors import InvalidInput
from recollect.interfaces.common.http.bucket import Buckets
from recollect.interfaces.common.http.guard import guarded, is_loopback

HERE = "http://127.0.0.1:8377"


async def echo(request: Request) -> JSONResponse:
    return JSONResponse({"bytes": len(await request.body())})


async def ticks(request: Request) -> StreamingResponse:
    async def lines() -> AsyncIterator[str]:
        for n in range(3):
            yield f"data: {n}\n\n"

    return StreamingResponse(lines(), media_type="text/event-stream")


APP = Starlette(
    routes=[
        Route("/", echo),
        Route("/echo", echo, methods=["GET", "POST"]),
        Route("/ticks", ticks),
    ]
)


def ask(path: str = "/echo", *, method: str = "GET", base: str = HERE, guard: dict | None = None, **request):
    """One request through the guard of a server on 127.0.0.1:8377."""
    options = {"host": "127.0.0.1", "port": 8377, "token": None, **(guard or {})}

    async def main() -> httpx.Response:
        transport = httpx.ASGITransport(guarded(APP, **options))
        async with httpx.AsyncClient(transport=transport, base_url=base) as client:
            return await client.request(method, path, **request)

    return asyncio.run(main())


def test_a_plain_request_on_the_loopback_interface_gets_through():
    assert ask(method="POST", content=b"12345").json() == {"bytes": 5}


def test_a_stream_passes_untouched():
    response = ask("/ticks")
    assert response.text == "data: 0\n\ndata: 1\n\ndata: 2\n\n"
    assert response.headers["content-type"].startswith("text/event-stream")


# --- token -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.5", "::", "example.org", ""])
def test_without_a_token_only_the_loopback_interface_is_served(host: str):
    assert not is_loopback(host)
    with pytest.raises(InvalidInput, match=r"--token.*127\.0\.0\.1"):
        guarded(APP, host=host, port=80, token=None)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "localhost", "::1", "[::1]"])
def test_loopback_needs_no_token(host: str):
    assert is_loopback(host)
    guarded(APP, host=host, port=80, token=None)


@pytest.mark.parametrize("token", ["", "two words", "schlüssel", "new\nline"])
def test_a_token_that_no_header_can_carry_is_refused(token: str):
    with pytest.raises(InvalidInput, match="printable ASCII"):
        guarded(APP, host="127.0.0.1", port=80, token=token)


@pytest.mark.parametrize(
    ("header", "status"),
    [
        (None, 401),
        ("Bearer wrong", 401),
        ("Basic secret", 401),
        ("secret", 401),
        ("Bearer", 401),
        ("Bearer secret", 200),
        ("bearer  secret", 200),
    ],
)
def test_the_token_must_be_a_bearer_token_and_the_right_one(header: str | None, status: int):
    headers = {} if header is None else {"Authorization": header}
    response = ask(guard={"token": "secret"}, headers=headers)
    assert response.status_code == status
    if status == 401:
        assert "Bearer <token>" in response.json()["error"]
        assert response.headers["www-authenticate"] == "Bearer"
        assert "secret" not in response.text


def test_a_token_that_reads_stands_beside_one_that_writes():
    for wrong in (
        {"token": None},
        {"token": "same", "read_token": "same"},
        {"token": "a", "read_token": "two words"},
    ):
        with pytest.raises(InvalidInput, match="token"):
            ask(guard={"read_token": "reads", **wrong})
    both = {"token": "writes", "read_token": "reads"}
    for token, status in (("writes", 200), ("reads", 200), ("neither", 401)):
        assert ask(guard=both, headers={"Authorization": f"Bearer {token}"}).status_code == status


def test_a_token_of_odd_bytes_is_refused_and_breaks_nothing():
    assert ask(guard={"token": "secret"}, headers={b"authorization": b"Bearer \xff\xfe"}).status_code == 401


def test_a_public_path_needs_no_token_and_its_neighbours_do():
    guard = {"token": "secret", "public_paths": ["/"]}
    assert ask("/", guard=guard).status_code == 200
    assert ask("/echo", guard=guard).status_code == 401


# --- host and origin -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "base", [HERE, "http://localhost:8377", "http://[::1]:8377", "http://LOCALHOST:8377"]
)
def test_the_names_of_this_machine_are_answered(base: str):
    assert ask(base=base).status_code == 200


@pytest.mark.parametrize(
    "base",
    ["http://evil.example:8377", "http://127.0.0.1:80", "http://localhost", "http://localhost.evil:8377"],
)
@pytest.mark.parametrize("token", [None, "secret"])
def test_a_rebound_name_is_turned_away(base: str, token: str | None):
    response = ask(base=base, guard={"token": token}, headers={"Authorization": "Bearer secret"})
    assert response.status_code == 421
    assert "127.0.0.1:8377" in response.json()["error"]


def test_a_server_for_other_machines_answers_to_its_configured_names_or_to_any():
    guard = {"host": "0.0.0.0", "token": "secret"}
    headers = {"Authorization": "Bearer secret"}
    named = {**guard, "host_names": ["memory.example"]}
    assert ask(base="http://anything:8377", guard=guard, headers=headers).status_code == 200
    assert ask(base="http://memory.example", guard=named, headers=headers).status_code == 200
    assert ask(base="http://memory.example:8377", guard=named, headers=headers).status_code == 200
    assert ask(base="http://other.example", guard=named, headers=headers).status_code == 421


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        (HERE, 200),
        ("https://app.example", 200),
        ("https://APP.example", 200),
        ("https://evil.example", 403),
        ("http://localhost:3000", 403),
        ("http://127.0.0.1", 403),
        ("null", 403),
    ],
)
def test_an_origin_is_this_server_or_listed(origin: str, status: int):
    response = ask(guard={"origins": ["https://app.example/"]}, headers={"Origin": origin})
    assert response.status_code == status
    if status == 403:
        assert origin in response.json()["error"]


def test_a_listed_page_may_read_the_answer_and_ask_before_it_calls():
    guard = {"origins": ["https://app.example"], "token": "secret"}
    asking = {
        "Origin": "https://app.example",
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization",
    }
    preflight = ask(method="OPTIONS", guard=guard, headers=asking)
    assert preflight.status_code == 204
    assert preflight.headers["access-control-allow-headers"] == "authorization"
    called = ask(guard=guard, headers={"Origin": "https://app.example", "Authorization": "Bearer secret"})
    assert called.headers["access-control-allow-origin"] == "https://app.example"
    stranger = ask(method="OPTIONS", guard=guard, headers={**asking, "Origin": "https://evil.example"})
    assert stranger.status_code == 403
    assert "access-control-allow-origin" not in stranger.headers


# --- size and rate ---------------------------------------------------------------------------------


async def pieces(count: int, size: int) -> AsyncIterator[bytes]:
    for _ in range(count):
        yield b"x" * size


@pytest.mark.parametrize(("size", "status"), [(100, 200), (101, 413)])
def test_a_body_is_limited_by_its_announced_length(size: int, status: int):
    response = ask(method="POST", guard={"body_bytes_max": 100}, content=b"x" * size)
    assert response.status_code == status
    if status == 413:
        assert response.json() == {"error": "the body is larger than the 100 bytes allowed"}


@pytest.mark.parametrize(("count", "status"), [(10, 200), (11, 413), (1_000, 413)])
def test_a_streamed_body_is_limited_by_counting(count: int, status: int):
    response = ask(method="POST", guard={"body_bytes_max": 100}, content=pieces(count, 10))
    assert response.status_code == status
    if status == 413:
        assert response.json() == {"error": "the body is larger than the 100 bytes allowed"}


def test_the_application_never_sees_a_body_that_is_too_large_or_broken_off():
    seen: list[int] = []

    async def app(scope, receive, send):
        seen.append(len((await receive())["body"]))

    async def through(*messages: dict[str, object]) -> list[int]:
        sent, left = [], iter(messages)

        async def receive():
            return next(left)

        async def send(message):
            sent.append(message.get("status"))

        scope = {"type": "http", "path": "/", "headers": [(b"host", b"127.0.0.1:1")]}
        await guarded(app, host="127.0.0.1", port=1, token=None, body_bytes_max=10)(scope, receive, send)
        return [status for status in sent if status]

    def part(size: int, *, more: bool) -> dict[str, object]:
        return {"type": "http.request", "body": b"x" * size, "more_body": more}

    assert asyncio.run(through(part(6, more=True), part(4, more=False))) == []
    assert asyncio.run(through(part(6, more=True), part(5, more=True))) == [413]
    assert asyncio.run(through(part(6, more=True), {"type": "http.disconnect"})) == []
    assert seen == [6 + 4]


@pytest.mark.parametrize("length", ["-1", "1e3", "٣", "+5"])
def test_a_length_that_is_no_number_is_refused(length: str):
    response = ask(method="POST", headers={b"content-length": length.encode()})
    assert response.status_code == 400
    assert "Content-Length" in response.json()["error"]


def test_too_many_requests_are_told_when_to_come_back():
    async def main() -> list[httpx.Response]:
        app = guarded(APP, host="127.0.0.1", port=8377, token=None, requests_per_minute=3)
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=HERE) as client:
            found = [await client.get("/echo") for _ in range(4)]
        other = httpx.ASGITransport(app, client=("10.0.0.9", 1))
        async with httpx.AsyncClient(transport=other, base_url=HERE) as client:
            return [*found, await client.get("/echo")]

    responses = asyncio.run(main())
    assert [response.status_code for response in responses] == [200, 200, 200, 429, 200]
    assert 1 <= int(responses[3].headers["retry-after"]) <= 60 / 3
    assert "try again in" in responses[3].json()["error"]


def test_public_paths_do_not_count_so_that_a_page_is_whole_when_its_client_asked_too_much():
    async def main() -> list[int]:
        app = guarded(
            APP, host="127.0.0.1", port=8377, token=None, requests_per_minute=1, public_paths=("/",)
        )
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=HERE) as client:
            return [(await client.get(path)).status_code for path in ("/echo", "/echo", "/", "/", "/echo")]

    assert asyncio.run(main()) == [200, 429, 200, 200, 429]


def test_limits_of_nothing_are_refused():
    for limit in ("body_bytes_max", "requests_per_minute"):
        with pytest.raises(InvalidInput, match=f"{limit} must be at least 1, not 0"):
            guarded(APP, host="127.0.0.1", port=1, token=None, **{limit: 0})


def test_websockets_are_closed_and_lifespan_passes():
    seen = []

    async def app(scope, receive, send):
        seen.append(scope["type"])

    async def main():
        guard = guarded(app, host="127.0.0.1", port=1, token=None)
        sent = []

        async def send(message):
            sent.append(message)

        await guard({"type": "lifespan"}, None, send)
        await guard({"type": "websocket"}, None, send)
        return sent

    assert [message["type"] for message in asyncio.run(main())] == ["websocket.close"]
    assert seen == ["lifespan"]


def test_an_error_of_the_application_is_not_swallowed():
    async def broken(scope, receive, send):
        raise ZeroDivisionError

    async def main():
        transport = httpx.ASGITransport(guarded(broken, host="127.0.0.1", port=8377, token=None))
        async with httpx.AsyncClient(transport=transport, base_url=HERE) as client:
            await client.get("/")

    with pytest.raises(ZeroDivisionError):
        asyncio.run(main())


# --- the bucket ------------------------------------------------------------------------------------


@given(
    per_minute=st.integers(1, 1_000),
    pauses=st.lists(st.floats(0, 30, allow_nan=False), min_size=1, max_size=60),
    burst=st.integers(1, 40),
)
def test_no_stretch_of_time_lets_more_through_than_its_bucket_and_its_refill(per_minute, pauses, burst):
    now = 0.0
    buckets = Buckets(per_minute, clock=lambda: now)
    passed: list[float] = []
    for pause in pauses:
        now += pause
        passed += [now for _ in range(burst) if buckets.wait_s("a") == 0]
    for i, start in enumerate(passed):
        for j in range(i, len(passed), 7):
            assert j - i + 1 <= per_minute + (passed[j] - start) * per_minute / 60 + 1e-6


@given(per_minute=st.integers(1, 1_000), taken=st.integers(0, 50), pause=st.floats(0, 5, allow_nan=False))
def test_a_client_that_waits_as_told_gets_through_and_others_are_not_affected(per_minute, taken, pause):
    now = 0.0
    buckets = Buckets(per_minute, clock=lambda: now)
    for _ in range(per_minute + taken):
        buckets.wait_s("a")
    now += pause
    wait = buckets.wait_s("a")
    while buckets.wait_s("a") == 0:
        pass
    now += buckets.wait_s("a")
    assert buckets.wait_s("a") == 0
    assert buckets.wait_s("b") == 0
    assert wait <= 60


def test_clients_by_the_thousands_take_bounded_room():
    now = 0.0
    buckets = Buckets(10, clock=lambda: now)
    for n in range(10_000):
        assert buckets.wait_s(str(n)) == 0
    assert len(buckets._levels) <= 4_096
    now += 60
    assert buckets.wait_s("new") == 0
    assert len(buckets._levels) <= 4_096
