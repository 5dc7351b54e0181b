"""Starting a model helper: one at a time, in a process that leaves it behind."""

from __future__ import annotations

import fcntl
import math
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from recollect.events.errors import InvalidInput, RecollectError
from recollect.events.private_files import open_private
from recollect.interfaces.model_server.protocol import Place

ALREADY_RUNNING = 3
"""The exit status of a helper that found another one in its place."""

_START_S = 60.0
_LEAVING_S = 10.0
_MINUTES = 10.0
_MINUTES_MAX = 7 * 24 * 60.0


class NoHelper(RecollectError):
    """There is no helper, and none could be started."""


def idle_minutes() -> float:
    """How long a helper stays without a request, from RECOLLECT_WARM_MINUTES."""
    given = os.environ.get("RECOLLECT_WARM_MINUTES")
    try:
        minutes = _MINUTES if given is None else float(given)
    except ValueError:
        minutes = math.nan
    if not 0.0 < minutes <= _MINUTES_MAX:
        raise InvalidInput(
            f"RECOLLECT_WARM_MINUTES is {given!r}; it must be a number of minutes above 0, at most {_MINUTES_MAX:g}"
        )
    return minutes


def memory_limit_bytes() -> int:
    """How much memory a user's helpers may hold together, from RECOLLECT_HELPER_MEMORY; half of the machine's if unset."""
    given = os.environ.get("RECOLLECT_HELPER_MEMORY", "").strip()
    if not given:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*([KMGT]?)B?", given.upper())
    size = int(float(found[1]) * 1024 ** " KMGT".index(found[2] or " ")) if found else 0
    if size <= 0:
        raise InvalidInput(f"RECOLLECT_HELPER_MEMORY is {given!r}; it must be a size such as 2GB or 500MB")
    return size


def start(place: Place, model: str, *, minutes: float, answers: Callable[[], bool]) -> None:
    """Start the helper of a place unless one answers; returns when its socket can be connected to.

    The second of two clients waits for the first and finds its helper. A helper that is ending still holds the place:
    wait for its end.
    """
    deadline = time.monotonic() + _LEAVING_S
    with _only_starter(place.start):
        while not answers():
            code = _spawn(place, model, minutes)
            if code == 0:
                return
            if code != ALREADY_RUNNING or time.monotonic() > deadline:
                said = place.log.read_text("utf-8", "replace").strip().splitlines()
                raise NoHelper(
                    f"no model helper could be started: {said[-1] if said else f'it ended with status {code}'}"
                )
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
    command = [sys.executable, "-P", "-m", "recollect.interfaces.model_server.server"]
    kept = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    with open(open_private(place.log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "wb") as log:  # noqa: PTH123 (a descriptor)
        try:
            return subprocess.run(  # noqa: S603 (our own interpreter and module)
                [*command, str(place.directory), place.name, model, str(minutes)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                # Threads that wait for each other sleep: with a core taken by others, spinning made 20 ms into 300.
                env={"OMP_WAIT_POLICY": "PASSIVE", **kept},
                check=False,
                timeout=_START_S,
            ).returncode
        except (OSError, subprocess.TimeoutExpired) as error:
            raise NoHelper(f"no model helper could be started: {error}") from None
