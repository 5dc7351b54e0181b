"""The connection to NATS servers: who asks, and over what.

Credentials and certificates are where the `nats` command looks for them: a creds file, NATS_USER, NATS_PASSWORD and
NATS_TOKEN, and for TLS NATS_CA (an authority of one's own), NATS_CERT and NATS_KEY (a certificate that the server asks for).
"""

from __future__ import annotations

import asyncio
import logging
import os
import ssl
from collections.abc import Sequence
from typing import Any

from nats.aio.client import Client, Srv
from nats.errors import AuthorizationError
from nats.errors import Error as NatsError

from recollect.events.errors import InvalidInput
from recollect.events.regular_files import read_whole

_CERTIFICATES_BYTES_MAX = 1 << 24

# asyncio says this whenever a TLS connection ends, on Python 3.11
logging.getLogger("asyncio").addFilter(lambda record: "eof_received" not in record.getMessage())


class NoTls(NatsError):
    """tls:// was asked for, and the server, or something between, would have us speak without it."""

    def __str__(self) -> str:
        return "it offers no TLS; nothing was sent to it. Set it up there, or ask for nats://"


class StrictClient(Client):
    """Speaks TLS wherever the URL says so, and closes each connection that it gives up.

    The client itself would do as the server's greeting says, and leave a socket open whenever a server accepts but does
    not greet, as one that is paused: before the next attempt, and when it is closed after an attempt that failed.
    """

    async def _connect_to_server(self, server: Srv) -> None:
        self._drop()
        await super()._connect_to_server(server)

    async def _close(self, status: int, do_cbs: bool = True) -> None:
        try:
            await super()._close(status, do_cbs)
        finally:
            self._drop()
            await asyncio.sleep(0)  # the loop closes the socket in its next turn

    def _drop(self) -> None:
        """Close the socket at once; what a paused server did not read yet would keep it open."""
        writer = getattr(self._transport, "_io_writer", None)
        if writer is not None:
            writer.transport.abort()

    async def _process_info(self, info: dict[str, Any], initial_connection: bool = False) -> None:
        server = self._current_server
        if server is not None and server.uri.scheme == "tls" and not info.get("tls_required"):
            raise NoTls
        await super()._process_info(info, initial_connection)


def login(servers: Sequence[str]) -> dict[str, Any]:
    """Who asks, from the environment; nothing if a URL says it."""
    if any("@" in server for server in servers):
        return {}
    names = {"user": "NATS_USER", "password": "NATS_PASSWORD", "token": "NATS_TOKEN"}
    return {name: os.environ.get(variable) for name, variable in names.items()}


def tls_context() -> ssl.SSLContext | None:
    """An authority and a certificate of our own, where the environment names them for the `nats` command."""
    authority, certificate, key = (os.environ.get(f"NATS_{name}") for name in ("CA", "CERT", "KEY"))
    if not authority and not certificate:
        return None
    try:
        for file in filter(None, (authority, certificate, key)):  # OpenSSL would wait for a FIFO
            read_whole(file, bytes_max=_CERTIFICATES_BYTES_MAX, follow=True)
        context = ssl.create_default_context(cafile=authority)
        if certificate:
            context.load_cert_chain(certificate, key)
    except OSError as error:
        raise InvalidInput(f"NATS_CA, NATS_CERT or NATS_KEY cannot be used: {error}") from None
    return context


def refused(error: Exception) -> bool:
    """Whether asking again in the same way would change nothing."""
    return isinstance(error, NoTls | AuthorizationError | ssl.SSLCertVerificationError) or (
        isinstance(error, NatsError) and "authorization violation" in str(error).lower()
    )
