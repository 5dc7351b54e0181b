"""The lexical projection at any seq against a fresh one, a checkpointed one and plain Python."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lexical_corpus import corpus, fold, laid_out, pairs
from strategies import log_of, logs

from recollect.events.envelope import Recorded
from recollect.events.errors import InvalidInput
from recollect.events.facts import AnyFact, Forgotten, Ingested, Reembedded, Restored, Revised
from recollect.projections.columns import BoolArray, Int32Array
from recollect.projections.documents import Documents
from recollect.projections.lexical.bm25 import DEFAULTS, Bm25
from recollect.projections.lexical.index import Lexical, LexicalHits
from recollect.projections.portable_math import round12

IDS = [f"m{number}" for number in range(12)]
words = st.sampled_from("abcdef")
contents = st.lists(words, max_size=6).map(" ".join)
questions = st.lists(words | st.just("unheard"), max_size=5).map(" ".join)
settings_of_bm25 = st.sampled_from([Bm25(variant=variant) for variant in DEFAULTS])
layouts = st.sampled_from([(1, 2), (5, 2), (7, 3), (1 << 15, 8)])


@st.composite
def histories(draw: st.DrawFn) -> list[Recorded]:
    """Births, new versions, copies, deaths and returns of a dozen memories."""
    facts: list[AnyFact] = []
    for _ in range(draw(st.integers(0, 40))):
        id_ = draw(st.sampled_from(IDS))
        facts.append(
            draw(
                st.sampled_from(
                    [
                        Ingested(id=id_, content=draw(contents), at=0),
                        Ingested(id=id_, content=draw(contents), at=0),
                        Revised(id=id_, content=draw(contents), at=0),
                        Reembedded(embedder="e", vectors=((id_, b"\x01\x00"),)),
                        Forgotten(id=id_),
                        Restored(id=id_),
                    ]
                )
            )
        )
    return log_of(*facts)


def fresh(log: list[Recorded], layout: tuple[int, int] = (1 << 15, 8)) -> tuple[Documents, Lexical]:
    documents = Documents()
    lexical = laid_out(documents, *layout)
    fold(log, documents, lexical)
    return documents, lexical


def answer(documents: Documents, hits: LexicalHits) -> list[tuple[str, float]]:
    """Ids instead of rows: what must not depend on how an index came about."""
    return [(documents.ids.values[documents.memory_of[row]], score) for row, score in pairs(hits)]


# --- plain Python ------------------------------------------------------------------------------------------


def plain_idf(df: int, N: int, bm25: Bm25, dfs: Counter[str]) -> float:
    if not df:
        return 0.0
    match bm25.variant:
        case "fts5":
            return max(math.log((N - df + 0.5) / (df + 0.5)), 1e-6)
        case "plus":
            return math.log((N + 1) / df)
        case "l":
            return math.log(N + 1) - math.log(df + 0.5)
        case "lucene":
            return math.log(1 + (N - df + 0.5) / (df + 0.5))
    idf = math.log(N - df + 0.5) - math.log(df + 0.5)
    all_idfs = [math.log(N - n + 0.5) - math.log(n + 0.5) for n in dfs.values()]
    return idf if idf >= 0 else bm25.epsilon * math.fsum(all_idfs) / len(all_idfs)


def plain_weight(tf: int, L: float, bm25: Bm25) -> float:
    k1, b, delta = bm25.k1, bm25.b, bm25.delta
    K = k1 * (1 - b + b * L)
    match bm25.variant:
        case "fts5" | "okapi":
            return tf * (k1 + 1) / (tf + K)
        case "plus":
            return delta + tf * (k1 + 1) / (K + tf)
        case "l":
            c = tf / (1 - b + b * L)
            return tf * (k1 + 1) * (c + delta) / (k1 + c + delta)
        case "lucene":
            return tf / (tf + K)


def plain_search(texts: dict[str, str], query: str, bm25: Bm25) -> list[tuple[str, float]]:
    """Living memories and their texts, ranked without any index."""
    counts = {id_: Counter(text.split()) for id_, text in texts.items()}
    dfs = Counter(word for count in counts.values() for word in count)
    N, total = len(texts), sum(count.total() for count in counts.values())
    scores = {}
    for id_, count in counts.items():
        if any(count[word] for word in query.split()):
            L = count.total() / (total / N)
            terms = (
                plain_idf(dfs[word], N, bm25, dfs) * plain_weight(count[word], L, bm25)
                for word in query.split()
            )
            scores[id_] = round12(sum(terms))
    return sorted(scores.items(), key=lambda item: (-item[1], item[0]))


def living_texts(log: list[Recorded]) -> dict[str, str]:
    """What every memory says after `log`, told from the facts alone."""
    texts: dict[str, str] = {}
    hidden: set[str] = set()
    for recorded in log:
        match recorded.fact:
            case Ingested(id=id_, content=content):
                texts[id_] = content
                hidden.discard(id_)
            case Revised(id=id_, content=str(content)) if id_ in texts:
                texts[id_] = content
            case Forgotten(id=id_):
                hidden.add(id_)
            case Restored(id=id_):
                hidden.discard(id_)
    return {id_: text for id_, text in texts.items() if id_ not in hidden}


# --- laws -----------------------------------------------------------------------------------------------------


@settings(max_examples=300)
@given(histories(), questions, settings_of_bm25, layouts, st.integers(0, 12), st.data())
def test_an_answer_at_any_seq_is_that_of_plain_python_over_what_lived_then(
    log: list[Recorded],
    query: str,
    bm25: Bm25,
    layout: tuple[int, int],
    top: int,
    data: st.DataObject,
):
    at = data.draw(st.integers(0, len(log)))
    documents, lexical = fresh(log, layout)
    ours = answer(documents, lexical.search(query, at=at, bm25=bm25, top=top))
    theirs = plain_search(living_texts(log[:at]), query, bm25)[:top]
    assert [id_ for id_, _ in ours] == [id_ for id_, _ in theirs]
    assert [score for _, score in ours] == pytest.approx([score for _, score in theirs], rel=1e-11)


@given(
    logs(max_size=40),
    st.sampled_from(["tea cup", "the blue moon", "naive 42 tea tea"]),
    settings_of_bm25,
    st.data(),
)
def test_the_future_changes_no_answer(log: list[Recorded], query: str, bm25: Bm25, data: st.DataObject):
    at = data.draw(st.integers(0, len(log)))
    documents, lexical = fresh(log)
    documents_then, lexical_then = fresh(log[:at])
    assert lexical.statistics(at) == lexical_then.statistics(at)
    now = answer(documents, lexical.search(query, at=at, bm25=bm25, top=10))
    assert now == answer(documents_then, lexical_then.search(query, at=at, bm25=bm25, top=10))


@given(histories(), histories(), questions, settings_of_bm25, layouts, layouts, st.data())
def test_a_checkpoint_at_any_seq_changes_no_answer(
    log: list[Recorded],
    used: list[Recorded],
    query: str,
    bm25: Bm25,
    layout: tuple[int, int],
    other_layout: tuple[int, int],
    data: st.DataObject,
):
    split, at = data.draw(st.integers(0, len(log))), data.draw(st.integers(0, len(log)))
    documents, lexical = fresh(log[:split], layout)
    lexical.search(query, at=split, bm25=bm25, top=3)
    documents_again, lexical_again = fresh(used, other_layout)
    lexical_again.search(query, at=len(used), bm25=bm25, top=3)
    documents_again.load({name: _copied(value) for name, value in documents.dump().items()})
    lexical_again.load({name: _copied(value) for name, value in lexical.dump().items()})
    fold(log[split:], documents_again, lexical_again)
    _, straight = fresh(log)
    assert lexical_again.statistics(at) == straight.statistics(at)
    hits = lexical_again.search(query, at=at, bm25=bm25, top=7)
    assert pairs(hits) == pairs(straight.search(query, at=at, bm25=bm25, top=7))


def _copied(value: object) -> object:
    return value.copy() if isinstance(value, np.ndarray) else value


@given(histories(), questions, settings_of_bm25, st.integers(1, 5), st.data())
def test_a_filter_asked_lazily_gives_what_filtering_everything_gives(
    log: list[Recorded], query: str, bm25: Bm25, top: int, data: st.DataObject
):
    at = data.draw(st.integers(0, len(log)))
    documents, lexical = fresh(log)
    admitted = data.draw(st.sets(st.integers(0, max(documents.rows - 1, 0))))
    asked: list[int] = []

    def admit(rows: Int32Array) -> BoolArray:
        asked.extend(rows.tolist())
        return np.array([row in admitted for row in rows.tolist()], dtype=np.bool_)

    everything = pairs(lexical.search(query, at=at, bm25=bm25, top=documents.rows))
    hits = pairs(lexical.search(query, at=at, bm25=bm25, top=top, admit=admit))
    assert hits == [hit for hit in everything if hit[0] in admitted][:top]
    assert len(asked) == len(set(asked))


@given(histories(), questions, settings_of_bm25, st.data())
def test_score_rows_and_explain_tell_the_scores_of_search(
    log: list[Recorded], query: str, bm25: Bm25, data: st.DataObject
):
    at = data.draw(st.integers(0, len(log)))
    documents, lexical = fresh(log)
    hits = dict(pairs(lexical.search(query, at=at, bm25=bm25, top=documents.rows)))
    rows = np.arange(documents.rows, dtype=np.int32)
    scores = lexical.score_rows(query, rows, at=at, bm25=bm25)
    assert scores.tolist() == [hits.get(row, 0.0) for row in rows.tolist()]
    for row, score in hits.items():
        total = 0.0
        for detail in lexical.explain(query, row, at=at, bm25=bm25):
            total += detail.contribution
        assert round12(total) == score


@given(histories(), st.data())
def test_statistics_count_the_living(log: list[Recorded], data: st.DataObject):
    at = data.draw(st.integers(0, len(log)))
    _, lexical = fresh(log)
    texts = living_texts(log[:at])
    statistics = lexical.statistics(at)
    assert (statistics.N, statistics.total_length) == (
        len(texts),
        sum(len(text.split()) for text in texts.values()),
    )


# --- examples ---------------------------------------------------------------------------------------------------


def test_an_explanation_has_the_numbers_of_the_formula():
    _, lexical = corpus(["tea tea cup", "cup", "moon", "moon moon"])
    tea, unheard = lexical.explain("tea unheard", 0, at=4, bm25=Bm25(variant="fts5"))
    idf = math.log((4 - 1 + 0.5) / (1 + 0.5))
    average = (3 + 1 + 1 + 2) / 4
    assert (tea.term, tea.tf, tea.df, tea.N, tea.idf) == ("tea", 2, 1, 4, idf)
    assert (tea.length, tea.average_length) == (3, average)
    assert tea.contribution == idf * (2 * (1.2 + 1) / (2 + 1.2 * (1 - 0.75 + 0.75 * (3 / average))))
    assert (unheard.tf, unheard.df, unheard.idf, unheard.contribution) == (0, 0, 0.0, 0.0)


def test_a_word_that_the_query_repeats_counts_again():
    _, lexical = corpus(["tea", "cup", "moon"])
    bm25 = Bm25(variant="fts5")
    once, twice = (lexical.search(query, at=3, bm25=bm25, top=1).scores[0] for query in ("tea", "tea tea"))
    assert twice == pytest.approx(2 * once, rel=1e-11)


def test_equal_scores_come_in_the_order_of_their_ids():
    log = log_of(*(Ingested(id=id_, content="tea", at=0) for id_ in ["b", "d", "a", "c"]))
    documents, lexical = fresh(log)
    for top in range(5):
        hits = lexical.search("tea", at=4, bm25=Bm25(), top=top)
        assert [id_ for id_, _ in answer(documents, hits)] == ["a", "b", "c", "d"][:top]


def test_the_terms_of_a_row_are_those_of_its_text_or_of_its_original():
    log = log_of(
        Ingested(id="m", content="Blue tea, blue", at=0),
        Forgotten(id="m"),
        Restored(id="m"),
        Forgotten(id="x"),
    )
    _, lexical = fresh(log)
    assert lexical.terms_of(0) == lexical.terms_of(1) == ["blue", "tea", "blue"]


def test_nothing_is_found_in_an_empty_index_or_by_an_empty_query():
    _, empty = corpus([])
    _, lexical = corpus(["tea", ""])
    for index, query in ((empty, "tea"), (lexical, ""), (lexical, "?!"), (lexical, "cup")):
        assert pairs(index.search(query, at=9, bm25=Bm25(), top=5)) == []
    assert lexical.explain("?!", 0, at=2, bm25=Bm25()) == ()


def test_an_unknown_analyzer_is_refused_with_the_known_ones():
    with pytest.raises(
        InvalidInput, match=r"no analyzer is named 'klingon/1'; choose one of unicode61-cjk/1"
    ):
        Lexical(Documents(), "klingon/1")


# --- a larger corpus ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def large() -> tuple[Documents, Lexical, list[str]]:
    """3,000 short texts of Zipf-distributed words, so that lists differ in length and blocks merge."""
    random = np.random.default_rng(7)
    ranks = random.zipf(1.3, size=(3000, 12)) % 500
    texts = [" ".join(f"w{rank}" for rank in row[: 3 + row[0] % 10]) for row in ranks.tolist()]
    documents = Documents()
    lexical = laid_out(documents, 512, 3)
    fold(
        log_of(*(Ingested(id=f"m{row:05}", content=text, at=0) for row, text in enumerate(texts))),
        documents,
        lexical,
    )
    return documents, lexical, texts


@pytest.mark.parametrize("variant", DEFAULTS)
@pytest.mark.parametrize("query", ["w1", "w1 w2 w3", "w40 w1 w300", "w7 w7 w90 w200 w33 w2", "w499 w498"])
@pytest.mark.parametrize("top", [1, 10, 100])
def test_the_quick_selection_loses_no_row(
    large: tuple[Documents, Lexical, list[str]], variant: str, query: str, top: int
):
    _, lexical, texts = large
    bm25 = Bm25(variant=variant)  # type: ignore[arg-type]
    scores = lexical.score_rows(query, np.arange(3000), at=3000, bm25=bm25)
    wanted = set(query.split())
    rows = [row for row in range(3000) if wanted & set(texts[row].split())]
    best = sorted((-scores[row], row) for row in rows)[:top]
    hits = pairs(lexical.search(query, at=3000, bm25=bm25, top=top))
    assert hits == [(row, -score) for score, row in best]
    few = pairs(lexical.search(query, at=3000, bm25=bm25, top=top, admit=lambda rows: rows % 97 == 0))
    assert (
        few
        == [(row, scores[row]) for row in sorted(rows, key=lambda row: (-scores[row], row)) if row % 97 == 0][
            :top
        ]
    )
