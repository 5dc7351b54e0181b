"""What models send is understood or refused in words that they can act on."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from recollect.events.errors import InvalidInput
from recollect.interfaces.common.validation_errors import field_names
from recollect.interfaces.mcp import audit_arguments as audit_asked
from recollect.interfaces.mcp import tool_arguments
from recollect.interfaces.mcp.arguments import aliases, parse
from recollect.interfaces.mcp.profiles import tools_of

KINDS = {tool.name: tool.arguments for tool in tools_of("audit").values()}


def refusal(kind: type, given: dict[str, object], tool: str) -> str:
    with pytest.raises(InvalidInput) as refused:
        parse(kind, given, tool=tool)
    return str(refused.value)


@pytest.mark.parametrize("guess", ["q", "text", "question", "search", "Q"])
def test_the_question_is_understood_under_the_names_that_models_guess(guess: str):
    assert parse(tool_arguments.Recall, {guess: "tea"}, tool="recall").query == "tea"


@pytest.mark.parametrize("guess", ["limit", "top_k", "topK", "top-k", "n", "max_results"])
def test_how_many_is_understood_under_the_names_that_models_guess(guess: str):
    assert parse(tool_arguments.Recall, {"query": "tea", guess: 3}, tool="recall").k == 3


def test_the_same_word_means_what_its_tool_is_about():
    assert parse(tool_arguments.Recall, {"text": "tea"}, tool="recall").query == "tea"
    assert parse(tool_arguments.Remember, {"text": "tea"}, tool="remember").content == "tea"
    assert parse(tool_arguments.Get, {"memory_id": "m1"}, tool="get").id == "m1"
    assert parse(audit_asked.Link, {"from": "x", "to": "y", "type": "supports"}, tool="link").b == "y"
    assert (
        parse(audit_asked.WhyChanged, {"q": "x", "id": "m", "from": "@1"}, tool="why_changed").since == "@1"
    )


@given(st.sampled_from(sorted(KINDS)), st.data())
def test_an_alias_gives_what_the_argument_gives(tool: str, data: st.DataObject):
    kind = KINDS[tool]
    known = aliases(kind)
    assert not set(known) & set(field_names(kind))
    if not known:
        return
    alias = data.draw(st.sampled_from(sorted(known)))
    spelled = data.draw(st.sampled_from([alias, alias.upper(), alias.replace("_", "-")]))
    plain = {
        field.name: "helpful" if field.name == "verdict" else "1"
        for field in structs.fields(kind)
        if field.required
    }
    plain.setdefault(known[alias], "1")
    guessed = {(spelled if name == known[alias] else name): value for name, value in plain.items()}
    assert parse(kind, guessed, tool=tool) == parse(kind, plain, tool=tool)


def test_null_is_the_same_as_not_given():
    assert parse(
        tool_arguments.Recall, {"query": "x", "k": None, "tags": None}, tool="recall"
    ) == tool_arguments.Recall(query="x")


def test_numbers_as_text_and_one_text_for_a_list_are_understood():
    got = parse(
        tool_arguments.Recall,
        {"query": "x", "k": "3", "tags": "auth, login", "track": "false"},
        tool="recall",
    )
    assert (got.k, got.tags, got.track) == (3, ("auth", "login"), False)


def test_an_unknown_argument_is_refused_by_name_with_the_nearest_known_one():
    said = refusal(tool_arguments.Recall, {"query": "x", "max_tokns": 9}, "recall")
    assert "no argument 'max_tokns'" in said
    assert "did you mean 'max_tokens'" in said
    assert "it takes query, k" in refusal(tool_arguments.Recall, {"zzz": 1}, "recall")
    assert "takes no arguments" in refusal(tool_arguments.Status, {"zzz": 1}, "status")


def test_a_missing_argument_is_named():
    assert "recall needs 'query'" in refusal(tool_arguments.Recall, {"k": 3}, "recall")
    assert "link needs 'a'" in refusal(audit_asked.Link, {"b": "x", "kind": "y"}, "link")


def test_the_same_argument_under_two_names_is_refused_unless_both_agree():
    assert "twice, as 'query' and as 'q'" in refusal(
        tool_arguments.Recall, {"query": "x", "q": "y"}, "recall"
    )
    assert parse(tool_arguments.Recall, {"query": "x", "q": "x"}, tool="recall").query == "x"


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        ("k", "five", "k is 'five'; it must be a whole number"),
        ("k", 0, "k is 0; it must be a whole number >= 1"),
        ("max_tokens", 0, "max_tokens is 0; it must be a whole number >= 1"),
        ("query", 3, "query is 3; it must be text"),
        ("tags", [1], "tags is [1]; it must be text"),
        ("at", 2, "at is 2; it must be text"),
        ("tags", 5, "tags is 5; it must be a list"),
        ("track", "perhaps", "track is 'perhaps'; it must be true or false"),
    ],
)
def test_a_wrong_value_is_shown_with_what_it_must_be(field: str, value: object, says: str):
    assert says in refusal(tool_arguments.Recall, {"query": "x", field: value}, "recall")
