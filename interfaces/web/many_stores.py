"""One server, many stores: check the token and the path of a request before any store is opened.

    /stores/NAME/            the page of a store; the same bytes for every name, it asks for a token itself
    /stores/NAME/api/…       its API            /stores/NAME/mcp    its MCP server, for a token that may write
    /metrics                 Prometheus text: of the token's own store, or of all with a token for metrics

An unknown token, or none, gets the same 401 everywhere. A known token gets the same 404, byte for byte, for another
user's store, for one that does not exist, and for any other path: it learns only that the store is not its own.
Only then does a request count against the limits of the token's store.
"""

from __future__ import annotations

import re
import time

from starlette.responses import RedirectResponse, Response

from recollect.events.errors import RecollectError
from recollect.interfaces.common.http.bucket import Buckets
from recollect.interfaces.common.http.exchange import (
    Application,
    Message,
    Receive,
    Refusal,
    Scope,
    Send,
    refuse,
    too_many,
)
from recollect.interfaces.common.tasks import background_task
from recollect.web import assets
from recollect.web.metrics import CONTENT_TYPE, Metrics
from recollect.web.open_stores import FULL, READ_ONLY, OpenStore, OpenStores
from recollect.web.requests import status_of
from recollect.web.tokens import METRICS, Grant, Tokens

_STORE = re.compile("/stores/([A-Za-z0-9][A-Za-z0-9_-]{0,62})(/.*)?", re.DOTALL)
_UNKNOWN = Refusal(
    401,
    "this server needs a token that it knows; send it as `Authorization: Bearer <token>`",
    ((b"www-authenticate", b"Bearer"),),
)
_NOT_YOURS = Refusal(404, "there is nothing here for this token")


class ManyStores:
    """The application of such a server; it stands behind the guard, which leaves tokens to it."""

    def __init__(self, stores: OpenStores, tokens: Tokens, *, read_only: bool = False) -> None:
        self._stores = stores
        self._tokens = tokens
        self._read_only = read_only
        self._metrics = Metrics()
        self._buckets: dict[tuple[str, int], Buckets] = {}
        stores.opened = self._metrics.opened

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
            return
        given = (value for name, value in scope["headers"] if name.lower() == b"authorization")
        authorization = b", ".join(given).decode("latin-1")  # two of them are no token
        found = _STORE.fullmatch(scope["path"])
        if found and not authorization and scope["method"] in {"GET", "HEAD"} and found[2] in {None, "/"}:
            answer = assets.response(assets.PAGE) if found[2] else RedirectResponse(f"/stores/{found[1]}/")
            await answer(scope, receive, send)
            return
        if found and (name := (found[2] or "").removeprefix("/page/")) in assets.names():
            await assets.response(name)(scope, receive, send)
            return
        grant = self._tokens.grant(authorization)
        began, status = time.monotonic(), 500

        async def counted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._answer(grant, found, scope, receive, counted)
        finally:
            self._metrics.answered(grant.store if grant else "", status, time.monotonic() - began)

    async def _answer(
        self, grant: Grant | None, found: re.Match[str] | None, scope: Scope, receive: Receive, send: Send
    ) -> None:
        if grant is None:
            await refuse(send, _UNKNOWN)
        elif wait_s := self._bucket(grant).wait_s(grant.store):
            await refuse(send, too_many(wait_s))
        elif scope["path"] == "/metrics" and scope["method"] == "GET":
            await self._metrics_for(grant)(scope, receive, send)
        elif found is None or found[1] != grant.store:
            await refuse(send, _NOT_YOURS)
        else:
            await self._ask(grant, found[2] or "/", scope, receive, send)

    async def _ask(self, grant: Grant, path: str, scope: Scope, receive: Receive, send: Send) -> None:
        may_write = grant.rights == "write" and not self._read_only
        try:
            async with self._stores.using(grant.store, make=may_write) as store:
                chosen = (
                    _NOT_YOURS if store is None else _application(store, grant, path, may_write=may_write)
                )
                if isinstance(chosen, Refusal):
                    await refuse(send, chosen)
                    return
                inside = {**scope, "path": path, "raw_path": path.encode(), "root_path": ""}
                await chosen(inside, receive, send)
        except RecollectError as error:  # the store could not be opened
            await refuse(send, Refusal(status_of(error), str(error)))

    def _bucket(self, grant: Grant) -> Buckets:
        per_minute = grant.limits.requests_per_minute
        return self._buckets.setdefault((grant.store, per_minute), Buckets(per_minute))

    def _metrics_for(self, grant: Grant) -> Response:
        every = {"", *self._tokens.stores} if grant.rights == METRICS else {grant.store}
        return Response(self._metrics.text(every, self._stores.heads), media_type=CONTENT_TYPE)

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        async with background_task(self._stores.keep_closing()):
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await self._stores.close()
        await send({"type": "lifespan.shutdown.complete"})


def _application(store: OpenStore, grant: Grant, path: str, *, may_write: bool) -> Application | Refusal:
    """The application of a store that this token gets; agents record what they ask, so they need one that writes."""
    full = store.memory.store.log.head >= grant.limits.events_max
    if may_write and not full:
        return store.writing
    if path.startswith("/mcp"):
        return Refusal(403, f"agents record what they ask: {FULL if may_write else READ_ONLY}")
    return store.full if may_write else store.reading
