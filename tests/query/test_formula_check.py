"""What only a look at the whole formula finds."""

from __future__ import annotations

import pytest

from recollect.query import formula as formulas
from recollect.query.formula import InvalidFormula, built_in, names, parse

GOOD = """
name = "mine"
stages = [
  { op = "retrieve", channel = "lexical" },
  { op = "retrieve", channel = "vector" },
  { op = "normalise", column = "lexical", method = "max", name = "words" },
  { op = "weigh", weights = { vector = 0.5, words = 0.3, importance = 0.2 } },
  { op = "shortcut", column = "words", min = 2.0, to = "end" },
  { op = "expand", hops = 1 },
  { op = "boost", amounts = { "edge.supports" = 0.1 } },
  { op = "cut", top = 3, label = "end" },
]
"""


def test_a_whole_formula_passes():
    assert parse(GOOD, origin="good").name == "mine"


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (("vector = 0.5", "vectr = 0.5"), "stage 4 reads 'vectr', which is no input"),
        (('column = "lexical"', 'column = "lexcal"'), "stage 3 reads 'lexcal'"),
        (('channel = "vector"', 'channel = "telepathy"'), "stage 2 names the channel 'telepathy'"),
        (('channel = "vector"', 'channel = "lexical"'), "stage 2 retrieves 'lexical' again"),
        (('to = "end"', 'to = "start"'), "stage 5 jumps to 'start'"),
        (("edge.supports", "edges.supports"), "stage 7 reads 'edges.supports'"),
        (('{ op = "expand", hops = 1 },', ""), "stage 6 reads 'edge.supports'"),
        (("top = 3", 'top = 3, when = "full_moon"'), "waits for the dial 'full_moon'"),
        (("vector = 0.5", "vector = -0.5"), "stage 4"),
    ],
)
def test_a_name_that_nothing_stands_behind_is_refused(change: tuple[str, str], complaint: str):
    with pytest.raises(InvalidFormula, match=complaint):
        parse(GOOD.replace(*change), origin="bad")


@pytest.mark.parametrize("name", names())
def test_a_formula_in_the_log_is_read_without_the_checks_of_today(name: str, monkeypatch):
    text = built_in(name).text
    formulas.from_canonical.cache_clear()
    monkeypatch.setattr(formulas, "problem_of", lambda *_: "nothing is right any more")
    assert formulas.from_canonical(text) == built_in(name)
