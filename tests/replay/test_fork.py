"""A second future: the same under the same rules, another under other rules, and never a touch on the first."""

from __future__ import annotations

import tempfile
from importlib import resources
from itertools import pairwise
from pathlib import Path

import pytest
from click.testing import CliRunner
from compared_stores import Hourly, contents, erased_from, live, written_formula
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.events.envelope import Recorded
from recollect.events.errors import InvalidInput
from recollect.events.facts import Accessed, FormulaAdopted, Recalled
from recollect.events.segment_log import SegmentLog
from recollect.interfaces.cli.app import main
from recollect.interfaces.python.memory import Memory
from recollect.query.formula import load, names
from recollect.replay.fork.following import follow
from recollect.replay.fork.fork import fork
from recollect.replay.fork.note import read_note


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with traffic, made once and only read."""
    folder = tmp_path_factory.mktemp("forked")
    with Memory.open(folder / "store", embedder="hash", formula="reverie", clock=Hourly()) as memory:
        live(memory)
    written_formula(folder)
    return folder


def events(folder: Path) -> list[Recorded]:
    with SegmentLog.open(folder / "log", read_only=True) as log:
        return list(log.read())


def recalls(folder: Path) -> dict[bytes, Recalled]:
    return {event.id: event.fact for event in events(folder) if isinstance(event.fact, Recalled)}


# --- the same future -------------------------------------------------------------------------------


@pytest.mark.parametrize("formula", [None, "reverie"])
def test_the_same_formula_in_a_closed_loop_is_the_same_log(folder: Path, tmp_path: Path, formula: str | None):
    with Memory.open(folder / "store", embedder=None) as memory:
        report = memory.fork(tmp_path / "fork", formula=formula, closed_loop=True)
    assert (report.recalls, report.recalls_changed, report.accesses_changed, report.skipped) == (34, 0, 0, 0)
    assert events(tmp_path / "fork") == events(folder / "store")


@pytest.mark.parametrize("name", names())
def test_every_built_in_formula_lives_the_same_life_twice(tmp_path: Path, name: str):
    with Memory.open(tmp_path / "store", embedder="hash", formula=name, clock=Hourly()) as memory:
        live(memory, memories=14)
        report = memory.fork(tmp_path / "fork", formula=name, closed_loop=True, since=20)
    assert (report.recalls_changed, report.accesses_changed) == (0, 0)
    assert events(tmp_path / "fork") == events(tmp_path / "store")


ACTIONS = st.lists(
    st.tuples(
        st.sampled_from(
            [
                "remember",
                "recall",
                "untracked",
                "revise",
                "access",
                "forget",
                "restore",
                "dream",
                "mine",
                "erase",
            ]
        ),
        st.integers(0, 20),
    ),
    min_size=5,
    max_size=30,
)


def play(memory: Memory, actions: list[tuple[str, int]], mine: Path) -> None:
    """Random life; what does not apply is skipped."""
    words = ["auth session", "redis cache", "deploy tuesday", "auth cookie", "billing stripe redis"]
    answer, erased = None, set[str]()
    for step, (action, number) in enumerate(actions):
        ids = [memo.id for memo in memory.memories()]
        text, picked = words[number % 5], ids[number % len(ids)] if ids else None
        if action == "remember" or picked is None:
            memory.remember(f"{text} {step}", id=f"m{step}")
        elif action in ("recall", "untracked", "mine"):
            formula = mine if action == "mine" else None
            answer = memory.recall(
                text, k=4, session=f"s{number % 3}", track=action != "untracked", formula=formula
            )
        elif action == "access" and answer and answer.hits:
            how = ("used", "injected")[number % 2]
            kept = [hit.id for hit in answer.hits if hit.id in ids][: 1 + number % 3]
            if kept:
                memory.access(kept, how=how, recall=answer.id)
        elif action == "revise":
            memory.revise(picked, f"{text} again {step}")
        elif action == "forget":
            memory.forget(picked)
        elif action == "restore":
            gone = {*ids, *erased}
            hidden = [f"m{n}" for n in range(step) if f"m{n}" not in gone and _is_known(memory, f"m{n}")]
            if hidden:
                memory.restore(hidden[0])
        elif action == "dream":
            memory.dream()
        elif action == "erase":
            erased.update(memory.erase(picked).ids)


def _is_known(memory: Memory, memory_id: str) -> bool:
    return memory._store.projections.documents.ids.find(memory_id) >= 0


@settings(max_examples=16)
@given(actions=ACTIONS, share=st.integers(0, 4))
def test_a_closed_loop_without_changes_reproduces_any_log_from_any_point(
    actions: list[tuple[str, int]], share: int
):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        mine = written_formula(folder)
        with Memory.open(folder / "store", embedder="hash", formula="reverie", clock=Hourly()) as memory:
            play(memory, [("remember", 0), *actions], mine)
            memory.fork(folder / "fork", closed_loop=True, since=memory.status().head * share // 4)
            expected = memory.verify()
        assert events(folder / "fork") == events(folder / "store")
        with Memory.open(folder / "fork", embedder=None) as other:
            assert other.verify() == expected
            assert expected.verdict in ("exact", "attested")


# --- another future --------------------------------------------------------------------------------


def test_another_formula_answers_otherwise_and_the_fork_is_a_store_that_verifies(
    folder: Path, tmp_path: Path
):
    before = contents(folder / "store")
    with Memory.open(folder / "store", embedder=None) as memory:
        report = memory.fork(tmp_path / "fork", formula=folder / "sharp.toml", closed_loop=True, since="@60")
        assert 0 < report.recalls_changed < report.recalls
        # one more for the adoption of the formula, one less for every access that has nothing to follow
        assert report.head == report.source_head + 1 - report.accesses_dropped
        result = memory.compare("recorded", tmp_path / "fork")
    assert contents(folder / "store") == before
    assert (result.mode, result.questions) == ("closed loop", report.recalls)
    assert sum(not row.unchanged for row in result.rows) == report.recalls_changed
    with Memory.open(tmp_path / "fork", embedder=None) as other:
        assert other.verify().exact
        assert other.verify(independent=True).exact
        assert other.status().formula.startswith("sharp@")


def test_recorded_times_ids_and_what_came_before_stay(folder: Path, tmp_path: Path):
    with Memory.open(folder / "store", embedder=None) as memory:
        memory.fork(tmp_path / "fork", formula=folder / "sharp.toml", closed_loop=True, since=60)
    source, other = events(folder / "store"), events(tmp_path / "fork")
    times = {event.id: event.at for event in source}
    own = [event for event in other if event.id not in times]
    assert other[:60] == source[:60]
    assert [type(event.fact) for event in own] == [FormulaAdopted]
    assert all(event.at == times[event.id] for event in other if event not in own)
    assert [event.id for event in source if event.id in {e.id for e in other}] == [
        event.id for event in other if event not in own
    ]


def test_in_a_closed_loop_tracked_accesses_are_the_new_answer(folder: Path, tmp_path: Path):
    with Memory.open(folder / "store", embedder=None) as memory:
        memory.fork(tmp_path / "fork", formula=folder / "sharp.toml", closed_loop=True)
    answers, tracked, named = {}, 0, 0
    log = events(tmp_path / "fork")
    for before, event in pairwise(log):
        if isinstance(before.fact, Recalled):
            answers[before.seq] = before.fact.ids
            if isinstance(event.fact, Accessed) and event.fact.how == "returned":
                assert event.fact.ids == before.fact.ids
                tracked += 1
        if isinstance(event.fact, Accessed) and event.fact.recall is not None:
            assert set(event.fact.ids) <= set(answers[event.fact.recall])
            named += 1
    assert tracked
    assert named


def test_without_a_closed_loop_accesses_stay_as_recorded_and_answers_equal_the_frozen_comparison(
    folder: Path, tmp_path: Path
):
    with Memory.open(folder / "store", embedder=None) as memory:
        memory.fork(tmp_path / "fork", formula=folder / "sharp.toml")
        frozen = memory.compare("reverie", folder / "sharp.toml")
        forked = memory.compare("reverie", tmp_path / "fork")
    assert forked.mode == "frozen"
    assert forked.rows == frozen.rows
    read = [
        [e.fact.ids for e in events(path) if isinstance(e.fact, Accessed)]
        for path in (folder / "store", tmp_path / "fork")
    ]
    assert read[0] == read[1]


def gated_formula(folder: Path) -> Path:
    """Engram with its topic gate on, which opens easily."""
    text = resources.files("recollect.query.formulas").joinpath("engram.toml").read_text("utf-8")
    gate = 'threshold = 0.85, to = "best", enabled = false'
    assert gate in text
    path = folder / "gated.toml"
    path.write_text(text.replace(gate, 'threshold = 0.3, to = "best"'), "utf-8")
    return path


def test_without_a_closed_loop_a_topic_gate_sees_what_a_frozen_comparison_lets_it_see(
    folder: Path, tmp_path: Path
):
    gated = gated_formula(tmp_path)
    with Memory.open(folder / "store", embedder=None) as memory:
        memory.fork(tmp_path / "fork", formula=gated)
        result = memory.compare(gated, tmp_path / "fork")
        memory.fork(tmp_path / "closed", formula=gated, closed_loop=True)
    assert (result.mode, result.metrics["unchanged"]) == ("frozen", 1.0)
    seen = [one.question.effects.previous for one in recalls(tmp_path / "fork").values()]
    assert seen == [None] * 34
    assert any(one.question.effects.previous for one in recalls(tmp_path / "closed").values())


def test_a_fork_whose_formula_asks_what_sessions_were_answered_is_not_called_frozen(
    folder: Path, tmp_path: Path
):
    with Memory.open(folder / "store", embedder=None) as memory:
        memory.fork(tmp_path / "fork", formula="memorysync")
        memory.fork(tmp_path / "same")
        result = memory.compare("memorysync", tmp_path / "fork")
        assert result.mode == "open loop"
        assert "what the fork answered" in result.caveat
        assert memory.compare("recorded", tmp_path / "same").mode == "frozen"
    with Memory.open(tmp_path / "fork", embedder=None) as other:
        assert other.verify().exact


@pytest.mark.parametrize(
    ("how", "ids", "before", "after", "expected"),
    [
        ("returned", "abc", "abc", "xayz", "xayz"),
        ("injected", "ab", "abc", "xay", "xa"),
        ("injected", "c", "abc", "x", ""),
        ("used", "ab", "abc", "xbz", "b"),
        ("used", "aq", "abc", "xyz", "q"),
        ("injected", "aq", "abc", "xyz", "xq"),
    ],
)
def test_what_machinery_reads_goes_by_place_and_what_was_used_by_content(
    how: str, ids: str, before: str, after: str, expected: str
):
    accessed = Accessed(ids=tuple(ids), at=0, how=how)
    assert follow(accessed, tuple(before), tuple(after)) == tuple(expected)


@given(
    st.lists(st.sampled_from("abcdef"), unique=True),
    st.lists(st.sampled_from("abcdefgh"), min_size=1, unique=True),
)
def test_an_answer_that_did_not_change_changes_nothing_that_was_read(answer: list[str], ids: list[str]):
    for how in ("returned", "injected", "used"):
        accessed = Accessed(ids=tuple(ids), at=0, how=how)
        assert follow(accessed, tuple(answer), tuple(answer)) == tuple(ids)


# --- dreams ----------------------------------------------------------------------------------------


def nights(folder: Path) -> None:
    with Memory.open(folder, embedder="hash", formula="reverie", clock=Hourly()) as memory:
        live(memory, memories=12)
        memory.dream()
        live(memory, memories=16, seed=2)
        undone = memory.dream().id
        memory.recall("auth session")
        memory.undream(undone)
        memory.recall("auth session")


def test_dreams_dreamt_again_with_the_same_settings_give_the_same_strengths(tmp_path: Path):
    with Memory.open(tmp_path / "store", embedder="hash", formula="reverie", clock=Hourly()) as memory:
        live(memory, memories=14)
        memory.dream()
        memory.recall("auth session")
        expected = {memo.id: memo.state.strength for memo in memory.memories()}
        report = memory.fork(tmp_path / "fork", closed_loop=True, dream={})
    assert (report.dreams, report.dreams_again, report.recalls_changed) == (1, 1, 0)
    with Memory.open(tmp_path / "fork", embedder=None) as other:
        assert {memo.id: memo.state.strength for memo in other.memories()} == expected


def test_dreams_dreamt_again_follow_other_settings_and_one_taken_back_is_not_dreamt(tmp_path: Path):
    nights(tmp_path / "store")
    with Memory.open(tmp_path / "store", embedder=None) as memory:
        report = memory.fork(tmp_path / "fork", closed_loop=True, dream={"downscale": {"factor": 0.5}})
        strengths = {memo.id: memo.state.strength for memo in memory.memories()}
    assert (report.dreams, report.dreams_again) == (3, 1)
    with Memory.open(tmp_path / "fork", embedder=None) as other:
        assert other.verify().exact
        weaker = [memo.state.strength < strengths[memo.id] for memo in other.memories()]
        assert any(weaker)
        assert other.status().last_dream


def test_recorded_dreams_stay_as_they_are_without_settings(tmp_path: Path):
    nights(tmp_path / "store")
    with Memory.open(tmp_path / "store", embedder=None) as memory:
        report = memory.fork(tmp_path / "fork", closed_loop=True)
    assert (report.dreams, report.dreams_again) == (3, 0)
    assert events(tmp_path / "fork") == events(tmp_path / "store")


# --- going on, and refusing ------------------------------------------------------------------------


def test_an_interrupted_fork_goes_on_and_ends_up_the_same(folder: Path, tmp_path: Path):
    with Memory.open(folder / "store", embedder=None) as memory:
        whole = memory.fork(tmp_path / "whole", formula=folder / "sharp.toml", closed_loop=True)
    with Memory.open(folder / "store", embedder=None) as memory:
        for upto in (50, 51, 97):
            _fork_prefix(folder, tmp_path / "part", upto)
        report = memory.fork(tmp_path / "part", formula=folder / "sharp.toml", closed_loop=True)
    assert report.recalls < whole.recalls
    assert events(tmp_path / "part") == events(tmp_path / "whole")


def _fork_prefix(folder: Path, target: Path, upto: int) -> None:
    """A fork that stopped after the source's first events: the log as it was then."""

    class Prefix:
        def __init__(self, log: SegmentLog) -> None:
            self._log = log
            self.head = upto

        def read(self, after: int = 0, end: int | None = None):
            return self._log.read(after, upto if end is None else min(end, upto))

        def chain_at(self, seq: int) -> bytes:
            return self._log.chain_at(seq)

        def positions(self, type_: str, after: int = 0) -> list[int]:
            return [seq for seq in self._log.positions(type_, after) if seq <= upto]

    with SegmentLog.open(folder / "store" / "log", read_only=True) as log:
        fork(Prefix(log), target, formula=load(folder / "sharp.toml"), closed_loop=True)


