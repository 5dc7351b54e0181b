"""A ranking by an analyzer of version 1 under another Unicode version: its index is made anew, and a difference says so."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from recollect.engine.doctor import doctor
from recollect.events.facts import Recalled
from recollect.interfaces.python.memory import Memory
from recollect.projections.lexical import index as lexical
from recollect.query.formula import Formula, parse

PINK_HEART = "\U0001fa77"  # came with Unicode 15: no term on Python 3.11, one on 3.13
FILE = """
name = "words"
stages = [{ op = "retrieve", channel = "lexical", analyzer = "unicode61-cjk/1" }, { op = "fuse", channels = ["lexical"] }]
"""


@pytest.fixture
def old() -> Formula:
    return parse(FILE, origin="test")


def differing(memory: Memory) -> str:
    """The reason for a recall that the log has with another score."""
    memory.store.catch_up()
    recall = memory.store.projections.adoptions.recalls.tolist()[-1]
    fact = memory.store.log.get(recall).fact
    assert isinstance(fact, Recalled)
    memory.store.append([msgspec.structs.replace(fact, scores=tuple(2 * score for score in fact.scores))])
    (difference,) = memory.verify().differences
    return difference.reason


def test_a_difference_names_the_unicode_version_where_it_can_be_the_reason(tmp_path: Path, old: Formula):
    with Memory.open(tmp_path, embedder=None) as memory:
        memory.remember(f"thank you {PINK_HEART}")
        memory.remember("the deploy is on tuesday")
        memory.recall("thank you", formula=old)
        reason = differing(memory)
    assert "unicode61-cjk/1" in reason
    assert f"Unicode {lexical.PYTHON_UNICODE}" in reason


def test_a_difference_does_not_blame_unicode_where_no_text_holds_such_a_character(
    tmp_path: Path, old: Formula
):
    with Memory.open(tmp_path, embedder=None) as memory:
        memory.remember("thank you, naïve 東京 😀")
        memory.recall("thank you", formula=old)
        assert "Unicode" not in differing(memory)


def test_a_difference_does_not_blame_unicode_where_the_analyzer_is_frozen(tmp_path: Path):
    with Memory.open(tmp_path, embedder=None) as memory:
        memory.remember(f"thank you {PINK_HEART}")
        assert memory.recall(PINK_HEART, formula="reverie").hits
        assert "Unicode" not in differing(memory)


def test_an_index_of_another_unicode_version_is_not_read_from_a_checkpoint(
    tmp_path: Path, old: Formula, monkeypatch: pytest.MonkeyPatch
):
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(lexical, "PYTHON_UNICODE", "99.0.0")
        with Memory.open(tmp_path, embedder=None) as memory:
            memory.remember(f"thank you {PINK_HEART}")
            memory.recall("thank you", formula=old)
            memory.recall("thank you", formula="reverie")
            assert memory.store.checkpoint() is not None
    assert doctor(tmp_path).problems == ()
    with Memory.open(tmp_path, embedder=None) as memory:
        memory.store.catch_up()
        assert "unicode61-cjk/1" not in memory.store.projections.lexicals
        assert memory.verify().exact
        assert "unicode61-cjk/1" in memory.store.projections.lexicals
