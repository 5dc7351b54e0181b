"""A dream as its callers see it: previewed, measured, atomic, repeatable, and exact around it."""

from __future__ import annotations

import json

import numpy as np
import pytest

from recollect.dream.what_if import WhatIf
from recollect.engine.dream import DreamOvertaken
from recollect.engine.show_dream import dream_effect
from recollect.events.envelope import encode
from recollect.events.errors import InvalidInput
from recollect.events.facts import DreamBegan, DreamEnded, Ingested, Rated
from recollect.interfaces.python.memory import Memory

QUESTION = "which service deploys"


@pytest.fixture
def busy(memory, clock):
    """A store in which every phase finds something to do."""
    for n in range(12):
        memory.remember(f"service {n} deploys on day {n % 3}", id=f"m{n:02}", session=f"s{n % 2}")
    memory.remember("an old idea about a service", id="idea", at="100 days ago")
    clock.pass_hours(2)
    memory.dream(phases=["downscale"])
    for session in range(5):
        memory.recall(QUESTION, session=f"q{session}", k=3)
        clock.pass_days(1)
    memory._store.catch_up()
    return memory


def written(memory, report) -> list[bytes]:
    return [encode(recorded.fact) for recorded in memory._store.log.read(report.basis, report.head)]


def states(memory, at=None) -> dict[str, object]:
    view = memory._store.view(at)
    ids = view.documents.ids.values
    return {id_: view.lifecycle.state(number, view.seq) for number, id_ in enumerate(ids)}


def test_a_dry_run_writes_nothing_and_the_commit_does_what_it_said(busy, clock):
    head, now = busy.status().head, clock.now
    preview = busy.dream(dry_run=True, now=now / 1e6)
    assert (busy.status().head, preview.committed) == (head, False)
    report = busy.dream(now=now / 1e6)
    assert (report.id, report.phases, report.metrics) == (preview.id, preview.phases, preview.metrics)
    assert report.committed
    assert all(phase.facts for phase in report.phases if phase.phase not in {"scan", "propose"})


def test_the_same_night_gives_the_same_events(busy, clock):
    now = clock.now / 1e6
    first = busy.dream(now=now)
    events = written(busy, first)
    assert isinstance(busy._store.event(first.basis + 1).fact, DreamBegan)
    fork = Memory.open(":memory:", embedder="hash", formula="reverie", clock=clock)
    fork._store.append([recorded.fact for recorded in busy._store.log.read(0, first.basis)])
    assert written(fork, fork.dream(now=now)) == events
    fork.close()


def test_imagining_leaves_the_store_as_it_was(busy):
    before = {name: np.copy(value) for name, value in busy._store.projections.dump().items()}
    busy.dream(dry_run=True)
    after = busy._store.projections.dump()
    assert before.keys() == after.keys()
    assert all(np.array_equal(before[name], after[name]) for name in before)


def test_what_is_imagined_is_what_then_happens(busy, clock):
    what_if = WhatIf(busy._store.projections, clock.now)
    report = busy.dream()
    what_if.apply(recorded.fact for recorded in busy._store.log.read(report.basis, report.head))
    ours, theirs = what_if.view(), busy._store.view()
    memories = np.arange(theirs.documents.memories)
    for column in ("strength", "stability", "depth_score", "status", "layer", "visibility"):
        one, other = (getattr(view.lifecycle.at(memories, view.seq), column) for view in (ours, theirs))
        assert one.tolist() == other.tolist()


def test_the_first_event_holds_the_settings_and_the_last_one_the_report(busy):
    report = busy.dream(settings={"scan": {"top": 7}})
    began, ended = (busy._store.event(seq).fact for seq in (report.basis + 1, report.head))
    assert json.loads(began.settings)["scan"]["top"] == 7
    assert isinstance(ended, DreamEnded)
    assert (ended.counts, ended.metrics) == (report.counts, report.metrics)
    assert report.id == f"d{report.basis + 1}"


def test_as_of_any_seq_of_a_dream_is_the_state_before_or_after_and_never_half(busy):
    report = busy.dream()
    before, after = states(busy, report.basis), states(busy)
    assert before != after
    for seq in range(report.basis, report.head + 1):
        assert states(busy, seq) == (after if seq == report.head else before)
        assert busy.at(seq).seq == (report.head if seq == report.head else report.basis)
    undone = busy.undream(report.id)
    for seq in range(undone.basis, undone.head):
        assert busy.at(seq).seq == undone.basis


def test_verify_stays_exact_across_dreams_and_undreams(busy, clock):
    report = busy.dream()
    busy.recall(QUESTION, session="later")
    busy.undream(report.id)
    busy.recall(QUESTION, session="later still")
    clock.pass_days(3)
    busy.dream()
    busy.recall(QUESTION)
    found = busy.verify()
    assert (found.exact, found.checked) == (True, 8)
    assert busy.verify(independent=True).exact


def test_recorded_questions_are_measured_before_and_after(busy, tell, clock):
    answer = busy.recall(QUESTION, k=3)
    useful = answer.hits[1].id
    tell(Rated(id=useful, verdict="helpful", at=clock(), recall=int(answer.id[1:])))
    metrics = busy.dream(settings={"measure": {"questions": 1, "k": 3}}).metrics
    again = [hit.id for hit in busy.recall(QUESTION, k=3, record=False, now=answer.now).hits]
    assert metrics["questions"] == metrics["judged"] == 1.0
    assert metrics["mrr_before"] == 1 / 2
    assert metrics["mrr_after"] == 1 / (again.index(useful) + 1)
    assert metrics["churn@3"] == len(set(again) - {hit.id for hit in answer.hits}) / 3