def test_a_fork_follows_a_source_that_lived_on(tmp_path: Path):
    with Memory.open(tmp_path / "store", embedder="hash", formula="reverie", clock=Hourly()) as memory:
        live(memory, memories=10)
        memory.fork(tmp_path / "fork", closed_loop=True)
        memory.recall("auth session")
        assert memory.fork(tmp_path / "fork", closed_loop=True).recalls == 1
        head = memory.status().head
    assert len(events(tmp_path / "fork")) == head


# --- what was erased -------------------------------------------------------------------------------


@pytest.mark.parametrize("closed_loop", [True, False])
@pytest.mark.parametrize("since", [0, 6])
def test_a_fork_of_a_store_with_an_erasure_is_the_same_log_and_verifies_the_same(
    tmp_path: Path, since: int, closed_loop: bool
):
    erased_from(tmp_path / "store")
    with Memory.open(tmp_path / "store", embedder=None) as memory:
        report = memory.fork(tmp_path / "fork", closed_loop=closed_loop, since=since)
        expected = memory.verify()
    assert (report.recalls_changed, report.skipped) == (0, 0)
    assert (expected.verdict, expected.attested, expected.redacted) == ("attested", 2, 0)
    assert events(tmp_path / "fork") == events(tmp_path / "store")
    with Memory.open(tmp_path / "fork", embedder=None) as other:
        assert other.verify() == expected


