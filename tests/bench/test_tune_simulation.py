"""tune finds a planted truth from biased traffic, writes the same file every time, and is in force when it is adopted."""

from __future__ import annotations

import shutil
import sys
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from recollect.interfaces.cli.app import main
from recollect.interfaces.python.memory import Memory
from recollect.query.formula import load
from recollect.replay.tune.tuning import TooThin

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))
import tune_recorded as recorded
import tune_simulation as simulation


@pytest.fixture(scope="module")
def lived(tmp_path_factory) -> Path:
    """A store that was asked and used, and the file of the formula that it was asked under."""
    folder = tmp_path_factory.mktemp("lived")
    with Memory.open(folder / "store", embedder=None) as memory:
        simulation.live(memory, 1)
    (folder / "planted.toml").write_text(simulation.FORMULA)
    return folder


def tune(lived: Path, *arguments: str) -> object:
    return CliRunner().invoke(main, ["tune", *arguments, "--store", str(lived / "store")])


def test_a_planted_truth_is_recovered_and_the_later_half_bears_it_out(lived):
    with Memory.open(lived / "store", embedder=None) as memory:
        tuned = memory.tune(lived / "planted.toml")
        assert abs(tuned.numbers[0].after - simulation.TRUTH) <= simulation.TOLERANCE
        assert tuned.after > tuned.before
        assert tuned.recommended
        assert tuned.judged >= 20
        assert tuned.low > 0.0


def test_the_same_command_on_the_same_log_gives_the_same_file(lived, tmp_path):
    planted, head = str(lived / "planted.toml"), (lived / "store")
    for name in ("one", "two"):
        result = tune(
            lived, planted, "--out", str(tmp_path / f"{name}.toml"), "--html", str(tmp_path / f"{name}.html")
        )
        assert result.exit_code == 0, result.output
    assert (tmp_path / "one.toml").read_bytes() == (tmp_path / "two.toml").read_bytes()
    assert "<svg" in (tmp_path / "one.html").read_text()
    assert (tmp_path / "one.html").read_bytes() == (tmp_path / "two.html").read_bytes()
    again = tune(lived, planted, "--out", str(tmp_path / "one.toml"))
    assert again.exit_code == 2
    assert "exists" in again.output
    with Memory.open(head, embedder=None) as memory:
        fields = tomllib.loads((tmp_path / "one.toml").read_text())
        assert fields["learned"]["seq"] == memory.status().head
        assert fields["learned"]["formula"].startswith("planted@")
        assert fields["extends"] == f"planted@{fields['learned']['formula'].partition('@')[2][:12]}"


def test_what_was_learned_is_adopted_compared_and_verified(lived, tmp_path):
    store = shutil.copytree(lived / "store", tmp_path / "store")
    with Memory.open(store, embedder=None) as memory:
        tuned = memory.tune("planted", adopt=True, out=tmp_path / "tuned.toml")
        assert tuned.adopted
        assert memory.recall("word1 word2").formula == tuned.formula
        assert memory.compare("planted", tmp_path / "tuned.toml").judged_questions > 0
    with Memory.open(store, embedder=None) as memory:
        assert memory.recall("word1 word3").formula == tuned.formula
        assert memory.verify().exact


def test_a_formula_of_a_file_alone_is_written_whole(lived, tmp_path):
    text = simulation.FORMULA.replace('name = "planted"', 'name = "other"')
    (tmp_path / "other.toml").write_text(text)
    result = tune(lived, str(tmp_path / "other.toml"), "--out", str(tmp_path / "tuned.toml"))
    assert result.exit_code == 0, result.output
    found = load(tmp_path / "tuned.toml")
    assert found.name == "other-tuned"
    assert "extends" not in (tmp_path / "tuned.toml").read_text()


def test_a_store_with_ten_recalls_is_refused_with_a_clear_sentence(tmp_path):
    with Memory.open(tmp_path / "store", embedder=None) as memory:
        simulation.live(memory, 2, questions=10)
        head = memory.status().head
        with pytest.raises(TooThin, match=r"10 recorded questions, of which . are judged, are too few"):
            memory.tune("recollect", adopt=True, out=tmp_path / "tuned.toml")
        assert memory.status().head == head
    refused = CliRunner().invoke(main, ["tune", "recollect", "--store", str(tmp_path / "store")])
    assert refused.exit_code == 2
    assert "more" in refused.output
    assert not (tmp_path / "tuned.toml").exists()


def test_numbers_that_the_later_half_does_not_bear_out_go_nowhere(lived, tmp_path):
    text = simulation.FORMULA.replace(
        f"importance = {simulation.START} }}", f"importance = {simulation.TRUTH} }}"
    )
    (tmp_path / "right.toml").write_text(text.replace('name = "planted"', 'name = "right"'))
    result = tune(lived, str(tmp_path / "right.toml"), "--out", str(tmp_path / "tuned.toml"), "--adopt")
    assert result.exit_code == 1
    assert not (tmp_path / "tuned.toml").exists()
    with Memory.open(lived / "store", embedder=None) as memory:
        assert not memory.recall("word1", record=False).formula.startswith("right")


def test_a_recorded_run_asks_one_question_of_every_conversation_after_the_other():
    questions = [{"_id": id_, "group": group} for id_, group in ("1a", "2a", "3b", "4a")]
    assert [line["_id"] for line in recorded.in_turn(questions)] == ["1", "3", "2", "4"]
