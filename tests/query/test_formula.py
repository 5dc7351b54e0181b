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