def test_beyond_the_allowed_churn_nothing_is_written(busy):
    head = busy.status().head
    forgetful = {
        "prune": {"never_accessed_days": 0.0},
        "kinds": {"other": {"stale": "prune", "stale_after_days": 0.001}},
    }
    refused = busy.dream(settings=forgetful, max_churn=0.0)
    assert refused.metrics["churn@10"] > 0.0
    assert "churn@10" in refused.refused
    assert (refused.committed, busy.status().head) == (False, head)
    dreamt = busy.dream(settings=forgetful, max_churn=1.0)
    assert dreamt.committed
    assert dream_effect(busy.store, dreamt.id) == dreamt.answers == refused.answers != ()


def test_of_two_dreams_at_once_one_wins_and_the_other_says_so(busy, monkeypatch):
    store, won = busy._store, []
    append = store.append

    def slow(facts, **options):
        if not won:
            won.append("")
            won[0] = busy.dream().id
        return append(facts, **options)

    monkeypatch.setattr(store, "append", slow)
    with pytest.raises(DreamOvertaken, match=r"d\d+, another dream or the undoing of one"):
        busy.dream()
    monkeypatch.undo()
    assert [dream.id for dream in store.projections.adoptions.dreams][-1] == won[0]
    assert busy.verify().exact


def test_a_dream_that_waited_for_another_one_is_dreamt_at_the_time_after_it(busy, clock, monkeypatch):
    """The other one is written after this one was begun, and before the view that it reads in the end."""
    store, others = busy.store, []
    view = store.view

    def late(at: int | None = None):
        if not others:
            others.append("")
            clock.now += 3_600_000_000
            others[0] = busy.dream().id
        return view(at)

    monkeypatch.setattr(store, "view", late)
    mine = busy.dream()
    monkeypatch.undo()
    other, last = store.projections.adoptions.dreams[-2:]
    assert [other.id, last.id] == [others[0], mine.id]
    assert store.event(last.began).fact.now >= store.log.time_of(other.ended)


def test_a_write_during_the_dream_is_dreamt_with(busy, clock, monkeypatch):
    store, wrote = busy._store, []
    append = store.append

    def slow(facts, **options):
        if isinstance(facts[0], DreamBegan) and not wrote:
            wrote.append(append([Ingested(id="meanwhile", content="written meanwhile", at=clock())]))
        return append(facts, **options)

    monkeypatch.setattr(store, "append", slow)
    report = busy.dream()
    assert report.committed
    assert report.basis == wrote[0][0]


def test_a_dream_that_breaks_in_the_middle_leaves_nothing(tmp_path, clock, monkeypatch):
    with Memory.open(tmp_path, embedder="hash", clock=clock) as memory:
        memory.remember("a note", id="a")
        clock.pass_hours(2)
        head = memory.status().head

        def fails(*_, **__):
            raise RuntimeError("power cut")

        with monkeypatch.context() as patched:
            patched.setattr("recollect.dream.cycle.measured", fails)
            with pytest.raises(RuntimeError, match="power cut"):
                memory.dream()
        assert memory.status().head == head
        report = memory.dream()
    segment = max((tmp_path / "log").glob("*.seg"))
    whole = segment.read_bytes()
    for lost in (1, 200):
        store = tmp_path / f"torn{lost}"
        (store / "log").mkdir(parents=True)
        (store / "log" / segment.name).write_bytes(whole[:-lost])
        with Memory.open(store, embedder="hash", clock=clock) as torn:
            assert torn._store.projections.adoptions.last_dream(torn.status().head) == 0
            assert torn.get("a").state.strength == 1.0
    with Memory.open(tmp_path, embedder="hash", clock=clock) as again:
        assert again._store.projections.adoptions.last_dream(report.head) == report.head


def test_phases_run_in_their_own_order_and_unknown_ones_are_refused(busy):
    report = busy.dream(dry_run=True, phases=["place", "consolidate"])
    assert [phase.phase for phase in report.phases] == ["scan", "consolidate", "place"]
    for phases, named in ((["nap"], "no phase 'nap'"), ([], "no phases were named")):
        with pytest.raises(InvalidInput, match=named):
            busy.dream(phases=phases)


def test_an_empty_store_dreams_of_nothing(memory):
    report = memory.dream()
    assert report.committed
    assert sum(len(phase.changes) for phase in report.phases) == 0
    assert report.metrics == {"questions": 0.0}


def test_status_counts_the_new_memories_since_the_last_dream(memory):
    for n in range(3):
        memory.remember(f"note {n}", id=f"n{n}")
    assert memory.status().new_since_dream == 3
    report = memory.dream()
    memory.remember("note 0, revised", id="n0")
    memory.remember("note 3", id="n3")
    assert (memory.status().new_since_dream, memory.status().last_dream) == (1, report.head)


def test_a_store_reopened_from_its_checkpoint_still_knows_its_dreams(tmp_path, clock):
    with Memory.open(tmp_path, embedder="hash", clock=clock) as memory:
        memory.remember("a note", id="a")
        first, second = memory.dream(), memory.dream()
        undone = memory.undream(first.id)
        memory._store.checkpoint()
    with Memory.open(tmp_path, embedder="hash", clock=clock) as memory:
        assert memory.at(second.basis + 1).seq == second.basis
        assert memory.at(undone.basis + 1).seq == undone.basis
        assert memory.get("a").state.strength == 0.95
        with pytest.raises(InvalidInput, match="taken back already"):
            memory.undream(first.id)
