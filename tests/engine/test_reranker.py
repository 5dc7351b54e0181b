"""The real loading code of a cross-encoder, with a tiny BERT that the test makes itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from recollect.engine.embedding.reranker import (
    CrossEncoderReranker,
    FunctionReranker,
    Reranker,
    choose_reranker,
)
from recollect.interfaces.python.memory import Memory

WORDS = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    "river",
    "bank",
    "stone",
    "sand",
    "clay",
    "explain",
    "of",
]


@pytest.fixture(scope="module")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A randomly initialised cross-encoder on disk."""
    torch = pytest.importorskip("torch")
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

    folder = tmp_path_factory.mktemp("models") / "tiny-bert"
    folder.mkdir()
    torch.manual_seed(7)
    config = BertConfig(
        vocab_size=len(WORDS), hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=16, max_position_embeddings=32, num_labels=1, initializer_range=1.0,
    )  # fmt: skip
    BertForSequenceClassification(config).save_pretrained(folder)
    BertTokenizerFast(vocab={word: number for number, word in enumerate(WORDS)}).save_pretrained(folder)
    return folder


@pytest.mark.model
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_a_cross_encoder_is_loaded_from_its_folder_and_scores_in_an_answer(
    tiny_model: Path, open_memory: Callable[..., Memory]
):
    reranker = choose_reranker(tiny_model)
    assert isinstance(reranker, CrossEncoderReranker)
    assert reranker.name == "cross-encoder/tiny-bert"
    scores = reranker.score("explain river", ["river bank", "stone", "clay sand"])
    assert len(scores) == 3
    assert len(set(scores)) == 3
    memory = open_memory(formula="omega", reranker=str(tiny_model))
    memory.remember_many(["river bank of stone", "river bank of sand", "river bank of clay"])
    answer = memory.recall("explain river bank")
    assert answer.degraded == ()
    assert len(answer.hits) == 3
    memory.close()
    assert open_memory().verify().exact


@pytest.mark.model
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_a_folder_that_holds_no_model_degrades_the_answer(tmp_path: Path, open_memory: Callable[..., Memory]):
    (tmp_path / "empty").mkdir()
    memory = open_memory(formula="omega", reranker=tmp_path / "empty")
    memory.remember_many(["river bank of stone", "river bank of sand"])
    (note,) = memory.recall("explain river bank").degraded
    assert note.startswith("rerank: cross-encoder/empty failed")


def test_a_callable_and_an_object_are_rerankers():
    class Mine:
        name = "mine"

        def score(self, query: str, texts: list[str]) -> list[float]:
            return [0.0] * len(texts)

    mine = Mine()
    assert choose_reranker(mine) is mine
    function = choose_reranker(lambda query, texts: [1, 2])
    assert isinstance(function, FunctionReranker)
    assert isinstance(function, Reranker)
    assert function.score("q", ["a", "b"]) == [1.0, 2.0]
    assert choose_reranker(None) is None


def test_an_explanation_of_a_question_that_was_not_asked_consults_the_same_models(tmp_path):
    def longest_first(query: str, texts: list[str]) -> list[float]:
        return [float(len(text)) for text in texts]

    formula = tmp_path / "mine.toml"
    formula.write_text(
        'name = "mine"\nstages = [{ op = "retrieve", channel = "lexical" }, '
        '{ op = "fuse", channels = ["lexical"] }, { op = "rerank", top = 10 }]',
        "utf-8",
    )
    with Memory.open(tmp_path / "store", embedder="hash", formula=formula, reranker=longest_first) as memory:
        for n in range(4):
            memory.remember(f"Auth sessions and where they are stored, part {n}" + " again" * n, id=f"m{n}")
        answer = memory.recall("auth sessions, how are they stored and why?", record=False)
        assert len(answer.hits) > 1
        for hit in answer.hits:
            explanation = memory.explain(answer.query, hit.id, now=answer.now)
            assert explanation.score == hit.score
            assert any("rerank" in stage.title and stage.reads for stage in explanation.stages)
