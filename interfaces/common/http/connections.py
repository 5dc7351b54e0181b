"""Connections that stall are closed, and there are never too many: uvicorn's HTTP/1.1 protocol with a watchdog.

The time limit of a connection depends on who has to act next:

    request   the client owes a request line and headers     `request_s` in all, however slowly they drip
    body      the client owes the rest of a body             `BYTES_A_WINDOW` in every `body_s`
    answer    the client does not read what was written      `BYTES_A_WINDOW` in every `answer_s`
    stream    nobody: an answer to a GET goes on             no limit, while there are at most `streams_max`
    work      we owe an answer                               no limit

A request that is late is answered with 408 where nothing was answered yet. Above `connections_max` the connection that
has waited longest makes room, one of the client that holds the most; then the oldest stream, whose client connects
again; if all are at work, the new one gets a 503. Above `streams_max` a new stream ends the oldest. So a fresh request
is answered beside any number of silent connections and of streams. A stream of work that ends (`AT_WORK` in the state of its
request) is work.

asyncio accepts as many connections at once as the backlog is long, before a protocol hears of the first: a burst would
take all files of the process. So it is told of a short one, and the socket's own is made long again.
"""

from __future__ import annotations

import asyncio
import json
import resource
import socket
from collections import Counter
from typing import Literal, NamedTuple

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

Phase = Literal["request", "body", "answer", "stream", "work"]

AT_WORK = "at_work"
"""In the state of a request whose answer streams the progress of work: no other connection makes it end."""

BYTES_A_WINDOW = 16_384
CONNECTIONS_MAX = 256
ACCEPTED_AT_ONCE = 16
_BACKLOG = 2_048
_FILES_KEPT = 160
_CHECKS_A_WINDOW = 8


class Limits(NamedTuple):
    """How long a client is waited for, and how many are."""

    request_s: float = 10.0
    body_s: float = 20.0
    answer_s: float = 20.0
    connections_max: int = CONNECTIONS_MAX

    @property
    def streams_max(self) -> int:
        return self.connections_max // 2


def limits_here() -> Limits:
    """The usual limits, with fewer connections where this process may open few files."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files == resource.RLIM_INFINITY:
        return Limits()
    return Limits(connections_max=max(8, min(CONNECTIONS_MAX, files - _FILES_KEPT)))


def protocol(limits: Limits | None = None) -> type[H11Protocol]:
    """What `uvicorn.Config` takes as `http`."""
    return type("LimitedProtocol", (_Limited,), {"limits": limits or limits_here()})


class Server(uvicorn.Server):
    """A server whose connections are limited; its configuration says `http=protocol()` and `backlog=ACCEPTED_AT_ONCE`."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for listening in sockets or ():
            listening.listen(_BACKLOG)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """A second Ctrl-C ends the waiting for answers under way; the application is ended in any case."""
        await super().shutdown(sockets)
        if self.force_exit:
            await self.lifespan.shutdown()


