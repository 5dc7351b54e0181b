"""One open store shared by threads: a server's normal case."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

WORDS = ["auth", "session", "postgres", "redis", "deploy", "billing"]


def test_threads_share_one_memory_and_every_recall_replays(memory):
    def work(name: int) -> list[str]:
        recalls = []
        for n in range(25):
            memory.remember(f"{WORDS[n % 6]} {WORDS[(n * name) % 6]} {name}", id=f"{name}-{n}")
            recalls.append(memory.recall(WORDS[(n + name) % 6], k=5, session=str(name)).id)
            memory.get(f"{name}-{n}")
            memory.at(memory.status().head // 2).recall(WORDS[n % 6])
        return recalls

    with ThreadPoolExecutor(4) as pool:
        recalls = [recall for result in pool.map(work, range(4)) for recall in result]
    report = memory.verify()
    assert report.exact, report.differences[:3]
    assert report.checked == len(recalls) == len(set(recalls)) == 100
