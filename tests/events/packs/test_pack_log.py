"""What a log of packs does beyond the contract: doubt, other writers, other replicas, damage, keys."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from log_samples import StepClock, all_numbers, event_id, note, notes
from memory_pack_store import MemoryPackStore

from recollect.events.envelope import draft
from recollect.events.errors import HeadMoved, LogDamaged, LogFailed
from recollect.events.facts import Ingested, Redacted
from recollect.events.memory_log import MemoryLog
from recollect.events.packs import pack_log
from recollect.events.packs.object_store import ObjectPackStore
from recollect.events.packs.pack_log import Contradicted, PackLog
from recollect.events.packs.store import Box, PackStore, StoreUnreachable, Unsettled
from recollect.events.segment_log import SegmentLog

Replica = Callable[..., PackLog]


@pytest.fixture
def replica(tmp_path: Path) -> Iterator[Replica]:
    """Opens a log over a store with a mirror of the given name."""
    with ExitStack() as opened:

        def open_(store: PackStore, name: str = "a", patience_s: float = 5.0) -> PackLog:
            log = PackLog.open(store, tmp_path / name, clock=StepClock(), patience_s=patience_s)
            opened.callback(log.close)
            return log

        yield open_


class Doubtful(MemoryPackStore):
    """Loses acknowledgements and shows packs late, as a leader does that is paused or deposed."""

    def __init__(self) -> None:
        super().__init__()
        self.acks_to_lose = 0
        self.offers_to_lose = 0
        self.absences = 0
        self.offered: list[bytes] = []

    def put_if(self, position: int, pack: bytes) -> None:
        self.offered.append(pack)
        if self.offers_to_lose:
            self.offers_to_lose -= 1
            raise Unsettled("no answer")
        super().put_if(position, pack)
        if self.acks_to_lose:
            self.acks_to_lose -= 1
            raise Unsettled("no answer")

    def get(self, position: int) -> bytes | None:
        if self.absences and position > len(self.packs) - 1:
            self.absences -= 1
            return None
        return super().get(position)


# --- the retry rule ------------------------------------------------------------------------------


def test_an_append_whose_acknowledgement_was_lost_is_there_once(replica: Replica) -> None:
    store = Doubtful()
    log = replica(store)
    store.acks_to_lose = 1
    assert log.append(notes(0, 20)) == list(range(1, 21))
    assert all_numbers(log) == list(range(20))
    assert len(store.packs) == 1


def test_absence_proves_nothing_so_the_same_pack_is_offered_again_for_the_same_place(
    replica: Replica,
) -> None:
    store = Doubtful()
    log = replica(store)
    store.acks_to_lose, store.absences = 1, 3
    assert log.append(notes(0, 20)) == list(range(1, 21))
    assert len(store.offered) == 1 + 3
    assert set(store.offered) == {store.packs[0]}
    assert len(store.packs) == 1


def test_an_append_that_never_arrived_is_offered_until_it_does(replica: Replica) -> None:
    store = Doubtful()
    log = replica(store)
    store.offers_to_lose = 3
    assert log.append(notes(0, 2)) == [1, 2]
    assert len(store.packs) == 1


def test_another_pack_at_the_place_proves_that_mine_did_not_land(replica: Replica) -> None:
    store = Doubtful()
    first, second = replica(store, "a"), replica(store, "b")
    first.append(notes(0, 2))
    assert second.append(notes(2, 3)) == [3, 4, 5]
    assert first.append([*notes(5, 1), *notes(2, 3)]) == [6, 3, 4, 5]
    assert all_numbers(first) == [0, 1, 2, 3, 4, 5]
    assert second.refresh() == 6
    assert second.chain_at(6) == first.chain_at(6)


def test_an_append_that_stays_in_doubt_says_so_and_the_same_call_settles_it(replica: Replica) -> None:
    store = Doubtful()
    log = replica(store, patience_s=0.1)
    store.acks_to_lose, store.absences = 1, 10**6
    with pytest.raises(LogFailed, match="not known whether it landed"):
        log.append(notes(0, 3))
    store.absences = 0
    assert log.append(notes(0, 3)) == [1, 2, 3]
    assert len(store.packs) == 1


# --- several replicas ----------------------------------------------------------------------------


def test_replicas_that_write_at_once_end_in_one_log(
    connect: Callable[[], PackStore], replica: Replica
) -> None:
    logs = [replica(connect(), name) for name in "abc"]

    def write(log: PackLog, first: int) -> None:
        for number in range(first, first + 12, 2):
            log.append(notes(number, 2))

    threads = [
        threading.Thread(target=write, args=(log, first))
        for log, first in zip(logs, (0, 0, 100), strict=True)  # two of them tell the same events
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for log in logs:
        log._asked = -1e9
        assert log.refresh() == 12 + 12
        assert sorted(all_numbers(log)) == [*range(12), *range(100, 112)]
        assert log.verify_chain() == []
    assert len({log.chain_at(24) for log in logs}) == 1


def test_a_replica_says_how_far_it_is_behind(replica: Replica) -> None:
    store = MemoryPackStore()
    writer, reader = replica(store, "a"), replica(store, "b")
    writer.append(notes(0, 3))
    assert (reader.head, reader.status().behind) == (0, 3)
    assert reader.refresh() == 3
    assert reader.status().behind == 0


def test_what_is_read_in_exclusion_still_holds_or_the_append_is_refused(replica: Replica) -> None:
    store = MemoryPackStore()
    first, second = replica(store, "a"), replica(store, "b")
    with first.exclusive():
        assert first.append(notes(0, 1)) == [1]
        second.append(notes(1, 1))
        with pytest.raises(HeadMoved) as caught:
            first.append(notes(2, 1))
        assert (caught.value.expected, caught.value.actual) == (1, 2)
    assert all_numbers(first) == [0, 1]


def test_after_a_refusal_the_others_wait_until_the_exclusion_is_over(replica: Replica) -> None:
    store = MemoryPackStore()
    first, second = replica(store, "a"), replica(store, "b")
    with first.exclusive():
        second.append(notes(0, 1))
        with pytest.raises(HeadMoved):
            first.append(notes(1, 1))
    with first.exclusive():
        waiting = threading.Thread(target=second.append, args=(notes(2, 1),))
        waiting.start()
        assert first.append(notes(1, 1)) == [2]
        assert first.append(notes(3, 1)) == [3]
    waiting.join()
    first.refresh()
    assert all_numbers(first) == [0, 1, 3, 2]


def test_a_holder_that_died_is_waited_for_no_longer_than_a_while(
    replica: Replica, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pack_log, "CLAIM_S", 0.2)
    store = MemoryPackStore()
    first, second = replica(store, "a"), replica(store, "b")
    first._write_empty_pack(first._me)
    assert second.append(notes(0, 1)) == [1]
    assert len(store.packs) == 2


# --- reading what others wrote -------------------------------------------------------------------


class Gappy(MemoryPackStore):
    """One server of several has lost a pack, or has other bytes there."""

    def __init__(self) -> None:
        super().__init__()
        self.bad: dict[int, bytes | None] = {}

    def get(self, position: int) -> bytes | None:
        return self.bad[position] if position in self.bad else super().get(position)

    def others(self, position: int) -> Iterator[bytes]:
        yield from (b"also broken", self.packs[position - 1])


@pytest.mark.parametrize("damage", ["missing", "cut", "flipped"])
def test_a_pack_that_one_server_lost_or_damaged_is_read_from_another_and_reported(
    replica: Replica, damage: str
) -> None:
    store = Gappy()
    writer = replica(store, "a")
    for number in range(3):
        writer.append(notes(number, 1))
    whole = store.packs[1]
    flipped = whole[:200] + bytes((whole[200] ^ 1,)) + whole[201:]
    store.bad[2] = {"missing": None, "cut": whole[:-9], "flipped": flipped}[damage]
    reader = replica(store, "b")
    assert all_numbers(reader) == [0, 1, 2]
    assert reader.verify_chain() == []
    assert any("pack 2" in trouble for trouble in reader.status().troubles)
    assert any("pack 2" in warning for warning in reader.warnings)


def test_a_pack_that_no_server_has_is_damage(replica: Replica) -> None:
    store = MemoryPackStore()
    writer = replica(store, "a")
    for number in range(3):
        writer.append(notes(number, 1))
    store.packs[1] = b"gone"
    with pytest.raises(LogDamaged, match="pack 2"):
        replica(store, "b", patience_s=0.1)


@pytest.mark.parametrize("engine", ["memory", "directory"])
def test_a_log_that_was_cut_behind_a_replicas_back_is_refused_with_both_positions(
    replica: Replica, tmp_path: Path, engine: str
) -> None:
    store: PackStore = MemoryPackStore()
    if engine == "directory":
        from recollect.events.packs.object_store import ObjectPackStore

        store = ObjectPackStore(f"file://{tmp_path}/shared")
    log = replica(store, patience_s=0.1)
    for number in range(3):
        log.append(notes(2 * number, 2))
    if isinstance(store, MemoryPackStore):
        del store.packs[1:]
    else:
        for position in (2, 3):
            (tmp_path / "shared" / "log" / f"{position:020d}").unlink()
    for refused in (log.refresh, lambda: log.append(notes(9, 1)), lambda: replica(store, patience_s=0.1)):
        log._asked = -1e9
        with pytest.raises(Contradicted, match=r"pack 3 \(@6\).* ends at pack 1"):
            refused()
    assert all_numbers(log) == [0, 1, 2, 3, 4, 5]


def test_a_log_that_was_rewritten_behind_a_replicas_back_is_refused(replica: Replica) -> None:
    store = MemoryPackStore()
    log = replica(store, patience_s=0.1)
    log.append(notes(0, 2))
    store.packs.clear()
    other = replica(store, "b")
    other.append(notes(10, 1))
    other.append(notes(11, 5))
    log._asked = -1e9
    with pytest.raises(Contradicted, match=r"pack 1 \(@2\)"):
        log.refresh()
    with pytest.raises(Contradicted, match="another pack there"):
        replica(store, "a", patience_s=0.1)


def test_an_old_pack_that_stands_at_a_later_position_is_refused_however_often_it_is_seen(
    replica: Replica,
) -> None:
    store = MemoryPackStore()
    log = replica(store, patience_s=0.1)
    for number in range(4):
        log.append(notes(number, 1))
    store.packs[3] = store.packs[0]
    for _ in range(2):
        with pytest.raises(Contradicted, match=r"another pack there, with @1 to @1 \(pack 4\)"):
            replica(store, "b", patience_s=0.1)
    assert len(store.packs) == 4


class Away(MemoryPackStore):
    """An engine that can be out of reach."""

    away = False

    def last(self, known: int) -> int:
        return super().last(known) if not self.away else self._fail()

    def get(self, position: int) -> bytes | None:
        return super().get(position) if not self.away else self._fail()

    def put_box(self, name: str, content: bytes, version: int) -> int:
        return super().put_box(name, content, version) if not self.away else self._fail()

    def _fail(self) -> int:
        raise StoreUnreachable("memory: did not answer")


def test_an_engine_that_is_away_leaves_the_mirror_readable_and_nothing_written(replica: Replica) -> None:
    store = Away()
    log = replica(store)
    log.append(notes(0, 3))
    log.close()
    store.away = True
    log = replica(store, patience_s=0.2)
    assert all_numbers(log) == [0, 1, 2]
    assert any("cannot be followed" in trouble for trouble in log.status().troubles)
    with pytest.raises(StoreUnreachable):
        log.append(notes(3, 1))
    with pytest.raises(StoreUnreachable):
        replica(store, "new", patience_s=0.2)
    store.away = False
    assert log.append(notes(3, 1)) == [4]
    assert log.status().troubles == ()


def test_an_append_waits_while_a_leader_is_chosen_and_an_unsafe_one_does_not(replica: Replica) -> None:
    store = Away()
    log = replica(store, patience_s=30)
    log.append(notes(0, 1))
    store.away = True
    with pytest.raises(StoreUnreachable):
        log.append(notes(1, 1), durability="unsafe")
    back = threading.Timer(0.2, setattr, (store, "away", False))
    back.start()
    assert log.append(notes(2, 1)) == [2]
    back.join()


# --- the mirror ----------------------------------------------------------------------------------


@pytest.mark.parametrize("lost", ["packs", "cache/keys", "packs and keys", "half of the packs"])
def test_files_beside_the_mirror_are_made_again(
    connect: Callable[[], PackStore], replica: Replica, tmp_path: Path, lost: str
) -> None:
    log = replica(connect())
    for number in range(5):
        log.append(notes(number, 1))
    log.erase([2])
    log.close()
    if "packs" in lost:
        index = tmp_path / "a" / "packs"
        index.write_bytes(index.read_bytes()[: 80 if "half" in lost else 0])
    if "keys" in lost:
        (tmp_path / "a" / "cache" / "keys").unlink()
    log = replica(connect())
    assert log.position == 5
    assert [type(recorded.fact) for recorded in log.read()] == [
        Ingested,
        Redacted,
        Ingested,
        Ingested,
        Ingested,
    ]
    assert log.append(notes(5, 1)) == [6]
    assert log.verify_chain() == []


def test_two_logs_of_one_machine_share_a_mirror(replica: Replica) -> None:
    store = MemoryPackStore()
    first, second = replica(store), replica(store)
    first.append(notes(0, 2))
    assert second.refresh() == 2
    second.append(notes(2, 2))
    first.append(notes(4, 1))
    assert second.refresh() == 5
    assert (all_numbers(first), all_numbers(second)) == ([0, 1, 2, 3, 4], [0, 1, 2, 3, 4])
    assert first.position == second.position == 3


def test_a_mirror_torn_by_a_crash_is_completed_and_notes_nothing_of_its_own(
    replica: Replica, tmp_path: Path
) -> None:
    store = MemoryPackStore()
    log = replica(store)
    log.append(notes(0, 2))
    log.append(notes(2, 3))
    log.close()
    (segment,) = (tmp_path / "a" / "log").glob("*.seg")
    segment.write_bytes(segment.read_bytes()[:-70])
    (tmp_path / "a" / "log" / "head").unlink()
    log = replica(store)
    assert all_numbers(log) == [0, 1, 2, 3, 4]
    assert (log.head, log.position) == (5, 2)


# --- large packs ---------------------------------------------------------------------------------


def test_a_pack_too_large_for_the_engine_is_stored_as_a_blob_that_a_pack_names(
    connect: Callable[[], PackStore], replica: Replica
) -> None:
    store = connect()
    log = replica(store)
    log.append(notes(0, 1))
    store.pack_bytes_max = 3_000
    big = [draft(Ingested(id="big", content="x" * 20_000, at=1), event_id=event_id(10**6))]
    assert log.append([*notes(1, 30), *big]) == list(range(2, 33))
    assert log.append(notes(50, 1)) == [33]
    other = replica(connect(), "b")
    assert (other.head, other.chain_at(33)) == (33, log.chain_at(33))
    assert other.get(32).fact == big[0].fact
    assert other.verify_chain() == []


@pytest.mark.parametrize(("blob", "says"), [(None, "is missing"), (b"other bytes", "holds other bytes")])
def test_a_blob_that_is_gone_or_wrong_is_damage_of_its_pack(
    replica: Replica, blob: bytes | None, says: str
) -> None:
    store = MemoryPackStore()
    log = replica(store)
    store.pack_bytes_max = 500
    log.append(notes(0, 30))
    (digest,) = store.blobs
    if blob is None:
        del store.blobs[digest]
    else:
        store.blobs[digest] = blob
    with pytest.raises(LogDamaged, match=f"{digest}.*{says}"):
        replica(store, "b", patience_s=0.1)


# --- keys ----------------------------------------------------------------------------------------


def test_a_box_whose_pack_lost_is_deleted_and_one_whose_writer_died_opens_nothing(replica: Replica) -> None:
    store = MemoryPackStore()
    first, second = replica(store, "a"), replica(store, "b")
    first.append(notes(0, 1))
    second.append(notes(1, 1))
    first.append(notes(2, 1))
    assert len(store.boxes) == len(store.packs) == 3
    store.put_box("ff" * 16, b"keys of a writer that died", 0)
    assert all_numbers(replica(store, "c")) == [0, 1, 2]


def test_a_pack_without_its_box_is_damage_until_the_box_is_there(replica: Replica) -> None:
    store = MemoryPackStore()
    log = replica(store)
    log.append(notes(0, 1))
    log.append(notes(1, 2))
    name = log._index.place(2).box
    box = store.boxes.pop(name)
    other = replica(store, "b", patience_s=0.1)
    assert (other.head, other.chain_at(3)) == (3, log.chain_at(3))
    with pytest.raises(LogDamaged, match="its key is gone"):
        list(other.read())
    assert [finding.seq for finding in other.verify_chain()] == [2, 3]
    store.boxes[name] = Box(1, b"not keys")
    with pytest.raises(LogDamaged, match="cannot be read"):
        other.get(2)
    store.boxes[name] = box
    assert all_numbers(other) == [0, 1, 2]


def test_two_erasures_of_one_pack_at_once_both_last(replica: Replica) -> None:
    class Meanwhile(MemoryPackStore):
        other: PackLog | None = None

        def put_box(self, name: str, content: bytes, version: int) -> int:
            other, self.other = self.other, None
            if other is not None:
                other.erase([2])
            return super().put_box(name, content, version)

    store = Meanwhile()
    first = replica(store, "a")
    first.append(notes(0, 3))
    second = replica(store, "b")
    store.other = second
    first.erase([1])
    assert [type(recorded.fact) for recorded in replica(store, "c").read()] == [Redacted, Redacted, Ingested]


def test_a_key_that_a_restored_backup_brings_back_is_seen_and_destroyed_again(
    connect: Callable[[], PackStore], replica: Replica
) -> None:
    store = connect()
    log = replica(store)
    log.append(notes(0, 3))
    log.append(notes(3, 1))
    box = log._index.place(1).box
    before = store.get_box(box)
    log.erase([2, 4])
    assert log.keys_left([2, 4]) == []
    store.put_box(box, before.content, store.get_box(box).version)
    assert log.keys_left([2, 4]) == [2]
    log.erase([2])
    assert log.keys_left([2, 4]) == []
    assert len(store.get_versions([box])[0]) == 1
    assert [type(recorded.fact) for recorded in replica(connect(), "b").read()] == [
        Ingested, Redacted, Ingested, Redacted,
    ]  # fmt: skip


def test_a_key_in_an_older_version_of_a_box_beside_the_newest_is_seen_and_destroyed(
    replica: Replica, tmp_path: Path
) -> None:
    log = replica(ObjectPackStore(f"file://{tmp_path}/hub"))
    log.append(notes(0, 2))
    (older,) = (tmp_path / "hub" / "box").glob("*/*")
    content = older.read_bytes()
    log.erase([1])
    older.write_bytes(content)
    assert log.keys_left([1]) == [1]
    log.erase([1])
    assert log.keys_left([1]) == []
    assert not older.exists()


def test_whether_keys_are_left_is_not_said_while_the_engine_is_away(replica: Replica) -> None:
    store = Away()
    log = replica(store, patience_s=0.05)
    log.append(notes(0, 1))
    log.erase([1])
    store.away = True
    log.refresh()
    with pytest.raises(StoreUnreachable):
        log.keys_left([1])


def test_nothing_that_was_said_can_be_read_in_any_file_without_its_key(
    connect: Callable[[], PackStore], replica: Replica, tmp_path: Path
) -> None:
    secret = "the combination is 31-07-94"
    log = replica(connect())
    log.append([note(0), draft(Ingested(id="s", content=secret, at=1), event_id=event_id(99)), note(1)])
    reader = replica(connect(), "b")
    key = reader._keys.get(2)
    assert key
    for path in tmp_path.rglob("*"):
        assert path.is_dir() or secret.encode() not in path.read_bytes(), path
    log.erase([2])
    reader.erase([2])
    for path in tmp_path.rglob("*"):
        assert path.is_dir() or key[:32] not in path.read_bytes(), path
    assert isinstance(replica(connect(), "c").get(2).fact, Redacted)


# --- moving --------------------------------------------------------------------------------------


def test_a_log_moves_between_a_directory_memory_and_packs_with_the_same_chain(
    connect: Callable[[], PackStore], replica: Replica, tmp_path: Path
) -> None:
    with SegmentLog.open(tmp_path / "local", clock=StepClock()) as local:
        for number in range(4):
            local.append(notes(number * 3, 3))
        local.erase([5])
        packs = replica(connect())
        packs.append_frames(list(local.frames(0, 6)))
        packs.append_frames(list(local.frames(6, 12)))
        back = MemoryLog(StepClock())
        back.append_frames(list(packs.frames(0, 12)))
        assert [log.chain_at(12) for log in (packs, back)] == [local.chain_at(12)] * 2
        assert list(back.read()) == list(packs.read()) == list(local.read())
        assert back.verify_chain() == packs.verify_chain() == []
        with pytest.raises(HeadMoved):
            packs.append_frames(list(local.frames(6, 12)))
