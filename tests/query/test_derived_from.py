"""A derived memory stands below its sources where a formula says so, and nowhere else; recorded texts keep the old rule."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_world import NOW, World, memory, vector

from recollect.events.facts import Linked
from recollect.query.formula import Formula, InvalidFormula, built_in, from_canonical, names, parse
from recollect.query.stages.ordering import DerivedFrom

PUBLISHED = [name for name in names() if name != "recollect"]
FILE = """
name = "mine"
stages = [
  { op = "retrieve", channel = "lexical" },
  { op = "fuse", channels = ["lexical"] },
]
"""


def unmarked(formula: Formula) -> Formula:
    """The formula as an earlier version adopted it: a text that states no order, and has no such stage."""
    fields = json.loads(formula.text)
    del fields["order"]
    fields["stages"] = [stage for stage in fields["stages"] if stage["op"] != "derived_from"]
    return from_canonical(json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=False))


def summarised() -> World:
    """A short summary of a long source: words and both lists prefer the summary, the question's vector the source."""
    return World(
        memory("source", "auth " + "filler " * 9, vector=vector(10, 1, 0)),
        memory("summary", "auth", vector=vector(10, 1.5, 0)),
        memory("other", "nothing", vector=vector(0, 0, 1)),
        Linked(a="summary", b="source", kind="derived_from"),
    )


def test_only_the_default_has_the_stage():
    having = [name for name in names() if any(isinstance(s, DerivedFrom) for s in built_in(name).stages)]
    assert having == ["recollect"]


@pytest.mark.parametrize("name", PUBLISHED)
@settings(max_examples=25, deadline=None)
@given(
    links=st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), min_size=1, max_size=16),
    words=st.lists(st.lists(st.sampled_from(["auth", "tea", "billing"]), max_size=6), min_size=8, max_size=8),
)
def test_answers_of_published_formulas_stand_in_the_order_of_their_scores(name, links, words):
    world = World(
        *(
            memory(f"m{n}", " ".join(text), vector=vector(5, n, 1), at=NOW - n * 10**9)
            for n, text in enumerate(words)
        ),
        *(Linked(a=f"m{a}", b=f"m{b}", kind="derived_from") for a, b in links),
    )
    ranking = world.rank(name, "auth tea", vector=vector(5, 3, 1))
    if ranking.sheet.facts.get("tiebreak_applied") != "true":
        assert list(ranking.scores) == sorted(ranking.scores, reverse=True)


def test_the_stage_puts_a_summary_below_its_source_unless_the_question_is_nearer_to_the_summary():
    world = summarised()
    marked = parse(FILE.replace('["lexical"] },', '["lexical"] },\n{ op = "derived_from" },'), origin="mine")
    plain = parse(FILE, origin="mine")
    assert world.rank(plain, "auth", vector=vector(10, 1, 0)).ids == ("summary", "source")
    assert world.rank(marked, "auth", vector=vector(10, 1, 0)).ids == ("source", "summary")
    assert world.rank(marked, "auth", vector=vector(10, 2, 0)).ids == ("summary", "source")
    assert world.rank(marked, "auth").ids == ("source", "summary")
    assert plain.digest != marked.digest


def test_the_stage_counts_from_where_it_stands():
    world = summarised()
    cut = '{ op = "cut", top = 1 },'
    stage = '{ op = "derived_from" },'
    before, after = (
        parse(FILE.replace('["lexical"] },', f'["lexical"] }},\n{one}'), origin="mine")
        for one in (stage + cut, cut + stage)
    )
    assert world.rank(before, "auth").ids == ("source",)
    assert world.rank(after, "auth").ids == ("summary",)


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_recorded_text_without_the_mark_keeps_the_old_order_and_its_digest(name: str):
    marked = built_in(name)
    old = unmarked(marked)
    assert old.sources_first
    assert not marked.sources_first
    assert old.digest != marked.digest
    assert from_canonical(old.text).text == old.text
    asked = {"vector": vector(10, 1, 0), "k": 3}
    ids = summarised().rank(old, "auth", **asked).ids
    assert "summary" not in ids[: ids.index("source")]  # omega drops it as a duplicate of the source


def test_reverie_ranks_the_summary_by_its_score_and_its_old_text_does_not():
    asked = {"vector": vector(10, 1.4, 0), "k": 3}
    world = summarised()
    by_score = world.scores("reverie", "auth", **asked)
    assert by_score["summary"] > by_score["source"]
    assert world.rank("reverie", "auth", **asked).ids[:2] == ("summary", "source")
    nearer = {"vector": vector(10, 1, 0), "k": 3}
    assert world.rank(unmarked(built_in("reverie")), "auth", **nearer).ids[:2] == ("source", "summary")


def test_a_file_states_the_old_order_by_name():
    assert parse(FILE, origin="mine") == parse('order = "score"\n' + FILE, origin="mine")
    assert parse('order = "sources"\n' + FILE, origin="mine") == unmarked(parse(FILE, origin="mine"))
    with pytest.raises(InvalidFormula, match='has the order \'upwards\'; write "score", or "sources"'):
        parse('order = "upwards"\n' + FILE, origin="mine")
