"""A laptop's store and a remote one are brought level: offline work is appended, what no longer holds is listed."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from sync_place import Place, holding

from recollect.engine import opening
from recollect.engine import sync as syncing
from recollect.engine.doctor import doctor
from recollect.engine.replicate import Replication, replicate
from recollect.engine.sync import sync
from recollect.events.errors import HeadMoved, InvalidInput, RecollectError
from recollect.interfaces.cli.app import main
from recollect.interfaces.python.memory import Memory


def other_embedder(texts: list[str]) -> np.ndarray:
    return np.array([[len(text), 1.0, 2.0] for text in texts], dtype=np.float32)


def test_what_is_new_on_one_side_alone_is_copied_as_it_is(place: Place) -> None:
    with place.colleague() as there:
        there.remember("tea is at four", id="tea")
    pulled = place.sync()
    assert (pulled.pulled, pulled.pushed, pulled.branch) == (1, 0, None)
    with place.here() as here:
        here.remember("coffee is at ten", id="coffee")
    pushed = place.sync()
    assert (pushed.pulled, pushed.pushed, pushed.branch) == (0, 1, None)
    assert place.sync().head == pushed.head


def test_a_store_that_is_not_there_yet_is_fetched(place: Place, tmp_path: Path) -> None:
    report = sync(tmp_path / "second", place.remote)
    assert report.pulled == report.head
    with Memory.open(tmp_path / "second", embedder="hash") as second:
        assert second.get("auth").content == "auth sessions live in Postgres"


def test_offline_work_is_appended_to_the_remote_head_in_its_order_under_its_event_ids(place: Place) -> None:
    with place.colleague() as there:
        there.remember("tea is at four", id="tea")
    with place.here() as here:
        for n in range(3):
            here.remember(f"offline note {n}", id=f"o{n}")
        here.revise("o1", content="offline note 1, revised")
        here.forget("deploy", "no longer")
        here.link("o0", "auth", "about")
        ids = [event.id for event in here.store.log.read(3)]
    report = place.sync()
    assert (report.forked_at, report.pulled, report.pushed, report.not_taken) == (3, 1, 6, ())
    with place.colleague() as there:
        assert [event.id for event in there.store.log.read(4)] == ids
        assert there.get("o1").content == "offline note 1, revised"
        assert there.get("deploy").visible is False
        assert there.get("tea").content == "tea is at four"
    assert place.sync().pushed == 0


def test_what_no_longer_holds_is_listed_and_stays_in_the_branch(place: Place) -> None:
    with place.colleague() as there:
        there.revise("auth", content="auth sessions live in Redis now")
        there.remember("theirs", id="same")
    with place.here() as here:
        here.revise("auth", content="auth sessions live in SQLite")
        here.remember("ours", id="same")
        here.remember("fine", id="fine")
        here.revise("same", content="ours, revised")
    report = place.sync()
    assert [(one.memories, one.reason.partition(" in the")[0]) for one in report.not_taken] == [
        (("auth",), "'auth' was changed"),
        (("same",), "'same' was changed"),
        (("same",), "'same' was changed"),
    ]
    with place.here() as here:
        assert here.get("auth").content == "auth sessions live in Redis now"
        assert here.get("same").content == "theirs"
        assert here.get("fine").content == "fine"
    assert report.branch is not None
    with Memory.open(report.branch, embedder="hash") as branch:
        assert branch.get("auth").content == "auth sessions live in SQLite"
        assert branch.get("same").content == "ours, revised"


def test_what_speaks_of_a_memory_that_was_not_taken_is_not_taken(place: Place) -> None:
    with place.here() as here:
        here.remember_many([{"content": "a", "id": "a"}, {"content": "b", "id": "clash"}])
        here.access(["a"])
    with place.colleague() as there:
        there.remember("theirs", id="clash")
    report = place.sync()
    assert [one.memories for one in report.not_taken] == [("a", "clash"), ("a",)]
    assert "'a' is not in the common log" in report.not_taken[1].reason


def test_offline_recalls_verify_in_their_branch_and_elsewhere_count_as_not_here(place: Place) -> None:
    with place.here() as here:
        here.remember("auth tokens expire after 14 days", id="tokens")
        asked = here.recall("auth sessions", session="s")
        here.recall("auth tokens", session="s")
        assert asked.id is not None
        here.rate("auth", "helpful", recall=asked.id)
    with place.colleague() as there:
        for n in range(5):
            there.remember(f"auth auth sessions sessions {n}", id=f"n{n}")
    report = place.sync()
    assert (report.recalls, report.not_taken) == (2, ())
    assert len(report.changed) >= 1
    with place.here() as here:
        verified = here.verify()
        assert (verified.verdict, verified.checked, verified.exact_count) == ("exact", 2, 2)
        recall = report.changed[0]
        compared = here.compare("recorded", "recollect")
        assert compared.questions == 2
        assert compared.metrics["unchanged"] == 1 - len(report.changed) / 2
        assert here.store.log.get(int(recall[1:])).fact.branch is not None  # type: ignore[union-attr]
    with place.colleague() as there:
        verified = there.verify()
        assert (verified.verdict, verified.not_here) == ("partly", 2)
        assert "asked offline" in verified.missing[0].reason
        there.recall("auth")
        assert there.verify().exact_count == 1


def test_a_dream_offline_is_not_taken_whole(place: Place) -> None:
    with place.here() as here:
        here.dream()
    with place.colleague() as there:
        there.remember("tea", id="tea")
    report = place.sync()
    assert {one.reason for one in report.not_taken} <= {
        "a dream over a log that has moved on; dream again",
        "made over a log that has moved on; run it again",
    }
    assert report.not_taken


def test_an_erasure_offline_reaches_the_remote_store_which_a_later_one_names(
    place: Place, tmp_path: Path
) -> None:
    with place.here() as here:
        here.remember("the safe opens with 31-07-94", id="secret")
        here.erase("auth", reason="asked to")
        here.erase("secret")
    with place.colleague() as there:
        there.remember("tea", id="tea")
    report = place.sync()
    assert report.not_taken == ()
    with place.colleague() as there:
        assert there.get("auth").content == "[erased]"
    for path in tmp_path.rglob("*"):
        assert not path.is_file() or b"31-07-94" not in path.read_bytes(), path
    with place.here() as here:
        copies = here.erase("deploy").copies
    assert [(copy.kind, copy.path) for copy in copies] == [("replica", place.remote.partition("?")[0])]


def test_what_others_erase_is_erased_in_the_branch_as_well(place: Place, tmp_path: Path) -> None:
    """Erased while this laptop was offline and had revised it, and erased later, after it had come from here."""
    with place.here() as here:
        here.revise("auth", "auth sessions live in a vault 31-07-94")
        here.remember("the safe opens with 31-07-94", id="safe")
        here.recall("auth sessions")
    with place.colleague() as there:
        there.erase("auth", reason="asked to")
    report = place.sync()
    assert [one.memories for one in report.not_taken] == [("auth",)]
    branch = Path(str(report.branch))
    assert holding(place.laptop, b"Postgres") == holding(place.laptop, b"a vault") == []
    assert holding(branch, b"the safe opens") != []
    with place.here() as here:
        assert here.verify().verdict == "attested"
    with place.colleague() as there:
        there.erase("safe", reason="that too")
    assert place.sync().pulled > 0
    assert holding(tmp_path, b"31-07-94") == []
    with Memory.open(branch, embedder="hash") as kept:
        assert kept.verify().verdict == "attested"


def test_a_memory_in_the_branch_that_only_shares_the_id_of_an_erased_one_stays(place: Place) -> None:
    with place.here() as here:
        here.remember("ours, never taken", id="same")
    with place.colleague() as there:
        there.remember("theirs", id="same")
        there.erase("same")
    report = place.sync()
    with Memory.open(str(report.branch), embedder="hash") as kept:
        assert kept.get("same").content == "ours, never taken"


def merged(place: Place) -> Path:
    """Both went on: the laptop told a secret and asked, and its log became a branch; the branch."""
    with place.here() as here:
        here.export(place.laptop.parent / "before.jsonl")
        here.remember("the safe opens with 31-07-94", id="safe")
        here.recall("which safe opens")
        here.export(place.laptop.parent / "offline.jsonl")
    with place.colleague() as there:
        there.remember("tea is at four", id="tea")
    return Path(str(place.sync().branch))


def test_an_erasure_here_is_carried_out_in_the_branch_at_once(place: Place) -> None:
    branch = merged(place)
    assert holding(branch, b"31-07-94") != []
    with place.here() as here:
        assert [one.kind for one in here.erase("safe", dry_run=True).copies if one.kind == "branch"] == []
        report = here.erase("safe", reason="request 17")
        assert here.verify().verdict == "attested"
    assert holding(place.laptop, b"31-07-94") == []
    assert {one.kind for one in report.copies} == {"jsonl", "replica"}
    assert report.receipt is not None
    assert "branch" not in report.receipt.text
    assert doctor(place.laptop).healthy
    with Memory.open(branch, embedder="hash") as kept:
        assert kept.get("safe").content == "[erased]"
        assert kept.verify().verdict == "attested"


def test_a_branch_that_cannot_be_erased_in_is_listed_and_named_by_doctor_until_it_is(place: Place) -> None:
    branch = merged(place)
    (segment,) = (branch / "log").glob("*.seg")
    whole = segment.read_bytes()
    os.truncate(segment, len(whole) - 10)
    command = ["erase", "safe", "--yes", "--store", str(place.laptop), "--embedder", "hash"]
    said = " ".join(CliRunner().invoke(main, command).output.split())
    assert f"{branch} (branch of" in said
    assert "must be erased in or deleted" in said
    assert "not finished" not in said
    (problem,) = doctor(place.laptop).problems
    assert (problem.severity, problem.where) == ("erasure", str(branch))
    with place.colleague() as there:
        there.remember("coffee is at ten", id="coffee")
    assert any(str(branch) in note for note in place.sync().degraded)
    segment.write_bytes(whole)
    assert "still holds what the store erased: safe" in doctor(place.laptop).problems[0].what
    mended = doctor(place.laptop, fix=True)
    assert (mended.healthy, [one.where for one in mended.fixed]) == (True, [str(branch)])
    assert holding(place.laptop, b"31-07-94") == []


def test_copies_from_before_a_merge_are_listed_as_such(place: Place) -> None:
    merged(place)
    command = ["erase", "safe", "--yes", "--store", str(place.laptop), "--embedder", "hash"]
    said = " ".join(CliRunner().invoke(main, command).output.split())
    assert "offline.jsonl (jsonl of" in said
    assert "of the log that this one took the place of" in said
    assert "before.jsonl" not in said
    assert "not finished" not in said


@pytest.mark.parametrize("both", [False, True], ids=["one side went on", "both went on"])
def test_what_others_erased_is_gone_from_the_caches_here(place: Place, both: bool) -> None:
    with place.here() as here:
        here.remember("a xylophone for tea", id="word")
        here.store.checkpoint()
        place.sync()
        here.store.checkpoint()
    assert holding(place.laptop / "cache", b"xylophone") != []
    with place.colleague() as there:
        there.erase("word")
    if both:
        with place.here() as here:
            here.remember("offline", id="o")
    place_sync = sync(place.laptop, place.remote)
    assert (place_sync.branch is not None) == both
    assert holding(place.laptop, b"xylophone") == []


def test_when_others_write_meanwhile_it_is_begun_again(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two machines at once: what was to be copied as it is has to be appended behind what the other wrote."""
    with place.here() as here:
        here.remember("ours", id="ours")
    wrote: list[str] = []

    def beside(*given: str, **options: object) -> Replication:
        if not wrote:
            wrote.append("theirs")
            with place.colleague() as there:
                there.remember("theirs", id="theirs")
        return replicate(*given, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(syncing, "replicate", beside)
    report = place.sync()
    assert (report.pulled, report.pushed, report.not_taken) == (1, 1, ())
    with place.here() as here:
        assert {one.id for one in here.memories()} >= {"ours", "theirs"}


def test_when_others_never_stop_writing_it_says_so(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    def moved(*_: object, **__: object) -> Replication:
        raise HeadMoved(expected=1, actual=2)

    with place.here() as here:
        here.remember("ours", id="ours")
    with monkeypatch.context() as patch:
        patch.setattr(syncing, "replicate", moved)
        with pytest.raises(RecollectError, match=r"others wrote to .* sync again"):
            place.sync()
    assert place.sync().pushed == 1


def test_an_interrupted_sync_is_repeated_and_takes_everything_once(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    with place.here() as here:
        for n in range(4):
            here.remember(f"offline {n}", id=f"o{n}")
        here.recall("offline 2")
    with place.colleague() as there:
        there.remember("tea", id="tea")
    with monkeypatch.context() as patch:
        patch.setattr(syncing, "swap_log", lambda *_: (_ for _ in ()).throw(OSError("the plug was pulled")))
        with pytest.raises(OSError, match="the plug"):
            sync(place.laptop, place.remote)
    with place.here() as here:
        assert here.get("o3").content == "offline 3"
        here.remember("after the crash", id="late")
    report = place.sync()
    assert (report.pushed, report.not_taken, report.recalls) == (1, (), 1)
    with place.colleague() as there:
        ids = [event.id for event in there.store.log.read(0)]
        assert len(ids) == len(set(ids))
        assert [there.get(f"o{n}").content for n in range(4)] == [f"offline {n}" for n in range(4)]
        assert there.get("late").content == "after the crash"


def test_a_process_that_ends_between_the_two_renames_leaves_a_whole_store(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    with place.here() as here:
        here.remember("offline", id="o")
    with place.colleague() as there:
        there.remember("tea", id="tea")
    with monkeypatch.context() as patch:
        patch.setattr(opening, "finish_swap", lambda _: (_ for _ in ()).throw(OSError("the plug was pulled")))
        with pytest.raises(OSError, match="the plug"):
            sync(place.laptop, place.remote)
    assert not (place.laptop / "log").exists()
    done = CliRunner().invoke(main, ["status", "--store", str(place.laptop)])
    assert done.exit_code == 0, done.output
    place.sync()
    with place.here() as here:
        assert {one.id for one in here.memories()} >= {"o", "tea", "auth"}


def test_sync_twice_after_more_offline_work_keeps_both_branches(place: Place) -> None:
    for turn in range(2):
        with place.here() as here:
            here.recall("auth")
        with place.colleague() as there:
            there.remember(f"turn {turn}", id=f"t{turn}")
        assert place.sync().branch is not None
    with place.here() as here:
        assert here.verify().verdict == "exact"
        assert here.verify().exact_count == 2


def test_a_recall_that_went_to_one_remote_keeps_the_branch_it_saw_when_it_goes_to_another(
    place: Place, tmp_path: Path
) -> None:
    elsewhere = f"file://{tmp_path}/elsewhere?mirror={tmp_path}/elsewhere-mirror"
    sync(place.laptop, elsewhere)
    with place.here() as here:
        here.recall("auth")
    with place.colleague() as there:
        there.remember("deploys moved to Wednesdays", id="moved")
    first = place.sync()
    with Memory.open(elsewhere, embedder="hash") as there:
        there.remember("the office has a new door", id="door")
    second = sync(place.laptop, elsewhere)
    assert (first.recalls, second.recalls) == (1, 1)
    with place.here() as here:
        (recall,) = here.recalls().recalls
        saw = here.store.event(int(recall.id[1:])).fact.branch  # type: ignore[union-attr]
        assert saw is not None
        assert (here.verify().verdict, here.verify().exact_count) == ("exact", 1)
    with Memory.open(str(first.branch), embedder="hash") as branch:
        assert branch.store.log.chain_at(saw.seq).hex() == saw.chain


def test_two_stores_that_never_had_an_event_in_common_are_refused(place: Place, tmp_path: Path) -> None:
    with Memory.open(tmp_path / "other", embedder="hash") as other:
        other.remember("something else")
    with pytest.raises(InvalidInput, match="not one event in common"):
        sync(tmp_path / "other", place.remote)


def test_stores_with_two_embedders_are_refused_before_anything_is_written(
    place: Place, tmp_path: Path
) -> None:
    with place.here() as here:
        here.remember("offline", id="o")
    with Memory.open(place.colleague_url, embedder="hash") as there:
        there.reembed(other_embedder)
        head = there.store.log.head
    with pytest.raises(InvalidInput, match="their vectors do not compare"):
        sync(place.laptop, place.remote)
    with Memory.open(place.colleague_url, embedder="none") as there:
        assert there.store.log.head == head


def test_the_command_says_what_came_what_went_and_what_was_not_taken(place: Place) -> None:
    with place.here() as here:
        here.remember("ours", id="same")
    with place.colleague() as there:
        there.remember("theirs", id="same")
    done = CliRunner().invoke(main, ["sync", place.remote, "--store", str(place.laptop)])
    assert done.exit_code == 1, done.output
    assert "not taken: @4 memory.ingested: 'same' was changed" in " ".join(done.output.split())
    again = CliRunner().invoke(main, ["sync", place.remote, "--store", str(place.laptop), "--json"])
    assert again.exit_code == 0, again.output
    refused = CliRunner().invoke(main, ["sync", "elsewhere", "--store", str(place.laptop)])
    assert (refused.exit_code, "is no URL" in refused.output) == (2, True)
