"""Which rows are worth scoring: found without the long lists, and never at the price of a row."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lexical_corpus import corpus, fold, laid_out, pairs
from strategies import log_of

from recollect.events.facts import Forgotten, Ingested
from recollect.projections.documents import Documents
from recollect.projections.lexical.bm25 import DEFAULTS, Bm25
from recollect.projections.lexical.index import Lexical
from recollect.projections.lexical.matches import _nth_highest


@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=5_000), st.data())
@settings(max_examples=60)
def test_the_nth_highest_value_is_that_of_the_sorted_list(values: list[float], data: st.DataObject):
    n = data.draw(st.integers(1, len(values)))
    assert _nth_highest(np.array(values), n) == sorted(values, reverse=True)[n - 1]


@pytest.mark.parametrize("ties", [1, 7, 5_000])
def test_the_nth_highest_of_many_equal_values_is_found(ties: int):
    values = np.repeat(np.arange(20_000 // ties, dtype=np.float64), ties)
    for n in (1, 100, len(values)):
        assert _nth_highest(values, n) == np.sort(values)[-n]


def test_the_long_list_of_a_common_word_is_not_read():
    _, lexical = corpus([f"the note {row}" + (" kettle" if row % 40 == 0 else "") for row in range(2_000)])
    bm25 = Bm25(variant="lucene")
    hits = lexical.search("the kettle", at=2_000, bm25=bm25, top=10)
    common, rare = lexical._match("the kettle", 2_000, bm25).terms
    assert (common.df, rare.df) == (2_000, 50)
    assert "postings" in vars(rare)
    assert "postings" not in vars(common)
    assert hits.rows.tolist() == [40 * place for place in range(10)]


@pytest.fixture(scope="module")
def with_deaths() -> tuple[Documents, Lexical, list[str]]:
    """2,000 texts of Zipf-distributed words and very different lengths; every fifth is forgotten later."""
    random = np.random.default_rng(11)
    ranks = random.zipf(1.4, size=(2_000, 60)) % 300
    texts = [" ".join(f"w{rank}" for rank in row[: 1 + row[0] % 60]) for row in ranks.tolist()]
    births = [Ingested(id=f"m{row:05}", content=text, at=0) for row, text in enumerate(texts)]
    deaths = [Forgotten(id=f"m{row:05}") for row in range(0, 2_000, 5)]
    documents = Documents()
    lexical = laid_out(documents, 1_024, 3)
    fold(log_of(*births, *deaths), documents, lexical)
    return documents, lexical, texts


@pytest.mark.parametrize("variant", DEFAULTS)
@pytest.mark.parametrize("at", [700, 2_000, 2_150, 2_400])
def test_the_best_rows_and_the_document_frequencies_are_those_of_the_living(
    with_deaths: tuple[Documents, Lexical, list[str]], variant: str, at: int
):
    documents, lexical, texts = with_deaths
    bm25 = Bm25(variant=variant)  # type: ignore[arg-type]
    buried = set(range(0, 5 * max(0, at - 2_000), 5))
    living = [row for row in range(min(at, 2_000)) if row not in buried]
    for query in ("w1 w2 w250", "w1", "w30 w31 w1 w1", "w299 w5 w17 w2"):
        wanted = set(query.split())
        holding = {word: {row for row in living if word in texts[row].split()} for word in wanted}
        rows = sorted(set().union(*holding.values()))
        scores = dict(
            zip(rows, lexical.score_rows(query, np.array(rows), at=at, bm25=bm25).tolist(), strict=True)
        )
        best = sorted(rows, key=lambda row: (-scores[row], row))[:20]
        assert pairs(lexical.search(query, at=at, bm25=bm25, top=20)) == [(row, scores[row]) for row in best]
        for detail in lexical.explain(query, rows[0], at=at, bm25=bm25):
            assert (detail.df, detail.N) == (len(holding[detail.term]), len(living))
    assert documents.rows_dead(at) == len(buried)
