"""An error of the system says nothing about a file: too many open files is no verdict, and deletes nothing."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from recollect.engine.doctor import doctor
from recollect.engine.doctor_caches import Caches
from recollect.events.errors import RecollectError
from recollect.events.redacted_log import RedactedLog
from recollect.interfaces.python.memory import Memory
from recollect.projections import checkpoints
from recollect.projections.view import Projections

Open = Callable[..., Memory]


@contextmanager
def failing(patch: pytest.MonkeyPatch, number: int) -> Iterator[None]:
    """Every opening of a cached file fails with this error of the system."""

    def refuse(path: object, **_: object) -> None:
        raise OSError(number, os.strerror(number), str(path))

    with patch.context() as inside:
        inside.setattr(checkpoints, "opened", refuse)
        yield


@pytest.fixture
def checkpoint(open_memory: Open, tmp_path: Path) -> Path:
    memory = open_memory()
    memory.remember("tea", id="a")
    memory.store.checkpoint()
    memory.close()
    (found,) = checkpoints.paths(tmp_path / "store" / "cache" / "checkpoints")
    return found


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE, errno.EIO, errno.ENOMEM])
def test_doctor_says_what_kept_it_from_looking_at_a_checkpoint_and_deletes_nothing(
    checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
):
    held = checkpoint.read_bytes()
    with failing(monkeypatch, number), pytest.raises(RecollectError) as told:
        doctor(tmp_path / "store", fix=True)
    assert checkpoint.name in str(told.value)
    assert os.strerror(number) in str(told.value)
    assert checkpoint.read_bytes() == held
    assert doctor(tmp_path / "store").healthy


def test_caches_that_could_not_be_looked_at_are_a_problem_that_no_fix_deletes(
    checkpoint: Path, open_memory: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    memory = open_memory()
    caches = Caches(tmp_path / "store" / "cache", RedactedLog(memory.store.log.base), Projections([]), None)
    with failing(monkeypatch, errno.EMFILE):
        (problem,) = caches.problems()
    assert (problem.severity, problem.where) == ("unknown", str(checkpoint))
    assert os.strerror(errno.EMFILE) in problem.what


def test_a_store_whose_checkpoints_cannot_be_looked_at_for_now_is_read_from_its_log(
    checkpoint: Path, open_memory: Open, monkeypatch: pytest.MonkeyPatch
):
    with failing(monkeypatch, errno.EMFILE):
        memory = open_memory()
        assert [one.id for one in memory.memories()] == ["a"]
        with pytest.raises(RecollectError, match=f"{checkpoint.name} could not be looked at"):
            memory.verify()
        assert checkpoint.exists()
        memory.erase("a")  # it may hold the text, whatever it is
        assert not checkpoint.exists()
