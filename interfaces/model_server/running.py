"""The model helpers of this user that are running: list them, or stop them."""

from __future__ import annotations

import os
import signal
import time
from contextlib import closing, suppress
from typing import Literal

import msgspec

from recollect.events.errors import RecollectError
from recollect.interfaces.model_server.connection import HelperConnection
from recollect.interfaces.model_server.protocol import Place, Stop, places

_LEAVING_S = 10.0


class FoundHelper(msgspec.Struct, frozen=True, kw_only=True):
    """One helper of this user, as `recollect helper` shows it; `stopped` says that it was ended just now."""

    pid: int
    state: Literal["ready", "loading", "not answering"]
    model: str = ""
    idle_minutes: float = 0.0
    idle_minutes_max: float = 0.0
    memory_bytes: int = 0
    memory_bytes_max: int = 0
    stopped: bool = False


def helpers() -> list[FoundHelper]:
    """The running helpers of this user, also those that do not answer."""
    return [found for place in places() if (found := look(place)) is not None]


def stop_helpers() -> list[FoundHelper]:
    """End all helpers of this user; one that does not answer is killed."""
    stopped = []
    for place in places():
        found = look(place, stop=True)
        if found is None:
            continue
        if found.state == "not answering" and found.pid:
            with suppress(ProcessLookupError):
                os.kill(found.pid, signal.SIGKILL)  # it holds the lock, so the pid is its own
        deadline = time.monotonic() + _LEAVING_S
        while (alive := place.holder() is not None) and time.monotonic() < deadline:
            time.sleep(0.01)
        stopped.append(msgspec.structs.replace(found, stopped=not alive))
    return stopped


def look(place: Place, *, stop: bool = False) -> FoundHelper | None:
    """The helper that runs at a place, asked again even if it was found hanging; `stop` asks it to end."""
    holder = place.holder()
    place.hung.unlink(missing_ok=True)
    if holder is None:
        return None
    try:
        with closing(HelperConnection(place)) as talk:
            helper = talk.helper
            if stop:
                talk.ask(Stop())
    except (OSError, RecollectError):
        return FoundHelper(pid=holder[0], state="not answering", model=place.name.rpartition("-")[0])
    return FoundHelper(
        pid=helper.pid,
        state="ready" if helper.ready else "loading",
        model=helper.model,
        idle_minutes=helper.idle_s / 60.0,
        idle_minutes_max=helper.idle_s_max / 60.0,
        memory_bytes=helper.memory_bytes,
        memory_bytes_max=helper.memory_bytes_max,
    )
