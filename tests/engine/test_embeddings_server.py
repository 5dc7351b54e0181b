"""An embeddings server over real HTTP: slow, wrong, gone in the middle of a batch, and back."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from model_servers import GONE, ModelServer, says, vectors

from recollect.engine.embedding.choice import choose
from recollect.engine.embedding.embedder import EmbedderAway, EmbedderFailed, HashEmbedder
from recollect.engine.embedding.embeddings_server import EmbeddingsServer
from recollect.events.errors import InvalidInput
from recollect.interfaces.cli.app import main
from recollect.interfaces.python.memory import Memory

SECRET = "sk-never-to-be-seen-1234567890"


@pytest.fixture
def server() -> Iterator[ModelServer]:
    one = ModelServer()
    yield one
    one.close()


@pytest.fixture(autouse=True)
def slept(monkeypatch) -> list[float]:
    """How long requests waited for their server, which takes no time here."""
    pauses: list[float] = []
    monkeypatch.setattr("recollect.engine.embedding.model_endpoint.sleep", pauses.append)
    return pauses


# --- asking ----------------------------------------------------------------------------------------


def test_vectors_come_in_the_order_of_the_texts_in_batches(server: ModelServer):
    texts = [f"text {n}" for n in range(7)]
    one = EmbeddingsServer(f"{server.url}&batch=3")
    assert one.embed(texts).tobytes() == HashEmbedder().embed(texts).tobytes()
    assert [len(asked["input"]) for asked in server.asked] == [3, 3, 1]  # type: ignore[arg-type]
    assert {asked["path"] for asked in server.asked} == {"/v1/embeddings"}
    assert {asked["model"] for asked in server.asked} == {"tiny"}
    assert one.dimensions == 256
    assert one.embed([]).shape == (0, 256)


def test_the_name_has_what_decides_vectors_and_nothing_else(server: ModelServer):
    where = f"http://127.0.0.1:{server.port}/v1"
    assert (
        EmbeddingsServer(f"{where}/?batch=9&timeout=3&model=a/b&dim=64").name == f"{where}?model=a/b&dim=64"
    )


@pytest.mark.parametrize("status", [429, 500, 503, GONE])
def test_what_fails_for_now_is_tried_again_with_growing_pauses(
    server: ModelServer, slept: list[float], status: int
):
    server.replies = [says(status), says(status)]
    assert EmbeddingsServer(server.url).embed(["a"]).tobytes() == HashEmbedder().embed(["a"]).tobytes()
    assert len(slept) == 2
    assert 0.125 <= slept[0] <= 0.375
    assert 0.5 <= slept[1] <= 1.5


def test_a_server_that_is_not_there_is_away_and_a_question_does_not_wait_for_it(
    server: ModelServer, slept: list[float]
):
    one = EmbeddingsServer(server.url)
    server.close()
    with pytest.raises(EmbedderAway, match=r"127\.0\.0\.1.*is away"):
        one.embed_queries(["a"])
    assert slept == []
    assert (one.ready, one.failure) == (False, one.state)
    with pytest.raises(EmbedderAway):
        one.embed(["a"])
    assert len(slept) == 3


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ({"data": []}, "gave 0 vectors"),
        (
            {"data": [{"index": 0, "embedding": [1, 2]}, {"index": 1, "embedding": [1]}]},
            r"gave 2 vectors of \[1, 2\]",
        ),
        ({"vectors": []}, "gave no embeddings"),
        (b"<html>", "gave no embeddings"),
    ],
)
def test_a_wrong_answer_is_an_error_with_its_reason(server: ModelServer, said: object, problem: str):
    server.replies = [says(200, said)]
    with pytest.raises(EmbedderFailed, match=problem):
        EmbeddingsServer(server.url).embed(["a", "b"])


def test_other_dimensions_than_before_are_an_error(server: ModelServer):
    one = EmbeddingsServer(server.url)
    one.embed(["a"])
    server.replies = [says(200, {"data": [{"index": 0, "embedding": [1.0, 2.0]}]})]
    with pytest.raises(EmbedderFailed, match="2 and 256 dimensions"):
        one.embed(["a"])


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("http://127.0.0.1/v1", "names no server and model"),
        ("http://?model=x", "names no server and model"),
        ("http://user:word@host/v1?model=x", "holds no password"),
        ("http://host/v1?model=x&key=y", "no option 'key'"),
        ("http://host/v1?model=x&dim=0", "dim is '0'"),
        ("http://host/v1?model=x&timeout=soon", "timeout is 'soon'"),
        ("http://host:port/v1?model=x", "is not a URL"),
    ],
)
def test_a_url_that_is_none_is_refused(url: str, problem: str):
    with pytest.raises(InvalidInput, match=problem):
        choose(url)


# --- the key ---------------------------------------------------------------------------------------


def test_the_key_goes_to_a_host_that_the_user_named_and_not_to_one_that_a_log_names(
    server, monkeypatch, tmp_path
):
    monkeypatch.setenv("RECOLLECT_EMBEDDINGS_KEY", SECRET)
    with Memory.open(tmp_path, embedder=server.url) as memory:
        memory.remember("auth sessions live in Postgres")
    assert set(server.keys) == {f"Bearer {SECRET}"}
    server.keys.clear()
    with Memory.open(tmp_path) as memory:
        assert memory.recall("auth").degraded == ()
    assert set(server.keys) == {None}
    monkeypatch.setenv("RECOLLECT_EMBEDDER", server.url)
    server.keys.clear()
    with Memory.open(tmp_path) as memory:
        memory.recall("auth")
    assert set(server.keys) == {f"Bearer {SECRET}"}


def test_a_host_elsewhere_that_only_a_log_names_is_not_asked(tmp_path):
    with pytest.raises(InvalidInput, match="which only its log names"):
        choose("http://192.0.2.1/v1?model=x", from_log=True)


def test_a_server_that_repeats_the_key_does_not_make_it_seen(server, monkeypatch, tmp_path):
    monkeypatch.setenv("RECOLLECT_EMBEDDINGS_KEY", SECRET)
    server.replies = [says(401, f"wrong key {SECRET}")] * 3
    with Memory.open(tmp_path, embedder=server.url) as memory:
        answer = memory.recall("auth sessions")
        assert "401" in answer.degraded[0]
        assert "RECOLLECT_EMBEDDINGS_KEY" in answer.degraded[0]
        assert SECRET not in str(answer) + str(memory.status())
    assert not any(SECRET.encode() in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


def test_a_server_that_is_slow_is_away_for_a_question_and_a_memory_and_says_how_slow(server, tmp_path):
    going = threading.Event()

    def slowly(body: dict[str, object]) -> tuple[int, object]:
        going.wait(60)
        return vectors(body)

    with Memory.open(tmp_path, embedder=server.url) as memory:
        memory.remember("auth sessions live in Postgres", id="auth")
    server.replies = [slowly] * 9
    with Memory.open(tmp_path, embedder=f"{server.url}&timeout=1") as memory:
        answer = memory.recall("auth sessions")
        assert [hit.id for hit in answer.hits] == ["auth"]
        assert answer.degraded[0].endswith("ranked by words only")
        assert "timed out" in answer.degraded[0] or "took longer than 1 seconds" in answer.degraded[0]
        memory.remember("deploys happen on Tuesdays", id="deploys")
        assert "is away" in memory.missing_vector("deploys")[0]
    going.set()
    server.replies = []
    with Memory.open(tmp_path, embedder=server.url) as memory:
        assert memory.reembed().embedded == 1
        assert memory.verify().exact


# --- a store ---------------------------------------------------------------------------------------


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., Result]:
    def invoke(*line: str) -> Result:
        return CliRunner().invoke(main, [*line, "--store", str(tmp_path)])

    return invoke


def test_while_it_is_away_words_answer_and_memories_are_kept_and_get_vectors_when_it_is_back(
    server, run, tmp_path
):
    assert (
        run("remember", "auth sessions live in Postgres", "--id", "auth", "--embedder", server.url).exit_code
        == 0
    )
    server.replies = [says(401)] * 4
    told = run("remember", "deploys happen on Tuesdays", "--id", "deploys")
    assert told.exit_code == 0
    assert "the text is kept without a vector until `recollect reembed --missing`" in told.stderr
    answer = json.loads(run("recall", "deploys", "--json").stdout)
    assert answer["hits"][0]["id"] == "deploys"
    assert "is away" in answer["degraded"][0]
    assert answer["degraded"][0].endswith("ranked by words only")
    server.replies = []
    assert any(
        "1 memories have no vector" in one for one in json.loads(run("status", "--json").stdout)["degraded"]
    )
    report = json.loads(run("reembed", "--missing", "--json").stdout)
    assert report["embedded"] == 1
    assert json.loads(run("recall", "deploys", "--json").stdout)["degraded"] == []
    assert json.loads(run("status", "--json").stdout)["degraded"] == []
    assert json.loads(run("verify", "--json").stdout)["exact"]
    with Memory.open(tmp_path, embedder=None) as memory:
        assert sorted(memo.id for memo in memory.memories()) == ["auth", "deploys"]


def test_gone_in_the_middle_of_a_batch_nothing_is_lost_and_nothing_is_written_twice(server, tmp_path):
    texts = [f"memory number {n}" for n in range(10)]
    with Memory.open(tmp_path, embedder=f"{server.url}&batch=4") as memory:
        memory.remember("the first")
        server.replies = [vectors, *[says(403)] * 2]
        ids = memory.remember_many(texts)
        assert [memory.get(id_).content for id_ in ids] == texts
        assert memory.status().without_vector == 10
        server.replies = [vectors, says(403)]
        with pytest.raises(EmbedderAway):
            memory.reembed()
        server.replies = []
        assert memory.reembed().embedded == memory.status().memories - 1
        assert memory.status().without_vector == 0
        assert len(memory.memories()) == 11
        assert memory.verify().exact


def test_a_first_memory_is_kept_while_the_server_is_away(server, tmp_path):
    server.replies = [says(401)] * 4
    with Memory.open(tmp_path, embedder=server.url) as memory:
        memory.remember("auth sessions live in Postgres")
        assert memory.recall("auth").hits
        server.replies = []
        memory.remember("deploys happen on Tuesdays")
        assert memory.reembed().embedded == 1
        assert memory.recall("auth").degraded == ()


def test_a_server_that_leaves_between_the_first_vector_and_its_adoption_loses_nothing(server, tmp_path):
    with Memory.open(tmp_path, embedder=server.url) as memory:
        server.replies = [vectors, says(401)]
        memory.remember("auth sessions live in Postgres", id="auth")
        assert memory.get("auth").content == "auth sessions live in Postgres"
        assert memory.status().embedder.dimensions == 0
        server.replies = []
        assert memory.reembed().embedded == 1
        assert memory.recall("auth").degraded == ()


def test_verify_is_exact_when_the_server_is_gone_for_good(server, tmp_path):
    with Memory.open(tmp_path, embedder=server.url) as memory:
        memory.remember("auth sessions live in Postgres")
        memory.recall("where are sessions?")
    server.close()
    with Memory.open(tmp_path) as memory:
        assert memory.verify().exact
