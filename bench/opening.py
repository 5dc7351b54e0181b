"""A store opened in a process of its own: how long until it answers by words, by vectors, and what it holds.

    python bench/opening.py STORE MEMORIES

Run by `ours.py`; what was imported before does not count. Prints one JSON document.
"""

from __future__ import annotations

import gc
import json
import sys
import time
from pathlib import Path

from corpus import Corpus
from machine import resident_bytes
from stores import Given
from timing import Timing

from recollect.interfaces.python.memory import Memory

QUESTIONS = 60


def main() -> None:
    folder, size = Path(sys.argv[1]), int(sys.argv[2])
    asked = Corpus(size).questions(QUESTIONS, part=3)
    given = Given(folder)
    given.vectors.update({question.text: question.point for question in asked})
    before = resident_bytes()
    begun = time.perf_counter()
    words = Memory.open(folder, embedder=None, formula="reverie")
    words.recall(asked[0].text, record=False)
    found = {"open_s": time.perf_counter() - begun}
    words.close()
    del words  # what is measured is one open store
    gc.collect()
    memory = Memory.open(folder, embedder=given, formula="reverie")
    waits = []
    for question in asked:
        begun = time.perf_counter()
        memory.recall(question.text, record=False)
        waits.append(time.perf_counter() - begun)
    found["first_vector_recall_s"] = waits[0]
    found["fresh_recall_ms_p50"] = Timing.of(waits[1:]).p50_ms
    after = resident_bytes()
    found["resident_bytes"] = after["all"]
    found["resident_own_bytes"] = after["own"]
    found["resident_bytes_per_memory"] = (after["all"] - before["all"]) / size
    memory.close()
    print(json.dumps(found))


if __name__ == "__main__":
    main()
