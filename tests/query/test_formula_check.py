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
def test_an_unknown_name_is_refused(change: tuple[str, str], complaint: str):
    with pytest.raises(InvalidFormula, match=complaint):
        parse(GOOD.replace(*change), origin="bad")


FIRST = '{ op = "retrieve", channel = "lexical" }, '
DIAL = '[[dials]]\nname = "d"\nselect = "profile"\n'


@pytest.mark.parametrize(
    ("stages", "rest", "complaint"),
    [
        ('{ op = "retreive", channel = "lexical" }', "", "operation 'retreive'; did you mean 'retrieve'"),
        ('{ op = "retrieve", chanel = "lexical" }', "", "has 'chanel', .*did you mean 'channel'"),
        (FIRST + '{ op = "normalise", column = "lexical", method = "mx" }', "", "method = 'mx'; .*minmax"),
        ('{ op = "retrieve", channel = "lexical", variant = "lucenne" }', "", "did you mean 'lucene'"),
        (FIRST.rstrip(", "), "", "no stage that gives a score"),
        (FIRST + '{ op = "fuse", channels = ["lexical"], enabled = false }', "", "no stage that gives a score"),
        (FIRST + '{ op = "fuse", channels = [] }', "", "fuses no channels"),
        (FIRST + '{ op = "fuse", channels = ["lexical", "lexical"] }', "", "fuses 'lexical' twice"),
        (FIRST + '{ op = "weigh", weights = {} }', "", "weighs nothing"),
        (FIRST + '{ op = "weigh", weights = { lexical = 1.0 } }, { op = "abstain" }', "", "abstains from nothing"),
        (FIRST + '{ op = "weigh", weights = { lexical = 1.0 } }, { op = "exclude", kinds = [] }', "", "excludes nothing"),
        (FIRST + '{ op = "normalise", column = "lexical", method = "max", name = "words", enabled = false }, { op = "weigh", weights = { words = 1.0 } }', "", "reads 'words', which only a disabled stage writes"),
        (FIRST + '{ op = "fuse", channels = ["lexical"] }', DIAL.replace("profile", "profil") + "table.a = {}", "dial 1 has select = 'profil'; did you mean 'profile'"),
        (FIRST + '{ op = "fuse", channels = ["lexical"] }', DIAL + "tabel.a = {}", "dial 1 has 'tabel', .*did you mean 'table'"),
        (FIRST + '{ op = "fuse", channels = ["lexical"], weights = { vector = 1.0 } }', "", "'vector', which it does not|reads 'vector.rank'"),
        ('{ op = "fuse", channels = ["lexical"] }, ' + FIRST, "", "only a stage after it writes"),
        ('{ op = "admit" }, ' + FIRST, "", "before there are candidates"),
        (FIRST + '{ op = "multiply", factor = "strength" }, { op = "fuse", channels = ["lexical"] }', "", "no stage has given yet"),
        (FIRST + '{ op = "fuse", channels = ["lexical"], dials = { lexical = "txt" } }', "", "names the dial 'txt'"),
        (FIRST + '{ op = "weigh", weights = { lexical = 1.0 }, extras = { lexical = "more" } }', "", "names the dial 'more'"),
        (FIRST + '{ op = "fuse", channels = ["lexical"] }', DIAL + "table.a = { vec = 1.0 }", "turns 'vec', which no stage reads"),
        (FIRST + '{ op = "fuse", channels = ["lexical"], dials = { lexical = "t" } }', DIAL + 'default = "b"\ntable.a = { t = 1.0 }', "default 'b', which is no row"),
        (FIRST + '{ op = "fuse", channels = ["lexical"] }', 'colour = "red"', "has 'colour', which no formula has"),
        (FIRST.replace("}", ', label = "x" }') + '{ op = "fuse", channels = ["lexical"], label = "x" }', "", "two stages with the label 'x'"),
    ],
)  # fmt: skip
def test_what_can_only_be_a_mistake_is_refused(stages: str, rest: str, complaint: str):
    with pytest.raises(InvalidFormula, match=complaint):
        parse(
            f'name = "bad"\n{rest if "=" in rest and "[[" not in rest else ""}\nstages = [{stages}]\n{rest if "[[" in rest else ""}',
            origin="bad",
        )


def test_a_sum_may_lose_a_part_that_is_disabled():
    file = 'extends = "reverie"\n[override.lexical]\nenabled = false'
    assert parse(file, origin="mine").stages[0].enabled is False


@pytest.mark.parametrize("name", names())
def test_a_formula_in_the_log_is_read_without_the_checks_of_today(name: str, monkeypatch):
    text = built_in(name).text
    formulas.from_canonical.cache_clear()
    monkeypatch.setattr(formulas, "problem_of", lambda *_: "nothing is right any more")
    assert formulas.from_canonical(text) == built_in(name)
