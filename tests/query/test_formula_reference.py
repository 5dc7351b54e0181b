"""The reference is complete, and the page is what the command prints."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from recollect.events.errors import InvalidInput
from recollect.projections.lexical.analyzers import ANALYZERS
from recollect.projections.lexical.bm25 import Variant
from recollect.query.catalogue import FACTORS, parameters_of
from recollect.query.dials import CLASSIFIERS
from recollect.query.formula_reference import reference, text
from recollect.query.inputs import INPUTS
from recollect.query.stages.any_stage import OPS
from recollect.query.stages.retrieving import CHANNELS

PAGE = Path(__file__).parent.parent.parent / "docs" / "formula-reference.md"


def test_the_page_is_what_the_command_prints():
    assert PAGE.read_text("utf-8") == text(reference())


@pytest.mark.parametrize(
    ("title", "names"),
    [
        ("Operations", OPS),
        ("Channels", CHANNELS),
        ("Factors", FACTORS),
        ("Inputs", INPUTS),
        ("Analyzers", ANALYZERS),
        ("BM25 variants", get_args(Variant)),
        ("Dials", {"dial", *CLASSIFIERS}),
    ],
)
def test_every_word_that_a_formula_may_say_is_there_with_its_meaning(title: str, names: object):
    (section,) = [one for one in reference() if one.title == title]
    assert {one.name for one in section.entries} == set(names)
    assert [one.name for one in section.entries if not one.meaning.strip()] == []


def test_an_input_that_is_a_column_has_a_meaning_of_its_own():
    (inputs,) = [one for one in reference() if one.title == "Inputs"]
    builtins = {str(kind.__doc__).split("\n", 1)[0] for kind in (str, tuple)}
    assert [one.name for one in inputs.entries if any(one.meaning.startswith(doc) for doc in builtins)] == []


@pytest.mark.parametrize("op", sorted(OPS))
def test_every_key_of_an_operation_is_there_and_takes_something(op: str):
    (entry,) = [
        one
        for section in reference()
        if section.title == "Operations"
        for one in section.entries
        if one.name == op
    ]
    assert {one.name for one in entry.settings} == set(OPS[op].__struct_fields__) - {
        "enabled", "label", "when", "parameters",
    }  # fmt: skip
    assert [one for one in entry.settings if not one.takes or "<" in one.takes or "typing" in one.takes] == []


@pytest.mark.parametrize("name", sorted(FACTORS))
def test_every_parameter_of_a_factor_is_there_with_its_default(name: str):
    (entry,) = [one for section in reference(name) if section.title == "Factors" for one in section.entries]
    assert {one.name: one.default for one in entry.settings}.keys() == parameters_of(name).keys()
    assert all(one.default for one in entry.settings)


def test_an_unknown_word_gets_the_nearest():
    with pytest.raises(InvalidInput, match="did you mean 'recency_boost'"):
        reference("recency_bost")
