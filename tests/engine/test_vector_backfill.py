"""Memories that were told while the embedder was away get their vectors by themselves."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from model_servers import ModelServer, says

from recollect.engine.vector_backfill import LOOK_S, VectorBackfill
from recollect.interfaces.python.memory import Memory


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def server() -> Iterator[ModelServer]:
    one = ModelServer()
    yield one
    one.close()


@pytest.fixture
def clock(monkeypatch) -> Clock:
    one = Clock()
    monkeypatch.setattr("recollect.engine.vector_backfill.monotonic", one)
    return one


def test_what_was_told_meanwhile_gets_its_vector_once_and_no_event_twice(server, clock, tmp_path):
    with Memory.open(tmp_path, embedder=server.url) as memory:
        backfill = VectorBackfill(memory)
        memory.remember("the first")
        assert backfill.look() == 0
        server.replies = [says(401)]
        memory.remember("told meanwhile", id="later")
        assert memory.missing_vector("later")
        assert memory.status().without_vector == 1
        server.asked.clear()
        assert backfill.look() == 0  # it is not time
        clock.now += LOOK_S
        memory.embedder._away = None  # type: ignore[union-attr]  # the moment in which it is avoided has passed
        assert backfill.look() == 1
        assert [one["input"] for one in server.asked_at("embeddings")].count(["told meanwhile"]) == 1
        head = memory.status().head
        clock.now += LOOK_S
        assert backfill.look() == 0
        assert (memory.status().head, memory.status().without_vector) == (head, 0)
        assert memory.missing_vector("later") == []


def test_a_server_that_stays_away_is_asked_less_and_less_often(server, clock, tmp_path):
    with Memory.open(tmp_path, embedder=server.url) as memory:
        backfill = VectorBackfill(memory)
        server.replies = [says(401)] * 100
        memory.remember("told meanwhile")
        asked: list[float] = []
        for second in range(200):
            clock.now, before = float(second), len(server.asked)
            memory.embedder._away = None  # type: ignore[union-attr]
            backfill.look()
            asked += [clock.now] if len(server.asked) > before else []
        assert asked == [0.0, 10.0, 30.0, 70.0, 130.0, 190.0]
        server.replies = []
        clock.now += 60.0
        memory.embedder._away = None  # type: ignore[union-attr]
        assert backfill.look() == 1


def test_a_store_without_an_embedder_is_left_alone(tmp_path):
    with Memory.open(tmp_path, embedder=None) as memory:
        memory.remember("words only")
        head = memory.status().head
        assert VectorBackfill(memory).look() == 0
        assert memory.status().head == head
