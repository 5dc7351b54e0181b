"""Starting a helper: one at a time, in a session of its own, and only if none answers."""

from __future__ import annotations

import fcntl
import math
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from recollect.events.errors import InvalidInput, RecollectError
from recollect.events.private_files import open_private
from recollect.interfaces.model_server.place import Place

DEFAULT_MINUTES = 10.0
MINUTES_MAX = 7 * 24 * 60.0
_START_TIMEOUT_S = 60.0
_LEAVE_TIMEOUT_S = 10.0
_ALREADY_RUNNING = 3


class NotStarted(RecollectError):
    """No helper could be started."""


def idle_minutes() -> float:
    """How long a helper stays without a request, from RECOLLECT_WARM_MINUTES."""
    given = os.environ.get("RECOLLECT_WARM_MINUTES")
    if given is None:
        return DEFAULT_MINUTES
    try:
        minutes = float(given)
    except ValueError:
        minutes = math.nan
    if not 0.0 < minutes <= MINUTES_MAX:
        raise InvalidInput(
            f"RECOLLECT_WARM_MINUTES is {given!r}; it must be a number of minutes above 0, at most {MINUTES_MAX:g}"
        )
    return minutes


def start(place: Place, model: str, *, minutes: float, answers: Callable[[], bool]) -> None:
    """Start the helper of a place unless one answers; returns when its socket can be connected to.

    Whoever comes second waits for the first and finds its helper. A helper that is leaving still holds the place:
    its leaving is waited for.
    """
    deadline = time.monotonic() + _LEAVE_TIMEOUT_S
    with _only_starter(place.start):
        while not answers():
            code = _spawn(place, model, minutes)
            if code == 0:
                return
            if code != _ALREADY_RUNNING or time.monotonic() > deadline:
                raise NotStarted(_last_words(place.log) or f"its process ended with status {code}")
            time.sleep(0.05)


@contextmanager
def _only_starter(path: Path) -> Iterator[None]:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _spawn(place: Place, model: str, minutes: float) -> int:
    """Run the process that binds the socket and leaves the helper behind; its exit status."""
    import subprocess  # noqa: PLC0415 (only when a helper is started)

    command = [sys.executable, "-P", "-m", "recollect.interfaces.model_server.server"]
    with open(open_private(place.log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "wb") as log:  # noqa: PTH123 (a descriptor)
        try:
            return subprocess.run(  # noqa: S603 (our own interpreter and module)
                [*command, str(place.directory), place.name, model, str(minutes)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                env=_environment(),
                check=False,
                timeout=_START_TIMEOUT_S,
            ).returncode
        except (OSError, subprocess.TimeoutExpired) as error:
            raise NotStarted(str(error)) from None


def _environment() -> dict[str, str]:
    """Threads that wait for each other sleep: with a core taken by others, spinning made 20 ms into 300."""
    kept = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    return {"OMP_WAIT_POLICY": "PASSIVE", **kept}


def _last_words(log: Path) -> str:
    lines = log.read_text("utf-8", "replace").strip().splitlines()
    return lines[-1].strip() if lines else ""
