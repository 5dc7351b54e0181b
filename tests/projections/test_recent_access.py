"""touches: memories by their last birth or access, read backwards from any seq."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import log_of, logs

from recollect.events.envelope import Recorded
from recollect.events.facts import Accessed, Ingested
from recollect.projections.documents import Documents
from recollect.projections.lifecycle.lifecycle import Lifecycle
from recollect.projections.lifecycle.recent_access import RecentAccess

BORN = [Ingested(id=id_, content="x", at=0) for id_ in ("a", "b", "c", "d")]


def folded(log: list[Recorded]) -> tuple[Documents, Lifecycle]:
    documents = Documents()
    lifecycle = Lifecycle(documents)
    for recorded in log:
        documents.apply(recorded)
        lifecycle.apply(recorded)
    return documents, lifecycle


def listed(documents: Documents, touches: RecentAccess) -> list[tuple[str, int]]:
    ids = [documents.ids.values[memory] for memory in touches.memories.tolist()]
    return list(zip(ids, touches.seqs.tolist(), strict=True))


def plainly(log: list[Recorded], seq: int) -> dict[str, int]:
    """The last touch of every memory, by going through the log."""
    last: dict[str, int] = {}
    for recorded in log[:seq]:
        match recorded.fact:
            case Ingested(id=id_):
                last.setdefault(id_, recorded.seq)
            case Accessed(ids=ids):
                last.update((id_, recorded.seq) for id_ in ids if id_ in last)
            case _:
                pass
    return last


def test_the_latest_touch_of_each_memory_comes_first():
    log = log_of(*BORN, Accessed(ids=("b",), at=0), Accessed(ids=("a", "b"), at=0))
    documents, lifecycle = folded(log)
    assert listed(documents, lifecycle.recent_access(6, 100)) == [("a", 6), ("b", 6), ("d", 4), ("c", 3)]
    assert listed(documents, lifecycle.recent_access(5, 100)) == [("b", 5), ("d", 4), ("c", 3), ("a", 1)]
    assert listed(documents, lifecycle.recent_access(0, 100)) == []


def test_a_new_version_is_no_touch():
    documents, lifecycle = folded(log_of(*BORN[:2], BORN[0]))
    assert listed(documents, lifecycle.recent_access(3, 100)) == [("b", 2), ("a", 1)]


def test_few_records_give_the_beginning_of_the_list_and_say_that_there_is_more():
    documents, lifecycle = folded(log_of(*BORN, Accessed(ids=("b",), at=0)))
    some = lifecycle.recent_access(5, 2)
    assert listed(documents, some) == [("b", 5), ("d", 4), ("c", 3)]
    assert not some.complete


@settings(max_examples=80)
@given(log=logs(max_size=40), records=st.integers(1, 20), data=st.data())
def test_with_few_records_read_the_list_is_a_prefix_of_the_whole_list(
    log: list[Recorded], records: int, data
):
    seq = data.draw(st.integers(0, len(log)))
    documents, lifecycle = folded(log)
    touches = lifecycle.recent_access(seq, records)
    found, expected = listed(documents, touches), plainly(log, seq)
    assert [touch for _, touch in found] == sorted(expected.values(), reverse=True)[: len(found)]
    assert all(expected[id_] == touch for id_, touch in found)
    assert len(dict(found)) == len(found)
    if touches.complete:
        assert dict(found) == expected
