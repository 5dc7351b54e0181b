"""An answer reads the same on a terminal and in a pipe."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from recollect import Memory, render

TEXTS = ["tea [green]", "a kettle of tea", "茶 is tea too", "tea " + "x" * 300]


@pytest.mark.parametrize("query", ["tea", "nothing like it"])
def test_the_lines_in_a_pipe_are_those_of_a_terminal_without_its_colours(monkeypatch, capsys, query: str):
    with Memory.open(":memory:", embedder=None) as memory:
        memory.remember_many(TEXTS)
        answer = memory.recall(query)
    monkeypatch.setattr(render, "draws", lambda: False)
    render.answer(answer)
    piped = capsys.readouterr().out.splitlines()
    page = io.StringIO()
    monkeypatch.setattr(render, "draws", lambda: True)
    monkeypatch.setattr(
        render,
        "console",
        lambda: Console(file=page, width=400, highlight=False, soft_wrap=True, no_color=True),
    )
    render.answer(answer)
    assert [line.rstrip() for line in page.getvalue().splitlines()] == piped
    assert bool(answer.hits) == (query == "tea")
    assert piped[-1].endswith(answer.hits[-1].id if answer.hits else "nothing matches")
