"""python bench/packs.py: the log of packs on each engine, against the local log in the same run.

    append     events in batches of 500, each acknowledged; one event at a time
    read       everything, from the mirror of the one who wrote it
    catch-up   a new replica, from nothing to the head: fetched, checked, written, synced
    failover   three nats-servers: kill -9 of the leader, until the next append is acknowledged

Servers are real and on this machine: moto's S3, one nats-server (R1), a cluster of three (R3, synced always). The figures
go to bench/results/packs.json and, as a table, to standard output. Ratios count; a loaded machine slows all alike.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import logging
import os
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from nats_servers import Cluster, running, single, wait_healthy  # noqa: E402 (beside the tests that use them)

from recollect.events.envelope import draft  # noqa: E402
from recollect.events.facts import Ingested  # noqa: E402
from recollect.events.packs.jetstream import JetStreamPackStore  # noqa: E402
from recollect.events.packs.object_store import ObjectPackStore  # noqa: E402
from recollect.events.packs.pack_log import PackLog  # noqa: E402
from recollect.events.packs.store import PackStore  # noqa: E402
from recollect.events.segment_log import SegmentLog  # noqa: E402

BATCH = 500
SINGLES = 50
FAILOVERS = 3
_TEXT = "a memory of about as many bytes as one has in the other benchmarks, " * 12

Figures = dict[str, float]


def fact(number: int) -> Ingested:
    return Ingested(id=f"m{number}", content=f"{number} {_TEXT}", at=1)


def rates(log: SegmentLog | PackLog, events: int) -> Figures:
    begun = time.perf_counter()
    for first in range(0, events, BATCH):
        log.append([draft(fact(first + n)) for n in range(BATCH)])
    batched = time.perf_counter() - begun
    begun = time.perf_counter()
    for n in range(SINGLES):
        log.append([draft(fact(events + n))])
    singles = time.perf_counter() - begun
    begun = time.perf_counter()
    read = sum(len(event.payload) > 0 for event in log.read())
    return {
        "append_per_s": events / batched,
        "append_one_ms": 1e3 * singles / SINGLES,
        "read_per_s": read / (time.perf_counter() - begun),
    }


def of_packs(connect: Callable[[], PackStore], folder: Path, events: int) -> Figures:
    with PackLog.open(connect(), folder / "writer") as log:
        found = rates(log, events)
        head, chain = log.head, log.chain_at(log.head)
    begun = time.perf_counter()
    with PackLog.open(connect(), folder / "replica") as replica:
        found["catch_up_per_s"] = head / (time.perf_counter() - begun)
        assert (replica.head, replica.chain_at(replica.head)) == (head, chain)
    return found


def of_cluster(folder: Path, events: int) -> Figures:
    cluster = Cluster(folder / "servers")
    with running(*cluster.servers):
        urls = [server.url for server in cluster.servers]

        def connect() -> PackStore:
            return JetStreamPackStore(urls, "bench", where="nats: cluster of three")

        found = of_packs(connect, folder, events)
        spent = []
        with PackLog.open(connect(), folder / "writer") as log:
            for n in range(FAILOVERS):
                leader = cluster.leader("bench")
                leader.kill()
                begun = time.perf_counter()
                log.append([draft(fact(10_000_000 + n))])
                spent.append(time.perf_counter() - begun)
                leader.start()
                wait_healthy(leader)
        return {**found, "failover_s": statistics.median(spent), "failover_s_max": max(spent)}


@contextlib.contextmanager
def s3() -> Iterator[str]:
    """moto's S3 server in this process."""
    from moto.server import DomainDispatcherApplication, create_backend_app  # noqa: PLC0415
    from werkzeug.serving import make_server  # noqa: PLC0415

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = make_server("127.0.0.1", 0, DomainDispatcherApplication(create_backend_app), threaded=False)
    serving = threading.Thread(target=server.serve_forever)
    serving.start()
    os.environ |= {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{server.server_port}", "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test", "AWS_REGION": "us-east-1", "AWS_DEFAULT_REGION": "us-east-1",
    }  # fmt: skip
    try:
        yield os.environ["AWS_ENDPOINT_URL"]
    finally:
        server.shutdown()
        serving.join()
        server.server_close()


def measured(folder: Path, events: int) -> dict[str, Figures]:
    found: dict[str, Figures] = {}
    with SegmentLog.open(folder / "local") as log:
        found["local log"] = rates(log, events)
    begun = time.perf_counter()
    with SegmentLog.open(folder / "local") as log, SegmentLog.open(folder / "copy") as copy:
        copy.append_frames(list(log.frames(0, log.head)))
        found["local log"]["catch_up_per_s"] = copy.head / (time.perf_counter() - begun)
    directory = f"file://{folder}/shared"
    found["directory"] = of_packs(lambda: ObjectPackStore(directory), folder / "d", events)
    with s3() as endpoint:
        import boto3  # noqa: PLC0415 (comes with moto)

        boto3.client("s3", endpoint_url=endpoint).create_bucket(Bucket="bench")
        found["S3 (moto)"] = of_packs(lambda: ObjectPackStore("s3://bench/log"), folder / "s", events)
    server = single(folder / "nats")
    with running(server):
        found["nats-server, R1"] = of_packs(
            lambda: JetStreamPackStore([server.url], "bench", where="nats: one"), folder / "n", events
        )
    found["nats-server × 3, R3"] = of_cluster(folder / "c", events)
    return found


def table(found: dict[str, Figures]) -> str:
    """Rates as they were, and as shares of the local log's in the same run."""
    local = found["local log"]
    lines = [
        "| engine | append/s in batches | one event | read/s | catch-up/s | failover |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for name, one in found.items():
        failover = (
            f"{one['failover_s']:.1f} s (max {one['failover_s_max']:.1f})" if "failover_s" in one else ""
        )
        lines.append(
            f"| {name} | {one['append_per_s']:,.0f} ({one['append_per_s'] / local['append_per_s']:.2f} ×) "
            f"| {one['append_one_ms']:.1f} ms ({one['append_one_ms'] / local['append_one_ms']:.1f} ×) "
            f"| {one['read_per_s']:,.0f} ({one['read_per_s'] / local['read_per_s']:.2f} ×) "
            f"| {one['catch_up_per_s']:,.0f} ({one['catch_up_per_s'] / local['catch_up_per_s']:.2f} ×) | {failover} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition(":")[0])
    parser.add_argument("--events", type=int, default=20_000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="recollect-bench-") as folder:
        found = measured(Path(folder), given.events)
    results = ROOT / "bench" / "results" / "packs.json"
    results.write_text(
        json.dumps({"events": given.events, "batch": BATCH, "engines": found}, indent=1) + "\n"
    )
    print(table(found))


if __name__ == "__main__":
    main()