@pytest.mark.parametrize("closed_loop", [True, False])
def test_another_formula_ranks_what_is_left_and_the_fork_verifies_exactly(tmp_path: Path, closed_loop: bool):
    erased_from(tmp_path / "store")
    with Memory.open(tmp_path / "store", embedder=None) as memory:
        memory.fork(tmp_path / "fork", formula="omega", closed_loop=closed_loop)
    with Memory.open(tmp_path / "fork", embedder=None) as other:
        report = other.verify()
        assert (report.exact, report.checked, report.redacted) == (True, 3, 0)
        assert not any("b" in recalled.ids for recalled in recalls(tmp_path / "fork").values())


def test_a_fork_that_follows_its_source_erases_what_was_erased_there_since(tmp_path: Path):
    secret = "zanzibar"
    with Memory.open(tmp_path / "store", embedder="hash", formula="reverie", clock=Hourly()) as memory:
        live(memory, memories=10)
        memory.remember(f"auth {secret} session", id="secret")
        memory.recall("auth session")
        memory.dream()
        memory.fork(tmp_path / "fork", closed_loop=True)
        with Memory.open(tmp_path / "fork", embedder=None) as other:
            other._store.checkpoint()
        memory.erase("secret")
        memory.recall("auth session")
        with pytest.raises(InvalidInput, match="still holds what was erased"):
            memory.compare("reverie", tmp_path / "fork")
        memory.fork(tmp_path / "fork", closed_loop=True)
        expected = memory.verify()
    held = [path for path in (tmp_path / "fork").rglob("*") if path.is_file()]
    assert not any(secret.encode() in path.read_bytes() for path in held)
    assert events(tmp_path / "fork") == events(tmp_path / "store")
    with Memory.open(tmp_path / "fork", embedder=None) as other:
        assert other.verify() == expected


