"""Tests never meet the user who runs them: a run inside a run, by a user whose store and helper are watched."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect.interfaces.model_server.protocol import directory
from recollect.interfaces.python.memory import Memory

TESTS = Path(__file__).parent
GOOD = """
import subprocess, sys
from click.testing import CliRunner
from recollect.interfaces.cli.app import main

def test_what_the_command_does_by_default():
    def run(*line):
        return subprocess.run([sys.executable, "-m", "recollect", *line], check=True, capture_output=True, text=True)

    run("remember", "tea", "--embedder", "hash")
    assert "tea" in run("recall", "tea").stdout
    assert "tea" in CliRunner().invoke(main, ["recall", "tea"]).output
    assert "theirs" not in run("memories").stdout
"""
BAD = """
import os, socket, subprocess
from pathlib import Path
import pytest

STORE, SOCKET = os.environ["THEIR_STORE"], os.environ["THEIR_SOCKET"]
BARE = {"PATH": "/usr/bin:/bin"}

def test_opening():
    (Path(STORE) / "log").open()

def test_connecting():
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(SOCKET)

def test_starting_with_nothing():
    subprocess.run(["true"], env=BARE)

def test_starting_as_them():
    theirs = {"HOME": str(Path(STORE).parent), "XDG_RUNTIME_DIR": str(Path(SOCKET).parents[1])}
    subprocess.run(["true"], env={**BARE, **theirs})

def test_swallowing():
    with pytest.raises(AssertionError):
        (Path(STORE) / "swallowed").open()
"""


class OtherUser:
    """A user with a store at its usual place, and with something that listens where a helper would."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for place in (folder, folder / "run" / "recollect"):
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.environment = {
            **{
                name: value
                for name, value in os.environ.items()
                if not name.startswith(("PYTEST", "RECOLLECT"))
            },
            "HOME": str(folder),
            "XDG_RUNTIME_DIR": str(folder / "run"),
            "PYTHONPATH": str(TESTS),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        }
        self.store = folder / ".recollect"
        with Memory.open(self.store, embedder="hash") as memory:
            memory.remember("theirs")
        self.listeners = [self._listening()]
        self.before = self._files()

    def _listening(self) -> socket.socket:
        code = "from recollect.interfaces.model_server.protocol import place_of; print(place_of('minilm').socket)"
        asked = [sys.executable, "-c", code]
        place = subprocess.run(
            asked, env=self.environment, capture_output=True, text=True, check=True
        ).stdout.strip()
        assert Path(place).parent == self.folder / "run" / "recollect"
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(place)
        listener.listen()
        listener.setblocking(False)
        return listener

    def _files(self) -> dict[str, int]:
        return {str(path): path.stat().st_mtime_ns for path in self.folder.rglob("*")}

    def runs(self, folder: Path, tests: str) -> subprocess.CompletedProcess[str]:
        """A run of these tests under the conftest of ours."""
        (folder / "test_nested.py").write_text(tests, "utf-8")
        environment = {
            **self.environment,
            "THEIR_STORE": str(self.store),
            "THEIR_SOCKET": str(self.listeners[0].getsockname()),
        }
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-c",
            os.devnull,
            "--rootdir",
            str(folder),
            "-p",
            "conftest",
        ]
        return subprocess.run(
            [*command, "-p", "no:cacheprovider", "--basetemp", str(folder / "kept"), str(folder / "test_nested.py")],
            env=environment, cwd=folder, capture_output=True, text=True, check=False, timeout=300,
        )  # fmt: skip

    def assert_left_alone(self) -> None:
        for listener in self.listeners:
            with pytest.raises(BlockingIOError):
                listener.accept()
        assert self._files() == self.before


@pytest.fixture
def other_user() -> Iterator[OtherUser]:
    folder = Path(tempfile.mkdtemp(prefix="rt", dir="/tmp"))
    one = OtherUser(folder)
    yield one
    for listener in one.listeners:
        listener.close()
    shutil.rmtree(folder)


def test_what_tests_do_by_default_reaches_neither_the_store_nor_the_helper_of_the_user(other_user, tmp_path):
    ran = other_user.runs(tmp_path, GOOD)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    other_user.assert_left_alone()


def test_a_test_that_reaches_for_the_user_fails_and_is_named_even_if_it_swallows_that(other_user, tmp_path):
    ran = other_user.runs(tmp_path, BAD)
    assert ran.returncode != 0
    assert "4 failed, 1 passed" in ran.stdout, ran.stdout + ran.stderr
    named = (ran.stdout + ran.stderr).partition("the tests met the user who runs them:")[2]
    for name in ("opening", "connecting", "starting_with_nothing", "starting_as_them", "swallowing"):
        assert f"::test_{name} " in named
    other_user.assert_left_alone()


def test_this_very_process_has_a_home_of_its_own():
    root = Path(os.environ["RECOLLECT_TESTS_USER"])
    assert Path.home() == root / "home"
    assert directory().parent == root / "run"
    assert Path(tempfile.gettempdir()) == root / "tmp"
