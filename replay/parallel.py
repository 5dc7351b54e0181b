"""Many rankings at once: read-only work spread over forked processes.

A worker shares the parent's memory as it stands when it is forked, and sends its results back. Work is only spread
where that is safe and worth it: on a system with fork, with more than one core, from a process with a single thread
(a lock that another thread holds would stay locked in a child for ever) that may have children (a worker of a pool may
not), and for many items. What a worker did not
deliver, the parent does itself, so an error appears as it would without any of this. Each worker has a pipe of its
own: `concurrent.futures` shares one among all, and waits for ever when a worker is killed while it writes.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection, wait
from typing import TypeVar

import msgspec

Item = TypeVar("Item")
Result = TypeVar("Result")
Progress = Callable[[int, int], None]

WORTHWHILE = 100


def _nothing() -> None:
    """Do nothing beside the items."""


def each(
    items: Sequence[Item],
    work: Callable[[Item], Result],
    decoder: msgspec.msgpack.Decoder[Result],
    *,
    progress: Progress | None = None,
    beside: Callable[[], None] = _nothing,
) -> list[Result]:
    """`work` of every item, in order; `decoder` reads a result of another process.

    The first item is done here, which also warms what the others share. `beside` is done once, in this process,
    while others do the items.
    """
    results: dict[int, Result] = {}
    if items:
        results[0] = work(items[0])
    if _spreadable(len(items)):
        _spread(items, work, decoder, results, progress, beside)
    else:
        beside()
    for place, item in enumerate(items):
        if place not in results:
            results[place] = work(item)
            if progress:
                progress(len(results), len(items))
    return [results[place] for place in range(len(items))]


def _spreadable(items: int) -> bool:
    cores = os.cpu_count() or 1
    may_fork = hasattr(os, "fork") and not multiprocessing.current_process().daemon
    return items >= WORTHWHILE and cores > 1 and may_fork and threading.active_count() == 1


def _spread(
    items: Sequence[Item],
    work: Callable[[Item], Result],
    decoder: msgspec.msgpack.Decoder[Result],
    results: dict[int, Result],
    progress: Progress | None,
    beside: Callable[[], None],
) -> None:
    context, processes = multiprocessing.get_context("fork"), os.cpu_count() or 1
    workers, pipes = [], []
    with ThreadPoolExecutor(1) as pool:
        try:
            for n in range(processes):
                incoming, outgoing = context.Pipe(duplex=False)
                places = range(1 + n, len(items), processes)
                worker = context.Process(target=_do, args=(items, work, places, outgoing), daemon=True)
                worker.start()
                workers.append(worker)
                outgoing.close()  # the worker has the only one: when it ends, its pipe ends
                pipes.append(incoming)
            other = pool.submit(beside)
            while pipes:
                for pipe in wait(pipes):
                    assert isinstance(pipe, Connection)
                    try:
                        place, encoded = pipe.recv()
                        results[place] = decoder.decode(encoded)
                    except EOFError:
                        pipes.remove(pipe)
                        pipe.close()
                if progress:
                    progress(len(results), len(items))
        finally:
            for pipe in pipes:
                pipe.close()
            for worker in workers:  # one that is still at work, because this process gave up, is killed
                worker.kill()
                worker.join()
                worker.close()
    other.result()


def _do(items: Sequence[Item], work: Callable[[Item], Result], places: range, outgoing: Connection) -> None:
    """In a worker: send the results of these places; at the first that fails, end and leave the rest to the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent is interrupted too, and kills this process
    try:
        for place in places:
            outgoing.send((place, msgspec.msgpack.encode(work(items[place]))))
    finally:
        os._exit(0)  # neither flush nor close what belongs to the parent
