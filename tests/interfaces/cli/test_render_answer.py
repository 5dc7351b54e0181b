"""An answer, a memory and a status read the same on a terminal and in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest
from rich.console import Console

from recollect import Memory
from recollect.interfaces.cli.render import common as render

TEXTS = ["tea [green]", "a kettle of tea", "茶 is tea too", "tea " + "x" * 300]


def same_lines(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], draw: Callable[[], None]
) -> list[str]:
    """What is drawn into a pipe, after a look that it is what a wide terminal shows."""
    monkeypatch.setattr(render, "draws", lambda: False)
    draw()
    piped = capsys.readouterr().out.splitlines()
    monkeypatch.setattr(render, "draws", lambda: True)
    monkeypatch.setattr(
        render,
        "console",
        lambda: Console(file=sys.stdout, width=400, highlight=False, soft_wrap=True, no_color=True),
    )
    draw()
    shown = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert shown == [line.rstrip() for line in piped]
    return piped


@pytest.mark.parametrize("query", ["tea", "nothing like it"])
def test_the_lines_in_a_pipe_are_those_of_a_terminal_without_its_colours(monkeypatch, capsys, query: str):
    with Memory.open(":memory:", embedder=None) as memory:
        memory.remember_many(TEXTS)
        answer = memory.recall(query)
    piped = same_lines(monkeypatch, capsys, lambda: render.answer(answer))
    assert bool(answer.hits) == (query == "tea")
    assert piped[-1].endswith(answer.hits[-1].id if answer.hits else "nothing matches")


def test_a_memory_and_a_status_in_a_pipe_are_those_of_a_terminal(monkeypatch, capsys):
    with Memory.open(":memory:", embedder=None) as memory:
        memory.remember("two [bold] lines\nof text", id="m", tags=["a", "b"], source="notes\nof May")
        memo, status = memory.get("m"), memory.status()
    lines = same_lines(monkeypatch, capsys, lambda: render.memo(memo))
    assert lines[:2] == ["two [bold] lines", "    of text"]
    assert any(line.split() == ["tags", "a,", "b"] for line in lines)
    lines = same_lines(monkeypatch, capsys, lambda: render.status(status))
    assert lines[0].startswith("store")
    assert lines[-1].startswith("degraded")
