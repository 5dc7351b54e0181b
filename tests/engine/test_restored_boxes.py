"""Keys that come back with a restored backup of a hub are destroyed again; where that cannot be, it is said."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from recollect.engine import erased_bytes
from recollect.engine.doctor import doctor
from recollect.events.errors import RecollectError
from recollect.events.packs.object_store import ObjectPackStore
from recollect.events.packs.store import StoreUnreachable
from recollect.events.packs.urls import open_packs
from recollect.interfaces.python.memory import Memory

SECRETS = [f"secretword{n}z".encode() for n in range(3)]
Restored = Callable[..., None]


@pytest.fixture
def url(tmp_path: Path) -> str:
    """A store whose memories m0, m1 and m2 were erased, one after the other, each in a pack of its own."""
    url = f"file://{tmp_path}/hub?mirror={tmp_path}/usual"
    with opened(url) as memory:
        for number in range(5):
            memory.remember(f"moon note secretword{number}z", id=f"m{number}")
    shutil.copytree(tmp_path / "hub" / "box", tmp_path / "backup")
    with opened(url) as memory:
        for number in range(3):
            memory.erase(f"m{number}")
    opened(url).close()  # everything was looked at once
    return url


def opened(url: str) -> Memory:
    return Memory.open(url, embedder="hash")


def put_back(tmp_path: Path, *, beside: bool = True, only: bytes = b"") -> None:
    """Put boxes back from the backup, beside what is there now or in its place."""
    for path in (tmp_path / "backup").glob("*/*"):
        if not only or path.parent.name.encode() == only:
            place = tmp_path / "hub" / "box" / path.parent.name
            if not beside:
                shutil.rmtree(place)
            place.mkdir(exist_ok=True)
            shutil.copy(path, place)


def opens(tmp_path: Path) -> list[bytes]:
    """The erased words that the packs give with any version of a box that is in the hub now."""
    found: set[bytes] = set()
    copy = tmp_path / "looked"
    for version in (min, max):
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(tmp_path / "hub", copy / "hub")
        for box in (copy / "hub" / "box").iterdir():
            kept = version(box.iterdir(), key=lambda path: int(path.name))
            for path in box.iterdir():
                if path != kept:
                    path.unlink()
        log, _ = open_packs(f"file://{copy}/hub?mirror={copy}/m", clock=lambda: 0, ahead_max=2**62)
        with closing(log):
            payloads = [event.payload for event in log.read(0, log.head)]
        found.update(word for word in SECRETS if any(word in payload for payload in payloads))
    return sorted(found)


def box_of(url: str, id_: str) -> bytes:
    """The name of the box with the key of the first event of a memory."""
    with opened(url) as memory:
        seq = memory.history(id_)[0].seq
        name: str = memory.store.log.base._index.of(seq).box  # type: ignore[attr-defined]
        return name.encode()


@pytest.mark.parametrize("beside", [True, False], ids=["beside", "in place"])
def test_keys_that_come_back_with_boxes_are_named_by_doctor_and_destroyed_by_the_next_open(
    url: str, tmp_path: Path, beside: bool
) -> None:
    put_back(tmp_path, beside=beside)
    assert opens(tmp_path) == SECRETS
    found = doctor(url)
    assert [problem.severity for problem in found.problems] == ["erasure"] * 3
    assert all("keys are back" in problem.what for problem in found.problems)
    assert opens(tmp_path) == SECRETS  # looking changed nothing
    with opened(url) as memory:
        assert opens(tmp_path) == []
        assert memory.status().degraded == ()
        assert memory.verify().exact
        assert memory.get("m4").content == "moon note secretword4z"
    assert doctor(url).healthy


def test_keys_that_come_back_under_an_open_store_are_destroyed_by_verify(url: str, tmp_path: Path) -> None:
    with opened(url) as memory:
        put_back(tmp_path)
        assert not memory.doctor().healthy
        assert memory.verify().exact
        assert opens(tmp_path) == []


def test_an_opening_that_looks_at_few_goes_on_to_all_when_the_newest_are_back(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(erased_bytes, "LOOK_S", -1.0)
    monkeypatch.setattr(erased_bytes, "_TOGETHER", 1)
    put_back(tmp_path)
    opened(url).close()
    assert opens(tmp_path) == []


def test_what_an_opening_that_looks_at_few_does_not_see_doctor_names_and_verify_destroys(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(erased_bytes, "LOOK_S", -1.0)
    monkeypatch.setattr(erased_bytes, "_TOGETHER", 1)
    put_back(tmp_path, only=box_of(url, "m0"))
    with opened(url) as memory:
        assert opens(tmp_path) == SECRETS[:1]
        assert len(memory.doctor().problems) == 1
        memory.verify()
        assert opens(tmp_path) == []


@pytest.fixture
def refusing(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """Boxes that cannot be replaced, as in a directory that is read-only."""

    def refused(self: ObjectPackStore, name: str, content: bytes, version: int) -> int:
        raise StoreUnreachable(f"{self.where} did not take the box {name}")

    with monkeypatch.context() as patch:
        patch.setattr(ObjectPackStore, "put_box", refused)
        yield patch


def test_where_keys_cannot_be_destroyed_nothing_is_exported_and_it_is_said(
    url: str, tmp_path: Path, refusing: pytest.MonkeyPatch
) -> None:
    put_back(tmp_path)
    with opened(url) as memory:
        assert any("an erasure is in force but is not finished" in line for line in memory.status().degraded)
        assert any("an erasure is in force but is not finished" in line for line in memory.verify().notes)
        with pytest.raises(RecollectError, match="export refused"):
            memory.export(tmp_path / "out")
        refusing.undo()
        memory.export(tmp_path / "out")
        assert memory.status().degraded == ()
    assert opens(tmp_path) == []


def test_an_engine_that_cannot_be_asked_is_said_and_asked_again(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(self: ObjectPackStore, names: object) -> None:
        raise StoreUnreachable(f"{self.where} did not answer")

    put_back(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(ObjectPackStore, "get_versions", away)
        memory = opened(url)
        assert any("not known whether keys" in line for line in memory.status().degraded)
        assert any("not known whether keys" in line for line in memory.verify().notes)
        with pytest.raises(RecollectError, match="export refused"):
            memory.export(tmp_path / "out")
    with memory:
        memory.remember("a write looks again")
        assert memory.status().degraded == ()
    assert opens(tmp_path) == []
