"""A token budget holds the whole answer, whole memories only."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from recollect.engine.answers import Answer, Hit
from recollect.interfaces.mcp import text
from recollect.interfaces.mcp.budget import fit, tokens_of
from recollect.interfaces.mcp.tools import text_and_json, within_budget


def test_a_token_is_four_ascii_characters_rounded_up():
    assert [tokens_of("x" * length) for length in (0, 1, 4, 5, 8)] == [0, 1, 1, 2, 2]


def test_other_scripts_take_more_tokens_a_character():
    assert tokens_of("会議は毎週火曜日です") == len("会議は毎週火曜日です")
    assert tokens_of("회의") == 2
    assert tokens_of("встреча") == 4  # half a token each, rounded up
    assert tokens_of("🙂") == 2
    assert tokens_of("abcd会") == 1 + 1


def joined(kept: tuple[str, ...]) -> int:
    return tokens_of("frame" + "".join(kept))


@given(st.lists(st.text(max_size=40)), st.integers(1, 60))
def test_a_hit_that_does_not_fit_is_skipped_and_the_next_is_tried(texts: list[str], tokens_max: int):
    kept = fit(texts, joined, tokens_of, tokens_max=tokens_max)
    expected: tuple[str, ...] = ()
    for one in texts:
        if joined((*expected, one)) <= tokens_max:
            expected = (*expected, one)
    assert kept == expected


def answer(contents: list[str]) -> Answer:
    hits = tuple(
        Hit(id=f"m{n}", score=1 / n, rank=n, content=content, factors={"lexical": 1.5}, tags=("a", "b"))
        for n, content in enumerate(contents, 1)
    )
    return Answer(
        id="r7", basis=6, formula="f@0123456789ab", query="q", now="", hits=hits, degraded=("words only",)
    )


@given(st.lists(st.text(min_size=1, max_size=300), max_size=12), st.integers(1, 400))
def test_the_whole_answer_stays_within_the_budget_in_every_form(contents: list[str], tokens_max: int):
    given_ = answer(contents)
    result = within_budget(given_, tokens_max=tokens_max)
    taken = max(map(tokens_of, text_and_json(result)))
    assert taken <= result.tokens <= taken + 1  # the count itself may have one digit less
    assert result.tokens <= tokens_max or not (result.hits or result.left_out_ids)
    assert result.left_out == len(contents) - len(result.hits)
    shown = [hit.rank for hit in result.hits]
    assert shown == sorted(shown)


def test_a_long_memory_is_skipped_and_a_short_one_behind_it_is_shown():
    result = within_budget(answer(["x" * 4_000, "short"]), tokens_max=200)
    assert [hit.id for hit in result.hits] == ["m2"]
    assert (result.left_out, result.left_out_ids) == (1, ("m1",))
    assert "1 more did not fit into max_tokens: m1" in text.recalled(result)
