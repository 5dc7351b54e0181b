"""A token budget shows the beginning of a ranking, whole hits only."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from recollect.interfaces.mcp.budget import fit, tokens_of


def test_a_token_is_four_characters_rounded_up():
    assert [tokens_of("x" * length) for length in (0, 1, 4, 5, 8)] == [0, 1, 1, 2, 2]


@given(st.lists(st.text(max_size=40)), st.integers(1, 60))
def test_the_longest_beginning_that_fits_is_kept(texts: list[str], tokens_max: int):
    kept, tokens = fit(texts, str, tokens_max=tokens_max)
    assert tokens == sum(tokens_of(text) for text in texts[:kept]) <= tokens_max
    if kept < len(texts):
        assert tokens + tokens_of(texts[kept]) > tokens_max
