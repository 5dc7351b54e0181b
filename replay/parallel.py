"""Many rankings at once: read-only work spread over forked processes.

A child shares the parent's memory as it stands, reads it, sends its results through a pipe and ends. Work is only
spread where that is safe and worth it: on a system with fork, with more than one core, from a process with a
single thread (a lock that another thread holds would stay locked in a child for ever), and for many items. What
a child did not deliver, the parent does itself, so an error appears as it would without any of this.
"""

from __future__ import annotations

import os
import selectors
import signal
import struct
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import msgspec

Item = TypeVar("Item")
Result = TypeVar("Result")
Progress = Callable[[int, int], None]

WORTHWHILE = 100
_HEAD = struct.Struct("<II")
_CHUNK = 1 << 16


def _nothing() -> None:
    """What is done beside the items unless something else is given."""


def each(
    items: Sequence[Item],
    work: Callable[[Item], Result],
    decoder: msgspec.msgpack.Decoder[Result],
    *,
    progress: Progress | None = None,
    beside: Callable[[], None] = _nothing,
) -> list[Result]:
    """`work` of every item, in order; `decoder` reads a result that came through a pipe.

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
    return items >= WORTHWHILE and cores > 1 and hasattr(os, "fork") and threading.active_count() == 1


def _spread(
    items: Sequence[Item],
    work: Callable[[Item], Result],
    decoder: msgspec.msgpack.Decoder[Result],
    results: dict[int, Result],
    progress: Progress | None,
    beside: Callable[[], None],
) -> None:
    processes = os.cpu_count() or 1
    children: list[tuple[int, int]] = []
    with ThreadPoolExecutor(1) as pool, selectors.DefaultSelector() as selector:
        try:
            for n in range(processes):
                children.append(_start(items, work, range(1 + n, len(items), processes)))
                selector.register(children[-1][1], selectors.EVENT_READ, bytearray())
            other = pool.submit(beside)
            while selector.get_map():
                for key, _ in selector.select():
                    data = os.read(key.fd, _CHUNK)
                    if not data:
                        selector.unregister(key.fd)
                    key.data.extend(data)
                    for place, encoded in _whole(key.data):
                        results[place] = decoder.decode(encoded)
                if progress:
                    progress(len(results), len(items))
        finally:
            _end(children)
    other.result()


def _end(children: Sequence[tuple[int, int]]) -> None:
    """Close the pipes and wait for the children; one that is still at work, because this process gave up, is killed."""
    for child, pipe in children:
        os.close(pipe)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _start(items: Sequence[Item], work: Callable[[Item], Result], places: range) -> tuple[int, int]:
    """A child that does these places; returns its process id and the pipe to read from."""
    incoming, outgoing = os.pipe()
    child = os.fork()
    if child:
        os.close(outgoing)
        return child, incoming
    try:
        for place in places:
            encoded = msgspec.msgpack.encode(work(items[place]))
            _write(outgoing, _HEAD.pack(place, len(encoded)) + encoded)
    finally:
        os._exit(0)  # neither flush nor close what belongs to the parent


def _write(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _whole(buffer: bytearray) -> list[tuple[int, bytes]]:
    """The messages that have arrived in full; they are taken out of the buffer."""
    found, start = [], 0
    while len(buffer) - start >= _HEAD.size:
        place, size = _HEAD.unpack_from(buffer, start)
        end = start + _HEAD.size + size
        if end > len(buffer):
            break
        found.append((place, bytes(buffer[start + _HEAD.size : end])))
        start = end
    del buffer[:start]
    return found
