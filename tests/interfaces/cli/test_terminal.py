"""What a terminal shows: the screen of `status`, colour, progress bars, and what Tab offers."""

from __future__ import annotations

import json
import os
import pty
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from recollect.interfaces.cli.app import main
from recollect.interfaces.cli.render.common import size
from recollect.interfaces.model_server.running import helpers
from recollect.interfaces.python.memory import Memory

# --- status ----------------------------------------------------------------------------------------


def status(store: Path, *arguments: str) -> str:
    result = CliRunner().invoke(main, ["status", "--store", str(store), *arguments])
    assert result.exit_code == 0, result.output
    return result.output


def test_status_is_one_screen_that_says_everything(tmp_path):
    with Memory.open(tmp_path, embedder="hash") as memory:
        memory.remember_many(["auth sessions", "deploys on tuesday", "cookies"])
        memory.forget(memory.memories()[0].id)
        memory.dream()
        memory.recall("auth")
    lines = status(tmp_path, "--embedder", "hash").splitlines()
    assert len(lines) <= 24
    named = {line.split("  ")[0]: line for line in lines}
    assert {
        "store",
        "head",
        "unsynced",
        "memories",
        "size",
        "formula",
        "embedder",
        "last dream",
        "checkpoint",
    } <= set(named)
    assert "2 visible of 3" in named["memories"]
    assert "hash/1 (ready)" in named["embedder"]
    assert "just now, 0 new memories" in named["last dream"]


def test_the_json_of_status_has_the_numbers_behind_the_screen(tmp_path):
    with Memory.open(tmp_path, embedder="hash") as memory:
        memory.remember("auth sessions")
        memory.store.checkpoint()
        memory.remember("deploys")
    found = json.loads(status(tmp_path, "--embedder", "hash", "--json"))
    assert (found["head"], found["checkpoint"], found["checkpoint_age_events"]) == (3, 2, 1)
    assert found["cache_bytes"] == sum(
        p.stat().st_size for p in (tmp_path / "cache").rglob("*") if p.is_file()
    )
    assert found["checkpoint_at"] <= found["head_at"] <= found["now"]
    assert found["last_dream_at"] is None


def test_what_a_power_cut_could_take_is_counted_until_it_is_synced(tmp_path):
    with Memory.open(tmp_path, embedder="hash") as memory:
        memory.remember("auth sessions")
        before = memory.status()
        assert before.unsynced_bytes == 0
        memory.recall("auth")
        after = memory.status()
        assert after.unsynced_bytes == after.log_bytes - before.log_bytes > 0
        memory.remember("a durable write syncs what came before it")
        assert memory.status().unsynced_bytes == 0


def test_memories_without_a_vector_are_named_with_what_to_do(tmp_path):
    with Memory.open(tmp_path, embedder="hash") as memory:
        memory.remember("auth sessions")
    with Memory.open(tmp_path, embedder=None) as memory:
        memory.remember("told without an embedder")
    with Memory.open(tmp_path, embedder="hash") as memory:
        found = memory.status()
        assert found.without_vector == 1
        assert "recollect reembed --missing" in " ".join(found.degraded)
        memory.reembed("hash")
        assert (memory.status().without_vector, memory.status().degraded) == (0, ())


def test_the_state_of_a_helper_is_looked_up_and_none_is_started(tmp_path, monkeypatch):
    folder = Path(tempfile.mkdtemp(prefix="rw", dir="/tmp"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    Memory.open(tmp_path, embedder=None).close()
    assert "(not loaded)" in status(tmp_path)
    assert helpers() == []
    shutil.rmtree(folder)


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1_000, "1.0 kB"),
        (999_960, "1.0 MB"),
        (11_200_000, "11.2 MB"),
        (5 * 10**15, "5000.0 TB"),
    ],
)
def test_sizes_are_for_people(count, shown):
    assert size(count) == shown


# --- which embedder --------------------------------------------------------------------------------


class Chosen(Exception):
    """Instead of opening a store."""


