"""The tests live as a user of their own: HOME, XDG directories, runtime directory and model helper of one run.

`settle` moves this process there before anything of Recollect is imported, and what it starts inherits it, the
processes of pytest-xdist too; all of a run share one helper, which loads the model once.

`watch` keeps it so: a test that connects to a helper of the user who runs the tests, opens a file of their store, or
starts a process with an environment that leads there, fails and is named at the end of the run.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

MARK = "RECOLLECT_TESTS_USER"  # the directory of this run, for its other processes
_DIRECTORIES = {
    "HOME": "home",
    "TMPDIR": "tmp",
    "XDG_CACHE_HOME": "home/.cache",
    "XDG_CONFIG_HOME": "home/.config",
    "XDG_DATA_HOME": "home/.local/share",
    "XDG_RUNTIME_DIR": "run",
    "XDG_STATE_HOME": "home/.local/state",
}


class MetTheUser(AssertionError):
    """A test reached for what belongs to the user who runs the tests."""


def settle() -> Path:
    """Move this process into the directory of its run, made if this is the first; returns it."""
    if given := os.environ.get(MARK):
        return Path(given)
    os.environ["PYTEST_DEBUG_TEMPROOT"] = tempfile.gettempdir()  # what a test leaves there is worth a look
    root = Path(tempfile.mkdtemp(prefix="recollect-tests-", dir="/tmp"))  # sockets need short paths
    (root / "maker").write_text(str(os.getpid()), "utf-8")
    (root / "forbidden").write_text("\n".join(_belongings(os.environ)), "utf-8")
    for name in [name for name in os.environ if name.startswith("RECOLLECT_")]:
        del os.environ[name]
    for name, place in _DIRECTORIES.items():
        (root / place).mkdir(mode=0o700, parents=True, exist_ok=True)
        os.environ[name] = str(root / place)
    tempfile.tempdir = None  # it is asked for again
    os.environ[MARK] = str(root)
    return root


def _belongings(environment: Mapping[str, str]) -> list[str]:
    """Where the user's own store and helpers are, or would be."""
    home = Path(environment.get("HOME") or Path.home())
    found = [home / ".recollect", Path(f"/tmp/recollect-{os.getuid()}")]
    if environment.get("XDG_RUNTIME_DIR"):
        found.append(Path(environment["XDG_RUNTIME_DIR"]) / "recollect")
    if environment.get("RECOLLECT_STORE"):
        found.append(Path(environment["RECOLLECT_STORE"]).expanduser().absolute())
    return [str(path) for path in found]


def watch(root: Path) -> None:
    """Let no step of this process reach what belongs to the user."""
    forbidden = (root / "forbidden").read_text("utf-8").splitlines()

    def theirs(path: object) -> bool:
        if not isinstance(path, (str, bytes, os.PathLike)):
            return False
        name = os.fsdecode(path)
        return any(name == place or name.startswith(f"{place}/") for place in forbidden)

    def hear(event: str, arguments: tuple[object, ...]) -> None:
        if event in {"open", "os.mkdir"} and theirs(arguments[0]):
            _met(root, f"{event} {arguments[0]!r}")
        elif event == "socket.connect" and theirs(arguments[1]):
            _met(root, f"{event} {arguments[1]!r}")
        elif event in {"subprocess.Popen", "os.exec", "os.posix_spawn"}:
            given = arguments[3] if event == "subprocess.Popen" else arguments[2]
            if problem := _leads_to_the_user(os.environ if given is None else given, theirs):
                _met(root, f"{str(arguments[1])[:200]} was started {problem}")

    sys.addaudithook(hear)


def _leads_to_the_user(environment: object, theirs: Callable[[object], bool]) -> str | None:
    assert isinstance(environment, Mapping)
    plain = {os.fsdecode(name): os.fsdecode(value) for name, value in environment.items()}
    runtime, home = plain.get("XDG_RUNTIME_DIR"), plain.get("HOME")
    if not runtime or not Path(runtime).is_dir():
        return "without an XDG_RUNTIME_DIR: give it the one of os.environ"
    if not home:
        return "without a HOME: give it the one of os.environ"
    if theirs(f"{runtime}/recollect") or theirs(f"{home}/.recollect"):
        return f"as the user who runs the tests: HOME={home} XDG_RUNTIME_DIR={runtime}"
    return None


def _met(root: Path, how: str) -> None:
    test = os.environ.get("PYTEST_CURRENT_TEST", "between the tests")
    with (root / "met").open("a", encoding="utf-8") as record:
        record.write(f"{test}: {how}\n")
    raise MetTheUser(how)


def leave(root: Path) -> list[str]:
    """Send the helpers of a run away and remove its directory, in the process that made it; what was met."""
    if (root / "maker").read_text("utf-8") != str(os.getpid()):
        return []
    from recollect.interfaces.model_server.running import stop_helpers

    stop_helpers()
    met = (root / "met").read_text("utf-8").splitlines() if (root / "met").exists() else []
    shutil.rmtree(root, ignore_errors=True)  # a browser that is still ending clears up its own files there
    return met