def test_a_fork_that_dreamt_of_what_was_erased_since_is_not_continued(tmp_path: Path):
    with Memory.open(tmp_path / "store", embedder="hash", formula="reverie", clock=Hourly()) as memory:
        live(memory, memories=10)
        memory.dream()
        memory.fork(tmp_path / "fork", closed_loop=True, dream={})
        memory.erase("m3")
        with pytest.raises(InvalidInput, match="delete it and make it again"):
            memory.fork(tmp_path / "fork", closed_loop=True, dream={})
        memory.fork(tmp_path / "anew", closed_loop=True, dream={})
    with Memory.open(tmp_path / "anew", embedder=None) as other:
        assert other.verify().verdict == "attested"


def test_erasures_that_touch_one_event_twice_come_over_too(tmp_path: Path):
    with Memory.open(tmp_path / "store", embedder="hash", formula="reverie", clock=Hourly()) as memory:
        live(memory, memories=12)
        memory.dream()
        members = memory._store.projections.graph.clusters.at(memory.status().head)
        assert members
        memory.erase("m1")
        memory.erase("m2", reason="also")
        memory.fork(tmp_path / "fork", closed_loop=True)
        memory.fork(tmp_path / "other", formula="omega", closed_loop=True)
    assert events(tmp_path / "fork") == events(tmp_path / "store")
    with Memory.open(tmp_path / "other", embedder=None) as other:
        assert other.verify().exact
        assert other.doctor().healthy


