"""How long a client waits for `recollect mcp`: from starting the process to the answer to `initialize`.

    python bench/mcp_handshake.py [runs] [memories]

Prints the median of wall-clock and CPU seconds (the server's, up to its answer) over a store of so many memories,
and the same for the SDK's import alone, which is the floor. The model is real and loads behind the handshake.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from recollect.interfaces.python.memory import Memory

INITIALIZE = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "0"},
    },
}  # fmt: skip
CLOCK_TICKS = os.sysconf("SC_CLK_TCK")


def cpu_s(pid: int) -> float:
    """User and system seconds of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / CLOCK_TICKS


def handshake(store: str) -> tuple[float, float]:
    """Wall and CPU seconds until the server has answered."""
    began = time.perf_counter()
    command = [sys.executable, "-m", "recollect", "mcp", "--store", store, "--no-daemon"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(json.dumps(INITIALIZE).encode() + b"\n")
        server.stdin.flush()
        answer = json.loads(server.stdout.readline())
        wall, cpu = time.perf_counter() - began, cpu_s(server.pid)
        assert answer["result"]["serverInfo"]["name"] == "recollect"
        server.stdin.close()
        server.wait(timeout=30)
    return wall, cpu


def importing() -> float:
    """CPU seconds of `import mcp` in a fresh interpreter."""
    script = "import time; began = time.process_time(); import mcp; print(time.process_time() - began)"
    return float(
        subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    )


def main(runs: int, memories: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        with Memory.open(folder, embedder=None) as memory:
            memory.remember_many(f"memory number {number} of the bench" for number in range(memories))
        measured = [handshake(folder) for _ in range(runs)]
    floor = statistics.median(importing() for _ in range(3))
    wall, cpu = (statistics.median(column) for column in zip(*measured, strict=True))
    print(f"handshake over {memories:,} memories, median of {runs}: {wall:.2f} s wall, {cpu:.2f} s CPU")
    print(f"of which `import mcp` alone: {floor:.2f} s CPU; load average {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main(*(int(value) for value in [*sys.argv[1:], *("9", "10000")[len(sys.argv) - 1 :]]))
