"""show: everything about one thing."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import Memory
from recollect.engine.show import ShownEvent, ShownFormula
from recollect.engine.show_dream import ShownDream
from recollect.engine.show_memory import ShownMemory, Words, word_diff
from recollect.engine.show_recall import show_recall
from recollect.events.errors import InvalidInput, UnknownRecall
from recollect.query.formula import parse


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
            show_recall(memory.store, name)


def test_a_memory_is_shown_with_its_versions_links_and_recalls(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "store", embedder=None, actor="ann") as memory:
        memory.remember("the train leaves on Thursday", id="train")
        memory.remember("lunch is at noon", id="lunch")
        first = memory.recall("train Thursday", track=False)
        memory.revise("train", "the night train leaves on Friday", importance=0.9)
        memory.revise("train", tags=["rail"])
        memory.link("train", "lunch", "supports", 0.5)
        second = memory.recall("lunch train")
        shown = memory.show("train")
        assert isinstance(shown, ShownMemory)
        assert [version.content for version in shown.versions] == [
            "the train leaves on Thursday", "the night train leaves on Friday", "the night train leaves on Friday",
        ]  # fmt: skip
        assert shown.versions[1].words == (
            Words(how="same", text="the"),
            Words(how="added", text=" night"),
            Words(how="same", text=" train leaves on"),
            Words(how="removed", text=" Thursday"),
            Words(how="added", text=" Friday"),
        )
        assert shown.versions[1].changed == ("content", "importance")
        assert (shown.versions[2].words, shown.versions[2].changed) == (
            (Words(how="same", text="the night train leaves on Friday"),), ("tags",),
        )  # fmt: skip
        assert [(link.a, link.b, link.kind, link.weight) for link in shown.links] == [
            ("train", "lunch", "supports", 0.5)
        ]
        ranks = {answer.id: [hit.id for hit in answer.hits].index("train") + 1 for answer in (second, first)}
        assert {one.recall: one.rank for one in shown.recalls} == ranks
        assert [one.recall for one in shown.recalls] == [second.id, first.id]


@given(before=st.text(max_size=60), after=st.text(max_size=60))
def test_a_difference_of_words_gives_both_texts_again(before: str, after: str) -> None:
    words = word_diff(before, after)
    told = {
        how: "".join(one.text for one in words if one.how in ("same", how)) for how in ("removed", "added")
    }
    assert (told["removed"].split(), told["added"].split()) == (before.split(), after.split())


def test_an_event_a_dream_and_a_formula_are_shown_whole(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "store", embedder="hash") as memory:
        memory.remember("the train leaves on Thursday", id="train", tags=["rail"])
        memory.recall("train", session="s1")
        event = memory.show("@2")
        assert isinstance(event, ShownEvent)
        assert (event.type, event.memories) == ("memory.ingested", ("train",))
        assert event.fact is not None
        assert (event.fact["content"], event.fact["tags"]) == ("the train leaves on Thursday", ("rail",))
        report = memory.dream()
        dream = memory.show(report.id)
        assert isinstance(dream, ShownDream)
        assert (dream.id, dream.basis, dream.counts) == (report.id, report.basis, report.counts)
        before_after = {(one.id, one.what, one.before, one.after) for one in dream.changes}
        told = [one for phase in report.phases for one in phase.changes]
        assert {(one.id, one.what, one.before, one.after) for one in told if one.id != "*"} <= before_after
        undone = memory.undream(report.id)
        taken_back, undoing = memory.show(report.id), memory.show(undone.id)
        assert isinstance(taken_back, ShownDream)
        assert isinstance(undoing, ShownDream)
        assert taken_back.undone_at == undoing.ended
        assert undoing.undoes == report.id
        formula = memory.show(memory.status().formula)
        assert isinstance(formula, ShownFormula)
        assert (formula.built_in, formula.in_log, formula.in_force) == (True, True, True)
        assert parse(formula.text, origin="shown").digest == formula.digest
        for wrong in ("@99", "@0", "nothing", "trian"):
            with pytest.raises(InvalidInput):
                memory.show(wrong)


def test_an_erased_version_and_an_erased_event_say_so(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "store", embedder=None) as memory:
        memory.remember("secret", id="secret")
        memory.erase("secret")
        shown, event = memory.show("secret"), memory.show("@1")
        assert isinstance(shown, ShownMemory)
        assert isinstance(event, ShownEvent)
        assert [version.content for version in shown.versions] == ["[erased]"]
        assert event.fact is None
