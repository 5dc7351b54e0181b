"""A rerank server and a chat server over real HTTP: slow, wrong, gone, and what they said is never asked for again."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path

import pytest
from model_servers import GONE, ModelServer, says
from store_fixtures import Ticking

from recollect.engine.chat import ChatFailed, ChatServer
from recollect.engine.embedding.model_endpoint import ServerAway
from recollect.engine.embedding.rerank_server import RerankerFailed, RerankServer
from recollect.events.facts import Ingested, Recalled
from recollect.interfaces.python.memory import Memory

TEXTS = ("river bank of stone", "river bank of sand", "river bank of clays")
BILLING = (
    "the billing service deploys on tuesday from the main branch",
    "payments own a program in rust that sends invoices",
    "its state is kept in postgres in frankfurt",
)
HOUR_US = 3_600_000_000
QUESTION = "explain river bank"


@pytest.fixture
def server() -> Iterator[ModelServer]:
    one = ModelServer()
    yield one
    one.close()


@pytest.fixture
def chatty(server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> ModelServer:
    monkeypatch.setenv("RECOLLECT_CHAT_URL", server.root)
    monkeypatch.setenv("RECOLLECT_CHAT_MODEL", "small")
    return server


def filled(memory: Memory) -> Memory:
    memory.remember_many([{"content": text, "id": f"m{n}"} for n, text in enumerate(TEXTS)])
    return memory


def recalled(memory: Memory, recall: str | None) -> Recalled:
    assert recall is not None
    fact = memory.store.event(int(recall[1:])).fact
    assert isinstance(fact, Recalled)
    return fact


# --- /v1/rerank ------------------------------------------------------------------------------------


def test_scores_of_a_server_rank_and_are_recorded_with_the_model_and_the_digest_of_what_it_was_asked(
    server, tmp_path
):
    with filled(Memory.open(tmp_path, embedder="hash", reranker=server.url, formula="omega")) as memory:
        answer = memory.recall(QUESTION)
        assert answer.degraded == ()
        (asked,) = server.asked_at("rerank")
        assert (asked["model"], asked["query"]) == ("tiny", QUESTION)
        effect = recalled(memory, answer.id).question.effects.reranked
        assert effect is not None
        assert effect.model == server.url
        texts = {f"m{n}": text for n, text in enumerate(TEXTS)}
        assert effect.scores == {id_: float(len(texts[id_])) for id_ in effect.scores}
        ids = [next(id_ for id_, text in texts.items() if text == one) for one in asked["documents"]]
        assert (
            effect.prompt
            == sha256(json.dumps({"query": QUESTION, "ids": ids}, separators=(",", ":")).encode()).hexdigest()
        )
    server.close()
    with Memory.open(tmp_path, embedder=None) as memory:
        assert memory.verify().exact


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        (says(500, "overloaded"), "500"),
        (says(GONE), "ended in the middle"),
        (says(200, {"results": []}), r"gave 0 scores for \d texts"),
        (says(200, {"results": [{"index": 9, "score": 1}]}), "gave 1 scores"),
        (says(200, b"<html>"), "gave no scores"),
    ],
)
def test_a_rerank_server_that_fails_degrades_the_answer_and_prevents_none(server, tmp_path, reply, problem):
    with filled(Memory.open(tmp_path, embedder="hash", reranker=server.url, formula="omega")) as memory:
        server.replies = [reply]
        answer = memory.recall(QUESTION)
        assert answer.hits
        (note,) = answer.degraded
        assert note.startswith(f"rerank: {server.url} failed")
        assert note.endswith("ranked without it")
        server.replies = [reply]
        with pytest.raises((RerankerFailed, ServerAway), match=problem):
            RerankServer(server.url).score(QUESTION, TEXTS)
        assert memory.verify().exact


def test_a_server_that_answers_piece_by_piece_is_given_up_at_its_timeout(server):
    going = threading.Event()

    def drip(_: object) -> tuple[int, object]:
        going.wait(30)
        return 200, {"results": []}

    server.replies = [drip]
    with pytest.raises(ServerAway, match="is away"):
        RerankServer(f"{server.url}&timeout=1").score(QUESTION, TEXTS)
    going.set()


def test_the_form_of_text_embeddings_inference_is_understood(server):
    server.replies = [says(200, [{"index": 1, "score": 0.5}, {"index": 0, "score": 0.25}])]
    assert RerankServer(server.url).score("x", ["a", "b"]) == [0.25, 0.5]
    assert server.asked[0]["texts"] == ["a", "b"]


# --- /v1/chat/completions: rewritings --------------------------------------------------------------


def test_rewritings_of_the_chat_server_are_searched_with_and_recorded_with_model_and_prompt(chatty, tmp_path):
    chatty.chat = lambda _: "<think>hm</think>\n1. shore of a stream\n- sandy ground\n"
    with filled(Memory.open(tmp_path, embedder="hash", formula="omega")) as memory:
        answer = memory.recall(QUESTION)
        assert answer.degraded == ()
        effects = recalled(memory, answer.id).question.effects
        assert effects.expansions is not None
        assert [one.text for one in effects.expansions] == ["shore of a stream", "sandy ground"]
        assert effects.expanded_by is not None
        assert effects.expanded_by.model == f"{chatty.root}?model=small"
        (asked,) = chatty.asked_at("chat/completions")
        assert asked["messages"][-1]["content"] == QUESTION
        messages = json.dumps(asked["messages"], separators=(",", ":")).encode()
        assert effects.expanded_by.prompt == sha256(messages).hexdigest()
        chatty.asked.clear()
        assert memory.verify().exact
        assert memory.why(answer.id or "", answer.hits[0].id).rank == 1
    assert chatty.asked == []


@pytest.mark.parametrize(
    "reply", [says(500), says(GONE), says(200, {"choices": []}), says(200, b"?"), says(401)]
)
def test_a_chat_server_that_fails_degrades_the_answer_and_prevents_none(chatty, tmp_path, reply):
    with filled(Memory.open(tmp_path, embedder="hash", formula="omega")) as memory:
        chatty.replies = [reply]
        answer = memory.recall(QUESTION)
        assert answer.hits
        (note,) = answer.degraded
        assert note.startswith("expansion: the expander failed")
        assert "the chat server" in note
    chatty.replies = [reply]
    with pytest.raises((ServerAway, ChatFailed), match="the chat server"):
        ChatServer(chatty.root, "small")("x")


def test_a_chat_server_without_a_model_is_refused(server, monkeypatch, tmp_path):
    monkeypatch.setenv("RECOLLECT_CHAT_URL", server.root)
    with pytest.raises(Exception, match="RECOLLECT_CHAT_MODEL"):
        Memory.open(tmp_path, embedder=None)
    monkeypatch.setenv("RECOLLECT_CHAT_URL", server.url)
    Memory.open(tmp_path, embedder=None).close()


# --- /v1/chat/completions: summaries ---------------------------------------------------------------


@pytest.fixture
def sleepy(open_memory: Callable[..., Memory], clock: Ticking, chatty: ModelServer) -> Memory:
    memory = open_memory(embedder="hash")
    for number in range(3):
        memory.remember(BILLING[number], id=f"s{number}", key="billing")
    clock.now += 2 * HOUR_US
    chatty.chat = lambda _: "The billing service has three parts."
    return memory


def summaries(memory: Memory) -> list[Ingested]:
    facts = (one.fact for one in memory.store.log.read(0))
    return [fact for fact in facts if isinstance(fact, Ingested) and fact.kind == "summary"]


def test_a_dream_asks_the_chat_server_for_summaries_and_records_who_said_them(sleepy: Memory, chatty):
    report = sleepy.dream()
    assert report.degraded == ()
    (summary,) = summaries(sleepy)
    assert summary.content == "The billing service has three parts."
    (asked,) = chatty.asked_at("chat/completions")
    assert all(text in asked["messages"][-1]["content"] for text in BILLING)
    assert summary.said_by is not None
    assert summary.said_by.model == f"{chatty.root}?model=small"
    messages = json.dumps(asked["messages"], separators=(",", ":")).encode()
    assert summary.said_by.prompt == sha256(messages).hexdigest()


def test_a_dream_while_the_chat_server_is_away_goes_on_without_summaries_says_so_and_makes_them_later(
    sleepy: Memory, chatty, clock
):
    chatty.replies = [says(403)]
    report = sleepy.dream()
    assert report.committed
    assert len(report.degraded) == 1
    assert "dreamt without new summaries" in report.degraded[0]
    assert summaries(sleepy) == []
    clock.now += 30 * HOUR_US
    assert sleepy.dream().degraded == ()
    assert len(summaries(sleepy)) == 1


def test_an_erased_source_takes_what_the_model_said_of_it_along(sleepy: Memory, chatty):
    sleepy.dream()
    sleepy.erase("s0")
    assert [(one.content, one.said_by) for one in summaries(sleepy)] in ([], [("", None)])


def test_the_events_of_before_have_no_model_and_still_read(tmp_path: Path):
    with filled(Memory.open(tmp_path, embedder=None, formula="omega")) as memory:
        assert recalled(memory, memory.recall(QUESTION).id).question.effects.expanded_by is None
