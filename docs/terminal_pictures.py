"""Draws what a terminal shows into docs/pictures/terminal-*.svg: a recall, a why, a comparison, status, progress.

    python docs/terminal_pictures.py
    python docs/terminal_pictures.py --check

The commands run in one session with the hash embedder and a clock of its own, as in `generate_console.py`, on a
console that records; the same program draws the same pictures. With `--check` nothing is written and a picture
that is out of date makes the exit status 1.
"""

from __future__ import annotations

import io
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random
from unittest import mock

from compare_example import NOTES, QUESTIONS
from generate_console import Session
from rich.console import Console

from recollect.interfaces.cli.progress import bar_on
from recollect.interfaces.cli.render import common as render
from recollect.interfaces.cli.render import compare as render_compare
from recollect.interfaces.cli.render import explanation as render_explanation

PICTURES = Path(__file__).parent / "pictures"
WIDTH = 108
WHY_WIDTH = 132
_FONTS = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)


def screen(width: int = WIDTH) -> Console:
    """A terminal that remembers what was drawn on it."""
    return Console(
        record=True, width=width, file=io.StringIO(), force_terminal=True, color_system="truecolor",
        highlight=False, legacy_windows=False,
    )  # fmt: skip


@contextmanager
def shown_on(console: Console) -> Iterator[None]:
    """Everything that a command draws goes to this console."""
    with ExitStack() as patches:
        patches.enter_context(mock.patch.object(render, "draws", return_value=True))
        for module in (render, render_compare, render_explanation):
            patches.enter_context(mock.patch.object(module, "console", return_value=console))
        yield


def svg(console: Console, name: str, title: str) -> str:
    """The picture, without fonts from elsewhere: it is drawn in the viewer's own."""
    drawn = console.export_svg(title=title, unique_id=f"recollect-{name}")
    return "\n".join(line.rstrip() for line in _FONTS.sub("", drawn).splitlines()) + "\n"


def command(session: Session, name: str, line: str, width: int = WIDTH) -> str:
    console = screen(width)
    console.print(f"[bold green]$[/] [bold]{line}[/]")
    with shown_on(console):
        session.run(line)
    return at_home(svg(console, name, line.partition('"')[0].strip()), str(Path.cwd()))


def at_home(picture: str, folder: str) -> str:
    """The picture with `~` for the folder that it was drawn in, and what stands behind it where it stood."""
    pad = "&#160;" * (len(folder) - 1)
    return re.sub(rf"{re.escape(folder)}([\w/]*)", rf"~\1{pad}", picture)


def progress() -> str:
    """Two bars, each at a moment of a clock of its own."""
    console = screen()
    for label, done, total, seconds in (("importing", 41_984, 100_000, 6.0), ("verifying", 812, 1_024, 2.5)):
        now = [0.0]
        bar = bar_on(console)
        bar.get_time = lambda now=now: now[0]
        task = bar.add_task(label, total=total, rate="")
        for part in range(11):
            now[0] = seconds * part / 10
            bar.update(task, completed=done * part // 10)
        bar.update(task, rate=f"{done / seconds:,.0f}/s")
        console.print(bar.get_renderable())
    return svg(console, "progress", "recollect import, recollect verify")


def remember(session: Session) -> None:
    for number, (id_, text) in enumerate(NOTES.items()):
        session.run(f'recollect remember "{text}" --id {id_} --importance 0.{1 + number % 9}')
    session.run('recollect revise deploy-day "Deploys happen on Wednesdays, after the stand-up"')


def pictures(session: Session) -> Iterator[tuple[str, str]]:
    remember(session)
    for question, _ in QUESTIONS[:8]:
        session.run(f'recollect recall "{question}" -k 5')
    yield "recall", command(session, "recall", 'recollect recall "where are auth sessions stored?" -k 5')
    said = session.run('recollect recall "where are auth sessions stored?" -k 5')
    yield "why", command(session, "why", f"recollect why {said.split()[0]} auth-store", WHY_WIDTH)
    yield "compare", command(session, "compare", "recollect compare recollect mnemosyne")
    session.run("recollect dream")
    yield "status", command(session, "status", "recollect status --store ./store")
    yield "progress", progress()


def draw() -> dict[Path, str]:
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        session = Session(folder)
        os.chdir(folder)
        try:
            with mock.patch("time.time_ns", session.clock_ns), mock.patch("os.urandom", Random(1).randbytes):
                return {PICTURES / f"terminal-{name}.svg": picture for name, picture in pictures(session)}
        finally:
            os.chdir(here)


def run(arguments: list[str]) -> int:
    stale = [
        (path, text) for path, text in draw().items() if not path.exists() or path.read_text("utf-8") != text
    ]
    for path, text in stale:
        sys.stdout.write(f"{'stale' if '--check' in arguments else 'written'}: {path.name}\n")
        if "--check" not in arguments:
            path.write_text(text, "utf-8")
    return int(bool(stale) and "--check" in arguments)


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
