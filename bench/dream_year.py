"""A year of dreams: daily sessions, a dream every night, on a real store.

    python bench/dream_year.py                  20,000 memories, 365 dreams
    python bench/dream_year.py --memories 2000 --days 60
    python bench/dream_year.py --single 100000  one dream of a large store, most of it new

Every tenth memory of a day has a twin that says the same in other words' places; one of the two is used in a new
session every few days, the other never. At the end the used one must rank above its twin, nothing tagged may be
gone, and every strength must lie within 0.01 and 1. Synthetic texts and vectors (384 dimensions), fixed seed.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import tempfile
import time
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from recollect.interfaces.python.memory import Memory

DIMENSIONS = 384
DAY_US = 86_400_000_000
START_US = 1_735_689_600_000_000
KINDS = ("note", "session", "decision", "bug", "config", "reference", "preference", "heuristic")


class Clock:
    """Time that moves when told."""

    def __init__(self) -> None:
        self.now = START_US

    def __call__(self) -> int:
        self.now += 1_000
        return self.now


class Embedder:
    """Vectors around a centre per first word of the text; the same text gets the same vector."""

    name = "bench/dream"
    dimensions = DIMENSIONS
    ready = True

    def __init__(self, centres: int = 200) -> None:
        self._centres = np.random.default_rng(7).normal(size=(centres, DIMENSIONS))

    def warm(self) -> None:
        """Nothing to load."""

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        rows = []
        for text in texts:
            words = text.split()
            centre = self._centres[zlib.crc32(words[0].encode()) % len(self._centres)]
            noise = np.random.default_rng(zlib.crc32(text.encode())).normal(size=DIMENSIONS)
            rows.append(centre + 0.6 * noise)
        return np.array(rows, dtype=np.float32)


class Year:
    """The memory, its clock, and what the simulation keeps an eye on."""

    def __init__(self, folder: Path, memories: int, days: int) -> None:
        self.clock = Clock()
        self.memory = Memory.open(folder, embedder=Embedder(), clock=self.clock)
        self.rng = np.random.default_rng(11)
        self.per_day = max(-(-memories // days), 2)
        self.days = days
        self.twins: list[tuple[str, str, str]] = []
        self.tagged: list[str] = []
        self.known: list[str] = []
        self.dream_s: list[float] = []
        self.cpu_s: list[float] = []

    def text(self) -> str:
        words = self.rng.zipf(1.3, size=14) % 20_000
        return " ".join([f"t{int(self.rng.integers(200))}", *(f"w{word}" for word in words)])

    def day(self, number: int) -> None:
        self.clock.now = START_US + number * DAY_US + 9 * 3_600_000_000
        self._remember(number)
        self._use(number)
        self.clock.now = START_US + (number + 1) * DAY_US
        begun, cpu = time.perf_counter(), time.thread_time()
        self.memory.dream()
        self.dream_s.append(time.perf_counter() - begun)
        self.cpu_s.append(time.thread_time() - cpu)

    def _remember(self, number: int) -> None:
        items: list[dict[str, object]] = []
        while len(items) < self.per_day:
            place = len(items)
            item: dict[str, object] = {
                "id": f"m{number}-{place}",
                "content": self.text(),
                "kind": KINDS[place % len(KINDS)],
                "session": f"day{number}.{place % 3}",
            }
            if place % 25 == 7:
                item["importance_tag"] = "Explicit"
                self.tagged.append(str(item["id"]))
            items.append(item)
            if place % 10 == 0 and len(items) < self.per_day:
                words = f"t{number % 200} pair{number}x{place} stays the same"
                twins = (f"m{number}-{place}", f"m{number}-{place + 1}")
                common = {"kind": "reference", "session": f"day{number}.0", "content": words}
                items[-1] = {"id": twins[0], **common}
                items.append({"id": twins[1], **common})
                self.twins.append((*twins, words))
        self.known += self.memory.remember_many(items)

    def _use(self, number: int) -> None:
        for back in (1, 3, 7, 15, 30):
            for used, _, _ in [twin for twin in self.twins if twin[0].startswith(f"m{number - back}-")]:
                self.memory.access([used], f"day{number}.use", "used")
        for question in range(3):
            picks = self.rng.integers(len(self.known), size=2)
            text = f"t{int(self.rng.integers(200))} " + " ".join(f"w{pick % 500}" for pick in picks)
            self.memory.recall(text, session=f"day{number}.{question}")

    def check(self) -> dict[str, object]:
        memory = self.memory
        states = [memory.get(id_) for id_ in self.known]
        strengths = [memo.state.strength for memo in states]
        lost = [id_ for id_ in self.tagged if not memory.get(id_).visible]
        grown = [twin for twin in self.twins if int(twin[0][1:].split("-")[0]) < self.days - 8]
        above = sum(self._above(*twin) for twin in grown)
        return {
            "memories": len(self.known),
            "visible": sum(memo.visible for memo in states),
            "strength": (min(strengths), max(strengths)),
            "tagged": len(self.tagged),
            "tagged lost": len(lost),
            "used above its twin": f"{above} of {len(grown)}",
            "log bytes": memory.status().log_bytes,
            "dream s median": round(statistics.median(self.dream_s), 3),
            "dream s max": round(max(self.dream_s), 3),
            "dream s last ten": round(statistics.median(self.dream_s[-10:]), 3),
            "dream CPU s last ten": round(statistics.median(self.cpu_s[-10:]), 3),
            "dream CPU s max": round(max(self.cpu_s), 3),
        }

    def _above(self, used: str, unused: str, words: str) -> bool:
        hits = [hit.id for hit in self.memory.recall(words, k=100, record=False).hits]
        return used in hits and (unused not in hits or hits.index(used) < hits.index(unused))


def year(memories: int, days: int) -> bool:
    folder = Path(tempfile.mkdtemp(prefix="dream-year-"))
    try:
        simulated = Year(folder / "store", memories, days)
        for number in range(days):
            simulated.day(number)
            if number % 30 == 29:
                spent, cpu_s = simulated.dream_s[-1], simulated.cpu_s[-1]
                print(f"day {number + 1}: {spent:.2f} s per dream, CPU {cpu_s:.2f} s", flush=True)
        found = simulated.check()
        simulated.memory.close()
    finally:
        shutil.rmtree(folder)
    for name, value in found.items():
        print(f"{name:>22}  {value}")
    return found["tagged lost"] == 0 and statistics.median(simulated.dream_s[-10:]) <= 2.0


def single(memories: int) -> bool:
    """One dream of a store in which everything is new and some of it was used; then one more."""
    folder = Path(tempfile.mkdtemp(prefix="dream-single-"))
    try:
        simulated = Year(folder / "store", memories, 1)
        simulated.clock.now = START_US
        simulated.known += simulated.memory.remember_many(
            [
                {
                    "id": f"m{n}",
                    "content": simulated.text(),
                    "kind": KINDS[n % len(KINDS)],
                    "session": f"s{n // 50}",
                }
                for n in range(memories)
            ]
        )
        for question in range(60):
            simulated.memory.recall(simulated.text(), session=f"q{question}")
        for first in range(0, memories, 20):
            simulated.memory.access([f"m{first}"], "later", "used")
        spent = []
        for night in (2, 3, 45):
            simulated.clock.now = START_US + night * DAY_US
            begun, cpu = time.perf_counter(), time.thread_time()
            report = simulated.memory.dream()
            spent.append(time.perf_counter() - begun)
            cpu_s = time.thread_time() - cpu
            print(
                f"night {night}: {spent[-1]:.2f} s, CPU {cpu_s:.2f} s  {report.counts}  {report.metrics}",
                flush=True,
            )
        simulated.memory.close()
    finally:
        shutil.rmtree(folder)
    return max(spent) <= 10.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--memories", type=int, default=20_000)
    parser.add_argument("--days", type=int, default=365)
    parser.add_argument("--single", type=int, default=0)
    given = parser.parse_args()
    met = single(given.single) if given.single else year(given.memories, given.days)
    sys.exit(0 if met else 1)


if __name__ == "__main__":
    main()