def test_erased_events_are_left_out_and_references_move_along(tmp_path: Path):
    with Memory.open(tmp_path / "store", embedder="hash", formula="reverie", clock=Hourly()) as memory:
        live(memory, memories=12)
        memory._store.log.erase([2, 3])
    with Memory.open(tmp_path / "store", embedder=None) as memory:
        report = memory.fork(tmp_path / "fork", closed_loop=True)
        assert report.skipped == 2
        assert report.head == report.source_head - 2 - report.accesses_dropped
    with Memory.open(tmp_path / "fork", embedder=None) as other:
        assert other.verify().exact
    for event in events(tmp_path / "fork"):
        if isinstance(event.fact, Accessed) and event.fact.recall is not None:
            assert isinstance(events(tmp_path / "fork")[event.fact.recall - 1].fact, Recalled)


def test_a_directory_that_holds_something_else_is_left_alone(folder: Path, tmp_path: Path):
    (tmp_path / "notes.txt").write_text("mine", "utf-8")
    with Memory.open(folder / "store", embedder=None) as memory:
        with pytest.raises(InvalidInput, match="not empty"):
            memory.fork(tmp_path)
        memory.fork(tmp_path / "fork", since=10)
        with pytest.raises(InvalidInput, match="another fork"):
            memory.fork(tmp_path / "fork", since=11)
        with pytest.raises(InvalidInput, match="not in this log"):
            memory.fork(tmp_path / "later", since=10_000)
    assert contents(tmp_path).keys() >= {"notes.txt"}


def test_a_fork_of_another_store_is_no_side_of_a_comparison(folder: Path, tmp_path: Path):
    with Memory.open(tmp_path / "store", embedder="hash", formula="reverie") as other:
        live(other, memories=8)
        other.fork(tmp_path / "fork")
    with (
        Memory.open(folder / "store", embedder=None) as memory,
        pytest.raises(InvalidInput, match="fork of another store"),
    ):
        memory.compare("reverie", tmp_path / "fork")


def test_a_fork_that_lived_no_question_again_has_nothing_to_compare(folder: Path, tmp_path: Path):
    with Memory.open(folder / "store", embedder=None) as memory:
        memory.fork(tmp_path / "fork", since=memory.status().head)
        with pytest.raises(InvalidInput, match="answered none of these questions"):
            memory.compare("reverie", tmp_path / "fork")


def test_the_command_makes_a_fork_that_compare_takes(folder: Path, tmp_path: Path):
    target, store = str(tmp_path / "fork"), ["--store", str(folder / "store")]
    formula = str(folder / "sharp.toml")
    made = CliRunner().invoke(main, ["fork", "--to", target, "--formula", formula, "--closed-loop", *store])
    assert made.exit_code == 0, made.stderr
    assert "recalls answered otherwise" in made.stdout
    shown = CliRunner().invoke(main, ["compare", "recorded", target, *store])
    assert shown.exit_code == 0, shown.stderr
    assert "closed loop mode" in shown.stdout
    note = read_note(tmp_path / "fork")
    assert note is not None
    assert note.formula
