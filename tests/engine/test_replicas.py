"""Three replicas in three processes write through a cluster whose leader is killed, and rank the same bits."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from nats_servers import Cluster, running, wait_healthy

PROGRAM = Path(__file__).parent / "replica_processes.py"
SECONDS = float(os.environ.get("REPLICA_SECONDS", "8"))


@pytest.mark.slow
def test_three_replicas_that_write_while_the_leader_is_killed_rank_the_same_bits(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path / "servers")
    with running(*cluster.servers), contextlib.ExitStack() as started:
        replicas = [
            started.enter_context(
                subprocess.Popen(
                    [sys.executable, str(PROGRAM), f"{cluster.address}/memory?mirror={tmp_path}/m{n}", str(n), str(SECONDS)],
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                )
            )
            for n in range(3)
        ]  # fmt: skip
        try:
            time.sleep(SECONDS / 2)
            leader = cluster.leader("memory")
            leader.kill()
            time.sleep(1)
            leader.start()
            wait_healthy(leader)
            told = [said(replica) for replica in replicas]
            head = max(int(str(one["head"])) for one in told)
            for replica in replicas:
                assert replica.stdin is not None
                replica.stdin.write(f"{head}\n")
                replica.stdin.flush()
            found = [said(replica) for replica in replicas]
        finally:
            for replica in replicas:
                replica.kill()
    assert all(one["told"] for one in told)
    for one in found:
        assert (one["exact"], one["findings"]) == (True, 0)
        assert one["recalls"]
        assert one["chain"] == found[0]["chain"]
        assert one["answers"] == found[0]["answers"]
    answers = found[0]["answers"]
    assert isinstance(answers, list)
    assert len(answers) == 200
    assert all(answers)


def said(replica: subprocess.Popen[str]) -> dict[str, object]:
    assert replica.stdout is not None
    return dict(json.loads(replica.stdout.readline()))
