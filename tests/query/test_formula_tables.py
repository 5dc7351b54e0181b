"""Named tables, dials that stages wait for, and labels that stages jump to: what a formula file may say."""

from __future__ import annotations

import pytest

from recollect.query.formula import InvalidFormula, from_canonical, parse

TABLED = """
name = "tabled"
stages = [
  { op = "retrieve", channel = "lexical" },
  { op = "fuse", channels = ["lexical"], when = "words" },
  { op = "look-up", name = "type_weight", table = "weights", default = 0.5 },
  { op = "multiply", factor = "type_weight", label = "end" },
]
[[dials]]
name = "surface"
select = "surface"
table = { quiet = { words = 0.0 } }
[tables.weights]
decision = 2.0
"""


def test_a_named_table_stands_inside_the_stage_and_in_the_log():
    formula = parse(TABLED, origin="test")
    assert formula.stages[2].table == {"decision": 2.0}
    assert formula == from_canonical(formula.text)
    inline = TABLED.replace('table = "weights"', "table = { decision = 2.0 }").partition("[tables")[0]
    assert parse(inline, origin="test").digest == formula.digest


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (
            ('table = "weights"', 'table = "wights"'),
            "stage 3: looks up the table 'wights'; did you mean 'weights'",
        ),
        (("[tables.weights]", "[tables.weights]\n[tables.other]"), "no stage looks up the table 'other'"),
        (("decision = 2.0", "decision = nan"), "weights"),
        (("decision = 2.0", 'decision = "two"'), "weights"),
        (('when = "words"', 'when = "wards"'), "stage 2 waits for the dial 'wards'"),
        (
            ('{ op = "look-up"', '{ op = "skip", after = "x", to = "nowhere" },\n{ op = "look-up"'),
            "stage 3 jumps to 'nowhere'",
        ),
    ],
)
def test_a_table_dial_or_label_that_is_missing_is_named(change: tuple[str, str], complaint: str):
    assert change[0] in TABLED
    with pytest.raises(InvalidFormula, match=complaint):
        parse(TABLED.replace(*change), origin="broken.toml")
