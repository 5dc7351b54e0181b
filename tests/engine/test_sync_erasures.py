"""What one side erased is carried out on the other by its events: all of that memory goes, and no other of its name."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sync_place import Place, holding

from recollect.engine import sync as syncing
from recollect.engine.doctor import doctor
from recollect.engine.opening import finish_swap
from recollect.engine.sync import sync
from recollect.events.errors import RecollectError
from recollect.events.frame import Frame
from recollect.events.segment_log import SegmentLog
from recollect.events.transfer import whole_batches
from recollect.interfaces.python.memory import Memory


def test_a_new_memory_under_the_name_of_one_that_was_erased_here_goes_to_the_common_log(place: Place) -> None:
    with place.colleague() as there:
        there.remember("tea is at four", id="tea")
    with place.here() as here:
        here.erase("auth")
        here.remember("auth is by passkey now", id="auth")
        here.revise("auth", "auth is by passkey, revised")
    report = place.sync()
    assert (report.pushed, report.not_taken) == (2, ())
    for memory in (place.here(), place.colleague(), Memory.open(str(report.branch), embedder="hash")):
        with memory:
            assert memory.get("auth").content == "auth is by passkey, revised"
    assert holding(place.laptop.parent, b"Postgres") == []


def test_a_new_memory_that_others_remembered_under_the_name_of_one_that_both_erased_stays(
    place: Place,
) -> None:
    with place.colleague() as there:
        there.erase("auth")
        there.remember("auth is by passkey now", id="auth")
    with place.here() as here:
        here.erase("auth")
        here.remember("auth is by fingerprint", id="auth")
    report = place.sync()
    assert [one.memories for one in report.not_taken] == [("auth",)]
    for memory in (place.here(), place.colleague()):
        with memory:
            assert memory.get("auth").content == "auth is by passkey now"
    with Memory.open(str(report.branch), embedder="hash") as branch:
        assert branch.get("auth").content == "auth is by fingerprint"
    assert doctor(place.laptop).healthy


def test_an_erasure_here_takes_what_others_added_to_the_memory(place: Place, tmp_path: Path) -> None:
    with place.colleague() as there:
        there.revise("auth", "auth sessions live in a vault 31-07-94")
    with place.here() as here:
        here.erase("auth")
    assert place.sync().not_taken == ()
    with place.colleague() as there:
        assert there.get("auth").content == "[erased]"
    assert holding(tmp_path, b"31-07-94") == []


def test_a_branch_keeps_its_own_memory_under_the_name_of_one_that_was_erased_twice(place: Place) -> None:
    """The second erasure names the first as well, which the branch has."""
    with place.here() as here:
        here.erase("auth", reason="asked to")
    place.sync()
    with place.here() as here:
        here.remember("auth is by fingerprint", id="auth")
    with place.colleague() as there:
        there.remember("auth is by passkey now", id="auth")
    report = place.sync()
    with place.colleague() as there:
        there.erase("auth")
    assert place.sync().degraded == ()
    with Memory.open(str(report.branch), embedder="hash") as branch:
        assert branch.get("auth").content == "auth is by fingerprint"
    assert doctor(place.laptop).healthy


def test_a_sync_that_was_interrupted_after_an_erasure_takes_what_came_after_it(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    with place.colleague() as there:
        there.remember("tea is at four", id="tea")
    with place.here() as here:
        here.erase("auth")
        here.remember("auth is by passkey now", id="auth")
    with monkeypatch.context() as patch:
        patch.setattr(syncing, "swap_log", lambda *_: (_ for _ in ()).throw(OSError("the plug was pulled")))
        with pytest.raises(OSError, match="the plug"):
            sync(place.laptop, place.remote)
    with place.here() as here:
        here.revise("auth", "auth is by passkey, revised")
    report = place.sync()
    assert (report.pushed, report.not_taken) == (1, ())
    with place.colleague() as there:
        assert there.get("auth").content == "auth is by passkey, revised"


def test_what_retention_erased_here_is_erased_in_the_common_log_and_stays_attested(place: Place) -> None:
    with place.here() as here:
        here.recall("who has the xylophone")
    place.sync()
    with place.colleague() as there:
        there.remember("tea is at four", id="tea")
    with place.here() as here:
        here.recall("the xylophone, asked offline")
        assert here.retain(recalls="0.000001s").recalls == 2
    report = place.sync()
    assert report.branch is not None
    for memory in (place.here(), place.colleague()):
        with memory:
            verified = memory.verify()
            assert (verified.verdict, verified.attested, verified.redacted) == ("attested", 1, 0)
    assert holding(place.laptop.parent, b"xylophone") == []


def test_retention_after_an_offline_recall_was_taken_leaves_nothing_unattested(place: Place) -> None:
    """It was asked in a branch: there it is ranked again before it goes, or it was attested there before an erasure."""
    with place.here() as here:
        here.recall("which xylophone")
        here.recall("auth sessions in Postgres")
    with place.colleague() as there:
        there.remember("tea is at four", id="tea")
    place.sync()
    with place.here() as here:
        here.erase("auth")
        assert here.retain(recalls="0.000001s").unattested == 0
        verified = here.verify()
        assert (verified.verdict, verified.attested) == ("attested", 2)
    with place.colleague() as there:
        there.remember("coffee is at ten", id="coffee")
    with place.here() as here:
        here.remember("cake is at three", id="cake")
    place.sync()
    with place.here() as here:
        assert here.verify().verdict == "attested"


def test_retention_here_of_an_offline_recall_is_carried_out_in_the_common_log_with_its_attestation(
    place: Place,
) -> None:
    with place.here() as here:
        here.recall("which xylophone")
    with place.colleague() as there:
        there.remember("tea is at four", id="tea")
    place.sync()
    with place.colleague() as there:
        there.remember("coffee is at ten", id="coffee")
    with place.here() as here:
        here.retain(recalls="0.000001s")
    place.sync()
    with place.colleague() as there:
        verified = there.verify()
        assert (verified.verdict, verified.attested) == ("attested", 1)


# --- a sync that is killed while it replaces the log --------------------------------------------------


def killed(place: Place, point: str) -> None:
    """A secret, both went on, and a sync that ends at this point of the replacement."""
    with place.here() as here:
        here.remember("the safe opens with 31-07-94", id="safe")
    place.sync()
    with place.colleague() as there:
        there.remember("tea is at four", id="tea")
    with place.here() as here:
        here.remember("coffee is at ten", id="coffee")
    program = (
        "import os, sys\n"
        "import recollect.engine.opening as opening, recollect.engine.sync as syncing\n"
        f"{point} = lambda *_: os._exit(9)\n"
        "syncing.sync(sys.argv[1], sys.argv[2])\n"
    )
    done = subprocess.run([sys.executable, "-c", program, place.laptop, place.remote], check=False)
    assert done.returncode == 9


POINTS = {"log.syncing": "syncing.swap_log", "log.synced": "opening.sync_directory"}


@pytest.mark.parametrize("left", POINTS)
def test_what_a_sync_that_was_killed_left_is_named_by_doctor_and_gone_with_the_next_erasure(
    place: Place, left: str
) -> None:
    killed(place, POINTS[left])
    (problem,) = doctor(place.laptop).problems
    assert (problem.severity, problem.where) == ("leftover", str(place.laptop / left))
    with place.here() as here:
        assert not (place.laptop / left).exists()
        here.erase("safe")
    assert holding(place.laptop, b"31-07-94") == []
    assert doctor(place.laptop).healthy
    place.sync()
    assert len(list((place.laptop / "branches").iterdir())) == 1
    assert holding(place.laptop, b"31-07-94") == []


@pytest.mark.parametrize("left", POINTS)
def test_doctor_removes_what_a_sync_that_was_killed_left(place: Place, left: str) -> None:
    killed(place, POINTS[left])
    mended = doctor(place.laptop, fix=True)
    assert (mended.healthy, [one.where for one in mended.fixed]) == (True, [str(place.laptop / left)])


@pytest.mark.parametrize("left", POINTS)
def test_an_erasure_by_a_process_that_is_open_reaches_what_a_sync_that_was_killed_left(
    place: Place, left: str
) -> None:
    with place.here() as here:
        here.recall("deploys")
        killed(place, POINTS[left])
        here.erase("safe")
        assert holding(place.laptop, b"31-07-94") == []


def test_what_a_sync_is_about_to_put_in_place_is_left_to_it(place: Place) -> None:
    killed(place, POINTS["log.syncing"])
    with closing(SegmentLog.open(place.laptop / "log")) as log, log.exclusive():
        finish_swap(place.laptop)
        assert (place.laptop / "log.syncing").is_dir()
        assert doctor(place.laptop).healthy


# --- a sync beside others ----------------------------------------------------------------------------


@pytest.mark.parametrize("beside", ["colleague_url", "remote"], ids=["elsewhere", "in the same mirror"])
def test_what_others_erase_while_the_common_log_is_copied_is_erased_here_as_well(
    place: Place, monkeypatch: pytest.MonkeyPatch, beside: str
) -> None:
    with place.colleague() as there:
        there.remember("tea is at four", id="tea")
    with place.here() as here:
        here.remember("coffee is at ten", id="coffee")
    erased: list[str] = []

    def overtaken(frames: Iterator[Frame]) -> Iterator[list[Frame]]:
        if not erased:
            erased.append("auth")
            with Memory.open(getattr(place, beside), embedder="hash") as there:
                there.erase("auth")
        return whole_batches(frames)

    monkeypatch.setattr(syncing, "whole_batches", overtaken)
    report = place.sync()
    assert (report.pulled, report.pushed) == (2, 1)
    assert doctor(place.laptop).healthy
    assert holding(place.laptop, b"Postgres") == []


def test_what_was_not_taken_is_told_when_the_remote_store_is_gone_after_the_merge(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    with place.colleague() as there:
        there.revise("auth", "auth sessions live in Redis")
    with place.here() as here:
        here.revise("auth", "auth sessions live in SQLite")

    def gone(*_: object, **__: object) -> None:
        raise RecollectError("no route to the store")

    monkeypatch.setattr(syncing, "replicate", gone)
    report = sync(place.laptop, place.remote)
    assert [one.memories for one in report.not_taken] == [("auth",)]
    assert any("no route to the store; sync again" in one for one in report.degraded)


def test_a_recall_that_another_process_has_just_answered_does_not_end_a_merge(place: Place) -> None:
    with place.colleague() as there:
        there.revise("auth", "auth sessions live in Redis")
        there.erase("deploy")
    with place.here() as here:
        here.revise("auth", "auth sessions live in SQLite")
    with place.here() as here:
        here.recall("auth sessions")
        command = [sys.executable, "-m", "recollect", "sync", place.remote, "--store", str(place.laptop)]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (1, "")
        assert "not taken: @4 memory.revised: 'auth' was changed" in " ".join(done.stdout.split())
    with place.here() as here:
        assert here.verify().verdict == "attested"
    assert holding(place.laptop, b"Tuesdays") == []
