"""Retention: old questions and answers go, attested; what later rankings read of them stays exact."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner
from store_fixtures import Ticking

from recollect.engine import retain as retaining
from recollect.engine.retain import limit_of
from recollect.events.errors import InvalidInput
from recollect.events.facts import Attested, Erased, Recalled, Redacted
from recollect.interfaces.cli.app import main
from recollect.interfaces.python.memory import Memory
from recollect.projections.view import Projections

Open = Callable[..., Memory]
DAY = 86_400 * 1_000_000
SECRET = "xylophone"


@pytest.fixture
def memory(open_memory: Open, clock: Ticking) -> Memory:
    """Two recalls that are 200 days old, one in a session that goes on, and one of today."""
    memory = open_memory(formula="memorysync")
    for n in range(8):
        memory.remember(f"note {n} about tea and coffee", id=f"n{n}")
    memory.recall(f"tea {SECRET}", k=3, session="long")
    memory.recall(f"coffee {SECRET}", k=3, session="alone")
    clock.now += 200 * DAY
    memory.recall("coffee and tea", k=3, session="long")
    return memory


def holding(folder: Path, wanted: bytes) -> list[str]:
    return [path.name for path in folder.rglob("*") if path.is_file() and wanted in path.read_bytes()]


def told(memory: Memory) -> tuple[str, int, int, int, int]:
    report = memory.verify()
    return report.verdict, report.exact_count, report.attested, report.redacted, report.different


def state(projections: Projections) -> dict[str, object]:
    return {
        key: value if isinstance(value, bytes) else value.tolist()
        for key, value in projections.dump().items()
    }


def test_recalls_older_than_the_limit_are_attested_and_their_questions_and_answers_are_gone(
    memory: Memory, tmp_path: Path
):
    assert told(memory) == ("exact", 3, 0, 0, 0)
    assert holding(tmp_path / "store", SECRET.encode())
    head = memory.status().head
    old = memory.store.projections.adoptions.recalls[:2].tolist()
    report = memory.retain(recalls="180d")
    assert (report.recalls, report.attested, report.unattested, report.different) == (2, 2, 0, ())
    assert [type(event.fact) for event in memory.store.log.read(head)] == [Attested, Erased]
    assert report.at == head + 2
    assert holding(tmp_path / "store", SECRET.encode()) == []
    facts = [memory.store.event(seq).fact for seq in old]
    assert all(isinstance(fact, Redacted) and fact.erased_at == report.at for fact in facts)
    assert told(memory) == ("attested", 1, 2, 0, 0)


def test_what_later_rankings_read_stays_exact(memory: Memory):
    counts = {memo.id: memo.state.access_count for memo in memory.memories()}
    first, alone, _ = memory.store.projections.adoptions.recalls.tolist()
    hits = memory.store.event(first).fact.ids
    memory.retain(recalls=timedelta(days=180))
    assert {memo.id: memo.state.access_count for memo in memory.memories()} == counts
    remains = memory.store.event(first).fact.remains
    assert (remains.ids, remains.scores, remains.question.text, remains.question.session) == (
        tuple(sorted(hits)), (), "", "long",
    )  # fmt: skip
    assert memory.store.event(alone).fact.remains.question.session is None
    assert told(memory)[:2] == ("attested", 1)  # the younger recall of the session replays bit for bit
    fresh = Projections(list(memory.store.projections.lexicals))
    for _ in fresh.apply_all(memory.store.log.read(0, memory.store.catch_up())):
        pass
    assert state(memory.store.projections) == state(fresh)


def test_a_forged_recall_is_caught_before_it_goes_and_stays_caught(memory: Memory, clock: Ticking):
    recalled = memory.store.event(int(memory.store.projections.adoptions.recalls[-1])).fact
    assert isinstance(recalled, Recalled)
    memory.store.append([msgspec.structs.replace(recalled, ids=recalled.ids[::-1])])
    forged = f"r{memory.store.catch_up()}"
    clock.now += 200 * DAY
    assert memory.retain(recalls="180d").different == (forged,)
    assert told(memory) == ("differs", 0, 3, 0, 1)


def test_it_holds_after_reopening_from_a_checkpoint_and_in_a_copy(
    memory: Memory, open_memory: Open, tmp_path: Path
):
    memory.retain(recalls="180d")
    memory.store.checkpoint()
    memory.export(tmp_path / "log.jsonl")
    memory.fork(tmp_path / "fork")
    expected = told(memory)
    memory.close()
    again = open_memory()
    assert again.store._checkpoint_seq > 0
    assert told(again) == expected
    copy = open_memory("copy")
    copy.import_(tmp_path / "log.jsonl")
    assert told(copy) == expected
    assert told(open_memory("fork")) == expected
    for path in (tmp_path / "log.jsonl", tmp_path / "fork"):
        assert holding(path if path.is_dir() else path.parent, f"tea {SECRET}".encode()) == []
    assert again.compare("recollect", "reverie").questions == 1


def test_a_dry_run_and_a_limit_that_nothing_reaches_write_nothing(memory: Memory):
    head = memory.status().head
    assert (memory.retain(recalls="180d", dry_run=True).recalls, memory.status().head) == (2, head)
    assert memory.retain(recalls="300d").recalls == 0
    assert memory.status().head == head
    memory.retain(recalls="180d")
    head = memory.status().head
    assert (memory.retain(recalls="180d").recalls, memory.status().head) == (0, head)


def test_the_limit_may_be_a_setting_which_every_dream_keeps_to(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
):
    with pytest.raises(InvalidInput, match="such as 180d"):
        memory.retain()
    monkeypatch.setenv("RECOLLECT_RETAIN_RECALLS", "180d")
    assert memory.retain(dry_run=True).recalls == 2
    memory.dream()
    assert told(memory)[0] == "attested"
    assert memory.retain(dry_run=True).recalls == 0


def test_the_command_says_what_it_did(memory: Memory, tmp_path: Path):
    memory.close()

    def run(*arguments: str) -> tuple[int, str]:
        done = CliRunner().invoke(main, [*arguments, "--store", str(tmp_path / "store")])
        return done.exit_code, done.output

    status, said = run("retain", "--recalls", "1s", "--dry-run")
    assert (status, said.startswith("would erase  ")) == (0, True)
    status, said = run("retain", "--recalls", "1s")
    assert (status, "verified and attested before" in said) == (0, True)
    assert run("verify")[1].startswith("attested  ")
    status, said = run("retain", "--recalls", "soon")
    assert (status, "is not an interval" in said) == (2, True)


def test_a_limit_of_any_length_may_be_a_timedelta():
    assert limit_of(timedelta(microseconds=1)) == 1
    assert limit_of(timedelta(days=180)) == 180 * DAY
    with pytest.raises(InvalidInput, match="give one such as 180 days"):
        limit_of(timedelta(0))


def test_what_another_process_erases_while_old_recalls_are_counted_is_not_erased_twice(
    memory: Memory, open_memory: Open, monkeypatch: pytest.MonkeyPatch
):
    """The other erasure comes after the old recalls were found and before they are erased."""
    found, other = retaining.unknown_copies, open_memory()

    def erased_meanwhile(folder: Path | None) -> str | None:
        monkeypatch.setattr(retaining, "unknown_copies", found)
        assert other.retain(recalls="180d").recalls == 2
        return found(folder)

    monkeypatch.setattr(retaining, "unknown_copies", erased_meanwhile)
    report = memory.retain(recalls="180d")
    assert (report.recalls, report.at) == (0, None)
    assert told(memory) == ("attested", 1, 2, 0, 0)
