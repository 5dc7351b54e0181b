"""Runs the commands in the documentation's `console` blocks and writes their real output beneath them.

    python docs/generate_console.py docs/time-travel.md docs/sql.md
    python docs/generate_console.py --check docs/time-travel.md docs/sql.md

Each document is one session: an empty store with the hash embedder, and a clock that starts on 1 March 2026 and
moves a second per reading; salts and ids are drawn from a fixed seed, so that the same program prints the same
text. In a block of the language `console` a line that begins with `$ recollect` is run; what stands beneath it up
to the next one is replaced. Lines of an HTML comment that begins with `session` are run as well, silently;
`wait 3 days` there moves the clock, `copy FROM TO` brings a file or folder of the repository in, `program FILE` runs one of
its programs, which makes the store, `traffic 400` asks so many questions of the simulated user of
`bench/tune_simulation.py`. With `--check`
nothing is written and a document that is out of date makes the exit status 1.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from random import Random
from unittest import mock

from click.testing import CliRunner

from recollect.interfaces.cli.app import main
from recollect.interfaces.python.memory import Memory

ROOT = Path(__file__).resolve().parent.parent
START_NS = 1_772_323_200 * 10**9
SECOND_NS = 10**9
UNITS_S = {"hours": 3_600, "days": 86_400}
BLOCK = re.compile(r"```console\n(.*?)```|<!-- session\n(.*?)-->", re.DOTALL)


class Session:
    """One store, one clock, and the commands run against them."""

    def __init__(self, folder: str) -> None:
        self.now_ns = START_NS
        self._environment = {
            "RECOLLECT_STORE": f"{folder}/store",
            "RECOLLECT_EMBEDDER": "hash",
            "COLUMNS": "120",
            "XDG_CONFIG_HOME": f"{folder}/.config",
        }
        self._folder = folder

    def clock_ns(self) -> int:
        self.now_ns += SECOND_NS
        return self.now_ns

    def run(self, command: str) -> str:
        arguments = shlex.split(command)[1:]
        result = CliRunner().invoke(main, arguments, env=self._environment, prog_name="recollect")
        if result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception
        return "".join(f"{line.rstrip()}\n" for line in result.output.splitlines()).replace(self._folder, "~")

    def block(self, text: str) -> str:
        """The block with the output of each of its commands."""
        commands = [line for line in text.splitlines() if line.startswith("$ recollect")]
        return "\n".join(f"{command}\n{self.run(command[2:])}" for command in commands)

    def setup(self, text: str) -> None:
        for line in text.splitlines():
            if line.startswith("wait "):
                _, count, unit = line.split()
                self.now_ns += int(count) * UNITS_S[unit] * SECOND_NS
            elif line.startswith("copy "):
                self.copy(*line.split()[1:])
            elif line.startswith("program "):
                program = [sys.executable, str(ROOT / line.split()[1]), self._environment["RECOLLECT_STORE"]]
                subprocess.run(program, check=True)
            elif line.startswith("traffic "):
                self.traffic(int(line.split()[1]))
            elif line.strip():
                self.run(line)

    def traffic(self, questions: int) -> None:
        """Recorded questions and what was used of their answers; the formula that they were asked under as planted.toml."""
        sys.path.insert(0, str(ROOT / "bench"))
        import tune_simulation  # noqa: PLC0415 (bench is no package)

        (Path(self._folder) / "planted.toml").write_text(tune_simulation.FORMULA.lstrip())
        with Memory.open(self._environment["RECOLLECT_STORE"], embedder=None) as memory:
            tune_simulation.live(memory, 1, questions=questions)

    def copy(self, source: str, target: str) -> None:
        """A file or folder of the repository into the session's folder, dated when the session begins."""
        there = Path(self._folder) / target
        copy = shutil.copytree if (ROOT / source).is_dir() else shutil.copy
        copy(ROOT / source, there)
        for path in (there, *there.rglob("*")):
            os.utime(path, ns=(START_NS, START_NS))


def generate(document: str) -> str:
    """The document with every output as this program prints it."""
    here = Path.cwd()
    drawn = Random(1).randbytes  # the same salts every time
    with tempfile.TemporaryDirectory(
        dir="/tmp"
    ) as folder:  # of one length everywhere: tables are padded to it
        session = Session(folder)

        def renew(match: re.Match[str]) -> str:
            if match[1] is not None:
                return f"```console\n{session.block(match[1])}```"
            session.setup(match[2])
            return match[0]

        os.chdir(folder)
        try:
            with mock.patch("time.time_ns", session.clock_ns), mock.patch("os.urandom", drawn):
                return BLOCK.sub(renew, document)
        finally:
            os.chdir(here)


def run(arguments: list[str]) -> int:
    """Each document in a process of its own: what a first import draws must not depend on the one before."""
    check = "--check" in arguments
    paths = [argument for argument in arguments if argument != "--check"]
    if len(paths) > 1:
        options = ["--check"] if check else []
        return max(
            subprocess.run([sys.executable, __file__, *options, path], check=False).returncode
            for path in paths
        )
    path = Path(paths[0])
    before = path.read_text("utf-8")
    after = generate(before)
    if before != after:
        sys.stdout.write(f"{'stale' if check else 'written'}: {path}\n")
        if not check:
            path.write_text(after, "utf-8")
    return int(check and before != after)


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
