"""The table of commands: which module holds each, and its line in `recollect --help`.

Importing every command takes longer than most of them run, so a command's module is imported when the command is
called. To add one, write it in `cli/<topic>.py` with `@main.command()` and put its name, module and the first
sentence of its help here; a test fails if a command is missing or its line differs from its help.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable
from difflib import get_close_matches
from importlib import import_module
from typing import Any

import click
from click.shell_completion import CompletionItem

from recollect.engine.safe_text import block

INTERRUPTED = 130
READER_GONE = 141  # as a program that SIGPIPE ends: `recollect log | head -1`
_LONG = frozenset(
    {
        "bisect",
        "check",
        "compare",
        "dream",
        "fork",
        "impact",
        "mcp",
        "reembed",
        "replicate",
        "serve",
        "sync",
        "tune",
        "verify",
        "watch",
    }
)

COMMANDS: dict[str, tuple[str, str]] = {
    "access": ("tell", "Record that memories were read."),
    "bisect": (
        "time_travel",
        "The first event after which a memory left, or entered, the first places for QUERY; exit 1 if none.",
    ),
    "check": (
        "expect",
        "Ask the questions of all expectations again; exit 1 if one does not hold, and name what broke it.",
    ),
    "checkpoint": (
        "ask",
        "Origin, size and root of the log, to keep elsewhere; `verify --against` compares.",
    ),
    "compare": (
        "compare",
        "Rank every recorded question under two formulas, each at its own past moment.",
    ),
    "completion": (
        "completion",
        "Print the script that completes commands, options, formulas and memories with Tab.",
    ),
    "demo": (
        "demo_store",
        "Make a store to look at: two weeks of memories, questions, changes of mind and dreams.",
    ),
    "doctor": ("doctor", "Examine a store end to end and say what is wrong; exit 1 if anything is."),
    "config": ("config", "The settings in force, and where each value comes from."),
    "dream": (
        "dream",
        "Replay, downscale, stabilise, prune, place and promote: one cycle, written as one batch.",
    ),
    "erase": ("erase", "Erase memories for good, by ID or by filter; nothing brings them back."),
    "expect": (
        "expect",
        "State what the question of RECALL ought to be answered with; `check` asks it again.",
    ),
    "expectations": ("expect", "List the expectations; --withdraw takes one back."),
    "export": (
        "files",
        "Write the log as JSON lines, its tables as Parquet, or the memories as Markdown.",
    ),
    "fixture": (
        "expect",
        "The smallest store that gives these recorded rankings again, bit for bit; `check` and pytest run it.",
    ),
    "forget": ("tell", "Forget a memory softly; `restore` brings it back."),
    "fork": (
        "compare",
        "Replay the log from a point on into a new store, with other settings; `compare` takes it as a side.",
    ),
    "formulas": (
        "formulas",
        "The built-in formulas; `show` prints one, `check` reads one of yours, `reference` lists all there is.",
    ),
    "get": ("ask", "Show one memory: content and whole state."),
    "helper": ("helper", "The model helpers: `status` shows them, `stop` ends them."),
    "history": ("ask", "Every event that touched a memory, or its rank over time."),
    "hook": ("hook", "Memories for a prompt or a new session, as Claude Code's hooks want them."),
    "impact": (
        "impact",
        "Which recorded answers held a memory, and what each would have been without it.",
    ),
    "import": ("files", "Take memories from a file or folder of another program, or an exported log."),
    "link": ("relate", "Link memory A to memory B."),
    "log": ("time_travel", "The log in words, oldest first."),
    "mcp": ("mcp", "Serve the store to agents over the Model Context Protocol."),
    "memories": ("time_travel", "List the memories that would answer, now or as of a moment."),
    "proposals": (
        "impact",
        "Duplicates and contradictions that dreams found, to be accepted; until then they change nothing.",
    ),
    "rate": ("relate", "Judge a memory."),
    "recall": ("ask", "Rank the memories for QUERY, now or as of a moment."),
    "recalls": ("recorded", "Recorded recalls, newest first, found by what is known of them."),
    "reembed": ("compare", "Give every memory a vector of another embedder; the past keeps its own."),
    "remember": ("tell", "Keep TEXT (or standard input for -)."),
    "replicate": (
        "replicate",
        "Copy a store to another place, with the same chain; again brings over what is new.",
    ),
    "sync": (
        "replicate",
        "Bring this machine's store and a remote one level, with what was written offline.",
    ),
    "restore": ("tell", "Bring a forgotten memory back."),
    "retain": (
        "erase",
        "Erase the questions and answers of old recalls for good; they are verified and attested first.",
    ),
    "revise": ("tell", "Give a memory a new version."),
    "serve": ("serve", "A page and a JSON API over the store, until interrupted; with --stores over many."),
    "show": ("recorded", "Everything about one thing: a recall, a memory, an event, a dream or a formula."),
    "sql": ("time_travel", "Ask the store in SQL (DuckDB, read only)."),
    "stale": (
        "impact",
        "Answers given from a memory that had been superseded, contradicted or was no longer valid; who was told.",
    ),
    "status": ("ask", "The store's health and sizes on one screen."),
    "supersede": ("relate", "Let memory NEW take the place of memory OLD."),
    "tune": (
        "tune",
        "Choose a formula's numbers from recorded questions and what followed them; exit 1 if none are better.",
    ),
    "undream": ("dream", "Undo a dream; what has changed since is named and left alone."),
    "unlink": ("relate", "Take the edges from A to B away."),
    "verify": (
        "ask",
        "Rank every recorded recall again and compare bit for bit; exit 1 unless exact or attested.",
    ),
    "watch": ("watch", "Keep the store equal to folders of notes, until interrupted or --once."),
    "why": ("explain", "Why a memory ranked where it did in a recorded recall, or was not in it; replayed."),
    "why-changed": (
        "time_travel",
        "Why a memory's rank and score for QUERY differ between two moments, cause by cause.",
    ),
    "why-not": ("explain", "The same as `why`: where a memory was lost, what it had and what it needed."),
}


FIRST = ("remember", "recall", "why", "memories", "verify", "status", "demo", "mcp")
"""What a newcomer needs."""

GROUPS: dict[str, tuple[str, ...]] = {
    "Tell": ("remember", "revise", "access", "rate", "link", "unlink", "supersede", "forget", "restore", "erase", "retain"),
    "Ask": ("recall", "get", "memories", "show", "recalls", "history", "log", "sql"),
    "Explain": ("why", "why-not", "why-changed", "bisect", "impact", "stale", "compare", "tune", "formulas"),
    "Prove": ("verify", "checkpoint", "expect", "expectations", "check", "fixture", "fork"),
    "Sleep": ("dream", "undream", "proposals", "reembed"),
    "Files": ("import", "export", "watch", "replicate", "sync", "doctor", "config"),
    "Serve": ("serve", "mcp", "hook", "helper", "status", "demo", "completion"),
}  # fmt: skip


def say(note: str) -> None:
    """A line on stderr."""
    click.echo(f"recollect: {block(note)}", err=True)


def completed_by(source: str) -> Callable[[click.Context, click.Parameter, str], list[CompletionItem]]:
    """What Tab offers, by the name of a function of `completions.py`, which is imported when Tab is pressed."""

    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        offered = getattr(import_module("recollect.interfaces.cli.completions"), source)
        found: list[CompletionItem] = offered(ctx, param, incomplete)
        return found

    return complete


class Failure(click.ClickException):
    """One clear line on stderr."""

    exit_code = 2

    def show(self, file: Any = None) -> None:  # noqa: ARG002 (click's signature)
        say(self.message)


class Interrupted(Failure):
    """Interrupted; the line says what was done and what stays."""

    exit_code = INTERRUPTED


class AtOnce(SystemExit):
    """End the process without waiting for threads that are still at work."""


class Commands(click.Group):
    """A group whose commands are imported one at a time, when called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 (click's signature)
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in COMMANDS:
            if cmd_name not in _LONG:
                os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # starting its threads takes 60 ms
                gc.set_threshold(
                    100_000
                )  # a short life leaves little garbage, and looking for it takes 25 ms
            import_module(f"recollect.interfaces.cli.{COMMANDS[cmd_name][0]}")
        return super().get_command(ctx, cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 (the same)
        """The lines of the table, what a newcomer needs first and then by subject; nothing is imported for them."""
        for title, names in {"First": FIRST, **GROUPS}.items():
            with formatter.section(title):
                formatter.write_dl([(name, COMMANDS[name][1]) for name in names])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """A mistyped command is refused with those that are near."""
        name = args[0]
        if not name.startswith("-") and self.get_command(ctx, name) is None:
            near = get_close_matches(name, self.list_commands(ctx), n=3)
            hint = f" Did you mean {' or '.join(near)}?" if near else ""
            ctx.fail(f"No such command {name!r}.{hint}")
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Commands with the lines of the table, and the options of the group."""
        offered = [name for name in self.list_commands(ctx) if name.startswith(incomplete)]
        commands = [CompletionItem(name, help=COMMANDS[name][1]) for name in offered]
        return commands + click.Command.shell_complete(self, ctx, incomplete)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as stop:
            raise Interrupted("; ".join(("interrupted", *map(str, stop.args)))) from None
        except BrokenPipeError:
            quiet = os.open(os.devnull, os.O_WRONLY)
            os.dup2(quiet, sys.stdout.fileno())  # what is flushed at exit goes nowhere
            ctx.exit(READER_GONE)
