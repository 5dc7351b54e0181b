"""The application: the page at /, the JSON API under /api, and what else is mounted beside them.

Errors are JSON with the message that the command line would print. It stands behind `recollect.interfaces.common.http.guard`; without
that, nothing here checks who asks.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import BaseRoute, Route
from starlette.types import Lifespan

from recollect import __version__
from recollect.engine.river import LogTimes
from recollect.events.errors import RecollectError
from recollect.interfaces.common.http.connections import AT_WORK
from recollect.interfaces.python.async_memory import AsyncMemory
from recollect.web import api, api_expectations, api_page, api_tell, assets, openapi, streams
from recollect.web.endpoint import Endpoint
from recollect.web.forms import Serving
from recollect.web.requests import NotAllowed, Problem, error_of, status_of
from recollect.web.streams import Stream

ENDPOINTS = (*api_page.ENDPOINTS, *api.ENDPOINTS, *api_expectations.ENDPOINTS, *api_tell.ENDPOINTS)
_HEADERS = {"Content-Security-Policy": assets.API_POLICY, **assets.HEADERS}


def application(
    memory: AsyncMemory,
    serving: Serving,
    *,
    mounts: Sequence[BaseRoute] = (),
    lifespan: Lifespan[Starlette] | None = None,
) -> Starlette:
    """The routes over an open memory."""
    routes = [
        Route(endpoint.path, _handler(memory, endpoint), methods=[endpoint.method]) for endpoint in ENDPOINTS
    ]
    routes += [
        Route(stream.path, _streaming(memory, stream), methods=[stream.method]) for stream in streams.TABLE
    ]
    app = Starlette(
        routes=[
            Route("/", _page),
            Route("/page/{name}", _asset),
            Route("/api/openapi.json", _openapi),
            *routes,
            *mounts,
        ],
        lifespan=lifespan,
        exception_handlers={RecollectError: _refused, HTTPException: _http_error, Exception: _unexpected},
    )
    app.state.serving = serving
    app.state.times = LogTimes()
    return app


async def _page(_: Request) -> Response:
    return assets.response(assets.PAGE)


async def _asset(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in assets.names():
        raise HTTPException(404)
    return assets.response(name)


async def _openapi(_: Request) -> Response:
    return _answer(openapi.document(ENDPOINTS, __version__), 200)


def _streaming(memory: AsyncMemory, stream: Stream) -> Callable[[Request], Awaitable[Response]]:
    async def handle(request: Request) -> Response:
        # Read the body first: a response that streams listens for the end of the connection, and would take it.
        await request.body()
        if stream.ends:
            request.state[AT_WORK] = True
        events = stream.events(memory, request)
        return StreamingResponse(events, media_type="text/event-stream", headers=_HEADERS)

    return handle


def _handler(memory: AsyncMemory, endpoint: Endpoint) -> Callable[[Request], Awaitable[Response]]:
    async def handle(request: Request) -> Response:
        serving: Serving = request.app.state.serving
        if endpoint.writes and serving.read_only:
            raise NotAllowed(serving.read_only_because)
        return _answer(await endpoint.answer(memory, request), endpoint.status)

    return handle


def _answer(value: object, status: int) -> Response:
    return Response(msgspec.json.encode(value), status, _HEADERS, "application/json")


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, RecollectError)
    return _answer(error_of(error), status_of(error))


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    what = {
        404: f"there is nothing at {request.url.path}",
        405: f"{request.url.path} does not take {request.method}",
    }.get(error.status_code, str(error.detail))
    codes = {404: "not_found", 405: "wrong_method"}
    return _answer(Problem(error=what, code=codes.get(error.status_code, "refused")), error.status_code)


async def _unexpected(_: Request, error: Exception) -> Response:
    """Unexpected error: answer 500; the server's output has the traceback."""
    said = f"the server failed: {type(error).__name__}; its output says more"
    return _answer(Problem(error=said, code="failed"), 500)
