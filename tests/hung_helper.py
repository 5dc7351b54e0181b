"""A model helper that was stopped in its tracks: a fixture for the tests of what goes on beside one."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

HELPER = """
import signal
from recollect.interfaces.model_server import protocol, server
lock, listener = server.listen(protocol.place_of("minilm"))
server.note_state(lock, "ready")
print("ready", flush=True)
signal.pause()
"""


@pytest.fixture
def hung(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """The pid of a stopped process that holds the place of MiniLM's helper."""
    folder = Path(tempfile.mkdtemp(prefix="rw", dir="/tmp"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    with subprocess.Popen([sys.executable, "-c", HELPER], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGSTOP)
        yield process.pid
        process.kill()
    shutil.rmtree(folder)
