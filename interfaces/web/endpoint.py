"""An endpoint of the JSON API: a path, and a function of the open memory, what was sent, and the request.

The type of the function's second parameter is what the endpoint takes: the query string of a GET, the body of anything
else. Its return type is what the endpoint answers with, as JSON. `/api/openapi.json` describes both. The function runs
in a thread, on the lane of `AsyncMemory` that the endpoint names.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, get_type_hints

import msgspec
from starlette.requests import Request

from recollect.interfaces.python.async_memory import AsyncMemory, Lane
from recollect.interfaces.python.memory import Memory
from recollect.web.requests import body, json_object, parameters

Handler = TypeVar("Handler", bound=Callable[[Memory, Any, Request], object])


class Endpoint(NamedTuple):
    """`takes` is None where the body is any JSON object, checked by the memory."""

    method: str
    path: str
    says: str
    handler: Callable[[Memory, Any, Request], object]
    takes: type[msgspec.Struct] | None
    gives: Any
    lane: Lane
    writes: bool
    status: int

    async def answer(self, memory: AsyncMemory, request: Request) -> object:
        given = await self._given(request)
        return await memory.run(lambda inner: self.handler(inner, given, request), lane=self.lane)

    async def _given(self, request: Request) -> object:
        if self.takes is None:
            return await json_object(request)
        return parameters(request, self.takes) if self.method == "GET" else await body(request, self.takes)


class Endpoints(list[Endpoint]):
    """The endpoints of a module, in the order in which they are matched and documented."""

    def add(
        self, method: str, path: str, says: str, *, lane: Lane = "reads", writes: bool = False, status: int = 200
    ) -> Callable[[Handler], Handler]:  # fmt: skip
        """Serve the decorated function here."""

        def decorate(handler: Handler) -> Handler:
            hints = get_type_hints(handler)
            takes = list(hints.values())[1]
            struct = takes if isinstance(takes, type) and issubclass(takes, msgspec.Struct) else None
            self.append(Endpoint(method, path, says, handler, struct, hints["return"], lane, writes, status))
            return handler

        return decorate
