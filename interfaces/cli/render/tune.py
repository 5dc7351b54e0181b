"""What `tune` learned, for people."""

from __future__ import annotations

from rich.text import Text

from recollect.engine.safe_text import drawing
from recollect.engine.tune import Tuned
from recollect.interfaces.cli.render.common import console, table_of


@drawing
def tuned(result: Tuned) -> None:
    out = console()
    out.print(Text(result.sentence, style="" if result.recommended else "yellow"))
    out.print(
        Text(
            f"{result.start}, chosen on {result.chosen_on} questions up to @{result.seq}, {len(result.trials)} tries",
            style="dim",
        )
    )
    table = table_of("stage", "number", ">was", ">is", "range")
    for one in result.numbers:
        within = f"{one.low:g} … {one.high:g}"
        table.add_row(one.stage, one.name, f"{one.before:g}", f"{one.after:g}", within)
    out.print(table)
    if result.recommended:
        out.print(Text(f"\n{result.text}", style="dim"), end="")
    if result.adopted:
        out.print(Text(f"{result.formula} is in force"))
