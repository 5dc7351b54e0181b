"""What a query may take: time, memory, and the size of its answer.

Time: the query runs in its own thread and is interrupted when its seconds are over. DuckDB checks for an interruption
between two pieces of work; a piece that does not end (planning ten thousand subqueries, one endless function call) is
given up after `GRACE_S`: its thread keeps running, and the database is not used again.
Memory: DuckDB's `memory_limit` bounds tables and intermediate results. Single huge values are outside of it; a process
that runs one query and ends bounds those with `bounded_memory`.
"""

from __future__ import annotations

import os
import re
import resource
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import duckdb

from recollect.events.errors import InvalidInput

T = TypeVar("T")

SECONDS = 30.0
GRACE_S = 3.0
VARIABLE = "RECOLLECT_SQL_MEMORY"
ANSWER_BYTES_MAX = 256_000_000
_PROCESS_SHARE = 3  # threads and answers take room of their own
_TABLES_A_LOG = 4  # how many times the log's size its tables may take
_ROWS_AT_ONCE = 256
_CELL_BYTES = 64
_UNITS = {"": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}


class QueryTooSlow(InvalidInput):
    """The query's time was over; it was interrupted."""


class QueryAbandoned(QueryTooSlow):
    """The query could not be interrupted either: a thread may still be at work on it."""


def allowed_bytes(log_bytes: int = 0) -> int:
    """The memory of a query: a gigabyte or what the environment says (`512MB`, `2GB`), plus room for the log's tables."""
    text = os.environ.get(VARIABLE, "1GB")
    found = re.fullmatch(r"(\d{1,15})\s*(|KB|MB|GB|TB)", text.strip().upper(), re.ASCII)
    size = int(found[1]) * _UNITS[found[2]] if found else 0
    if size < 16_000_000:
        raise InvalidInput(f"{VARIABLE} is {text!r}; give a size of at least 16MB, such as 512MB or 2GB")
    return size + _TABLES_A_LOG * log_bytes


def within(
    seconds: float, connection: duckdb.DuckDBPyConnection, work: Callable[[], T], abandon: Callable[[], None]
) -> T:
    """The result of the work; QueryTooSlow if it took too long, even if it gave a result.

    However this ends, `abandon` is called if the work may still be going on.
    """
    outcome: list[T] = []
    failure: list[BaseException] = []
    done = threading.Event()

    def run() -> None:
        try:
            outcome.append(work())
        except BaseException as error:  # noqa: BLE001 (raised again in the thread that waits)
            failure.append(error)
        finally:
            done.set()

    try:
        threading.Thread(target=run, name="recollect-sql", daemon=True).start()
        _wait(done, seconds, connection)
    finally:
        if not done.is_set():
            abandon()
    for error in failure:
        raise error
    return outcome[0]


def _wait(done: threading.Event, seconds: float, connection: duckdb.DuckDBPyConnection) -> None:
    """Wait until the work is done; when its time is over, interrupt it and wait a little longer."""
    try:
        in_time = done.wait(seconds)
    except BaseException:  # Ctrl-C ends the query too
        connection.interrupt()
        done.wait(GRACE_S)
        raise
    if in_time:
        return
    connection.interrupt()
    slow, advice = f"the query took longer than {seconds:g} s", "ask for less, or allow more time (timeout)"
    if not done.wait(GRACE_S):
        raise QueryAbandoned(
            f"{slow} and could not be stopped: it may go on until this process ends; {advice}"
        )
    raise QueryTooSlow(f"{slow} and was ended; {advice}")


def fetch(result: duckdb.DuckDBPyConnection) -> list[tuple[object, ...]]:
    """All rows, unless they are more than an answer may hold."""
    rows: list[tuple[object, ...]] = []
    size = 0
    while some := result.fetchmany(_ROWS_AT_ONCE):
        rows += some
        size += sum(_CELL_BYTES + len(cell) for row in some for cell in row if isinstance(cell, (str, bytes)))
        size += _CELL_BYTES * sum(map(len, some))
        if size > ANSWER_BYTES_MAX:
            raise InvalidInput(
                f"the answer is larger than {ANSWER_BYTES_MAX // 10**6} MB; ask for fewer rows (LIMIT) or columns"
            )
    return rows


@contextmanager
def bounded_memory() -> Iterator[None]:
    """Let this process grow by at most a few times a query's memory: a larger allocation fails the query."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except OSError:  # no Linux; DuckDB's own limit has to do
        yield
        return
    most = pages * resource.getpagesize() + _PROCESS_SHARE * allowed_bytes()
    if soft != resource.RLIM_INFINITY:
        most = min(most, soft)
    resource.setrlimit(resource.RLIMIT_AS, (most, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
