"""show: everything about one thing."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect import Memory
from recollect.events.errors import UnknownRecall


def test_a_recall_is_shown_as_it_was_recorded_with_what_came_of_it(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "store", embedder="hash", actor="ann") as memory:
        memory.remember(
            "the train leaves on Thursday", id="train", kind="fact", source="plan.md", tags=["rail"]
        )
        memory.remember("the train leaves on Monday", id="other")
        answer = memory.recall("train", k=2, session="s1", filters={"kinds": ["fact", "note"]})
        memory.revise("train", "the train leaves on Friday")
        memory.access(["train"], session="s1", recall=answer.id)
        memory.access(["train"], session="s1")
        memory.rate("other", "outdated", recall=answer.id)
        shown = memory.show(str(answer.id))
        assert [(hit.id, hit.score, hit.rank) for hit in shown.hits] == [
            (hit.id, hit.score, hit.rank) for hit in answer.hits
        ]
        (train,) = (hit for hit in shown.hits if hit.id == "train")
        assert (train.content, train.kind, train.source) == (
            "the train leaves on Thursday",
            "fact",
            "plan.md",
        )
        assert (train.tags, train.revision) == (("rail",), 1)
        assert (shown.query, shown.session, shown.k, shown.actor) == ("train", "s1", 2, "ann")
        assert (shown.filters.kinds, shown.basis, shown.now) == (("fact", "note"), answer.basis, answer.now)
        assert (shown.formula, shown.replayed.verdict) == (answer.formula, "exact")
        assert [(one.what, one.ids) for one in shown.afterwards] == [
            ("used", ("train",)),
            ("outdated", ("other",)),
        ]


@pytest.mark.parametrize("name", ["r1", "r99", "r0", "r²"])
def test_an_id_that_no_recall_has_is_refused(tmp_path: Path, name: str) -> None:
    with Memory.open(tmp_path / "store", embedder=None) as memory:
        memory.remember("one", id="one")
        with pytest.raises(UnknownRecall, match="is not the id of a recorded recall"):
            memory.show(name)
