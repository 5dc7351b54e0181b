"""The commands of what-if: compare, fork and reembed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from recollect.engine.configuration import configured
from recollect.engine.embedding.minilm import is_installed
from recollect.engine.embedding.names import AUTO
from recollect.engine.embedding.sentence_model import INSTALL
from recollect.events.packs.urls import is_url
from recollect.interfaces.cli.app import embedder_named, main, no_daemon, open_memory, show, store_options
from recollect.interfaces.cli.commands import Failure, completed_by, say
from recollect.interfaces.cli.progress import progress_bar
from recollect.replay.compare.compare import metric_names
from recollect.replay.compare.comparison import Comparison
from recollect.replay.compare.limits import Limit, parse_limit

if TYPE_CHECKING:
    from recollect.engine.embedding.embedder import Embedder
    from recollect.interfaces.python.memory import Memory


@main.command()
@click.argument("a", required=False, shell_complete=completed_by("formulas"))
@click.argument("b", required=False, shell_complete=completed_by("formulas"))
@click.option("--last", type=click.IntRange(min=1), help="Only the last so many recorded questions.")
@click.option("--recalls", metavar="RECALL,…", help="Only these recorded questions: r12,r15.")
@click.option("--queries", help="Questions of a file, one per line or JSON lines, instead of recorded ones.")
@click.option("--at", "when", help="Ask the file's questions as of a seq (@1234) or a time.")
@click.option("--qrels", help="Judgements of a file, in TREC's form or tab-separated.")
@click.option("-k", "--k", default=10, show_default=True, help="Depth of the judged metrics.")
@click.option(
    "--fail-if", "limits", multiple=True, help="Exit 1 if this holds: 'churn@5>0.2'. May be repeated."
)
@click.option("--html", "report", help="Write a report with slope charts to this file.")
@click.option("--overwrite", is_flag=True, help="--html may replace a file that exists.")
@click.option("--question", help="Both explanations of one recorded question, side by side.")
@click.option("--embedder", help="Rank b as if the store had been embedded with this one.")
@click.option("--work", help="Keep the fork of --embedder here, to go on where it stopped.")
@no_daemon
@store_options
def compare(
    a: str | None, b: str | None, last: int | None, recalls: str | None, queries: str | None, when: str | None, qrels: str | None,
    k: int, limits: tuple[str, ...], report: str | None, overwrite: bool, question: str | None, embedder: str | None,
    work: str | None, store: str, as_json: bool,
) -> None:  # fmt: skip
    """Rank every recorded question under two formulas, each at its own past moment.

    A and B are built-in names, TOML files, name@digest of formulas in the log, forks, or `recorded`.

    \b
    Example:
      recollect compare reverie mine.toml --fail-if 'churn@5>0.2' --html report.html
      recollect compare reverie mine.toml --question r42
      recollect compare --embedder minilm
    """
    if b is None and embedder is None:
        raise Failure("name two formulas to compare, such as `recollect compare reverie mine.toml`")
    if question is not None:
        _refuse_beside_question(
            fail_if=limits,
            html=report,
            last=last,
            recalls=recalls,
            queries=queries,
            at=when,
            qrels=qrels,
            embedder=embedder,
            work=work,
        )
    parsed = _limits(limits, k)
    with open_memory(store) as memory:
        if question is not None:
            show(memory.drill(question, a or "", b or ""), as_json, "compare.drilldown")
            return
        with progress_bar("comparing") as progress:
            result = memory.compare(
                a, b, last=last, recalls=recalls and [one.strip() for one in recalls.split(",")], queries=queries, at=when, qrels=qrels, k=k,
                embedder=embedder and (embedder_named(embedder) or embedder), work=work, html=report,
                overwrite=overwrite, progress=progress,
            )  # fmt: skip
        passed = [limit for limit in parsed if limit.passed(result.metrics)]
    show(result, as_json, "compare.comparison")
    _refuse(passed, result)


def _refuse_beside_question(**given: object) -> None:
    """Refuse options of a comparison beside --question, which would ignore them."""
    for name, value in given.items():
        if value not in (None, ()):
            option = name.replace("_", "-")
            raise Failure(f"--question explains one question and compares nothing; leave out --{option}")


def _limits(texts: Sequence[str], k: int) -> list[Limit]:
    """The limits, whose metrics are known before anything is ranked."""
    parsed = [parse_limit(text) for text in texts]
    for limit in parsed:
        limit.check(metric_names(k))
    return parsed


def _refuse(passed: Sequence[Limit], result: Comparison) -> None:
    for limit in passed:
        click.echo(f"recollect: {limit}: it is {result.metrics[limit.metric]:.6g}", err=True)
    if passed:
        raise SystemExit(1)


@main.command()
@click.option("--to", "target", required=True, help="The directory of the new store.")
@click.option(
    "--formula",
    shell_complete=completed_by("formulas"),
    help="Rank under this one; each recall under its own if not given.",
)
@click.option("--closed-loop", is_flag=True, help="Accesses follow what the formula returned.")
@click.option("--since", default="@0", show_default=True, help="Replay what came after this seq or time.")
@click.option("--dream", "settings", help="Dream again with the settings of this TOML file.")
@store_options
def fork(
    target: str, formula: str | None, closed_loop: bool, since: str, settings: str | None, store: str,
    as_json: bool,
) -> None:  # fmt: skip
    """Replay the log from a point on into a new store, with other settings; `compare` takes it as a side.

    \b
    Example:
      recollect fork --formula mine.toml --closed-loop --since @1200 --to ./what-if
      recollect compare recorded ./what-if
    """
    with open_memory(store) as memory, progress_bar("replaying") as progress:
        result = memory.fork(
            target, formula=formula, closed_loop=closed_loop, since=since, dream=settings, progress=progress
        )
    show(result, as_json, "compare.fork")


def _default_embedder(store: str) -> str:
    """What a store without an embedder gets: the one that is configured, else MiniLM, if that is installed."""
    said = configured(None if is_url(store) else store)["embedder"].chosen
    if said is not None:
        return said.value
    if not is_installed():
        raise Failure(f"no model is installed; {INSTALL} adds one, or name another with --embedder")
    return "minilm"


def _suggest_comparing(memory: Memory, chosen: Embedder | None) -> None:
    """Recorded questions would be answered otherwise: say how to look at that first."""
    now = memory.status()
    if chosen is not None and now.recalls and now.embedder.name not in (None, chosen.name):
        say(
            f"`recollect compare --embedder '{chosen.name}'` says what that does to the {now.recalls:,} recorded "
            f"questions; the past keeps its vectors, and `recollect reembed --embedder '{now.embedder.name}'` goes back"
        )


@main.command()
@click.option(
    "--embedder",
    default=AUTO,
    shell_complete=completed_by("embedders"),
    help="As elsewhere; unless told, the store's own, or minilm where it has none.",
)
@click.option(
    "--missing", is_flag=True, help="Only memories without a vector, with the embedder that the store has."
)
@no_daemon
@store_options
def reembed(embedder: str, missing: bool, store: str, as_json: bool) -> None:
    """Give every memory a vector of another embedder; the past keeps its own.

    \b
    Example:
      recollect compare --embedder minilm
      recollect reembed --embedder minilm
      recollect reembed --missing
    """
    with (
        open_memory(store, embedder if missing or embedder == AUTO else "none") as memory,
        progress_bar("embedding") as progress,
    ):
        if missing and memory.embedder is None:
            raise Failure("this store has no embedder; `recollect reembed --embedder NAME` gives it one")
        if memory.embedder is None and embedder == AUTO:
            embedder = _default_embedder(store)
        chosen = memory.embedder or embedder_named(embedder)
        _suggest_comparing(memory, chosen)
        result = memory.reembed(chosen or embedder, progress=progress)
    show(result, as_json, "compare.reembedding")
