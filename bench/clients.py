"""Four clients at once: how many questions a system answers per second, and how long each client waits.

A client is a process with the system open, or a thread of one process, whichever the system is made for. All
begin together when the last of them is warm, and ask for a fixed time.
"""

from __future__ import annotations

import multiprocessing
import threading
import time
from collections.abc import Callable, Sequence
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier
from pathlib import Path

import numpy as np
import numpy.typing as npt
import peers
from timing import Timing

CLIENTS = 4
WARM = 10
PATIENCE_S = 300

Questions = Sequence[tuple[str, npt.NDArray[np.float32]]]
Ask = Callable[[str, npt.NDArray[np.float32]], object]
Found = dict[str, float | str]


def measure(place: str, system: peers.Peer, folder: Path, questions: Questions, seconds: float) -> Found:
    """Threads share `system`, which is open; processes open their own."""
    shares = [questions[number::CLIENTS] for number in range(CLIENTS)]
    if system.clients == "threads":
        taken = _threads(lambda text, vector: system.search(text, vector, 10), shares, seconds)
    else:
        taken = _processes(place, folder, shares, seconds)
    waits = Timing.of([wait for waits in taken for wait in waits])
    return {
        "how": f"{CLIENTS} {system.clients}",
        "per_s": sum(len(waits) / sum(waits) for waits in taken),
        "p50_ms": waits.p50_ms,
        "p95_ms": waits.p95_ms,
    }


def _asked(ask: Ask, questions: Questions, seconds: float, begin: Callable[[], object]) -> list[float]:
    """The waits of one client, which goes round its questions; at least three of them."""
    for text, vector in questions[:WARM]:
        begun = time.perf_counter()
        ask(text, vector)
        if time.perf_counter() - begun > seconds / 3:
            break
    begin()
    waits: list[float] = []
    end = time.perf_counter() + seconds
    while len(waits) < 3 or time.perf_counter() < end:
        text, vector = questions[len(waits) % len(questions)]
        begun = time.perf_counter()
        ask(text, vector)
        waits.append(time.perf_counter() - begun)
    return waits


def _threads(ask: Ask, shares: Sequence[Questions], seconds: float) -> list[list[float]]:
    barrier = threading.Barrier(len(shares), timeout=PATIENCE_S)
    taken: list[list[float]] = []
    threads = [
        threading.Thread(target=lambda share=share: taken.append(_asked(ask, share, seconds, barrier.wait)))
        for share in shares
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(taken) == len(shares), "a client failed; its traceback stands above"
    return taken


def _processes(place: str, folder: Path, shares: Sequence[Questions], seconds: float) -> list[list[float]]:
    context = multiprocessing.get_context("spawn")
    barrier, queue = context.Barrier(len(shares), timeout=PATIENCE_S), context.Queue()
    processes = [
        context.Process(target=_client, args=(place, folder, share, seconds, barrier, queue))
        for share in shares
    ]
    for process in processes:
        process.start()
    try:
        taken = [queue.get(timeout=PATIENCE_S + 20 * seconds) for _ in processes]
    finally:
        for process in processes:
            process.join(timeout=30)
            process.terminate()
    failures = [one for one in taken if isinstance(one, str)]
    if failures:
        raise RuntimeError(f"a client failed: {failures[0]}")
    return [one for one in taken if not isinstance(one, str)]


def _client(
    place: str,
    folder: Path,
    questions: Questions,
    seconds: float,
    barrier: Barrier,
    queue: Queue[list[float] | str],
) -> None:
    """Puts the waits of this client into the queue, or what went wrong."""
    try:
        found = peers.load(place)
        assert not isinstance(found, peers.Missing), found.reason
        system = found(folder)
        system.open()
        waits = _asked(lambda text, vector: system.search(text, vector, 10), questions, seconds, barrier.wait)
        queue.put(waits)
        system.close()
    except Exception as error:  # noqa: BLE001 - said by the parent, which alone can stop the run
        barrier.abort()
        queue.put(f"{type(error).__name__}: {error}")
