"""Which embedder a command opens a store with, and what it can do without it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from recollect.engine.embedding import store_embedder
from recollect.interfaces.cli.app import main
from recollect.interfaces.model_server import client
from recollect.interfaces.python.memory import Memory

Run = Callable[..., Result]


def letters(texts: list[str]) -> np.ndarray:
    """An embedder that no other program has."""
    return np.array([[text.count(letter) + 1.0 for letter in "abcdefgh"] for text in texts])


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.delenv("RECOLLECT_EMBEDDER", raising=False)
    monkeypatch.setenv("RECOLLECT_NO_DAEMON", "1")

    def invoke(*arguments: str) -> Result:
        return CliRunner().invoke(main, [*arguments, "--store", str(tmp_path)])

    return invoke


@pytest.fixture
def hashed(tmp_path: Path) -> None:
    with Memory.open(tmp_path, embedder="hash") as memory:
        memory.remember("auth sessions live in Postgres", id="auth")
        memory.recall("auth sessions")


@pytest.fixture
def foreign(tmp_path: Path) -> None:
    with Memory.open(tmp_path, embedder=letters) as memory:
        memory.remember("auth sessions live in Postgres", id="auth")
        memory.remember("deploys happen on Tuesdays", id="deploys")
        memory.recall("auth sessions")


def test_a_store_keeps_its_own_embedder_unless_told(run: Run, hashed: None):
    answer = json.loads(run("recall", "auth sessions", "--json").stdout)
    assert answer["degraded"] == []
    assert json.loads(run("status", "--json").stdout)["embedder"]["name"] == "hash/1"


@pytest.mark.parametrize("told", ["option", "environment"])
def test_another_embedder_that_was_asked_for_is_refused(run: Run, hashed: None, monkeypatch, told: str):
    if told == "environment":
        monkeypatch.setenv("RECOLLECT_EMBEDDER", "minilm")
    result = run("recall", "auth", *(["--embedder", "minilm"] if told == "option" else []))
    assert result.exit_code == 2
    assert "this store's vectors come from the embedder 'hash/1'" in result.stderr
    assert "--embedder none" in result.stderr


@pytest.mark.parametrize(
    "line",
    [
        ["get", "auth"],
        ["history", "auth"],
        ["memories"],
        ["why", "r5", "auth"],
        ["why-not", "r5", "deploys"],
        ["verify"],
        ["access", "auth"],
        ["rate", "auth", "helpful"],
        ["link", "auth", "deploys", "--kind", "supports"],
        ["forget", "auth"],
    ],
    ids=" ".join,
)
def test_commands_that_embed_nothing_work_without_the_embedder(run: Run, foreign: None, line: list[str]):
    result = run(*line)
    assert (result.exit_code, result.stderr) == (0, "")


def test_status_says_that_the_embedder_is_not_here_and_what_to_do(run: Run, foreign: None):
    status = json.loads(run("status", "--json").stdout)
    assert status["embedder"] == {"name": "letters", "dimensions": 8, "state": "not here"}
    (problem,) = status["degraded"]
    assert problem.startswith("vector: this store's vectors come from the embedder 'letters'")
    assert "not known here by its name" in problem
    assert "`recollect reembed --embedder NAME`" in problem


def test_the_command_that_it_says_gives_the_store_an_embedder_that_is_here(run: Run, foreign: None):
    assert run("reembed", "--embedder", "hash").exit_code == 0
    assert json.loads(run("status", "--json").stdout)["degraded"] == []


def test_what_needs_a_vector_is_refused_there_and_words_are_still_asked(run: Run, foreign: None):
    assert run("recall", "auth").exit_code == 2
    assert run("remember", "something new").exit_code == 2
    answer = json.loads(run("recall", "auth", "--embedder", "none", "--json").stdout)
    assert answer["hits"][0]["id"] == "auth"
    assert answer["degraded"] == ["vector: no embedder, ranked by words only"]


# --- no embedder named -----------------------------------------------------------------------------

LATER = "vector: this store has no embedder, ranked by words only; `recollect reembed` gives it MiniLM"
MISSING = "vector: no model is installed, ranked by words only; `pip install 'recollect[local]'` adds meaning"


@pytest.fixture
def model_packages(monkeypatch: pytest.MonkeyPatch) -> Callable[[bool], None]:
    """Say whether the packages of the model are there."""

    def say(there: bool) -> None:
        for module in (client, store_embedder):
            monkeypatch.setattr(module, "is_installed", lambda: there)

    return say


def test_without_a_model_a_store_is_kept_and_asked_by_words_and_says_what_adds_meaning(
    run: Run, model_packages
):
    model_packages(False)
    assert run("remember", "auth sessions live in Postgres").exit_code == 0
    answer = json.loads(run("recall", "auth", "--json").stdout)
    assert (len(answer["hits"]), answer["degraded"]) == (1, [MISSING])
    assert json.loads(run("status", "--json").stdout)["degraded"] == [MISSING]


def test_a_store_without_an_embedder_stays_so_when_a_model_comes_and_says_how_to_use_it(
    run: Run, model_packages
):
    model_packages(False)
    run("remember", "auth sessions live in Postgres", "--id", "auth")
    model_packages(True)
    assert run("remember", "deploys happen on Tuesdays").exit_code == 0
    assert json.loads(run("recall", "auth", "--json").stdout)["degraded"] == [LATER]
    assert json.loads(run("status", "--json").stdout)["degraded"] == [LATER]
    assert run("reembed", "--embedder", "hash").exit_code == 0
    assert json.loads(run("recall", "auth", "--json").stdout)["degraded"] == []
    assert json.loads(run("verify", "--json").stdout)["exact"]


def test_an_empty_store_takes_the_model_that_is_installed(tmp_path: Path, model_packages):
    model_packages(True)
    with Memory.open(tmp_path) as memory:
        assert memory.embedder is not None
        assert memory.embedder.name == "minilm/all-MiniLM-L6-v2"


def test_reembed_without_a_name_keeps_the_embedder_that_a_store_has(run: Run, hashed: None, tmp_path: Path):
    with Memory.open(tmp_path, embedder=None) as memory:
        memory.remember("told without a vector")
    report = json.loads(run("reembed", "--json").stdout)
    assert (report["embedder"], report["embedded"]) == ("hash/1", 1)
