"""Every command syncs what it publishes and what it leaves behind; a power cut after it takes nothing back."""

from __future__ import annotations

import json
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from faults.runs import compiled
from faults.scenes import SCENES, Place, Scene, make_store
from faults.syncs import Trace, left_unsynced, lines, traced
from recollect import Memory
from recollect.engine.replicate import replicate

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux") or shutil.which("gcc") is None, reason="needs Linux and gcc"
)
CALL = "import sys; from faults.scenes import *; next(s for s in SCENES if s.name == sys.argv[1]).call(Place(Path(sys.argv[2])))"


def recall_of(place: Place) -> str:
    with Memory.open(place.store, embedder="hash") as memory:
        return memory.recalls()[0].id


def both_went_on(place: Place) -> None:
    """A remote store and this one, each with something that the other has not."""
    replicate(str(place.store), f"file://{place.out}/packs")
    with Memory.open(place.store, embedder="hash") as memory:
        memory.remember("told here", id="here")
    with Memory.open(f"file://{place.out}/packs?mirror={place.root}/mirror", embedder="hash") as memory:
        memory.remember("told there", id="there")


def of_a_project(place: Place) -> None:
    """A memory whose page lies in a folder."""
    with Memory.open(place.store, embedder="hash") as memory:
        memory.remember("told of a project", id="in", project="p", session="s")


def damaged(place: Place) -> None:
    """Damage in the middle of the log, from which something can be salvaged."""
    segment = max((place.store / "log").glob("*.seg"))
    content = bytearray(segment.read_bytes())
    content[len(content) // 2] ^= 0xFF
    segment.write_bytes(content)


def at(*words: str | Callable[[Place], str]) -> Callable[[Place], list[str]]:
    """A line of words, `{out}` and `{store}` among them, without the options that the driver gives all scenes."""

    def line(place: Place) -> list[str]:
        told = [word if isinstance(word, str) else word(place) for word in words]
        return [word.format(out=place.out, store=place.store, notes=place.notes) for word in told]

    return line


MORE = (
    Scene("export parquet", at("export", "{out}/tables", "--format", "parquet", "--store", "{store}")),
    Scene("export folders", at("export", "{out}/pages", "--format", "markdown", "--store", "{store}"), prepare=of_a_project),
    Scene("fixture", at("fixture", recall_of, "--out", "{out}/fixed", "--store", "{store}")),
    Scene("fork", at("fork", "--to", "{out}/fork", "--store", "{store}")),
    Scene("replicate", at("replicate", "{store}", "{out}/copy")),
    Scene("replicate into packs", at("replicate", "{store}", "file://{out}/packs")),
    Scene("sync", at("sync", "file://{out}/packs", "--store", "{store}"), prepare=both_went_on),
    Scene("receipt", at("erase", "f2", "--yes", "--receipt", "{out}/receipt.json", "--store", "{store}", "--embedder", "hash")),
    Scene("note of the log", at("checkpoint", "--out", "{out}/note", "--store", "{store}")),
    Scene("check", at("check", "--junit", "{out}/report.xml", "--store", "{store}", "--embedder", "hash")),
    Scene("report", at("compare", "omega", "--html", "{out}/report.html", "--store", "{store}", "--embedder", "hash")),
    Scene("salvage", at("doctor", "--salvage", "{out}/saved", "--store", "{store}"), prepare=damaged),
    Scene("demo", at("demo", "--store", "{out}/demo")),
)  # fmt: skip


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("syncs"))


def arguments(scene: Scene, place: Place) -> list[str]:
    if scene.argv is None:
        return ["-c", CALL, scene.name, str(place.root)]
    options = ["--store", str(place.store), "--no-daemon", "--embedder", scene.embedder]
    return ["-m", "recollect", *scene.argv(place), *(options if scene in SCENES else [])]


@pytest.mark.parametrize("scene", [*SCENES, *MORE], ids=lambda scene: scene.name)
def test_what_a_command_leaves_is_synced(scene: Scene, library: Path, tmp_path: Path) -> None:
    place = Place(tmp_path / "place")
    place.root.mkdir()
    make_store(place)
    scene.prepare(place)
    with traced(library, place.root, arguments(scene, place), tmp_path / "trace") as command:
        _, errors = command.communicate(timeout=600)
    assert command.returncode in (0, 1), errors
    assert len(lines(tmp_path / "trace")) > 2, "the trace was not where the files are"
    assert left_unsynced(tmp_path / "trace", place.root) == []


def test_what_a_server_leaves_is_synced(library: Path, tmp_path: Path) -> None:
    place = Place(tmp_path / "place")
    place.root.mkdir()
    line = ["-m", "recollect", "serve", "--store", str(place.store), "--embedder", "hash", "--port", "0", "--json"]  # fmt: skip
    with traced(library, place.root, line, tmp_path / "trace") as server:
        assert server.stdout is not None
        url = json.loads(server.stdout.readline())["url"]
        told = httpx.post(f"{url}/api/remember", json={"id": "new", "content": "the new text"}, timeout=180)
        server.send_signal(signal.SIGINT)
        _, errors = server.communicate(timeout=180)
    assert (told.status_code, server.returncode) == (201, 0), errors
    assert left_unsynced(tmp_path / "trace", place.root) == []


FILE = [("create", "/a/f.new", ""), ("write", "/a/f.new", "")]
SYNCED, MOVED, ENTRY = ("sync", "/a/f.new", ""), ("rename", "/a/f.new", "/a/f"), ("sync", "/a", "")


@pytest.mark.parametrize(
    ("lines_", "problems"),
    [
        ([*FILE, SYNCED, MOVED, ENTRY], 0),
        ([*FILE, MOVED, ENTRY], 1),
        ([*FILE, SYNCED, ("write", "/a/f.new", ""), MOVED, ENTRY], 1),
        ([*FILE, ("rename", "/a", "/b")], 1),
        ([*FILE, SYNCED, ("rename", "/a", "/b")], 1),
        ([*FILE, SYNCED, ENTRY, ("rename", "/a", "/b")], 0),
    ],
)
def test_the_law_tells_what_was_published_before_it_was_synced(
    lines_: list[tuple[str, str, str]], problems: int
) -> None:
    following = Trace()
    for line in lines_:
        following.follow(*line)
    assert len(following.problems) == problems


@pytest.mark.parametrize(("synced", "left"), [((), 2), (("f",), 1), (("",), 1), (("f", ""), 0)])
def test_the_law_tells_what_was_left_unsynced(synced: tuple[str, ...], left: int, tmp_path: Path) -> None:
    (tmp_path / "f").touch()
    following = Trace()
    for what in ("create", "write"):
        following.follow(what, str(tmp_path / "f"), "")
    for name in synced:
        following.follow("sync", str(tmp_path / name), "")
    assert len(following.at_the_end()) == left
