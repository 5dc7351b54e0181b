"""Programs for `test_replicas`: one replica of a store, in a process of its own.

    python replica_processes.py URL NUMBER SECONDS

Writes and asks for so many seconds, says its head, is told the last head of all, and says its chain value there, what
200 questions give at it, bit for bit, and whether every recorded recall replays exactly.
"""

from __future__ import annotations

import json
import sys
import time

from recollect.engine.read_your_writes import await_seq
from recollect.interfaces.python.memory import Memory

QUESTIONS = 200
LEAST = 6  # on a slow machine too there is something to compare
NOON = "2030-01-01T12:00:00Z"


def main(url: str, number: int, seconds: float) -> None:
    with Memory.open(url, embedder="hash") as memory:
        deadline, turn = time.monotonic() + seconds, 0
        while time.monotonic() < deadline or turn < LEAST:
            turn += 1
            memory.remember(
                f"note {turn} of {number} about tea {turn % 7} and cup {turn % 11}", id=f"m{number}-{turn}"
            )
            if turn % 3 == 0:
                memory.recall(f"tea {turn % 7}", k=5)
        say({"told": turn, "head": memory.store.log.head})
        head = int(sys.stdin.readline())
        await_seq(memory.store, head, 120)
        past = memory.at(head)
        asked = [past.recall(f"tea {n % 7} cup {n % 11} note {n}", now=NOON) for n in range(QUESTIONS)]
        verified = memory.verify()
        say({
            "chain": memory.store.log.chain_at(head).hex(),
            "answers": [[(hit.id, hit.score.hex()) for hit in answer.hits] for answer in asked],
            "exact": verified.exact,
            "recalls": verified.checked,
            "findings": len(memory.store.log.verify_chain()),
        })  # fmt: skip


def say(what: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]))
