"""One thread per simulated process, exactly one of which runs: the scheduler passes the turn, by one seeded generator.

The turn may pass at every `point` (a file operation, a look at the clock, a call of a model) and passes at every
`sleep`. Time is simulated: it goes on a little at every point, and jumps when all processes sleep.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from random import Random
from zlib import crc32

START_S = 1_750_000_000.0
PATIENCE_S = 1e6  # a process waits no longer for another
_POINT_S = 0.0001
SHOWN = 30


class Task:
    """One simulated process's thread."""

    def __init__(self, name: str, body: Callable[[], None]) -> None:
        self.name = name
        self.body = body
        self.turn = threading.Semaphore(0)
        self.wakes_s = 0.0
        self.finished = False
        self.error: BaseException | None = None


class Scheduler:
    def __init__(self, rng: Random, *, switch_share: float) -> None:
        self.rng = rng
        self.switch_share = switch_share
        self.now_s = START_S
        self.points = 0
        self.digest = 0
        self.recent: deque[tuple[str, str]] = deque(maxlen=SHOWN)
        self._tasks: list[Task] = []
        self._by_thread: dict[int, Task] = {}
        self._all_done = threading.Semaphore(0)
        self._quiet = 0

    def run(self, bodies: dict[str, Callable[[], None]]) -> None:
        """Run these until each has returned; an error of one is raised here, at the end."""
        self._tasks = [Task(name, body) for name, body in bodies.items()]
        threads = [threading.Thread(target=self._live, args=(task,), daemon=True) for task in self._tasks]
        for thread in threads:
            thread.start()
        self._pass_on(None)
        self._all_done.acquire()
        for thread in threads:
            thread.join()
        self._by_thread.clear()
        for task in self._tasks:
            if task.error is not None:
                raise task.error

    def simulates_this_thread(self) -> bool:
        return threading.get_ident() in self._by_thread

    def current_name(self) -> str | None:
        """The process that the calling thread plays."""
        task = self._by_thread.get(threading.get_ident())
        return None if task is None else task.name

    def point(self, label: str) -> None:
        """Here the turn may pass to another process."""
        task = self._mine()
        if task is None:
            return
        self._note(task, label)
        if self.rng.random() < self.switch_share:
            self._hand_over(task)

    def sleep(self, seconds: float) -> None:
        """Let others run; in a quiet block no other runs, so what waits there for another comes to the end of its patience."""
        task = self._mine()
        if task is None:
            self.now_s += seconds + (PATIENCE_S if self._quiet else 0)
            return
        self._note(task, "sleep")
        task.wakes_s = self.now_s + seconds
        self._hand_over(task)

    def quietly(self) -> Quiet:
        """A block in which the turn does not pass, nothing fails and no time goes by."""
        return Quiet(self)

    @property
    def is_quiet(self) -> bool:
        return self._quiet > 0 or not self.simulates_this_thread()

    # --- inside ----------------------------------------------------------------------------------

    def _mine(self) -> Task | None:
        return None if self._quiet else self._by_thread.get(threading.get_ident())

    def _note(self, task: Task, label: str) -> None:
        self.points += 1
        self.now_s += _POINT_S
        self.recent.append((task.name, label))
        self.digest = crc32(f"{task.name} {label}".encode(), self.digest)

    def _live(self, task: Task) -> None:
        task.turn.acquire()
        self._by_thread[threading.get_ident()] = task
        try:
            task.body()
        except BaseException as error:  # noqa: BLE001 (raised again by `run`)
            task.error = error
        task.finished = True
        self._pass_on(task)

    def _hand_over(self, task: Task) -> None:
        following = self._next()
        if following is task:
            return
        following.turn.release()
        task.turn.acquire()

    def _pass_on(self, task: Task | None) -> None:
        if all(other.finished for other in self._tasks):
            self._all_done.release()
        else:
            self._next().turn.release()

    def _next(self) -> Task:
        waiting = [task for task in self._tasks if not task.finished]
        self.now_s = max(self.now_s, min(task.wakes_s for task in waiting))
        return self.rng.choice([task for task in waiting if task.wakes_s <= self.now_s])


class Quiet:
    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._began_s = scheduler.now_s

    def __enter__(self) -> None:
        self._scheduler._quiet += 1

    def __exit__(self, *exception: object) -> None:
        self._scheduler._quiet -= 1
        self._scheduler.now_s = self._began_s
