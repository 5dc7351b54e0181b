"""Formulas are data: read, checked, completed and named by their digest."""

from __future__ import annotations

import hashlib

import pytest

from recollect.query import formula as formulas
from recollect.query.formula import InvalidFormula, built_in, from_canonical, load, names, parse

MINIMAL = """
name = "mine"
stages = [
  { op = "retrieve", channel = "lexical" },
  { op = "fuse", channels = ["lexical"] },
  { op = "multiply", factor = "recency_boost", boost = 0.1 },
]
"""


def test_the_eight_factors_of_reverie_stand_in_the_order_of_the_document():
    stages = built_in("reverie").stages
    labels = [
        getattr(stage, "channel", None) or getattr(stage, "factor", None) or type(stage).__name__
        for stage in stages
    ]
    assert labels == [
        "lexical", "vector", "Fuse",
        "recency_boost/2", "strength", "depth_weight", "session_spread/2", "stability/2",
    ]  # fmt: skip
    assert stages[2].k == 30.0
    assert [stages[0].top, stages[1].top] == [100, 100]


def test_the_digest_is_the_sha256_of_the_canonical_text():
    formula = parse(MINIMAL, origin="test")
    assert formula.digest == hashlib.sha256(formula.text.encode()).hexdigest()
    assert formula.label == f"mine@{formula.digest[:12]}"


@pytest.mark.parametrize("name", names())
def test_the_text_in_the_log_gives_the_same_formula_back(name: str):
    formula = built_in(name)
    again = from_canonical(formula.text)
    assert again == formula
    assert again.digest == formula.digest


def test_the_canonical_text_spells_out_every_default():
    (multiply,) = [s for s in parse(MINIMAL, origin="test").stages if hasattr(s, "parameters")]
    assert multiply.parameters == {"boost": 0.1, "tau_days": 30.0}


def test_comments_and_order_of_keys_do_not_change_the_digest():
    other = MINIMAL.replace('channel = "lexical" },', 'top = 100, channel = "lexical" },  # the best hundred')
    assert parse(other, origin="x").digest == parse(MINIMAL, origin="y").digest


def test_a_changed_number_is_another_formula():
    assert parse(MINIMAL.replace("0.1", "0.2"), origin="x").digest != parse(MINIMAL, origin="y").digest


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (("boost = 0.1", "boast = 0.1"), "boast"),
        (("boost = 0.1", "boost = nan"), "boost"),
        (("boost = 0.1", "boost = -0.1"), "boost"),
        (("boost = 0.1", "boost = inf"), "boost"),
        (("recency_boost", "vibes"), "known factors are"),
        (('op = "fuse"', 'op = "fuze"'), "fuze"),
        (('channels = ["lexical"]', 'channels = ["vector"]'), "no stage before it writes"),
        (('channel = "lexical"', 'channel = "lexical", top = 0'), "stage 1"),
        (('channel = "lexical"', 'channel = "lexical", analyzer = "klingon/1"'), "klingon/1"),
        (('name = "mine"', 'name = "mine"\ncolour = "red"'), "colour"),
        (("stages = [", "stages = [ ["), "TOML"),
    ],
)
def test_a_broken_formula_is_refused_with_what_is_wrong(change: tuple[str, str], complaint: str):
    with pytest.raises(InvalidFormula, match=complaint) as refusal:
        parse(MINIMAL.replace(*change), origin="broken.toml")
    assert "broken.toml" in str(refusal.value)


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(InvalidFormula, match="reverie"):
        load("reverse")


def test_a_file_is_a_formula(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(MINIMAL, "utf-8")
    assert load(path) == load(str(path)) == parse(MINIMAL, origin="test")
    with pytest.raises(InvalidFormula, match="cannot be read"):
        formulas.load(tmp_path / "absent.toml")


# The text that 9f941ac adopted for a file which names no analyzer.
ADOPTED = (
    '{"description":"","dials":[],"name":"mine","source":"","stages":[{"analyzer":"unicode61-cjk/1","b":null,'
    '"channel":"lexical","enabled":true,"expanded":null,"k1":null,"label":"","min":null,"name":"","op":"retrieve",'
    '"per_hit":null,"top":100,"variant":"fts5","when":""},{"analyzer":"unicode61-cjk/1","enabled":true,"label":"",'
    '"op":"overlap","suffixes":[],"when":""},{"analyzer":"english/1","enabled":true,"label":"","name":"labels",'
    '"op":"labels","when":""},{"channels":["lexical"],"dials":{},"enabled":true,"k":60.0,"label":"","op":"fuse",'
    '"overall":false,"per_channel":false,"weights":{},"when":""}]}'
)
UNNAMED = """
name = "mine"
stages = [
  { op = "retrieve", channel = "lexical" }, { op = "overlap" }, { op = "labels" },
  { op = "fuse", channels = ["lexical"] },
]
"""


def test_a_text_in_the_log_keeps_the_analyzers_that_it_was_adopted_with():
    adopted = from_canonical(ADOPTED)
    assert adopted.text == ADOPTED
    assert adopted.digest == "4423d78f6d9d35b11a09a3d8c13e5bd254bfc75f1b8b4903a8148fd06cd4f3d7"
    unstated = ADOPTED.replace('"analyzer":"unicode61-cjk/1",', "").replace('"analyzer":"english/1",', "")
    assert from_canonical(unstated).analyzers == adopted.analyzers == ("unicode61-cjk/1", "english/1")


def test_a_file_that_names_no_analyzer_gets_the_newest_and_its_text_states_it():
    formula = parse(UNNAMED, origin="test")
    assert formula.analyzers == ("unicode61-cjk/2", "english/2")
    newest = {'"unicode61-cjk/1"': '"unicode61-cjk/2"', '"english/1"': '"english/2"', '"fts5"': '"fts5/2"'}
    stated = ADOPTED
    for first, second in newest.items():
        stated = stated.replace(first, second)
    stated = stated.replace('"name":"mine",', '"name":"mine","order":"score",')
    assert formula.text == stated
    assert from_canonical(formula.text) == formula
    named = UNNAMED.replace('"lexical" }', '"lexical", analyzer = "unicode61-cjk/1" }')
    assert parse(named, origin="test").stages[0].analyzer == "unicode61-cjk/1"


@pytest.mark.parametrize("name", names())
def test_a_built_in_formula_depends_on_no_table_of_the_running_python(name: str):
    formula = built_in(name)
    assert all(analyzer.endswith("/2") for analyzer in formula.analyzers)
    assert all(dial.classifier.endswith("/2") for dial in formula.dials if dial.select == "text")
