"""What callers bring is bounded, and what they get says how far it went."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from recollect.dream.settings import load_settings
from recollect.engine.embedding.embedder import EmbedderFailed
from recollect.events.errors import InvalidInput, RecollectError
from recollect.interfaces.cli.app import main
from recollect.interfaces.python.memory import Memory

Open = Callable[..., Memory]


class Plain:
    """An embedder as an object, whose answer a test chooses."""

    name = "plain"
    dimensions = 3
    ready = True

    def __init__(self, answer: Callable[[Sequence[str]], object]) -> None:
        self.answer = answer

    def warm(self) -> None:
        """Nothing to load."""

    def embed(self, texts: Sequence[str]) -> object:
        return self.answer(texts)


def fails(texts: Sequence[str]) -> object:
    raise ConnectionError("no route to the model")


WRONG: dict[str, tuple[Callable[[Sequence[str]], object], str]] = {
    "too few rows": (lambda t: [[1.0, 0.0, 0.0]] * (len(t) - 1), "shape|no matrix"),
    "too many rows": (lambda t: [[1.0, 0.0, 0.0]] * (len(t) + 1), r"shape \(3, 3\) for 2 texts"),
    "one row for all": (lambda t: [1.0, 0.0, 0.0], r"shape \(3,\) for 2 texts"),
    "nothing": (lambda t: None, "a NoneType for 2 texts"),
    "a generator": (lambda t: (x for x in t), "a generator for 2 texts"),
    "ragged": (lambda t: [[1.0, 0.0, 0.0], [1.0]][: len(t)], "no matrix|dimensions"),
    "texts": (lambda t: [["a", "b", "c"]] * len(t), "instead of numbers"),
    "nan": (lambda t: [[1.0, 0.0, 0.0], [1.0, float("nan"), 0.0]][-len(t) :], "a number that is not finite"),
    "infinity": (lambda t: [[1e300, 0.0, 0.0]] * len(t), "a number that is not finite"),
    "zeros": (lambda t: [[0.0, 0.0, 0.0]] * len(t), r"only zeros for text 1 of \d \('"),
    "no dimensions": (lambda t: np.zeros((len(t), 0)), "0 dimensions"),
    "an exception": (fails, "failed .ConnectionError: no route to the model"),
}


@pytest.mark.parametrize("shape", ["object", "function"])
@pytest.mark.parametrize("wrong", WRONG)
def test_an_embedder_that_answers_wrongly_is_one_clear_error(open_memory: Open, wrong: str, shape: str):
    answer, said = WRONG[wrong]
    good: Callable[[Sequence[str]], object] = lambda texts: [[1.0, 2.0, 3.0]] * len(texts)  # noqa: E731
    held = Plain(good)
    memory = open_memory(embedder=held if shape == "object" else held.embed)
    memory.remember("first")
    memory.recall("first")
    head = memory.status().head
    held.answer = answer
    with pytest.raises(EmbedderFailed, match=said) as refused:
        memory.remember_many(["second", "third"])
    assert f"the embedder {memory.embedder.name!r}" in str(refused.value)
    assert "\n" not in str(refused.value)
    if wrong != "ragged":
        with pytest.raises(EmbedderFailed):
            memory.recall("second")
    assert memory.status().head == head
    held.answer = good
    assert len(memory.remember_many(["second", "third"])) == 2


def test_an_embedder_whose_vectors_have_other_dimensions_than_it_says_is_refused(open_memory: Open):
    memory = open_memory(embedder=Plain(lambda texts: [[1.0, 2.0]] * len(texts)))
    with pytest.raises(EmbedderFailed, match="'plain' gave vectors of 2 dimensions where it says 3"):
        memory.remember("first")
    assert memory.status().head == 0


@pytest.mark.parametrize("bad", [{"content": "x", "importance": 7}, {"content": ""}, 12])
def test_a_failing_remember_many_tells_which_ids_are_kept(memory: Memory, bad: object):
    items: list[object] = [{"content": f"text {n}", "id": f"m{n}"} for n in range(1_200)]
    items[1_100] = bad
    with pytest.raises(InvalidInput, match="; the first 1,024 items are kept") as refused:
        memory.remember_many(items)
    assert refused.value.kept == tuple(f"m{n}" for n in range(1_024))
    assert {memo.id for memo in memory.memories()} == set(refused.value.kept)
    del items[1_100]
    memory.remember_many(items[len(refused.value.kept) :])
    assert len(memory.memories()) == 1_199


def test_an_error_of_the_caller_tells_what_is_kept_as_well(memory: Memory):
    def items():
        yield from (f"text {n}" for n in range(600))
        raise OSError("the source is gone")

    with pytest.raises(OSError, match="the source is gone") as refused:
        memory.remember_many(items())
    assert len(refused.value.kept) == len(memory.memories()) == 512
    assert "the first 512 items are kept" in refused.value.__notes__[0]
    with pytest.raises(RecollectError) as first:
        memory.remember("")
    assert first.value.kept == ()


def test_an_answer_says_how_many_of_k_were_found(memory: Memory):
    for n in range(3):
        memory.remember(f"tea leaf {n}", id=f"m{n}")
    assert memory.recall("tea", k=10).facts["found"] == "3 of 10"
    assert "found" not in memory.recall("tea", k=3).facts
    assert memory.at("now").recall("tea", k=4).facts["found"] == "3 of 4"
    with pytest.raises(InvalidInput, match="k is 10001"):
        memory.recall("tea", k=10_001)


def test_the_command_says_how_many_of_k_were_found(tmp_path: Path):
    def run(*words: str) -> str:
        done = CliRunner().invoke(main, [*words, "--store", str(tmp_path / "s"), "--embedder", "hash"])
        assert done.exit_code == 0, done.output
        return done.output

    run("remember", "tea leaf")
    assert run("recall", "tea", "-k", "7").endswith("\n1 of the 7 asked for were found\n")
    assert "asked for" not in run("recall", "tea", "-k", "1")
    assert json.loads(run("recall", "tea", "-k", "7", "--json"))["facts"]["found"] == "1 of 7"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"filters": {"tags": ["t"] * 10_001}}, "filters entry 'tags' has 10,001 values"),
        ({"context": {"files": ["f" * 1_001]}}, "context entry 'files' has 1,001 characters"),
        ({"context": {"surface": "\ud800"}}, "lone surrogate"),
        ({"filters": {"min_importance": 10**400}}, "filters: "),
    ],
)
def test_what_surrounds_a_question_is_bounded(memory: Memory, options: dict[str, object], said: str):
    with pytest.raises(InvalidInput, match=said):
        memory.recall("tea", **options)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a = " + "[" * 20_000, "nested too deeply"),
        ("#" * 300_000, "longer than 262,144 bytes"),
        ("a" + ".a" * 20_000 + " = 1", "more than 500 dots"),
        ("[scan]\nhalf_life_hours = inf", "dream settings: "),
    ],
)
def test_hostile_dream_settings_are_one_line(tmp_path: Path, text: str, said: str):
    file = tmp_path / "dream.toml"
    file.write_text(text, "utf-8")
    with pytest.raises(InvalidInput, match=said) as refused:
        load_settings(file)
    assert "\n" not in str(refused.value)


def test_a_hook_asks_with_the_beginning_of_a_long_prompt_and_says_so(tmp_path: Path):
    from recollect.interfaces.mcp.hook import HookInput, Limits, recall

    with Memory.open(tmp_path / "s", embedder="hash") as memory:
        memory.remember("tea leaf")
        given = HookInput(prompt="tea " * 5_000)
        result = recall(memory, given, Limits(k=3, tokens_max=500, seconds_max=5.0), None)
    assert [hit.content for hit in result.hits] == ["tea leaf"]
    assert result.degraded == ("query: the first 10,000 of the prompt's 20,000 characters were asked with",)


_MANY = "9" * 5_000


@pytest.mark.parametrize(
    "ask",
    [
        lambda memory: memory.show(f"r{_MANY[:900]}"),
        lambda memory: memory.why(f"r{_MANY}", "m1"),
        lambda memory: memory.withdraw(f"e{_MANY}"),
        lambda memory: memory.at(f"@{_MANY}"),
        lambda memory: memory.recalls(before=f"r{_MANY}"),
        lambda memory: memory.recalls(before=f"@{_MANY}"),
        lambda memory: memory.retain(recalls=f"{_MANY}d"),
        lambda memory: memory.retain(recalls="99999999d"),
    ],
)
def test_a_number_with_very_many_digits_is_refused(memory: Memory, ask: Callable[[Memory], object]):
    with pytest.raises(InvalidInput):
        ask(memory)


def test_a_question_may_look_like_the_id_of_a_recall_that_no_log_can_hold(memory: Memory):
    assert memory.recall(f"r{_MANY}").hits == ()
    assert memory.recall(f"what was said {_MANY} days ago").hits == ()
