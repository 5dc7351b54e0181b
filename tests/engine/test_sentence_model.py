"""Models of sentence-transformers by name or folder: a tiny one with random weights and prompts of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tiny_model import TOKENS_MAX

from recollect.engine.embedding.choice import choose
from recollect.engine.embedding.sentence_model import ModelMissing, SentenceModel, _known_prompt, parse_spec
from recollect.events.errors import InvalidInput
from recollect.interfaces.python.memory import Memory

TEXT = "auth sessions live in postgres"


def saved(folder: Path) -> Path:
    """A tiny model, saved by a process of its own."""
    code = "import sys; from pathlib import Path; from tiny_model import save_tiny_model as s; s(Path(sys.argv[1]))"
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)}
    subprocess.run(
        [sys.executable, "-c", code, str(folder)], env=environment, capture_output=True, check=True
    )
    return folder / "model"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved(tmp_path_factory.mktemp("tiny"))


@pytest.mark.model
def test_questions_and_texts_are_read_with_the_prompts_of_the_model(folder: Path):
    model = choose(f"st:{folder}")
    assert isinstance(model, SentenceModel)
    assert (model.name, model.dimensions, model.ready, model.state) == (
        f"st:{folder}",
        0,
        False,
        "not loaded",
    )
    text, question = model.embed([TEXT]), model.embed_queries([TEXT])
    assert (text.shape, model.dimensions, model.ready) == ((1, 16), 16, True)
    assert not np.allclose(text, question)
    plain = model._model
    assert plain is not None
    assert np.allclose(text, plain.encode([f"passage: {TEXT}"], prompt=""), atol=1e-6)
    assert np.allclose(question, plain.encode([f"query: {TEXT}"], prompt=""), atol=1e-6)


@pytest.mark.model
def test_the_first_dimensions_are_taken_where_asked_and_a_store_is_verified_without_the_model(
    folder, tmp_path
):
    with Memory.open(tmp_path, embedder=f"st:{folder}?dim=8", helper="never") as memory:
        memory.remember(TEXT, id="auth")
        memory.remember("redis is a cache", id="redis")
        assert memory.recall("where are auth sessions stored?").degraded == ()
        status = memory.status()
        assert (status.embedder.name, status.embedder.dimensions) == (f"st:{folder}?dim=8", 8)
    with Memory.open(tmp_path, helper="never") as memory:
        assert memory.embedder is not None
        assert memory.embedder.name == f"st:{folder}?dim=8"
        assert memory.verify().exact


@pytest.mark.model
def test_texts_that_are_longer_than_the_model_reads_are_said(folder: Path, tmp_path):
    told: list[str] = []
    with Memory.open(tmp_path, embedder=f"st:{folder}", helper="never", tell=told.append) as memory:
        memory.remember("auth " * (TOKENS_MAX - 4))
        memory.remember("auth " * (TOKENS_MAX + 1))
    assert told == [
        f"loading st:{folder} in this process",
        f"1 text is longer than the {TOKENS_MAX} tokens that st:{folder} reads, and embedded by the beginning",
    ]


def test_a_folder_that_is_not_there_is_an_error_that_says_so(tmp_path):
    model = choose(f"st:{tmp_path}/none")
    assert model is not None
    with pytest.raises(ModelMissing, match=f"there is no folder {tmp_path}/none"):
        model.embed([TEXT])


@pytest.mark.model
def test_a_model_that_is_not_there_is_an_error_with_its_name(tmp_path):
    model = choose("st:nobody/has-this-model", from_log=True)
    assert model is not None
    with pytest.raises(ModelMissing, match="'st:nobody/has-this-model' could not be loaded"):
        model.embed([TEXT])
    assert model.failure


def test_a_folder_is_named_by_its_whole_path_and_options_that_decide_nothing_are_not_in_the_name(
    tmp_path, monkeypatch
):
    (tmp_path / "mine").mkdir()
    monkeypatch.chdir(tmp_path)
    spec = parse_spec("st:mine?dim=256&device=cuda&batch=8")
    assert (spec.name, spec.device, spec.batch) == (f"st:{tmp_path / 'mine'}?dim=256", "cuda", 8)
    assert parse_spec(spec.whole) == spec
    assert parse_spec(spec.name).name == spec.name
    assert parse_spec("st:org/name").name == "st:org/name"


@pytest.mark.parametrize(
    "given", ["st:", "st:?dim=3", "st:x?dim=0", "st:x?dim=many", "st:x?batch=-1", "st:x?code=1"]
)
def test_a_spec_that_is_none_is_refused(given: str):
    with pytest.raises(InvalidInput, match="embedder 'st:"):
        choose(given)


@pytest.mark.parametrize(
    ("model", "query", "text"),
    [
        ("intfloat/e5-base-v2", "query: ", "passage: "),
        ("/models/multilingual-e5-small", "query: ", "passage: "),
        ("BAAI/bge-small-en-v1.5", "Represent this sentence for searching relevant passages: ", ""),
        ("sentence-transformers/all-MiniLM-L6-v2", None, None),
    ],
)
def test_models_whose_prompts_are_only_on_their_pages_get_them(
    model: str, query: str | None, text: str | None
):
    assert (_known_prompt(model, query=True), _known_prompt(model, query=False)) == (query, text)
