"""The application: the page at /, the JSON API under /api, and whatever else is mounted beside them.

Errors are JSON with the message that the command line would print. It stands behind `recollect.interfaces.common.http.guard`; without
that, nothing here checks who asks.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import Lifespan

from recollect.events.errors import RecollectError
from recollect.interfaces.python.async_memory import AsyncMemory
from recollect.web import api, api_expectations, api_tell, page
from recollect.web.api import Endpoint
from recollect.web.forms import Serving
from recollect.web.requests import NotAllowed, json_response, status_of

ENDPOINTS = (*api.TABLE, *api_expectations.TABLE, *api_tell.TABLE)


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
    app = Starlette(
        routes=[Route("/", _page), *routes, *mounts],
        lifespan=lifespan,
        exception_handlers={HTTPException: _http_error, Exception: _unexpected},
    )
    app.state.serving = serving
    return app


async def _page(_: Request) -> Response:
    return page.response()


def _handler(memory: AsyncMemory, endpoint: Endpoint) -> Callable[[Request], Awaitable[Response]]:
    async def handle(request: Request) -> Response:
        serving: Serving = request.app.state.serving
        try:
            if endpoint.writes and serving.read_only:
                raise NotAllowed(serving.read_only_because)
            value = await endpoint.handler(memory, request)
        except RecollectError as error:
            return _answer({"error": str(error)}, status_of(error))
        return _answer(value, endpoint.status)

    return handle


def _answer(value: object, status: int) -> Response:
    response = json_response(value, status)
    response.headers.update({"Content-Security-Policy": page.API_POLICY, **page.HEADERS})
    return response


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    what = {
        404: f"there is nothing at {request.url.path}",
        405: f"{request.url.path} does not take {request.method}",
    }.get(error.status_code, str(error.detail))
    return _answer({"error": what}, error.status_code)


async def _unexpected(_: Request, error: Exception) -> Response:
    """Unexpected error: answer 500; the server's output has the traceback."""
    return _answer({"error": f"the server failed: {type(error).__name__}; its output says more"}, 500)
