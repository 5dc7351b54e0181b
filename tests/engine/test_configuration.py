"""What holds where nothing is said: flag over environment over two files; and no key in anything that is written."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from model_servers import ModelServer, says

from recollect.engine.configuration import configured, user_file
from recollect.events.errors import InvalidInput
from recollect.interfaces.cli.app import main
from recollect.interfaces.python.memory import Memory

SECRET = "sk-never-to-be-seen-1234567890"
Run = Callable[..., Result]


@pytest.fixture(autouse=True)
def own_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("RECOLLECT_NO_DAEMON", "1")


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def run(store: Path) -> Run:
    def invoke(*line: str) -> Result:
        return CliRunner().invoke(main, [*line, "--store", str(store)])

    return invoke


@pytest.fixture
def server() -> Iterator[ModelServer]:
    one = ModelServer()
    yield one
    one.close()


def user_says(text: str) -> Path:
    user_file().parent.mkdir(parents=True, exist_ok=True)
    user_file().write_text(text, "utf-8")
    return user_file()


def store_says(store: Path, text: str) -> Path:
    store.mkdir(exist_ok=True)
    (store / "config.toml").write_text(text, "utf-8")
    return store / "config.toml"


def explained(result: Result) -> dict[str, dict[str, object]]:
    assert result.exit_code == 0, result.stderr
    return {one["name"]: one for one in json.loads(result.stdout)["settings"]}


# --- where a value comes from ----------------------------------------------------------------------


def test_a_value_that_is_set_in_four_places_comes_from_the_nearest_and_names_the_others(
    run, store, monkeypatch
):
    mine, its = user_says('embedder = "minilm"'), store_says(store, 'embedder = "none"')
    monkeypatch.setenv("RECOLLECT_EMBEDDER", "hash")
    said = explained(run("config", "--embedder", "st:./mine", "--json"))["embedder"]
    assert (said["value"], said["source"], said["where"]) == ("st:./mine", "flag", "--embedder")
    assert [(one["source"], one["where"], one["value"]) for one in said["hidden"]] == [  # type: ignore[index,attr-defined]
        ("environment", "RECOLLECT_EMBEDDER", "hash"),
        ("store", str(its), "none"),
        ("user", str(mine), "minilm"),
    ]
    assert explained(run("config", "--json"))["embedder"]["value"] == "hash"
    monkeypatch.delenv("RECOLLECT_EMBEDDER")
    assert explained(run("config", "--json"))["embedder"]["source"] == "store"
    its.unlink()
    assert explained(run("config", "--json"))["embedder"]["source"] == "user"
    mine.unlink()
    assert explained(run("config", "--json"))["embedder"]["source"] == "default"


def test_people_read_the_same_in_a_table(run, store):
    user_says('project = "shop"\n[chat]\nurl = "http://localhost:1/v1"\nmodel = "small"\n')
    store_says(store, 'project = "garden"')
    shown = run("config").stdout
    for word in ("garden", "shop", "hidden in", "chat.model", "small", "RECOLLECT_CHAT_KEY  not set", "read"):
        assert word in shown


def test_the_directory_is_that_of_xdg_and_below_home_without_it(monkeypatch, tmp_path):
    assert user_file() == tmp_path / "config" / "recollect" / "config.toml"
    monkeypatch.delenv("XDG_CONFIG_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert user_file() == tmp_path / "home" / ".config" / "recollect" / "config.toml"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("embeder = 'hash'", "there is no setting 'embeder'"),
        (f"key = '{SECRET}'", "key does not belong into a file"),
        (f"[chat]\napi_key = '{SECRET}'", "chat.api_key does not belong into a file"),
        ("embedder = 3", "embedder must be a text"),
        ("embedder = ''", "embedder must be a text"),
        ("embedder =", "is not valid TOML"),
    ],
)
def test_a_file_that_is_wrong_is_an_error_with_its_path_and_without_its_values(run, text, problem):
    file = user_says(text)
    with pytest.raises(InvalidInput, match=problem) as raised:
        configured(None)
    assert str(file) in str(raised.value)
    assert SECRET not in str(raised.value)
    failed = run("recall", "x")
    assert (failed.exit_code, SECRET in failed.output) == (2, False)


# --- what a value does -----------------------------------------------------------------------------


@pytest.mark.parametrize("by", ["user", "store", "environment"])
def test_an_empty_store_takes_the_embedder_that_is_configured_and_keeps_it(run, store, monkeypatch, by):
    match by:
        case "user":
            user_says('embedder = "hash"')
        case "store":
            store_says(store, 'embedder = "hash"')
        case "environment":
            monkeypatch.setenv("RECOLLECT_EMBEDDER", "hash")
    assert run("remember", "auth sessions live in Postgres").exit_code == 0
    monkeypatch.delenv("RECOLLECT_EMBEDDER", raising=False)
    user_says('embedder = "minilm"')
    assert json.loads(run("status", "--json").stdout)["embedder"]["name"] == "hash/1"
    assert "this store has hash/1 and keeps it" in run("config").stdout.replace("\n", " ")


def test_a_store_that_has_memories_and_no_embedder_says_what_reembed_would_give_it(run):
    run("remember", "auth sessions live in Postgres", "--embedder", "none")
    user_says('embedder = "hash"')
    (note,) = json.loads(run("recall", "auth", "--json").stdout)["degraded"]
    assert note.endswith("`recollect reembed` gives it hash")
    assert run("reembed").exit_code == 0
    assert json.loads(run("recall", "auth", "--json").stdout)["degraded"] == []


def test_the_formula_that_is_configured_ranks_and_a_file_is_meant_from_where_it_is_named(run, store):
    run("remember", "auth sessions live in Postgres", "--embedder", "hash")
    user_says('formula = "engram"')
    assert json.loads(run("recall", "auth", "--json").stdout)["formula"].startswith("engram@")
    (user_file().parent / "mine.toml").write_text(
        'name = "mine"\nsource = "a test"\ndescription = "words"\n'
        'stages = [{ op = "retrieve", channel = "lexical", top = 10 }, { op = "weigh", weights = { lexical = 1.0 } }]\n',
        "utf-8",
    )
    user_says('formula = "./mine.toml"')
    assert json.loads(run("recall", "auth", "--json").stdout)["formula"].startswith("mine@")
    assert json.loads(run("recall", "auth", "--formula", "reverie", "--json").stdout)["formula"].startswith(
        "reverie@"
    )
    assert json.loads(run("verify", "--json").stdout)["exact"]


def test_a_store_names_no_formula_outside_of_itself(run, store):
    run("remember", "auth sessions live in Postgres", "--embedder", "none")
    store_says(store, 'formula = "../elsewhere.toml"')
    failed = run("recall", "auth")
    assert failed.exit_code == 2
    assert "outside of the store" in failed.stderr


def test_the_project_that_is_configured_is_where_memories_are_kept_and_looked_for(run, store):
    store_says(store, 'project = "shop"')
    inside = json.loads(run("remember", "auth in Postgres", "--embedder", "none", "--json").stdout)["id"]
    run("remember", "auth in Redis", "--project", "garden", "--embedder", "none", "--id", "other")
    assert [hit["id"] for hit in json.loads(run("recall", "auth", "--json").stdout)["hits"]] == [inside]
    everywhere = json.loads(run("recall", "auth", "--project", "*", "--json").stdout)["hits"]
    assert {hit["id"] for hit in everywhere} == {inside, "other"}


# --- keys ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("by", ["user", "environment", "store", "log"])
def test_a_key_goes_to_a_host_that_the_user_named_and_not_to_one_that_a_store_names(
    server, store, monkeypatch, by
):
    monkeypatch.setenv("RECOLLECT_EMBEDDINGS_KEY", SECRET)
    match by:
        case "user":
            user_says(f'embedder = "{server.url}&batch=7"')
        case "environment":
            monkeypatch.setenv("RECOLLECT_EMBEDDER", server.url)
        case "store":
            store_says(store, f'embedder = "{server.url}"')
        case "log":
            with Memory.open(store, embedder=server.url) as memory:
                memory.remember("the first")
            server.keys.clear()
    with Memory.open(store) as memory:
        memory.remember("auth sessions live in Postgres")
        assert memory.recall("auth").degraded == ()
    named = by in ("user", "environment")
    assert set(server.keys) == {f"Bearer {SECRET}" if named else None}


@pytest.mark.parametrize(
    "line", ['embedder = "http://192.0.2.1/v1?model=x"', 'reranker = "http://192.0.2.1/v1?model=x"',
             '[chat]\nurl = "http://192.0.2.1/v1"\nmodel = "x"'],
)  # fmt: skip
def test_a_host_elsewhere_that_only_a_store_names_is_not_asked(run, store, line):
    store_says(store, line)
    failed = run("remember", "auth sessions live in Postgres")
    assert failed.exit_code == 2
    assert "which only its log names, or its config.toml" in failed.stderr
    assert not [path for path in store.rglob("*") if path.is_file() and b"Postgres" in path.read_bytes()]


def test_no_key_is_in_the_store_in_status_in_config_or_in_any_error(server, run, store, monkeypatch):
    for name in ("RECOLLECT_EMBEDDINGS_KEY", "RECOLLECT_RERANKER_KEY", "RECOLLECT_CHAT_KEY"):
        monkeypatch.setenv(name, SECRET)
    monkeypatch.setenv("RECOLLECT_EMBEDDER", server.url)
    monkeypatch.setenv("RECOLLECT_RERANKER", server.url)
    monkeypatch.setenv("RECOLLECT_CHAT_URL", server.root)
    monkeypatch.setenv("RECOLLECT_CHAT_MODEL", "tiny")
    said = [run("remember", "auth sessions live in Postgres", "--json")]
    said += [run("remember", f"auth sessions number {n}", "--key", "auth", "--json") for n in range(4)]
    said += [run("recall", "what about my auth sessions?", "--formula", "omega", "--json")]
    server.replies = [says(401, f"bad key {SECRET}")] * 40
    said += [run("remember", "deploys happen on Tuesdays", "--json"), run("remember", "lunch is at noon")]
    said += [run("recall", "what about my auth sessions?", "--formula", "omega", "--json")]
    said += [
        run("dream", "--json"),
        run("status", "--json"),
        run("status"),
        run("config"),
        run("config", "--json"),
    ]
    said += [run("reembed", "--missing"), run("log", "--json"), run("verify", "--json")]
    for wrong in (
        f"http://user:{SECRET}@127.0.0.1/v1?model=x", f"http://127.0.0.1/v1?model=x&key={SECRET}",
        f"http://user:{SECRET}@127.0.0.1:port/v1?model=x", f"https://{SECRET}@127.0.0.1/v1",
    ):  # fmt: skip
        failed = run("recall", "auth", "--embedder", wrong)
        assert failed.exit_code == 2
        said += [failed, run("recall", "auth", "--reranker", wrong), run("config", "--embedder", wrong)]
        user_says(f'embedder = "{wrong}"')
        said += [run("config"), run("recall", "auth", "--embedder", "auto")]
    assert all(key == f"Bearer {SECRET}" for key in server.keys)
    assert {one["path"] for one in server.asked} == {"/v1/embeddings", "/v1/rerank", "/v1/chat/completions"}
    assert not [one for one in said if SECRET in one.output + str(one.exception)]
    files = [path for path in store.rglob("*") if path.is_file()]
    assert files
    assert not [path for path in files if SECRET.encode() in path.read_bytes()]