@pytest.mark.parametrize(
    ("arguments", "environment", "chosen"),
    [
        ([], {}, ("auto", "start")),
        (["--no-daemon"], {}, ("auto", "never")),
        ([], {"RECOLLECT_NO_DAEMON": "1"}, ("auto", "never")),
        (["--embedder", "hash"], {}, ("hash", "start")),
        (["--embedder", "none"], {}, ("none", "start")),
    ],
)
def test_the_model_comes_from_the_helper_unless_that_is_not_wanted(
    tmp_path, monkeypatch, arguments, environment, chosen
):
    seen: list[tuple[object, object]] = []

    def open_(path: str, *, embedder: object, helper: object, **options: object) -> None:
        seen.append((embedder, helper))
        raise Chosen

    (tmp_path / "log").mkdir()
    monkeypatch.setattr(Memory, "open", open_)
    clean = {"RECOLLECT_NO_DAEMON": None, "RECOLLECT_EMBEDDER": None, **environment}
    result = CliRunner().invoke(main, ["recall", "auth", "--store", str(tmp_path), *arguments], env=clean)
    assert isinstance(result.exception, Chosen)
    assert seen == [chosen]


# --- a terminal ------------------------------------------------------------------------------------


def on_a_terminal(code: str, *arguments: str, **environment: str) -> str:
    """What a process writes to a terminal of 100 columns, on both streams."""
    ours, theirs = pty.openpty()
    env = {key: value for key, value in os.environ.items() if key != "NO_COLOR"}
    env |= {"TERM": "xterm-256color", "COLUMNS": "100", **environment}
    child = subprocess.Popen([sys.executable, "-c", code, *arguments], stdout=theirs, stderr=theirs, env=env)
    os.close(theirs)
    shown = b""
    while True:
        try:
            part = os.read(ours, 65_536)
        except OSError:  # the terminal's other end is closed
            break
        if not part:
            break
        shown += part
    os.close(ours)
    assert child.wait(60) == 0, shown.decode()
    return shown.decode()


RUN = "from recollect.interfaces.cli.app import main; main(prog_name='recollect')"


def test_json_and_rows_say_the_same_on_a_terminal_and_in_a_pipe_and_a_terminal_obeys_nothing_in_them(
    tmp_path,
):
    content, id_ = "tea\n\x1b[31mred\u202e \x9b2J\rgone", "odd"
    with Memory.open(tmp_path, embedder=None) as memory:
        memory.remember(content, id=id_)
        memory.recall("tea")
    query = ("sql", "SELECT content FROM memories")
    for command in (query, ("get", id_), ("memories",), ("recall", "tea"), ("log",)):
        shown = on_a_terminal(RUN, *command, "--json", "--store", str(tmp_path))
        assert not set("\x1b\u202e\x9b") & set(shown)
        assert shown.count("\r") == shown.count("\n")  # a terminal's own line ends
        assert json.loads(shown.replace("\r\n", "\n"))
    told = json.loads(on_a_terminal(RUN, *query, "--json", "--store", str(tmp_path)).replace("\r\n", "\n"))
    assert told == [{"content": content}]
    for form, cell in (("--csv", content), ("--tsv", content.replace("\n", "\\n"))):
        arguments = (*query, form, "--store", str(tmp_path))
        shown = on_a_terminal(RUN, *arguments).replace("\r\n", "\n")
        assert not set("\x1b\u202e\x9b\r") & set(shown)
        assert "\\x1b[31mred\\u202e \\x9b2J\\x0dgone" in shown
        assert cell in CliRunner().invoke(main, arguments).stdout_bytes.decode()


def test_there_is_colour_on_a_terminal_none_with_no_color_and_nothing_of_it_in_a_pipe(tmp_path):
    arguments = ("remember", "auth sessions", "--store", str(tmp_path), "--embedder", "hash")
    assert "\x1b[32mremembered" in on_a_terminal(RUN, *arguments)
    assert "\x1b[32m" not in on_a_terminal(RUN, *arguments, NO_COLOR="1")
    assert "\x1b" not in CliRunner().invoke(main, arguments).output


def test_a_bar_shows_counts_and_a_rate_once_work_takes_a_moment():
    code = (
        "from recollect.interfaces.cli import progress\nprogress._BAR_AFTER_S = 0.0\n"
        "with progress.progress_bar('verifying') as report:\n  [report(n, 40) for n in range(41)]"
    )
    shown = on_a_terminal(code)
    assert "verifying" in shown
    assert "40/40" in shown
    assert "/s" in shown


