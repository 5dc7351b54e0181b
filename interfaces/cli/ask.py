"""The commands that ask: recall, get, history, verify, checkpoint, status."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from recollect.events.errors import RecollectError
from recollect.interfaces.cli.app import (
    common_options,
    main,
    open_memory,
    options_without_embedder,
    reranker_option,
    row_options,
    rows_wanted,
    show,
    whole_texts,
)
from recollect.interfaces.cli.commands import completed_by, say
from recollect.interfaces.cli.progress import progress_bar
from recollect.interfaces.cli.recall_options import QUESTION, arguments_of, recall_options

if TYPE_CHECKING:
    from recollect.interfaces.python.memory import Memory


@main.command()
@click.argument("query", metavar=QUESTION)
@recall_options()
@click.option("--at", "when", help="As of a moment: 'last tuesday', a time, @1234, r1234; records nothing.")
@click.option("--no-track", is_flag=True, help="The hits do not count as accessed.")
@click.option("--no-record", is_flag=True, help="Write nothing.")
@reranker_option
@row_options
@common_options
def recall(
    query: str, when: str | None, no_track: bool, no_record: bool, reranker: str | None, store: str, embedder: str,
    as_json: bool, **given: Any,
) -> None:  # fmt: skip
    """Rank the memories for QUERY, now or as of a moment.

    QUERY may be the id of a recorded recall (r2390): its text, k, session, filters, context, formula and clock come along,
    and options say otherwise.

    \b
    Example:
      recollect recall "where are auth sessions stored?" -k 3
      recollect recall "where are auth sessions stored?" --at "last tuesday"
      recollect recall r2390 --at now
      recollect recall "why Postgres?" --formula omega --context profile=decision
    """
    arguments = arguments_of(given, store=store, query=query)
    with open_memory(store, embedder, ahead=True, reranker=reranker) as memory:
        source = memory if when is None else memory.at(when)
        answer = source.recall(
            query, **arguments.options() | {"track": not no_track, "record": not no_record}
        )
        show(answer, as_json, "answer")
        if reranker is not None:
            _note_unused_reranker(memory, answer.formula)
        if (
            answer.hits
            and arguments.k
            and len(answer.hits) < arguments.k
            and not as_json
            and not rows_wanted()
        ):
            click.echo(f"{len(answer.hits)} of the {arguments.k} asked for were found")


def _note_unused_reranker(memory: Memory, label: str) -> None:
    """A formula without a rerank stage asks no reranker, however clearly it was named."""
    from recollect.engine.formula_lookup import formula_named  # noqa: PLC0415 (imports wait until needed)
    from recollect.query.stages.ordering import Rerank  # noqa: PLC0415 (the same)

    with suppress(RecollectError):  # a file's formula whose recall was not recorded
        stages = formula_named(memory.store, label, files=False).stages
        if not any(isinstance(stage, Rerank) and stage.enabled for stage in stages):
            say(f"the formula {label} has no rerank stage; --reranker changed nothing (omega has one)")


@main.command()
@click.argument("memory_id", metavar="ID", shell_complete=completed_by("memory_ids"))
@click.option("--at", "when", help="As of a moment: @1234, a time, 'last tuesday'.")
@options_without_embedder
def get(memory_id: str, when: str | None, store: str, as_json: bool) -> None:
    """Show one memory: content and whole state.

    \b
    Example:
      recollect get 0192f0c1… --at @120
    """
    with open_memory(store) as memory:
        show(memory.get(memory_id, at=when), as_json, "memo")


@main.command()
@click.argument("memory_id", metavar="ID", shell_complete=completed_by("memory_ids"))
@click.option("--ranks", "query", metavar=QUESTION, help="Its rank over time for this question instead.")
@recall_options(between=True)
@row_options
@common_options
def history(
    memory_id: str, query: str | None, store: str, embedder: str, as_json: bool, **given: Any
) -> None:
    """Every event that touched a memory, or its rank over time.

    \b
    Example:
      recollect history 0192f0c1…
      recollect history 0192f0c1… --ranks "where are auth sessions stored?" --project web
      recollect history 0192f0c1… --ranks r2390
    """
    with open_memory(store, "none" if query is None else embedder) as memory:
        if query is None:
            show(memory.history(memory_id, full=whole_texts(as_json)), as_json, "happenings")
        else:
            found = memory.ranks(memory_id, query, **arguments_of(given, store=store, query=query).options())
            show(found, as_json, "time_travel.ranks")


@main.command()
@click.option("--independent", is_flag=True, help="With rank-bm25 and a brute-force scan instead.")
@click.option("--attest", is_flag=True, help="Write what was found to the log, for when it can no longer be.")
@click.option(
    "--against",
    metavar="FILE",
    help="A checkpoint that was kept elsewhere: notice that the log was cut, rewritten or forked.",
)
@options_without_embedder
def verify(independent: bool, attest: bool, against: str | None, store: str, as_json: bool) -> None:
    """Rank every recorded recall again and compare bit for bit; exit 1 unless exact or attested.

    The verdict is exact, attested (what can no longer be ranked again was exact when it could), partly (something can no
    longer be verified, or not on this machine) or differs.

    \b
    Example:
      recollect verify
      recollect verify --independent
      recollect verify --attest
      recollect verify --against checkpoint.txt
    """
    with open_memory(store) as memory, progress_bar("verifying") as progress:
        report = memory.verify(independent=independent, attest=attest, against=against, progress=progress)
    show(report, as_json, "verification")
    if report.verdict not in ("exact", "attested"):
        raise SystemExit(1)


@main.command()
@click.option(
    "--out", metavar="FILE", help="Write it to a file; an earlier one there must agree with the log."
)
@options_without_embedder
def checkpoint(out: str | None, store: str, as_json: bool) -> None:
    """Origin, size and root of the log, to keep elsewhere; `verify --against` compares.

    In the form of a C2SP checkpoint; signed with Ed25519 if RECOLLECT_SIGNING_KEY names a file with a private key.

    \b
    Example:
      recollect checkpoint
      recollect checkpoint --out /elsewhere/recollect.checkpoint
    """
    with open_memory(store) as memory:
        show(memory.checkpoint(out), as_json, "log_checkpoint")


@main.command()
@common_options
def status(store: str, embedder: str, as_json: bool) -> None:
    """The store's health and sizes on one screen.

    \b
    Example:
      recollect status --store ./store
    """
    from recollect.engine.embedding.embedder import Elsewhere, EmbedderMismatch  # noqa: PLC0415 (imports wait until needed)

    try:
        with open_memory(store, embedder) as memory:
            result = memory.status()
    except EmbedderMismatch as mismatch:
        with open_memory(store, Elsewhere(mismatch)) as memory:
            result = memory.status()
    show(result, as_json, "status")
