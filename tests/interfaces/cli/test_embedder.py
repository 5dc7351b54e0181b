"""Which embedder a command opens a store with, and what it can do without it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from recollect.interfaces.cli.app import main
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
def test_what_embeds_nothing_works_where_the_embedder_is_not(run: Run, foreign: None, line: list[str]):
    result = run(*line)
    assert (result.exit_code, result.stderr) == (0, "")


def test_status_says_that_the_embedder_is_not_here_and_what_to_do(run: Run, foreign: None):
    status = json.loads(run("status", "--json").stdout)
    assert status["embedder"] == {"name": "letters", "dimensions": 8, "state": "not here"}
    (problem,) = status["degraded"]
    assert problem.startswith("vector: this store's vectors come from the embedder 'letters'")
    assert "`recollect reembed`" in problem


def test_what_needs_a_vector_is_refused_there_and_words_are_still_asked(run: Run, foreign: None):
    assert run("recall", "auth").exit_code == 2
    assert run("remember", "something new").exit_code == 2
    answer = json.loads(run("recall", "auth", "--embedder", "none", "--json").stdout)
    assert answer["hits"][0]["id"] == "auth"
    assert answer["degraded"] == ["vector: no embedder, ranked by words only"]
