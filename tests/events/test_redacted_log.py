"""A log reads as if what was erased had never held words: at once, for every reader, also after a second erasure."""

from __future__ import annotations

import pytest
from msgspec import UNSET

from recollect.events.envelope import draft, encode
from recollect.events.facts import (
    AnyFact,
    Cluster,
    Clustered,
    Erased,
    Forgotten,
    Ingested,
    Linked,
    Redacted,
    RedactedPayload,
    Reembedded,
    Revised,
    Superseded,
)
from recollect.events.memory_log import MemoryLog
from recollect.events.redacted_log import RedactedLog
from recollect.events.redaction import stripped, without

TEA = Ingested(
    id="tea", content="green", at=5, vector=b"ab", embedder="x", tags=("t",), importance=0.7, session="s"
)
BARE_TEA = Ingested(id="tea", content="", at=5, kind="erased", importance=0.7)
SHARED = Reembedded(embedder="x", vectors=(("tea", b"ab"), ("cup", b"cd")))


def nothing(_: Cluster) -> bytes:
    return b""


def log_of(*facts: AnyFact) -> RedactedLog:
    log = MemoryLog(clock=lambda: 1)
    for fact in facts:
        log.append([draft(fact)])
    return RedactedLog(log)


def erasing(id_: str, *left: tuple[int, AnyFact]) -> Erased:
    remains = tuple(RedactedPayload(seq=seq, payload=encode(fact)) for seq, fact in left)
    return Erased(id=id_, seqs=tuple(seq for seq, _ in left), remains=remains)


@pytest.mark.parametrize("overwritten", [False, True])
def test_an_erased_version_reads_as_redacted_with_its_remains_before_and_after_it_is_overwritten(
    overwritten: bool,
):
    log = log_of(TEA, Ingested(id="cup", content="blue", at=6), erasing("tea", (1, BARE_TEA)))
    assert log.learn() == [3]
    if overwritten:
        log.erase([1])
    assert log.overwritten(1) is overwritten
    expected = Redacted(type="memory.ingested", erased_at=3, remains=BARE_TEA)
    assert [event.fact for event in log.read()][:1] == [log.get(1).fact] == [expected]
    assert log.get(1).payload == b""
    assert log.get(2).fact.content == "blue"
    assert log.learn() == []


def test_what_is_known_already_is_read_when_it_is_needed():
    known = log_of(TEA, erasing("tea", (1, BARE_TEA)))
    known.erase([1])
    log = RedactedLog(known.base)
    log.resume([2], 2)
    assert log.learn() == []
    assert log.get(1).fact == Redacted(type="memory.ingested", erased_at=2, remains=BARE_TEA)


def test_a_second_erasure_takes_its_vector_out_of_the_remains_of_the_first():
    first = erasing("tea", (1, stripped(SHARED, {"tea"}, nothing)))
    log = log_of(SHARED, first)
    log.learn()
    assert log.get(1).fact.vectors == (("tea", b""), ("cup", b"cd"))
    again = stripped(log.get(1).fact, {"cup"}, nothing)
    log.append([draft(erasing("cup", (1, again), (2, without(first, {1}))))])
    assert log.learn() == [3]
    log.erase([1, 2])
    for seen in (log, RedactedLog(log.base)):
        seen.learn()
        assert seen.get(1).fact.vectors == (("tea", b""), ("cup", b""))
        assert seen.get(2).fact == Erased(id="tea", seqs=(1,))
    assert not any(b"cd" in event.payload for event in log.base.read(0, 2))


def test_an_erased_event_without_remains_names_nothing_to_overwrite():
    log = log_of(TEA, Erased(id="tea", seqs=(1,)))
    assert log.learn() == [2]
    assert log.remains_of(2) == ()
    assert log.get(1).fact == TEA


def test_words_and_vectors_go_ids_and_numbers_stay():
    assert stripped(TEA, {"tea"}, nothing) == BARE_TEA
    revised = Revised(id="tea", at=7, content="black", tags=("u",), importance=0.2, project=None)
    left = stripped(revised, {"tea"}, nothing)
    assert left == Revised(id="tea", at=7, content="", tags=(), importance=0.2, project=None)
    assert left.vector is UNSET
    assert stripped(Forgotten(id="tea", reason="why"), {"tea"}, nothing) == Forgotten(id="tea")
    assert stripped(Superseded(old="cup", new="tea", reason="why"), {"tea"}, nothing) == Superseded(
        old="cup", new="tea"
    )
    assert stripped(Erased(id="tea", seqs=(1,), reason="why"), {"tea"}, nothing) == Erased(
        id="tea", seqs=(1,)
    )


def test_events_without_words_of_the_memories_are_left_alone():
    clusters = (Cluster(name="c", centroid=b"ef", members=("cup",)),)
    for fact in (
        Linked(a="tea", b="cup", kind="x"),
        Forgotten(id="tea"),
        Clustered(method="m", clusters=clusters),
        Reembedded(embedder="x", vectors=(("cup", b"cd"),)),
        Ingested(id="cup", content="blue", at=6),
    ):
        assert stripped(fact, {"tea"}, nothing) is None


def test_the_centre_of_a_cluster_becomes_that_of_the_members_who_stay():
    asked: list[tuple[str, ...]] = []

    def recentre(cluster: Cluster) -> bytes:
        asked.append(cluster.members)
        return b"new!"

    one = Cluster(name="one", centroid=b"with", members=("tea", "cup"))
    two = Cluster(name="two", centroid=b"else", members=("pot",))
    left = stripped(Clustered(method="m", clusters=(one, two)), {"tea"}, recentre)
    assert asked == [("cup",)]
    assert [(cluster.centroid, cluster.members) for cluster in left.clusters] == [
        (b"new!", ("tea", "cup")),
        (b"else", ("pot",)),
    ]
