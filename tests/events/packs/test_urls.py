"""Where a log of packs lies, by its URL; and that nothing of it is imported unless one is given."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from log_samples import StepClock, all_numbers, notes
from nats_servers import Server

from recollect.engine.opening import open_log
from recollect.events.errors import InvalidInput
from recollect.events.packs import urls
from recollect.events.packs.urls import is_url, open_packs


@pytest.mark.parametrize(
    "where", ["nats://h:4222/n", "tls://h/n", "s3://b/p", "gs://b/p", "az://a/c", "file:///d", "NATS://h/n"]
)
def test_these_name_a_log_of_packs(where: str) -> None:
    assert is_url(where)


@pytest.mark.parametrize(
    "where", [":memory:", "~/memory", "nats", "C://x", Path("s3:/b/p"), "http://h/p", "s3:"]
)
def test_these_name_a_directory(where: str | Path) -> None:
    assert not is_url(where)


def test_a_url_of_another_kind_is_no_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for where in ("http://me:secret@h/p", "ftp://h/p"):
        with pytest.raises(InvalidInput, match="is no place for a store") as caught:
            open_log(where, StepClock())
        assert "secret" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("where", "says"),
    [
        ("nats://h:4222/", "names the store ''"),
        ("nats://h:4222/a.b", "names the store 'a.b'"),
        ("nats://h:4222/n?replicas=2", "1, 3 or 5"),
        ("nats://h:4222/n?sync=no", "sync=any"),
        ("nats://h:4222/n?mirrors=/d", "the option 'mirrors'"),
    ],
)
def test_what_makes_no_sense_is_refused(
    tmp_path: Path, where: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    with pytest.raises(InvalidInput, match=says):
        open_packs(where, clock=StepClock())
    assert list(tmp_path.rglob("*.seg")) == []


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(InvalidInput, match=r"pip install 'recollect\[nats\]'"):
        open_packs("nats://h:4222/n", clock=StepClock())


def test_the_mirror_has_a_folder_of_its_own_that_shows_no_password(
    nats_server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    log, folder = open_packs(f"nats://user:secret@127.0.0.1:{nats_server.port}/urls", clock=StepClock())
    with log:
        log.append(notes(0, 2))
        assert log.status().path == f"nats://127.0.0.1:{nats_server.port}/urls"
    assert folder.is_relative_to(tmp_path / "recollect" / "mirrors")
    assert "secret" not in str(folder)


def test_the_order_of_servers_and_the_credentials_do_not_change_the_mirror(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    places = {
        urls._mirror(*urls._parsed(where))
        for where in (
            "nats://a:1,b:2/n",
            "nats://b:2,a:1/n",
            "nats://me:pw@b:2,a:1/n/",
            "nats://a:1,b:2/n?sync=any",
        )
    }
    assert len(places) == 1
    assert urls._mirror(*urls._parsed("nats://a:1,b:2/other")) not in places


def test_a_directory_is_a_log_of_packs_that_two_mirrors_share(tmp_path: Path) -> None:
    where = f"file://{tmp_path}/shared?mirror={tmp_path}"
    first, folder = open_packs(f"{where}/a", clock=StepClock())
    second, _ = open_packs(f"{where}/b", clock=StepClock())
    with first, second:
        first.append(notes(0, 2))
        assert second.refresh() == 2
        assert all_numbers(second) == [0, 1]
    assert folder == tmp_path / "a"


def test_without_a_url_nothing_of_it_is_imported() -> None:
    script = """
import sys
import recollect
from recollect.interfaces.cli.app import main
from recollect.interfaces.python.memory import Memory
with Memory.open(":memory:", embedder=None) as memory:
    memory.remember("tea")
assert not {"nats", "obstore", "cryptography", "recollect.events.packs.pack_log"} & set(sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
