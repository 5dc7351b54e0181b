"""Memory's servers: for agents over the Model Context Protocol, and for people and programs over HTTP."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from recollect.interfaces.python.memory import Memory
    from recollect.web.serving import Address


class Serving:
    def _served(self) -> Memory:
        return cast("Memory", self)

    def mcp(
        self,
        *,
        http: str | None = None,
        token: str | None = None,
        profile: str = "default",
        project: str | None = None,
        session: str | None = None,
        dream_every: str | None = None,
    ) -> None:
        """Serve agents over the Model Context Protocol: stdio until it ends, or HTTP at an address such as ":8420"."""
        from recollect.interfaces import mcp as agents  # noqa: PLC0415 (only a server pays for it)

        if http is None:
            agents.serve_stdio(
                self._served(), profile=profile, project=project, session=session, dream_every=dream_every
            )
        else:
            agents.serve_http(
                self._served(), address=http, token=token, profile=profile, project=project, session=session,
                dream_every=dream_every,
            )  # fmt: skip

    def serve(
        self,
        *,
        host: str = "127.0.0.1",
        port: int = 8377,
        token: str | None = None,
        read_only: bool = False,
        dream_every: str | None = None,
        ready: Callable[[Address], None] | None = None,
    ) -> None:
        """A page and a JSON API over this store until SIGINT or SIGTERM; `ready` hears the address."""
        from recollect.interfaces.mcp.http import mcp_application  # noqa: PLC0415 (only a server needs them)
        from recollect.web.serving import serve  # noqa: PLC0415

        serve(
            self._served(),
            host=host,
            port=port,
            token=token,
            read_only=read_only,
            dream_every=dream_every,
            mcp=mcp_application,
            ready=ready,
        )
