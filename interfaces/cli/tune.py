"""The command of learning: tune."""

from __future__ import annotations

import click

from recollect.interfaces.cli.app import main, open_memory, show, store_options
from recollect.interfaces.cli.commands import completed_by
from recollect.interfaces.cli.progress import progress_bar


@main.command()
@click.argument("formula", required=False, shell_complete=completed_by("formulas"))
@click.option("--out", metavar="FILE", help="Write the formula that was found to this TOML file.")
@click.option("--adopt", is_flag=True, help="Put it in force in this store.")
@click.option(
    "--html", "report", metavar="FILE", help="Write a report with a plot of the search to this file."
)
@click.option("--overwrite", is_flag=True, help="--out and --html may replace files that exist.")
@store_options
def tune(
    formula: str | None,
    out: str | None,
    adopt: bool,
    report: str | None,
    overwrite: bool,
    store: str,
    as_json: bool,
) -> None:
    """Choose a formula's numbers from recorded questions and what followed them; exit 1 if none are better.

    FORMULA is a built-in name, name@digest of one in the log, or the path of a TOML file; the one in force if it is not
    given. The earlier half of the judged questions chooses, the later half judges; what it does not bear out is not
    written and not adopted.

    \b
    Example:
      recollect tune recollect --out tuned.toml --html tuned.html
      recollect compare recollect tuned.toml
      recollect tune recollect --adopt
    """
    with open_memory(store) as memory, progress_bar("tuning") as progress:
        result = memory.tune(
            formula, out=out, adopt=adopt, html=report, overwrite=overwrite, progress=progress
        )
    show(result, as_json, "tune.tuned")
    if not result.recommended:
        raise SystemExit(1)
