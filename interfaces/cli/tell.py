"""The commands that tell: remember, revise, access, forget, restore."""

from __future__ import annotations

from typing import Any

import click

from recollect.engine import validate
from recollect.engine.similar import nearness_min
from recollect.events.errors import InvalidInput
from recollect.interfaces.cli.app import (
    common_options,
    given_only,
    main,
    open_memory,
    options_without_embedder,
    project_of,
    show,
    with_options,
)
from recollect.interfaces.cli.commands import completed_by
from recollect.interfaces.cli.standard_input import standard_input

_stored_options = with_options(
    click.option("--kind", help="note, decision, preference, bug, …"),
    click.option("--importance", type=float, help="0 to 1."),
    click.option("--priority", type=int, help="1 to 5."),
    click.option("--tag", "tags", multiple=True, help="May be repeated."),
    click.option("--entity", "entities", multiple=True, help="May be repeated."),
    click.option("--project", help="The project that it belongs to."),
    click.option("--session", help="The conversation that it came up in."),
    click.option("--source", help="Where it comes from: a path, a URL, a name."),
    click.option("--at", "at", help="When it happened: ISO 8601 or '2 days ago'."),
    click.option("--valid-from", help="It holds from this time on."),
    click.option("--valid-to", help="It holds up to this time."),
    click.option("--expires-at", help="It no longer answers from this time on."),
    click.option("--importance-tag", help="Resists forgetting."),
    click.option("--key", help="Topic key."),
    click.option(
        "--supersedes",
        multiple=True,
        metavar="ID",
        shell_complete=completed_by("memory_ids"),
        help="It takes the place of this memory, which answers no more. May be repeated.",
    ),
)


@main.command()
@click.argument("text")
@click.option("--id", "id_", help="Known id: a new version of that memory.")
@_stored_options
@common_options
def remember(text: str, id_: str | None, store: str, embedder: str, as_json: bool, **fields: Any) -> None:
    """Keep TEXT (or standard input for -).

    \b
    Example:
      recollect remember "Deploys happen on Tuesdays" --kind decision --tag ops
      recollect remember "Deploys happen on Fridays" --supersedes 0192f0c1…

    Similar memories are named; RECOLLECT_SIMILAR (0 to 1, or off) sets how similar they must be.
    """
    content = validate.content(_told(text))
    with open_memory(store, embedder, make=True) as memory:
        nearness_min()  # a setting that is wrong is refused before anything is written
        fields["project"] = project_of(store, fields["project"])
        memory_id = memory.remember(content, id=id_, **given_only(fields))
        degraded = memory.missing_vector(memory_id)
        similar, head = memory.similar(memory_id), memory.status().head
        show({"id": memory_id, "head": head, "similar": similar, "degraded": degraded}, as_json, "remembered")


@main.command()
@click.argument("memory_id", metavar="ID", shell_complete=completed_by("memory_ids"))
@click.argument("text", required=False)
@_stored_options
@common_options
def revise(memory_id: str, text: str | None, store: str, embedder: str, as_json: bool, **fields: Any) -> None:
    """Give a memory a new version.

    \b
    Example:
      recollect revise 0192f0c1… "Deploys happen on Wednesdays" --importance 0.9
    """
    changes = given_only(fields)
    if text is not None:
        changes["content"] = _told(text)
    with open_memory(store, embedder) as memory:
        count = memory.revise(memory_id, **changes)
        degraded = memory.missing_vector(memory_id)
        show({"id": memory_id, "revision_count": count, "degraded": degraded}, as_json, "revised")


@main.command()
@click.argument(
    "memory_ids", metavar="ID…", nargs=-1, required=True, shell_complete=completed_by("memory_ids")
)
@click.option("--session", help="The conversation that read them.")
@click.option(
    "--how",
    type=click.Choice(["returned", "injected", "used"]),
    default="used",
    show_default=True,
    help="In an answer, put into a prompt, or of use.",
)
@click.option("--recall", "recall_id", help="The recall that they came from.")
@options_without_embedder
def access(
    memory_ids: tuple[str, ...], session: str | None, how: str, recall_id: str | None, store: str, as_json: bool,
) -> None:  # fmt: skip
    """Record that memories were read.

    \b
    Example:
      recollect access 0192f0c1… --how used --session monday
    """
    with open_memory(store) as memory:
        seq = memory.access(memory_ids, session, how, recall=recall_id)
        show({"seq": seq}, as_json, "written")


@main.command()
@click.argument("memory_id", metavar="ID", shell_complete=completed_by("memory_ids"))
@click.option("--reason", default="", help="Why.")
@options_without_embedder
def forget(memory_id: str, reason: str, store: str, as_json: bool) -> None:
    """Forget a memory softly; `restore` brings it back.

    \b
    Example:
      recollect forget 0192f0c1… --reason "we moved to Redis after all"
    """
    with open_memory(store) as memory:
        show({"seq": memory.forget(memory_id, reason)}, as_json, "written")


@main.command()
@click.argument("memory_id", metavar="ID", shell_complete=completed_by("memory_ids"))
@click.option("--reason", default="", help="Why.")
@options_without_embedder
def restore(memory_id: str, reason: str, store: str, as_json: bool) -> None:
    """Bring a forgotten memory back.

    \b
    Example:
      recollect restore 0192f0c1…
    """
    with open_memory(store) as memory:
        show({"seq": memory.restore(memory_id, reason)}, as_json, "written")


def _told(text: str) -> str:
    """TEXT, or standard input for -."""
    if text != "-":
        return text
    try:
        data = standard_input(bytes_max=validate.CONTENT_BYTES_MAX, advice="split it, a memory each")
        return data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"standard input is not UTF-8 text ({error.reason} at byte {error.start}); convert it first,"
            " for example with `iconv -f latin1 -t utf-8`"
        ) from None
