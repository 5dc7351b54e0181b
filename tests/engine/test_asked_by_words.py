"""A question about a past whose embedder is not at hand is asked by words, and every report of it says so."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree as Xml

import numpy as np
import pytest
from click.testing import CliRunner

from recollect.engine.bump import bump
from recollect.interfaces.cli.app import main
from recollect.interfaces.mcp import audit_text
from recollect.interfaces.mcp.audit_arguments import WhyChangedResult
from recollect.interfaces.mcp.results import short_form
from recollect.interfaces.python.memory import Memory

QUESTION = "where is the moon?"
REASON = "vector: the embedder then was 'toy/1', which is not installed; ranked by words only"


class Toy:
    """An embedder that no other program has."""

    name, dimensions, ready = "toy/1", 256, True

    def warm(self) -> None:
        """Always ready."""

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        return np.array([np.eye(256)[len(text)] for text in texts])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """@1 to @4: an adoption and three memories of the toy embedder; then all are embedded anew."""
    folder = tmp_path_factory.mktemp("words") / "store"
    with Memory.open(folder, embedder=Toy()) as memory:
        memory.remember("the moon is up", id="moon")
        memory.remember("the sun is down", id="sun")
        memory.remember("the moon is full", id="full")
        memory.recall("moon", record=False)
    with Memory.open(folder, embedder=None) as memory:
        memory.reembed("hash")
        recall = memory.recall(QUESTION).id
        memory.expect(recall, "moon", top=3)
        memory.expect(recall, "sun", first=True)
    return folder


def test_what_changed_and_ranks_over_time_say_that_the_past_was_ranked_by_words(folder: Path):
    with Memory.open(folder, embedder="hash") as memory:
        for report in (
            memory.why_changed(QUESTION, "moon", "@4"),
            memory.bisect(QUESTION, "moon", "@2", "@4"),
            memory.ranks("moon", QUESTION),
            bump(memory.here, QUESTION, {}, ["moon"], since=2, until=4, points=2),
        ):
            assert report.degraded == (REASON,)


def test_where_every_vector_is_at_hand_nothing_is_said(folder: Path):
    with Memory.open(folder, embedder="hash") as memory:
        head = f"@{memory.status().head}"
        assert memory.ranks("moon", QUESTION, head, head).degraded == ()
        assert memory.why_changed(QUESTION, "moon", head).degraded == ()
        (held,) = memory.check().passed
        assert held.degraded == ()
    with Memory.open(":memory:", embedder=None) as memory:
        memory.remember("the moon is up", id="moon")
        assert memory.ranks("moon", QUESTION).degraded == ()


def test_a_check_says_which_expectations_were_asked_by_words(folder: Path, tmp_path: Path):
    with Memory.open(folder, embedder="hash") as memory:
        report = memory.check(at="@4", junit=tmp_path / "check.xml")
        outcomes = (*report.passed, *report.failed)
        assert [one.degraded for one in outcomes] == [(REASON,)] * 2
        assert report.degraded == (
            f"2 of 2 were asked without a vector, there or to find what broke them; {REASON}",
        )
    said = [one.text for one in Xml.parse(tmp_path / "check.xml").getroot().iter("system-out")]
    assert said == [REASON] * 2


def test_terminal_and_agents_are_told(folder: Path):
    with Memory.open(folder, embedder="hash") as memory:
        change = memory.why_changed(QUESTION, "moon", "@4")
    told = short_form(WhyChangedResult, change, causes=(), rank_since=None, rank_until=None)
    assert f"degraded: {REASON}" in audit_text.why_changed(told).splitlines()
    environment = {"RECOLLECT_STORE": str(folder), "RECOLLECT_EMBEDDER": "hash"}
    for command in (
        ["why-changed", QUESTION, "moon", "--since", "@4"],
        ["bisect", QUESTION, "moon", "--since", "@2", "--until", "@4"],
        ["history", "moon", "--ranks", QUESTION],
        ["check", "--at", "@4"],
    ):
        shown = CliRunner().invoke(main, command, env=environment).output
        assert "ranked by words only" in " ".join(shown.split()), command
