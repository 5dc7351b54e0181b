"""Models at the edge: asked when a formula wants them, recorded with the question, never needed again."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from recollect.engine.answers import Answer
from recollect.engine.embedding.choice import choose
from recollect.engine.embedding.store_embedder import Embedding
from recollect.engine.validate import QUERY_CHARACTERS_MAX
from recollect.events.errors import InvalidInput
from recollect.events.facts import Question, Recalled
from recollect.interfaces.python.memory import Memory
from recollect.query.formula import built_in, parse

# Everything in common with the question but its order: no text stands out, so there is no shortcut.
TEXTS = {"m1": "river bank of stone", "m2": "river bank of sand", "m3": "river bank of clay"}
QUESTION = "explain river bank"


def filled(memory: Memory) -> Memory:
    memory.remember_many([{"id": id_, "content": text} for id_, text in TEXTS.items()])
    return memory


def question_of(memory: Memory, answer: Answer) -> Question:
    assert answer.id is not None
    recalled = memory._store.event(int(answer.id[1:])).fact
    assert isinstance(recalled, Recalled)
    return recalled.question


def by_length(query: str, texts: list[str]) -> list[float]:
    return [float(len(text)) for text in texts]


# --- reranking -------------------------------------------------------------------------------------


def test_a_reranker_reads_the_contents_and_moves_the_candidates(open_memory: Callable[..., Memory]):
    seen: list[tuple[str, list[str]]] = []

    def reranker(query: str, texts: list[str]) -> list[float]:
        seen.append((query, texts))
        return [1.0 if "clay" in text else 0.0 for text in texts]

    memory = filled(open_memory(formula="omega", embedder=None, reranker=reranker))
    answer = memory.recall(QUESTION, record=False)
    assert [query for query, _ in seen] == [QUESTION]
    assert sorted(seen[0][1]) == sorted(TEXTS.values())
    assert answer.hits[0].id == "m3"
    plain = filled(open_memory("plain", formula="omega", embedder=None)).recall(QUESTION)
    assert plain.hits[0].id == "m1"
    before, after = ({hit.id: hit.score for hit in a.hits} for a in (plain, answer))
    assert after["m1"] == pytest.approx(before["m1"] / (before["m3"] * (1 + 0.15 * 1.0)), rel=1e-11)


def test_the_recorded_question_carries_the_scores_and_replays_without_the_model(
    open_memory: Callable[..., Memory],
):
    memory = filled(open_memory(formula="omega", reranker=by_length, expander=lambda text: ["sandy shore"]))
    answer = memory.recall(QUESTION)
    effects = question_of(memory, answer).effects
    assert effects.reranked is not None
    assert effects.reranked.model.endswith("by_length")
    assert effects.reranked.scores == {id_: float(len(text)) for id_, text in TEXTS.items()}
    assert effects.expansions is not None
    assert [e.text for e in effects.expansions] == ["sandy shore"]
    assert effects.expansions[0].vector is not None
    memory.close()
    alone = open_memory()
    report = alone.verify()
    assert (report.exact, report.checked) == (True, 1)
    assert alone.verify(independent=True).exact


def test_of_a_recorded_question_asked_anew_the_same_reranker_scores_what_is_new_and_another_scores_all(
    open_memory: Callable[..., Memory],
):
    seen: list[list[str]] = []

    def reranker(query: str, texts: list[str]) -> list[float]:
        seen.append(sorted(texts))
        return by_length(query, texts)

    memory = filled(open_memory(formula="omega", embedder=None, reranker=reranker))
    first = memory.recall(QUESTION)
    new = "river bank of very old shells"
    memory.remember(new, id="m4")
    anew = memory.recall(first.id)
    assert seen == [sorted(TEXTS.values()), [new]]
    scores = {id_: float(len(text)) for id_, text in (TEXTS | {"m4": new}).items()}
    assert question_of(memory, anew).effects.reranked.scores == scores
    assert [hit.id for hit in anew.hits] == [hit.id for hit in memory.recall(QUESTION).hits]
    asked = len(seen)
    assert [hit.id for hit in memory.recall(anew.id).hits] == [hit.id for hit in anew.hits]
    assert len(seen) == asked
    memory.close()
    other = open_memory(formula="omega", embedder=None, reranker=lambda query, texts: [1.0] * len(texts))
    assert question_of(other, other.recall(first.id)).effects.reranked.scores == dict.fromkeys(scores, 1.0)
    assert other.verify().exact


@pytest.mark.parametrize(
    ("reranker", "note"),
    [
        (lambda query, texts: [1.0], "gave 1 scores for 3 texts"),
        (lambda query, texts: 1 / 0, "ZeroDivisionError"),
        (lambda query, texts: ["warm"] * len(texts), "ValueError"),
        (lambda query, texts: [math.nan] * len(texts), "3 of 3 scores"),
    ],
    ids=["too few", "raises", "no numbers", "not finite"],
)
def test_a_reranker_that_fails_degrades_the_answer_and_changes_nothing_else(
    open_memory: Callable[..., Memory], reranker: Callable[[str, list[str]], list[float]], note: str
):
    memory = filled(open_memory(formula="omega", reranker=reranker))
    answer = memory.recall(QUESTION)
    plain = filled(open_memory("plain", formula="omega")).recall(QUESTION)
    assert [(hit.id, hit.score) for hit in answer.hits] == [(hit.id, hit.score) for hit in plain.hits]
    assert len(answer.degraded) == 1
    assert answer.degraded[0].startswith("rerank: ")
    assert note in answer.degraded[0]
    assert question_of(memory, answer).effects.reranked is None
    assert memory.verify().exact


def test_a_score_that_is_not_finite_does_not_spoil_the_others(open_memory: Callable[..., Memory]):
    def partly(query: str, texts: list[str]) -> list[float]:
        return [math.inf if "stone" in text else float(len(text)) for text in texts]

    memory = filled(open_memory(formula="omega", reranker=partly))
    answer = memory.recall(QUESTION)
    effect = question_of(memory, answer).effects.reranked
    assert effect is not None
    assert effect.scores.keys() == {"m2", "m3"}
    assert all(math.isfinite(hit.score) for hit in answer.hits)
    assert "1 of 3 scores" in answer.degraded[0]
    assert memory.verify().exact


def test_a_reranker_is_not_asked_about_one_candidate_or_after_a_shortcut(open_memory: Callable[..., Memory]):
    def refuse(query: str, texts: list[str]) -> list[float]:
        raise AssertionError(query)

    memory = filled(open_memory(formula="omega", embedder=None, reranker=refuse))
    assert memory.recall("explain clay").degraded == ("vector: no embedder, ranked by words only",)
    assert memory.recall("fix_river bank of stone").degraded == ("vector: no embedder, ranked by words only",)
    assert memory.recall(QUESTION, formula="reverie").degraded == (
        "vector: no embedder, ranked by words only",
    )


def test_a_missing_reranker_is_told_only_where_the_formula_expects_one(open_memory: Callable[..., Memory]):
    memory = filled(open_memory(formula="omega"))
    assert memory.recall(QUESTION).degraded == ()
    expecting = parse(
        """
        name = "expecting"
        stages = [
          { op = "retrieve", channel = "lexical" },
          { op = "fuse", channels = ["lexical"] },
          { op = "rerank", expected = true },
        ]
        """,
        origin="test",
    )
    answer = memory.recall(QUESTION, formula=expecting)
    assert answer.degraded == ("rerank: the formula expects a cross-encoder and none was given",)


def test_the_past_is_asked_with_the_models_too(open_memory: Callable[..., Memory]):
    memory = filled(open_memory(formula="omega", reranker=by_length))
    now = memory.recall(QUESTION, record=False)
    then = memory.at(memory.status().head).recall(QUESTION, formula="omega")
    assert [(hit.id, hit.score) for hit in then.hits] == [(hit.id, hit.score) for hit in now.hits]
    assert memory.status().recalls == 0


def test_what_is_no_reranker_is_refused(open_memory: Callable[..., Memory]):
    with pytest.raises(InvalidInput, match="neither the path or name"):
        open_memory(reranker=7)


# --- rewriting -------------------------------------------------------------------------------------


def test_rewritings_find_what_the_question_does_not_name(open_memory: Callable[..., Memory]):
    memory = open_memory(formula="omega", expander=lambda text: ["stream shore", text, "", "stream shore"])
    memory.remember("stream shore", id="m1")
    answer = memory.recall("explain stream banks shore")
    (expansion,) = question_of(memory, answer).effects.expansions or ()
    assert expansion.text == "stream shore"
    assert memory.verify().exact


def test_only_as_many_rewritings_as_the_formula_searches_are_kept(open_memory: Callable[..., Memory]):
    memory = filled(open_memory(formula="omega", expander=lambda text: [f"tea {n}" for n in range(9)]))
    assert len(question_of(memory, memory.recall(QUESTION)).effects.expansions or ()) == 2


@pytest.mark.parametrize("text", ["which river bank", "river_bank", "river bank"])
def test_only_conceptual_questions_are_rewritten(open_memory: Callable[..., Memory], text: str):
    def refuse(text: str) -> list[str]:
        raise AssertionError(text)

    memory = filled(open_memory(formula="omega", expander=refuse))
    answer = memory.recall(text)
    assert answer.degraded == ()
    assert question_of(memory, answer).effects.expansions is None


@pytest.mark.parametrize(
    "bad", [lambda text: [7], lambda text: 1 / 0, lambda text: ["x" * (QUERY_CHARACTERS_MAX + 1)]]
)
def test_an_expander_that_fails_degrades_the_answer(
    open_memory: Callable[..., Memory], bad: Callable[[str], list[str]]
):
    memory = filled(open_memory(formula="omega", expander=bad))
    answer = memory.recall(QUESTION)
    assert answer.degraded[0].startswith("expansion: the expander failed")
    assert len(answer.hits) == 3
    assert memory.verify().exact


def test_omega_asks_for_reranking_without_expecting_it():
    (stage,) = [stage for stage in built_in("omega").stages if stage.__struct_config__.tag == "rerank"]
    assert not stage.expected


class Broken:
    """An embedder whose model never came."""

    name, dimensions, ready = "broken/1", 2, False

    def __init__(self, failure: str | None) -> None:
        self.failure = failure

    def warm(self) -> None: ...

    def embed(self, texts):
        raise AssertionError("the answer must not wait for it")


@pytest.mark.parametrize(
    ("failure", "said"),
    [(None, "broken/1 is still loading"), ("no such file", "no such file; ranked by words only")],
)
def test_a_model_that_failed_is_not_said_to_be_loading(failure, said):
    assert Embedding(choose(Broken(failure)), None).problem == f"vector: {said}"
