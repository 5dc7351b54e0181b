"""The commands that erase for good: erase, retain."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from typing import TYPE_CHECKING

import click

from recollect.engine import validate
from recollect.engine.safe_text import identifier
from recollect.events.errors import InvalidInput
from recollect.interfaces.cli.app import main, open_memory, options_without_embedder, show
from recollect.interfaces.cli.commands import Failure
from recollect.interfaces.cli.progress import progress_bar
from recollect.interfaces.common.counting import counted

if TYPE_CHECKING:
    from recollect.interfaces.python.memory import Memory

_LISTS = {"kind": "kinds", "tag": "tags", "entity": "entities", "source": "sources"}
_SINGLE = ("project", "session", "since", "until", "valid_at", "min_importance")


@main.command()
@click.argument("memory_ids", metavar="[ID]…", nargs=-1)
@click.option(
    "--where",
    "conditions",
    metavar="KEY=VALUE",
    multiple=True,
    help="Every memory with this project, session, kind, tag, entity or source, of this time (since, until); "
    "conditions add up.",
)
@click.option("--reason", default="", help="Why; it stays in the log.")
@click.option("--dry-run", is_flag=True, help="Say what would be erased; write nothing.")
@click.option(
    "--unattested",
    is_flag=True,
    help="Do not first verify and attest the recalls that no longer can be after this.",
)
@click.option(
    "--receipt", metavar="FILE", help="Keep the receipt there: what went, and the chain before and after."
)
@click.option("--yes", is_flag=True, help="Do not ask.")
@options_without_embedder
def erase(
    memory_ids: tuple[str, ...], conditions: tuple[str, ...], reason: str, dry_run: bool,
    unattested: bool, receipt: str | None, yes: bool, store: str, as_json: bool,
) -> None:  # fmt: skip
    """Erase memories for good, by ID or by filter; nothing brings them back.

    Texts, words and vectors are overwritten in the log and deleted from every cache; ids and numbers stay.
    Recalls that can no longer be verified afterwards are verified before, and the result is attested in the log.
    Asks first on a terminal; elsewhere --yes is needed. Exit 1 if the filter matches nothing.
    The receipt says the chain before and after, what went, and where bytes can still be; `verify --against` checks
    it. It is signed if RECOLLECT_SIGNING_KEY names a key.

    \b
    Example:
      recollect erase 01m7hchceagz6kyj4amp
      recollect erase --where project=acme --where tag=personal --dry-run
    """
    if bool(memory_ids) == bool(conditions):
        raise Failure("name the memories to erase by id, or by --where KEY=VALUE; one of the two")
    wanted = list(memory_ids) if memory_ids else _filter(conditions)
    with (
        open_memory(store) as memory,
        nullcontext() if receipt is None or dry_run else _new_file(memory, receipt) as keep,
        progress_bar("erasing") as progress,
    ):
        report = memory.erase(wanted, reason=reason, dry_run=True, unattested=unattested, progress=progress)
        if not dry_run and report.ids:
            _confirm(report.ids, yes)
            report = memory.erase(wanted, reason=reason, unattested=unattested, progress=progress)
        show(report, as_json, "erase.erasure")
        if keep is not None and report.receipt is not None:
            keep(report.receipt.text)
    if not report.ids:
        raise click.exceptions.Exit(1)


@main.command()
@click.option(
    "--recalls", metavar="AGE", help="Recalls older than this, such as 180d (or RECOLLECT_RETAIN_RECALLS)."
)
@click.option("--dry-run", is_flag=True, help="Say what would be erased; write nothing.")
@options_without_embedder
def retain(recalls: str | None, dry_run: bool, store: str, as_json: bool) -> None:
    """Erase the questions and answers of old recalls for good; they are verified and attested first.

    What later rankings read stays: accesses, and what a session that goes on has been told. With
    RECOLLECT_RETAIN_RECALLS in the environment every dream does the same.

    \b
    Example:
      recollect retain --recalls 180d --dry-run
      recollect retain --recalls 180d
    """
    with open_memory(store) as memory, progress_bar("verifying old recalls") as progress:
        show(memory.retain(recalls=recalls, dry_run=dry_run, progress=progress), as_json, "erase.retention")


def _filter(conditions: tuple[str, ...]) -> dict[str, object]:
    """`tag=a`, `tag=b` as {"tags": ["a", "b"]}."""
    lists: dict[str, list[str]] = {}
    single: dict[str, object] = {}
    for condition in conditions:
        key, equals, value = condition.partition("=")
        if not equals or not value:
            raise Failure(f"{condition!r} is not a condition; write KEY=VALUE, such as project=acme")
        if key in _LISTS:
            lists.setdefault(_LISTS[key], []).append(value)
        elif key in single:
            raise Failure(f"{key} is given twice; a memory has one")
        elif key in _SINGLE:
            single[key] = _importance(value) if key == "min_importance" else value
        else:
            raise Failure(f"there is no condition {key!r}; there are {', '.join((*_LISTS, *_SINGLE))}")
    return {**single, **lists}


def _importance(value: str) -> float:
    try:
        return validate.number(float(value), "min_importance", low=0.0, high=1.0)
    except ValueError:
        raise Failure(f"min_importance {value!r} is not a number from 0 to 1") from None


@contextmanager
def _new_file(memory: Memory, path: str) -> Iterator[Callable[[str], None]]:
    """Begin a new file before anything is erased, which shows that it can be made there; give out what finishes it."""
    from recollect.engine.transfer import target_of  # noqa: PLC0415 (imports wait until needed)
    from recollect.engine.unfinished_files import refuse_existing, unfinished_file  # noqa: PLC0415

    wanted = target_of(memory.store, path)
    with ExitStack() as stack:
        try:
            refuse_existing(wanted, overwrite=False)
            file = stack.enter_context(unfinished_file(wanted))
        except (OSError, InvalidInput) as error:
            said = error.strerror if isinstance(error, OSError) else error
            raise Failure(f"the receipt cannot be written to {path}: {said}; nothing was erased") from None

        def keep(text: str) -> None:
            file.write(iter([text.encode()]))
            file.put(wanted, overwrite=False)

        yield keep


def _confirm(ids: tuple[str, ...], yes: bool) -> None:
    if yes:
        return
    if not sys.stdin.isatty():
        raise Failure(
            f"this would erase {counted(len(ids), 'memory')} for good, and no terminal is here to ask at; "
            f"say --yes to do it, or --dry-run to look first"
        )
    shown = ", ".join(map(identifier, ids[:5])) + (f" and {len(ids) - 5} more" if len(ids) > 5 else "")
    if not click.confirm(f"Erase {counted(len(ids), 'memory')} for good ({shown})?"):
        raise Failure("nothing was erased")