def test_quick_work_and_pipes_show_no_bar_and_import_none():
    code = (
        "import sys\nfrom recollect.interfaces.cli import progress\n"
        "with progress.progress_bar('verifying') as report: report(1, 2)\n"
        "assert 'rich' not in sys.modules"
    )
    assert on_a_terminal(code) == ""
    piped = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (piped.stdout, piped.stderr) == ("", "")


# --- Tab -------------------------------------------------------------------------------------------


def offered(line: str, shell: str = "bash", **environment: str) -> list[str]:
    """What Tab offers at the end of a line, by the shell's own protocol."""
    words = line.split(" ")
    asked = {"COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1) if shell != "fish" else words[-1]}
    if shell == "fish":
        asked["COMP_WORDS"] = " ".join(words[:-1])
    ran = subprocess.run(
        [sys.executable, "-m", "recollect"], capture_output=True, text=True, check=False,
        env={**os.environ, **environment, **asked, "_RECOLLECT_COMPLETE": f"{shell}_complete"},
    )  # fmt: skip
    return ran.stdout.split("\n")[:-1] if ran.stdout.strip() else []


def test_tab_completes_commands_options_choices_and_formulas():
    assert offered("recollect rem") == ["plain,remember"]
    assert offered("recollect recall --form") == ["plain,--formula"]
    assert offered("recollect rate a h") == ["plain,helpful"]
    assert offered("recollect recall x --formula engram") == ["plain,engram", "plain,engram-legacy"]
    assert offered("recollect formulas show rev") == ["plain,reverie", "plain,reverie-budget"]
    assert offered("recollect recall x --embedder m") == ["plain,minilm"]
    assert offered("recollect compare ./mine") == ["file,./mine"]
    assert offered("recollect import b") == ["file,b"]
    assert offered("recollect watch n") == ["dir,n"]
    assert offered("recollect status --store s") == ["dir,s"]


def test_tab_completes_memories_of_the_store_and_never_fails(tmp_path):
    with Memory.open(tmp_path / "store", embedder="hash") as memory:
        memory.remember("auth sessions", id="auth")
        memory.remember("deploys", id="deploys")
    store = {"RECOLLECT_STORE": str(tmp_path / "store")}
    assert offered("recollect get a", **store) == ["plain,auth"]
    assert offered("recollect supersede auth d", **store) == ["plain,deploys"]
    assert offered("recollect get a", RECOLLECT_STORE=str(tmp_path / "none")) == []
    assert not (tmp_path / "none").exists()


def test_zsh_and_fish_get_the_same_with_descriptions():
    assert offered("recollect unl", "zsh") == ["plain", "unlink", "Take the edges from A to B away."]
    assert offered("recollect unl", "fish")[0].startswith("plain,unlink")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_for_a_shell_asks_this_program(shell):
    result = CliRunner().invoke(main, ["completion", shell])
    assert result.exit_code == 0
    assert f"_RECOLLECT_COMPLETE={shell}_complete" in result.output
    told = json.loads(CliRunner().invoke(main, ["completion", shell, "--json"]).output)
    assert (told["shell"], told["script"]) == (shell, result.output.removesuffix("\n"))


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_bash_takes_the_script():
    script = CliRunner().invoke(main, ["completion", "bash"]).output
    ran = subprocess.run(
        ["bash", "-c", f"{script}\ncomplete -p recollect"], capture_output=True, text=True, check=True
    )
    assert "_recollect_completion" in ran.stdout


def test_a_shell_that_is_not_known_is_a_usage_error():
    result = CliRunner().invoke(main, ["completion"], env={"SHELL": "/bin/tcsh"})
    assert result.exit_code == 2
    assert "name a shell: bash, fish, zsh" in result.output


def test_control_characters_are_spelled_out_on_a_terminal_and_in_a_pipe_and_exact_in_json(tmp_path: Path):
    evil = "auth \x1b]0;title\x07 and \u202eback"
    with Memory.open(tmp_path, embedder="hash") as memory:
        memory.remember(evil, id="evil")
    for line in (["get", "evil"], ["recall", "auth"], ["log"], ["memories"]):
        shown = on_a_terminal(RUN, *line, "--store", str(tmp_path), "--embedder", "hash", "--no-daemon")
        assert "\x1b]" not in shown
        assert "\u202e" not in shown
        assert "\\x1b]0;title" in shown
    get = ["get", "evil", "--store", str(tmp_path)]
    assert CliRunner().invoke(main, get).stdout.startswith("auth \\x1b]0;title\\x07 and \\u202eback\n")
    assert json.loads(CliRunner().invoke(main, [*get, "--json"]).stdout)["content"] == evil


def test_the_command_that_a_remember_proposes_can_be_pasted(tmp_path: Path):
    told = ["remember", "Deploys happen on Tuesdays", "--store", str(tmp_path), "--embedder", "hash"]
    CliRunner().invoke(main, [*told, "--id", "my notes.md#1"])
    shown = CliRunner().invoke(main, [*told, "--id", "--second"]).output
    proposed = shlex.split(shown.split("`")[1])[1:]
    assert proposed == ["supersede", "--", "my notes.md#1", "--second"]
    assert CliRunner().invoke(main, [*proposed[:1], "--store", str(tmp_path), *proposed[1:]]).exit_code == 0


def test_standard_input_is_utf_8_with_or_without_a_mark_and_anything_else_is_refused(tmp_path: Path):
    tell = ["remember", "-", "--id", "cafe", "--store", str(tmp_path), "--embedder", "hash"]
    refused = CliRunner().invoke(main, tell, input="café".encode("latin1"))
    assert (refused.exit_code, "not UTF-8 text (unexpected end of data at byte 3)" in refused.output) == (
        2,
        True,
    )
    assert CliRunner().invoke(main, tell, input="café".encode("utf-8-sig")).exit_code == 0
    with Memory.open(tmp_path) as memory:
        assert memory.get("cafe").content == "café"


def test_a_closed_standard_output_changes_no_exit_status(tmp_path: Path):
    with Memory.open(tmp_path, embedder="hash") as memory:
        memory.remember("Deploys happen on Tuesdays")
    asked = subprocess.run(
        ["sh", "-c", f"'{sys.executable}' -m recollect memories --store '{tmp_path}' >&-"],
        check=False,
        capture_output=True,
    )
    assert (asked.returncode, asked.stderr) == (0, b"")


def test_on_a_narrow_terminal_the_text_wraps_and_ranks_scores_kinds_and_ids_stay(tmp_path: Path):
    with Memory.open(tmp_path, embedder="hash") as memory:
        kept = memory.remember("auth sessions live in Postgres, which took us a whole year to find out " * 2)
    line = ("recall", "auth", "--store", str(tmp_path), "--embedder", "hash", "--no-daemon")
    shown = on_a_terminal(RUN, *line, COLUMNS="80")
    row = next(line for line in shown.splitlines() if "auth sessions" in line)
    assert kept in row
    assert row.replace("\x1b[2m", "").split()[0] == "1"
    assert "…" not in shown
    assert " ".join(shown.replace(kept, "").split()).count("took us a whole year to find out") == 2
    listed = on_a_terminal(RUN, "memories", "--store", str(tmp_path), COLUMNS="80")
    row = next(line for line in listed.splitlines() if "auth sessions" in line)
    assert row.split()[:2] == [kept, "note"]
    assert " ".join(listed.split()).count("took us a whole year to find out") == 2


@pytest.mark.parametrize("how", [["--json"], []], ids=["json", "drawn"])
def test_a_reader_that_goes_away_ends_a_command_as_a_closed_pipe_ends_any_program(tmp_path: Path, how):
    with Memory.open(tmp_path / "store", embedder="hash") as memory:
        memory.remember_many({"content": f"note {n} " + "x" * 900} for n in range(100))
    command = [sys.executable, "-m", "recollect", "memories", *how, "--store", str(tmp_path / "store")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        said = process.stderr.read()
    assert (process.returncode, said) == (141, b"")
