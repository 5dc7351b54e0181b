"""What any log must do. A test of a log subclasses `LogContract` and gives it a `log` fixture.

`log` is empty when a test gets it and uses the `clock` fixture.
"""

from __future__ import annotations

import threading

import pytest
from log_samples import StepClock, all_numbers, event_id, note, notes

from recollect.events.envelope import draft, new_event_id, type_name
from recollect.events.errors import EventIdReused, HeadMoved, InvalidInput
from recollect.events.facts import Forgotten, Ingested, Redacted, Unknown
from recollect.events.log import Durability, Log
from recollect.events.upcasts import VERSIONS

DURABILITIES: tuple[Durability, ...] = ("durable", "group", "unsafe")


class LogContract:
    @pytest.fixture
    def clock(self) -> StepClock:
        return StepClock()

    # --- order and reading ---

    def test_an_empty_log_has_head_zero_and_no_events(self, log: Log) -> None:
        assert (log.head, log.refresh(), list(log.read())) == (0, 0, [])
        assert (log.time_of(0), log.seq_at(10**15), log.chain_at(0)) == (0, 0, bytes(32))

    def test_seqs_count_from_one_over_all_batches(self, log: Log) -> None:
        assert log.append(notes(0, 3)) == [1, 2, 3]
        assert log.append(notes(3, 2)) == [4, 5]
        assert log.head == 5
        assert all_numbers(log) == [0, 1, 2, 3, 4]

    def test_an_empty_batch_writes_nothing(self, log: Log) -> None:
        assert log.append([]) == []
        assert log.head == 0

    @pytest.mark.parametrize("durability", DURABILITIES)
    def test_an_acknowledged_event_is_readable_in_every_durability(
        self, log: Log, durability: Durability
    ) -> None:
        assert log.append(notes(0, 2), durability=durability) == [1, 2]
        assert all_numbers(log) == [0, 1]

    @pytest.mark.parametrize(
        ("after", "upto", "seqs"),
        [(0, None, [1, 2, 3, 4, 5]), (2, None, [3, 4, 5]), (1, 3, [2, 3]), (0, 99, [1, 2, 3, 4, 5]), (5, None, []), (3, 3, []), (9, 2, [])],
    )  # fmt: skip
    def test_read_gives_the_events_after_one_seq_up_to_another(
        self, log: Log, after: int, upto: int | None, seqs: list[int]
    ) -> None:
        log.append(notes(0, 5))
        assert [recorded.seq for recorded in log.read(after, upto)] == seqs

    def test_read_stops_at_the_head_of_the_moment_it_was_asked(self, log: Log) -> None:
        log.append(notes(0, 2))
        reading = log.read()
        first = next(iter(reading))
        log.append(notes(2, 1))
        assert [first.seq, *(recorded.seq for recorded in reading)] == [1, 2]

    def test_an_event_comes_back_as_it_was_appended(self, log: Log) -> None:
        fact = Ingested(id="m", content="tea ☕", at=5, vector=b"\x01\x00" * 8, tags=("a", "b"))
        event = draft(fact, actor="agent 7 ✓")
        log.append([event])
        recorded = log.get(1)
        assert (recorded.fact, recorded.id, recorded.actor) == (fact, event.id, "agent 7 ✓")
        assert (recorded.seq, recorded.type, recorded.version) == (1, "memory.ingested", 1)

    @pytest.mark.parametrize("seq", [-1, 0, 3])
    def test_getting_an_event_that_is_not_there_is_refused(self, log: Log, seq: int) -> None:
        log.append(notes(0, 2))
        with pytest.raises(InvalidInput, match=f"no event @{seq}"):
            log.get(seq)

    # --- time ---

    def test_recorded_time_never_decreases_when_the_clock_does(self, log: Log, clock: StepClock) -> None:
        log.append(notes(0, 1))
        first = log.time_of(1)
        clock.now -= 500
        log.append(notes(1, 1))
        assert log.time_of(2) == first == log.get(2).at

    def test_seq_at_is_the_last_event_recorded_by_then(self, log: Log, clock: StepClock) -> None:
        for number, now in enumerate((100, 200, 200, 300)):
            clock.now = now - 1
            log.append(notes(number, 1))
        assert [log.seq_at(at) for at in (0, 99, 100, 199, 200, 299, 300, 10**15)] == [0, 0, 1, 1, 3, 3, 4, 4]

    # --- idempotency ---

    @pytest.mark.parametrize("durability", DURABILITIES)
    def test_a_retry_returns_the_first_seqs_and_writes_nothing(
        self, log: Log, durability: Durability
    ) -> None:
        log.append(notes(0, 3))
        assert log.append(notes(0, 3), durability=durability) == [1, 2, 3]
        assert log.head == 3

    def test_a_mixed_batch_writes_only_what_is_new(self, log: Log) -> None:
        log.append(notes(0, 2))
        assert log.append([note(5), note(1), note(6), note(0)]) == [3, 2, 4, 1]
        assert all_numbers(log) == [0, 1, 5, 6]

    @pytest.mark.parametrize(
        "other", [Ingested(id="m0", content="another", at=0), Forgotten(id="m0")], ids=["payload", "type"]
    )
    def test_a_used_id_with_other_content_is_an_error_and_nothing_is_written(
        self, log: Log, other: Ingested | Forgotten
    ) -> None:
        log.append(notes(0, 1))
        with pytest.raises(EventIdReused) as caught:
            log.append([note(1), draft(other, event_id=event_id(1))])
        assert (caught.value.seq, log.head) == (1, 1)

    def test_one_id_twice_in_a_batch_is_refused(self, log: Log) -> None:
        with pytest.raises(InvalidInput, match="twice in one batch"):
            log.append([note(1), note(2), note(1)])
        assert log.head == 0

    def test_an_id_of_another_length_is_refused(self, log: Log) -> None:
        with pytest.raises(InvalidInput, match="has 3 bytes"):
            log.append([draft(note(0).fact, event_id=b"abc")])

    def test_an_actor_too_long_for_a_frame_is_refused(self, log: Log) -> None:
        with pytest.raises(InvalidInput, match="70,000 characters"):
            log.append([draft(note(0).fact, actor="a" * 70_000)])
        assert log.head == 0

    # --- expected head ---

    def test_a_batch_with_the_right_expected_head_is_written(self, log: Log) -> None:
        assert log.append(notes(0, 2), expect=0) == [1, 2]
        assert log.append(notes(2, 1), expect=2) == [3]

    def test_a_batch_with_a_wrong_expected_head_is_not(self, log: Log) -> None:
        log.append(notes(0, 2))
        with pytest.raises(HeadMoved) as caught:
            log.append(notes(2, 1), expect=1)
        assert (caught.value.expected, caught.value.actual, log.head) == (1, 2, 2)

    def test_a_retry_of_a_whole_batch_succeeds_whatever_head_it_expected(self, log: Log) -> None:
        log.append(notes(0, 2), expect=0)
        assert log.append(notes(0, 2), expect=0) == [1, 2]

    def test_a_batch_is_refused_if_the_log_holds_what_it_must_not_hold_since(self, log: Log) -> None:
        log.append([*notes(0, 2), draft(Forgotten(id="m0"))])
        with pytest.raises(HeadMoved) as caught:
            log.append(notes(2, 1), unless=(type_name(Forgotten), 2))
        assert (caught.value.expected, caught.value.actual, log.head) == (2, 3, 3)
        assert log.append(notes(2, 1), unless=(type_name(Forgotten), 3)) == [4]
        assert log.append(notes(3, 1), unless=(type_name(Forgotten), 3), durability="unsafe") == [5]

    def test_threads_that_count_up_with_expected_heads_lose_no_update(self, log: Log) -> None:
        def append_ten() -> None:
            done = 0
            while done < 10:
                try:
                    log.append(
                        [draft(note(0).fact, event_id=new_event_id())],
                        expect=log.refresh(),
                        durability="unsafe",
                    )
                    done += 1
                except HeadMoved:
                    continue

        threads = [threading.Thread(target=append_ten) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert log.head == 4 * 10

    def test_group_appends_of_many_threads_are_all_acknowledged_once(self, log: Log) -> None:
        seqs: list[int] = []

        def append_some(first: int) -> None:
            for number in range(first, first + 5):
                seqs.extend(log.append([note(number)], durability="group"))

        threads = [threading.Thread(target=append_some, args=(n * 5,)) for n in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(seqs) == list(range(1, 6 * 5 + 1))
        assert sorted(all_numbers(log)) == list(range(6 * 5))

    # --- chain, unknown types, erasure ---

    def test_every_event_has_a_chain_value_of_its_own(self, log: Log) -> None:
        log.append(notes(0, 3))
        log.append(notes(3, 1))
        chain = [log.chain_at(seq) for seq in range(5)]
        assert len(set(chain)) == 5
        assert {len(value) for value in chain} == {32}

    def test_an_event_of_an_unknown_type_is_kept_and_counted(
        self, log: Log, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        log.append([note(0), draft(Forgotten(id="m0"), event_id=event_id(77))])
        payload = log.get(2).payload
        monkeypatch.delitem(VERSIONS, "memory.forgotten")
        recorded = log.get(2)
        assert recorded.fact == Unknown(type="memory.forgotten", version=1)
        assert recorded.payload == payload

    def test_an_erased_event_reads_as_redacted_and_the_chain_stays(self, log: Log) -> None:
        log.append(notes(0, 3))
        chain = [log.chain_at(seq) for seq in range(4)]
        log.erase([2])  # type: ignore[attr-defined]
        recorded = log.get(2)
        assert (recorded.fact, recorded.payload) == (Redacted(type="memory.ingested"), b"")
        assert [type(recorded.fact) for recorded in log.read()] == [Ingested, Redacted, Ingested]
        assert [log.chain_at(seq) for seq in range(4)] == chain

    def test_a_retry_of_an_erased_event_does_not_bring_it_back(self, log: Log) -> None:
        log.append(notes(0, 1))
        log.erase([1])  # type: ignore[attr-defined]
        assert log.append(notes(0, 1)) == [1]
        assert isinstance(log.get(1).fact, Redacted)

    def test_erasing_an_event_that_is_not_there_is_refused(self, log: Log) -> None:
        log.append(notes(0, 1))
        with pytest.raises(InvalidInput, match="no event @2"):
            log.erase([1, 2])  # type: ignore[attr-defined]
        assert isinstance(log.get(1).fact, Ingested)

    def test_status_counts_what_is_there(self, log: Log) -> None:
        log.append(notes(0, 3))
        status = log.status()
        assert (status.head, status.damage, status.unknown_types) == (3, None, {})
        assert status.bytes > 0
