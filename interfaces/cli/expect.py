"""The commands that test recorded questions: expect, expectations, check, fixture."""

from __future__ import annotations

import click

from recollect.interfaces.cli.app import (
    common_options,
    main,
    open_memory,
    options_without_embedder,
    row_options,
    show,
)
from recollect.interfaces.cli.commands import completed_by
from recollect.interfaces.cli.progress import progress_bar


@main.command()
@click.argument("recall", metavar="RECALL")
@click.argument("memory_id", metavar="ID", shell_complete=completed_by("memory_ids"))
@click.option("--top", type=click.IntRange(min=1), help="It is among so many first places.")
@click.option("--first", is_flag=True, help="It is the first.")
@click.option("--absent", is_flag=True, help="It is not in the answer.")
@click.option(
    "--above", metavar="OTHER", shell_complete=completed_by("memory_ids"), help="It ranks before OTHER."
)
@click.option("--note", default="", help="Why, for those who read a failure.")
@options_without_embedder
def expect(
    recall: str, memory_id: str, top: int | None, first: bool, absent: bool, above: str | None, note: str, store: str,
    as_json: bool,
) -> None:  # fmt: skip
    """State what the question of RECALL ought to be answered with; `check` asks it again.

    \b
    Example:
      recollect expect r2390 0192f0c1… --top 3 --note "the runbook must be found"
      recollect expect r2390 0192f0c1… --above 0192aaaa…
    """
    with open_memory(store) as memory:
        name = memory.expect(recall, memory_id, top=top, first=first, absent=absent, above=above, note=note)
        show({"name": name, "seq": int(name[1:])}, as_json, "expectations.stated")


@main.command()
@click.option("--withdraw", metavar="NAME", help="Take this one (e41) back first.")
@click.option("--reason", default="", help="Why it is withdrawn.")
@row_options
@options_without_embedder
def expectations(withdraw: str | None, reason: str, store: str, as_json: bool) -> None:
    """List the expectations; --withdraw takes one back.

    \b
    Example:
      recollect expectations
      recollect expectations --withdraw e41 --reason "the runbook moved"
    """
    with open_memory(store) as memory:
        if withdraw is not None:
            memory.withdraw(withdraw, reason)
        show(memory.expectations(), as_json, "expectations.listed")


@main.command()
@click.option("--formula", shell_complete=completed_by("formulas"), help="Ask under this formula.")
@click.option("--at", "when", help="Ask as of a seq (@1234), a time, or '2 days ago', with its clock.")
@click.option("--fork", metavar="DIR", help="Ask in this fork of the store.")
@click.option("--only", metavar="NAME", help="Only this expectation (e41).")
@click.option("--junit", metavar="FILE", help="Also write a JUnit report.")
@click.option("--overwrite", is_flag=True, help="--junit may replace a file that no check wrote.")
@common_options
def check(
    formula: str | None, when: str | None, fork: str | None, only: str | None, junit: str | None,
    overwrite: bool, store: str, embedder: str, as_json: bool,
) -> None:  # fmt: skip
    """Ask the questions of all expectations again; exit 1 if one does not hold, and name what broke it.

    Each is asked with its filters, k, session and context, with the clock of now, and with the formula in force (a recall
    under another formula keeps its own). Nothing is recorded.

    \b
    Example:
      recollect check
      recollect check --formula mine.toml --junit report.xml
      recollect check --at "last week"
    """
    from recollect.engine.fixture import is_fixture  # noqa: PLC0415 (imports wait until needed)

    own = "none" if is_fixture(store) else embedder
    with open_memory(store, own) as memory, progress_bar("asking") as progress:
        report = memory.check(
            formula=formula,
            at=when,
            fork=fork,
            only=only,
            junit=junit,
            overwrite=overwrite,
            progress=progress,
        )
    show(report, as_json, "expectations.checked")
    if report.failed:
        raise SystemExit(1)


@main.command()
@click.argument("recalls", metavar="RECALL...", nargs=-1, required=True)
@click.option("--out", required=True, metavar="DIR", help="The directory of the fixture, which must be new.")
@click.option(
    "--redact", is_flag=True, help="Pseudonyms for all words, names and ids; cosines instead of vectors."
)
@options_without_embedder
def fixture(recalls: tuple[str, ...], out: str, redact: bool, store: str, as_json: bool) -> None:
    """The smallest store that gives these recorded rankings again, bit for bit; `check` and pytest run it.

    The expectations about the recalls come along. With --redact no content word, id, project, tag or path is in it; words
    that a formula's rules read in a question, such as dates, stay and are listed. What cannot be kept exactly is refused.

    \b
    Example:
      recollect fixture r2390 --out tests/incident --redact
      recollect check --store tests/incident
    """
    with open_memory(store) as memory:
        show(memory.fixture(recalls, out, redact=redact), as_json, "expectations.fixed")
