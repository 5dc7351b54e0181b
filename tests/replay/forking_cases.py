"""Work spread over processes gives what it gives without them. Run by test_parallel in a process of its own."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from pathlib import Path

import pytest
from msgspec.msgpack import Decoder

from recollect.interfaces.python.memory import Memory
from recollect.replay import parallel
from recollect.replay.parallel import WORTHWHILE, each


def pid_and_square(number: int) -> tuple[int, int]:
    return os.getpid(), number * number


def test_results_come_in_order_and_from_other_processes():
    items = list(range(3 * WORTHWHILE))
    told: list[tuple[int, int]] = []
    results = each(items, pid_and_square, Decoder(tuple[int, int]), progress=lambda *at: told.append(at))
    assert [square for _, square in results] == [n * n for n in items]
    if (os.cpu_count() or 1) > 1:
        assert os.getpid() not in {pid for pid, _ in results[1:]}
    assert told[-1] == (len(items), len(items))


@pytest.mark.parametrize("items", [0, 1, WORTHWHILE - 1])
def test_little_work_stays_here(items: int):
    results = each(list(range(items)), pid_and_square, Decoder(tuple[int, int]))
    assert {pid for pid, _ in results} <= {os.getpid()}
    assert len(results) == items


def test_a_process_with_other_threads_does_not_fork():
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    try:
        results = each(list(range(2 * WORTHWHILE)), pid_and_square, Decoder(tuple[int, int]))
    finally:
        done.set()
        thread.join()
    assert {pid for pid, _ in results} == {os.getpid()}


def test_a_worker_of_a_pool_may_have_no_children_and_does_the_work_itself():
    with multiprocessing.get_context("fork").Pool(1) as pool:
        pids = pool.apply(pids_of, (2 * WORTHWHILE,))
    assert len(pids) == 1
    assert pids != {os.getpid()}


def pids_of(items: int) -> set[int]:
    return {pid for pid, _ in each(list(range(items)), pid_and_square, Decoder(tuple[int, int]))}


def test_an_error_in_a_child_appears_here():
    def fragile(number: int) -> int:
        if number == 57:
            raise ValueError("number 57")
        return number

    with pytest.raises(ValueError, match="number 57"):
        each(list(range(2 * WORTHWHILE)), fragile, Decoder(int))


def test_what_a_killed_worker_did_not_deliver_is_done_here():
    here = os.getpid()

    def deadly(number: int) -> int:
        if number == 57 and os.getpid() != here:
            os.kill(os.getpid(), signal.SIGKILL)
        return number * number

    items = list(range(2 * WORTHWHILE))
    assert each(items, deadly, Decoder(int)) == [n * n for n in items]
    assert threading.active_count() == 1


def open_descriptors() -> list[str]:
    return sorted(path.name for path in Path("/proc/self/fd").iterdir())


def test_giving_up_leaves_no_process_and_no_pipe_behind():
    class GivenUpError(Exception):
        pass

    def give_up(_done: int, _items: int) -> None:
        raise GivenUpError

    before = open_descriptors()
    with pytest.raises(GivenUpError):
        each(list(range(5 * WORTHWHILE)), lambda n: str(n) * 100_000, Decoder(str), progress=give_up)
    assert open_descriptors() == before
    with pytest.raises(ChildProcessError):  # there is no child to wait for
        os.waitpid(-1, os.WNOHANG)


def test_a_large_result_passes_through_a_pipe():
    results = each(list(range(WORTHWHILE)), lambda n: str(n) * 100_000, Decoder(str))
    assert [len(result) for result in results] == [len(str(n)) * 100_000 for n in range(WORTHWHILE)]


def test_verify_and_compare_say_the_same_spread_and_not(tmp_path, monkeypatch):
    with Memory.open(tmp_path, embedder="hash") as memory:
        for n in range(40):
            memory.remember(f"auth session number {n} of topic {n % 6}", id=f"m{n}")
        for n in range(WORTHWHILE + 20):
            memory.recall(f"topic {n % 6} session", k=5)
    with Memory.open(tmp_path, embedder="hash") as memory:
        spread = memory.verify(), memory.compare("reverie", "mnemosyne")
        monkeypatch.setattr(parallel, "WORTHWHILE", 10**9)
        alone = memory.verify(), memory.compare("reverie", "mnemosyne")
    assert spread == alone
    assert spread[0].exact
    assert spread[0].checked == WORTHWHILE + 20


@pytest.mark.parametrize("items", [0, 3, 2 * WORTHWHILE])
def test_what_is_done_beside_the_items_is_done_once_and_here(items: int):
    where: list[int] = []
    each(
        list(range(items)), pid_and_square, Decoder(tuple[int, int]), beside=lambda: where.append(os.getpid())
    )
    assert where == [os.getpid()]


@pytest.mark.parametrize("items", [3, 2 * WORTHWHILE])
def test_an_error_beside_the_items_appears_here(items: int):
    def broken() -> None:
        raise ValueError("the chain is torn")

    with pytest.raises(ValueError, match="the chain is torn"):
        each(list(range(items)), pid_and_square, Decoder(tuple[int, int]), beside=broken)
    assert threading.active_count() == 1
