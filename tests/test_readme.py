"""The README's command lines run as they are printed, with what they need around them."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from nats_servers import binary, free_port, is_healthy, until
from test_docs import readme_block

from recollect import Memory

GOLDEN = Path(__file__).parent / "golden" / "foreign" / "claude-code"
NOTES = "Your notes, your chats, your browser"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A person's home: a folder of notes, transcripts, and a store that knows something of acme."""
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "tea.md").write_text("# Tea\n\nGreen tea at 80 degrees\n", "utf-8")
    shutil.copytree(GOLDEN, tmp_path / ".claude" / "projects")
    with Memory.open(tmp_path / ".recollect", embedder="hash") as memory:
        memory.remember("acme pays in March", id="acme", project="acme")
    return tmp_path


def line_of(heading: str, command: str) -> list[str]:
    """The words of the one line in a README block that runs this command of ours."""
    (found,) = [words for words in lines_of(heading) if words[:2] == ["recollect", command]]
    return found


def lines_of(heading: str) -> list[list[str]]:
    """The words of each line, without its comment; of `claude mcp add … -- COMMAND` those of the command."""
    lines = [shlex.split(line, comments=True) for line in readme_block(heading).splitlines()]
    return [words[words.index("--") + 1 :] if "--" in words else words for words in lines]


def environment(home: Path) -> dict[str, str]:
    ours = {"HOME": str(home), "RECOLLECT_EMBEDDER": "hash", "BROWSER": "true"}
    return {name: value for name, value in {**os.environ, **ours}.items() if name != "RECOLLECT_STORE"}


def run(home: Path, words: list[str], *more: str) -> str:
    """One command in a shell of its own, where `~` is the home."""
    expanded = [str(home) + word[1:] if word.startswith("~") else word for word in words[1:]]
    done = subprocess.run(
        [sys.executable, "-m", "recollect", *expanded, *more],
        cwd=home, env=environment(home), capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_notes_are_watched_and_held(home: Path):
    report = json.loads(run(home, line_of(NOTES, "watch"), "--once", "--json"))
    assert report["ingested"] == 1
    assert "Green tea at 80 degrees" in run(home, ["recollect", "recall", "green tea"])


def test_transcripts_are_imported(home: Path):
    report = json.loads(run(home, line_of(NOTES, "import"), "--json"))
    assert (report["format"], report["remembered"] > 0) == ("claude-code", True)


def test_memories_are_exported_as_pages(home: Path):
    run(home, line_of(NOTES, "export"))
    pages = [path.read_text("utf-8") for path in (home / "pages").rglob("*.md")]
    assert any("acme pays in March" in page for page in pages)


def test_what_belongs_to_acme_is_erased(home: Path):
    assert json.loads(run(home, line_of(NOTES, "erase"), "--yes", "--json"))["ids"] == ["acme"]
    assert "exact" in run(home, ["recollect", "verify"])
    assert b"acme pays" not in b"".join(
        p.read_bytes() for p in (home / ".recollect").rglob("*") if p.is_file()
    )


def test_the_page_is_served(home: Path):
    words = line_of(NOTES, "serve")
    with subprocess.Popen(
        [sys.executable, "-m", "recollect", *words[1:], "--port", "0", "--json"],
        env=environment(home), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as server:  # fmt: skip
        assert server.stdout is not None
        address = next(
            value for value in json.loads(server.stdout.readline()).values() if "http" in str(value)
        )
        try:
            assert httpx.get(f"{address.rstrip('/')}/api/status", timeout=120).json()["memories"] == 1
        finally:
            server.send_signal(signal.SIGINT)
        assert server.wait(120) == 0


@pytest.mark.parametrize(
    ("place", "wanted", "unwanted"), [(0, "remember", "why_not"), (1, "why_not", "erase")]
)
def test_agents_get_the_tools_of_their_profile(home: Path, place: int, wanted: str, unwanted: str):
    tools = run(home, lines_of("For agents")[place], "--list-tools")
    assert wanted in tools
    assert unwanted not in tools


def test_a_store_goes_to_a_cluster_and_a_replica_ranks_the_same_bits(home: Path):
    """The three commands, with ports and a folder of this test's own."""
    ports = [
        first + number for first in (0, 2_000, 4_000) for number in range(3)
    ]  # the last three tell of it
    heading, port = "On several machines", free_port(*ports[1:])
    cluster = subprocess.Popen(
        ["sh", str(Path(__file__).parent.parent / lines_of(heading)[0][1]), str(home / "nats")],
        env={**environment(home), "PORT": str(port), "PATH": f"{Path(binary()).parent}:{os.environ['PATH']}"},
    )
    try:
        run(home, ["recollect", "remember", "Deploys happen on Tuesdays", "--id", "deploys"])
        replicate, recall = (
            [word.replace("localhost:4222", f"127.0.0.1:{port}") for word in line_of(heading, command)]
            for command in ("replicate", "recall")
        )
        until(lambda: all(is_healthy(port + one) for one in ports[6:]), lambda: "the cluster did not start")
        copied = json.loads(run(home, replicate, "--json"))
        assert copied["events"] == copied["head"] > 0
        moment = ("--at", f"@{copied['head']}", "--json")
        here = json.loads(run(home, recall[:3], *moment))
        there = json.loads(run(home, recall, *moment))
        assert there["hits"][0]["id"] == "deploys"
        assert there["hits"] == here["hits"]
    finally:
        cluster.terminate()
        cluster.wait()
