"""What only a real nats-server shows: its copies, its syncing, and three servers that are killed and paused."""

from __future__ import annotations

from pathlib import Path

import pytest
from cluster_crashes import FAULTS, WRONG, crash
from log_samples import all_numbers, notes
from nats_servers import PATIENCE_S, Cluster, Server, free_ports, running, single

from recollect.events.errors import InvalidInput
from recollect.events.packs.jetstream import JetStreamPackStore
from recollect.events.packs.pack_log import Contradicted, PackLog


def store_on(server: Server, name: str, **options: object) -> JetStreamPackStore:
    return JetStreamPackStore([server.url], name, where=f"{server.url}/{name}", **options)  # type: ignore[arg-type]


def test_a_single_server_keeps_one_copy_and_status_says_so(nats_server: Server, tmp_path: Path) -> None:
    with PackLog.open(store_on(nats_server, "one"), tmp_path) as log:
        log.append(notes(0, 1))
        status = log.status()
    assert (status.kind, status.replication) == (
        "packs in JetStream",
        "none: one copy on a single server (R1)",
    )


def test_a_server_that_is_seen_to_sync_always_has_no_trouble(nats_server: Server, tmp_path: Path) -> None:
    monitor = f"http://127.0.0.1:{nats_server.monitor}"
    with PackLog.open(store_on(nats_server, "synced", monitors=[monitor]), tmp_path) as log:
        assert log.status().troubles == ()


def test_whether_a_server_syncs_is_said_when_it_cannot_be_seen(nats_server: Server, tmp_path: Path) -> None:
    with PackLog.open(store_on(nats_server, "unseen"), tmp_path) as log:
        (trouble,) = log.status().troubles
    assert "is not known" in trouble
    assert "?monitor=" in trouble


def test_a_server_that_syncs_now_and_then_is_refused_unless_that_is_accepted(tmp_path: Path) -> None:
    server = single(tmp_path / "server", sync="2m")
    monitor = f"http://127.0.0.1:{server.monitor}"
    with running(server):
        with pytest.raises(InvalidInput, match="sync_interval: always"):
            PackLog.open(store_on(server, "lax", monitors=[monitor]), tmp_path / "a")
        with PackLog.open(store_on(server, "lax", monitors=[monitor], any_sync=True), tmp_path / "b") as log:
            assert log.append(notes(0, 1)) == [1]
            assert "off on" in log.status().troubles[0]


def test_a_monitoring_port_that_does_not_answer_is_said_and_stops_nobody(
    nats_server: Server, tmp_path: Path
) -> None:
    monitors = [f"http://127.0.0.1:{nats_server.monitor}", f"http://127.0.0.1:{free_ports(1)[0]}"]
    with PackLog.open(store_on(nats_server, "one-down", monitors=monitors), tmp_path) as log:
        assert log.append(notes(0, 1)) == [1]
        (trouble,) = log.status().troubles
    assert f"not known of {monitors[1]}" in trouble


def test_a_stream_that_would_drop_events_is_refused(nats_server: Server, tmp_path: Path) -> None:
    store = store_on(nats_server, "dropping")
    store._run(store._connect())
    store._run(
        store._connection.jetstream().add_stream(  # type: ignore[union-attr]
            name="dropping", subjects=["recollect.dropping.pack"], max_msgs=10
        )
    )
    store.close()
    with pytest.raises(InvalidInput, match="would drop events"):
        PackLog.open(store_on(nats_server, "dropping"), tmp_path)


def test_a_replica_of_the_old_stream_refuses_a_stream_that_was_made_anew(
    nats_server: Server, tmp_path: Path
) -> None:
    with PackLog.open(store_on(nats_server, "anew"), tmp_path, patience_s=0.2) as log:
        log.append(notes(0, 2))
        log.append(notes(2, 2))
        store = log.store
        assert isinstance(store, JetStreamPackStore)
        store._run(store._js.delete_stream("anew"))
        with PackLog.open(store_on(nats_server, "anew"), tmp_path / "other") as other:
            other.append(notes(7, 1))
        with pytest.raises(Contradicted, match=r"pack 2 \(@4\).* ends at pack 1"):
            log.refresh()
        assert all_numbers(log) == [0, 1, 2, 3]


def test_a_server_that_is_killed_and_started_again_has_everything_that_was_acknowledged(
    tmp_path: Path,
) -> None:
    server = single(tmp_path / "server")
    with running(server):
        with PackLog.open(store_on(server, "again"), tmp_path / "a", patience_s=PATIENCE_S) as log:
            log.append(notes(0, 3))
            server.kill()
            server.start()
            assert log.append(notes(3, 2)) == [4, 5]
        with PackLog.open(store_on(server, "again"), tmp_path / "b") as log:
            assert all_numbers(log) == [0, 1, 2, 3, 4]


def test_a_byte_flipped_on_one_of_three_servers_is_found_and_the_pack_read_from_another(
    tmp_path: Path,
) -> None:
    """Flip a payload byte on a server while it is down, and let that server lead when the pack is read."""
    cluster = Cluster(tmp_path / "servers")
    with running(*cluster.servers):

        def store() -> JetStreamPackStore:
            urls = [one.url for one in cluster.servers]
            return JetStreamPackStore(urls, "flip", where=f"{cluster.address}/flip")

        with PackLog.open(store(), tmp_path / "a") as log:
            for number in range(6):
                log.append(notes(number * 3, 3))
            body = log.store.get(3)
            assert body is not None
            assert log.status().replication.startswith("3 copies (R3)")
        victim = cluster.servers[0]
        victim.stop()
        assert flip(victim.folder / "js", body[40:140]) > 0
        victim.start()
        cluster.wait_healthy()
        with PackLog.open(store(), tmp_path / "lead") as log:
            make_leader(log.store, cluster, victim)
        with PackLog.open(store(), tmp_path / "b") as log:
            assert all_numbers(log) == list(range(18))
            assert log.verify_chain() == []
            assert any("pack 3" in trouble for trouble in log.status().troubles)


def flip(folder: Path, wanted: bytes) -> int:
    """Change one byte wherever these bytes lie in a file of a stream; how often."""
    flipped = 0
    for path in folder.rglob("*.blk"):
        data = path.read_bytes()
        at = data.find(wanted)
        while at >= 0 and "streams/flip/" in str(path):
            data = data[: at + 50] + bytes((data[at + 50] ^ 1,)) + data[at + 51 :]
            flipped += 1
            at = data.find(wanted)
        path.write_bytes(data)
    return flipped


def make_leader(store: object, cluster: Cluster, wanted: Server) -> None:
    """Ask leaders to step down until this server leads."""
    assert isinstance(store, JetStreamPackStore)
    for _ in range(60):
        if cluster.leader("flip") is wanted:
            return
        store._step_down()
    raise AssertionError(f"{wanted.name} never came to lead")


def test_three_servers_killed_and_paused_lose_double_and_tear_nothing(tmp_path: Path) -> None:
    counts = crash(tmp_path, events=500)
    assert {name: counts[name] for name in WRONG} == dict.fromkeys(WRONG, 0)
    assert all(counts[fault.__name__] for fault in FAULTS)
    assert counts["events"] >= 500
