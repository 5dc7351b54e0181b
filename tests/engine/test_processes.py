"""Four processes on one store at once: nothing lost, nothing twice, and every recall replays exactly."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from recollect.events.facts import Accessed, EmbedderAdopted, FormulaAdopted, Ingested, Recalled
from recollect.interfaces.python.memory import Memory

ROUNDS = 120
WORKER = """
import json, sys
from recollect.interfaces.python.memory import Memory
store, name, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
words = ["auth", "session", "postgres", "redis", "deploy", "billing", "cookie", "login"]
remembered, recalled = [], []
print("here", flush=True)
sys.stdin.readline()  # all begin at once
with Memory.open(store, embedder="hash", actor=name) as memory:
    for n in range(1, rounds + 1):
        text = " ".join(words[(n * k + len(name)) % 8] for k in (1, 3, 5)) + f" {name} {n}"
        remembered.append(memory.remember(text, id=f"{name}-{n}", session=name))
        recalled.append(memory.recall(words[n % 8], k=5, session=name).id)
        if n % 5 == 0:
            old = remembered[n // 2]
            if memory.get(old).visible:
                memory.forget(old)
print(json.dumps([remembered, recalled]))
"""


def together(workers: list[subprocess.Popen[str]]) -> list[tuple[str, str]]:
    """Let them begin, and wait for all."""
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
    return [worker.communicate(timeout=600) for worker in workers]


@pytest.mark.slow
def test_four_processes_remember_and_recall_at_once(tmp_path: Path):
    names = ["ant", "bee", "cat", "dog"]
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, str(tmp_path), name, str(ROUNDS)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for name in names
    ]
    assert [worker.stdout.readline() for worker in workers] == ["here\n"] * len(workers)
    outputs = together(workers)
    for worker, (_, errors) in zip(workers, outputs, strict=True):
        assert worker.returncode == 0, errors
    told = [json.loads(output) for output, _ in outputs]
    remembered = [id_ for ids, _ in told for id_ in ids]
    recalled = [id_ for _, ids in told for id_ in ids]
    assert len(remembered) == len(recalled) == ROUNDS * len(workers)

    with Memory.open(tmp_path, embedder="hash") as memory:
        events = list(memory._store.log.read())
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        assert max(Counter(event.id for event in events).values()) == 1
        kinds = Counter(type(event.fact) for event in events)
        assert kinds[EmbedderAdopted] == 1
        assert kinds[Ingested] == len(remembered) == len(set(remembered))
        assert sorted(e.fact.id for e in events if isinstance(e.fact, Ingested)) == sorted(remembered)
        assert sorted(f"r{e.seq}" for e in events if isinstance(e.fact, Recalled)) == sorted(recalled)
        assert kinds[Accessed] > 0
        assert kinds[FormulaAdopted] >= 1
        assert memory._store.log.verify_chain() == []
        report = memory.verify()
        assert report.exact, report.differences[:3]
        assert report.checked == len(recalled)


# Another thread holds every lock of the store when the process forks; the child exits with what it found.
FORKING = """
import os, signal, sys, threading
from contextlib import ExitStack
from recollect.interfaces.python.memory import Memory

memory = Memory.open(sys.argv[1], embedder="hash")
memory.remember("auth sessions", id="parent")
held, over = threading.Event(), threading.Event()

def hold():
    log = memory.store.log.base
    with ExitStack() as locks:
        for lock in (memory.store.lock, memory.store.projections.vectors._embeddings._lock, log._mutex, log._head._guard):
            locks.enter_context(lock)
        held.set()
        over.wait()

threading.Thread(target=hold, daemon=True).start()
held.wait()
child = os.fork()
if child == 0:
    signal.alarm(60)  # a deadlock ends by this signal
    found = [hit.id for hit in memory.recall("auth sessions").hits]
    memory.remember("auth cookies", id="child")
    os._exit(0 if found == ["parent"] else 3)
over.set()
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
memory.remember("auth tokens", id="after")
print(status, sorted(hit.id for hit in memory.recall("auth").hits), memory.verify().exact)
"""


def test_a_forked_child_asks_and_writes_though_a_thread_held_every_lock(tmp_path: Path):
    ran = subprocess.run(
        [sys.executable, "-c", FORKING, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (ran.stdout, ran.stderr) == ("0 ['after', 'child', 'parent'] True\n", "")