class _Limited(H11Protocol):
    limits: Limits

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.received = 0
        self.resumed = False
        self.phase, self.since, self.mark = self.standing()
        self.watched = self.cycle
        self._tick = self.loop.call_later(self._interval(), self._check)
        self.welcome = self._make_room()

    def connection_lost(self, exc: Exception | None) -> None:
        self._tick.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self.received += len(data)
        if self.transport.is_closing():
            return
        if not self.welcome:
            self._refuse(503, "too many connections are at work on this server; try again in a few seconds")
            return
        super().data_received(data)

    def resume_writing(self) -> None:
        self.resumed = True
        super().resume_writing()

    def shutdown(self) -> None:
        """The server ends: a stream has no end of its own, so close it; any other request is answered first."""
        super().shutdown()
        if self.standing()[0] in ("stream", "work") and self.cycle.response_started:
            self.transport.close()

    def _should_upgrade(self) -> bool:
        """There are no websockets here; an upgrade is optional, so the request is answered without one."""
        return False

    # --- the watchdog ----------------------------------------------------------------------------

    def standing(self) -> tuple[Phase, float, int]:
        """The phase of the connection, the time now, and the bytes of progress in that phase."""
        unsent = self.transport.get_write_buffer_size()
        cycle: RequestResponseCycle | None = self.cycle
        phase: Phase
        if unsent:
            phase = "answer"
        elif cycle is None or cycle.response_complete:
            phase = "request"
        elif cycle.more_body and not self.flow.read_paused:
            phase = "body"
        else:
            phase = "stream" if _is_stream(cycle) else "work"
        progress = {"answer": -unsent, "body": self.received}.get(phase, 0)
        return phase, self.loop.time(), progress

    def _check(self) -> None:
        """Start a new window if the phase changed or made enough progress; close the connection if its window has passed."""
        phase, now, progress = self.standing()
        another = phase != self.phase or self.cycle is not self.watched
        enough = phase in ("body", "answer") and (progress - self.mark >= BYTES_A_WINDOW or self.resumed)
        if phase == "work" or another or enough:
            self.phase, self.since, self.mark = phase, now, progress
            self.watched = self.cycle
        if phase == "stream" and another:
            self._limit_streams()
        self.resumed = False
        if now - self.since >= self._allowed(phase):
            self._give_up()
        self._tick = self.loop.call_later(self._interval(), self._check)

    def _allowed(self, phase: Phase) -> float:
        limits = self.limits
        return {"request": limits.request_s, "body": limits.body_s, "answer": limits.answer_s}.get(
            phase, float("inf")
        )

    def _interval(self) -> float:
        return min(self.limits[:3]) / _CHECKS_A_WINDOW

    def _give_up(self) -> None:
        """Close now: a client that does not read must not hold what was written for it."""
        begun = self.phase == "body" and not self.cycle.response_started
        begun = begun or (self.phase == "request" and self.cycle is None and self.received > 0)
        if begun and not self.transport.is_closing():
            waited = self._allowed(self.phase)
            self._refuse(408, f"the request was not complete after {waited:g} s; send it in one go")
        else:
            self.transport.abort()

    # --- room ------------------------------------------------------------------------------------

    def _make_room(self) -> bool:
        """Whether there is room; close the longest waiting connection, or else the oldest stream, to make some."""
        others = [one for one in self._open() if one is not self]
        if len(others) < self.limits.connections_max:
            return True
        phases = {one: one.standing()[0] for one in others}
        waiting = [one for one in others if phases[one] not in ("stream", "work")]
        yielding = waiting or [one for one in others if phases[one] == "stream"]
        if yielding:
            _oldest(yielding, of_most=others).transport.abort()
        return bool(yielding)

    def _limit_streams(self) -> None:
        """A stream began: end the oldest if there are too many."""
        streams = [one for one in self._open() if one.standing()[0] == "stream"]
        if len(streams) > self.limits.streams_max:
            _oldest([one for one in streams if one is not self], of_most=streams).transport.abort()

    def _open(self) -> list[_Limited]:
        limited = [one for one in self.connections if isinstance(one, _Limited)]
        return [one for one in limited if not one.transport.is_closing()]

    @property
    def host(self) -> str:
        return self.client[0] if self.client else ""

    def _refuse(self, status: int, error: str) -> None:
        """Answer outside of any request, then close the connection."""
        body = json.dumps({"error": error}).encode()
        reason = {408: "Request Timeout", 503: "Service Unavailable"}[status]
        head = [
            f"HTTP/1.1 {status} {reason}",
            "Content-Type: application/json",
            f"Content-Length: {len(body)}",
            "Connection: close",
            "Retry-After: 5",
        ]
        self.transport.write("\r\n".join([*head, "", ""]).encode() + body)
        self.transport.close()


def _is_stream(cycle: RequestResponseCycle) -> bool:
    """Whether the answer to a GET goes on, and is no work."""
    scope = cycle.scope
    return cycle.response_started and scope["method"] == "GET" and AT_WORK not in scope["state"]


def _oldest(connections: list[_Limited], *, of_most: list[_Limited]) -> _Limited:
    """Of the client that holds most of `of_most`, the connection that has been in its phase for longest."""
    held = Counter(one.host for one in of_most)
    return max(connections, key=lambda one: (held[one.host], -one.since))
