"""The standby: a process that has imported what a command needs, and becomes one for whoever asks.

    python -m recollect.interfaces.model_server.standby LISTENER

Most of a short command is Python importing numpy, click and this program. The standby has done that; for each errand
it forks, and the child takes over the caller's arguments, directory, environment, umask and standard streams, and
runs the command as the caller would have (`becoming.py`). One child shares nothing with the next.

It leaves when the helper that started it is gone (its standard input ends), and when a file that it imported is not
what it was: whoever asks next runs the new program.
"""

from __future__ import annotations

import contextlib
import gc
import os
import select
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator

from recollect.interfaces.cli.app import main as command_line
from recollect.interfaces.model_server.becoming import become

_LIFELINE = 0
_BACKLOG = 64

Files = dict[str, tuple[int, int]]


def serve(listener: socket.socket) -> None:
    """Fork for every caller until the lifeline ends or the program changes."""
    rehearse()
    if threading.active_count() > 1:
        raise SystemExit("the rehearsal left a thread behind; a process with threads must not fork")
    files = _as_they_are(_imported())
    gc.collect()
    gc.freeze()
    listener.listen(_BACKLOG)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        waiting, _, _ = select.select([listener.fileno(), _LIFELINE], [], [])
        if _LIFELINE in waiting:
            return
        connection, _ = listener.accept()
        with connection:
            if _as_they_are(files) != files:
                return
            if os.fork() == 0:
                listener.close()
                become(connection)


def rehearse() -> None:
    """Remember and recall something in a store that is thrown away: all that a command imports is then there."""
    from recollect.interfaces.model_server import client  # noqa: F401, PLC0415 (what a command with the real model needs besides)

    with (
        tempfile.TemporaryDirectory(prefix="recollect-") as folder,
        open(os.devnull, "w") as nowhere,  # noqa: PTH123
        contextlib.redirect_stdout(nowhere),
        contextlib.redirect_stderr(nowhere),
    ):
        for line in (["remember", "a rehearsal"], ["recall", "rehearsal"], ["memories", "--json"]):
            command_line([*line, "--store", folder, "--embedder", "hash"], standalone_mode=False)


def _imported() -> Iterator[str]:
    for module in list(sys.modules.values()):
        if path := getattr(module, "__file__", None):
            yield path


def _as_they_are(paths: Iterable[str]) -> Files:
    """Size and time of each file that is there."""
    found: Files = {}
    for path in paths:
        with contextlib.suppress(OSError):
            stat = os.stat(path)  # noqa: PTH116 (five hundred of them for every errand)
            found[path] = (stat.st_size, stat.st_mtime_ns)
    return found


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
    os._exit(0)  # there is nothing to tidy up, and libraries would say so
