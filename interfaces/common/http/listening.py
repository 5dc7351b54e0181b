"""A socket for a server, bound before anything else: a port that is taken is an error of one line."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager

from recollect.events.errors import InvalidInput


@contextmanager
def bound_socket(host: str, port: int, *, choose: str) -> Iterator[socket.socket]:
    """A TCP socket that is bound to this address; port 0 takes a free one. `choose` says what to do if it is taken."""
    if not 0 <= port <= 65_535:
        raise InvalidInput(f"port {port} is not from 0 to 65535")
    try:
        family, kind, protocol, _, where = socket.getaddrinfo(
            host.strip("[]"), port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        bound = socket.socket(family, kind, protocol)
    except OSError as error:
        raise InvalidInput(f"{host!r} is not an address of this machine: {error.strerror}") from None
    with bound:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind(where)
        except OSError as error:
            raise InvalidInput(f"cannot listen on {host}:{port}: {error.strerror}; choose {choose}") from None
        yield bound
