"""What is configured, for people."""

from __future__ import annotations

from rich.text import Text

from recollect.engine.configuration import Explanation
from recollect.engine.safe_text import drawing
from recollect.interfaces.cli.render.common import console, table_of


@drawing
def settings(result: Explanation) -> None:
    """Each value with where it comes from, and below it what it hides."""
    out = console()
    table = table_of("setting", "  value", "  from")
    for one in result.settings:
        where = "the default" if one.source == "default" else one.where
        table.add_row(one.name, f"  {one.value or '–'}", f"  {where}")
        for hidden in one.hidden:
            table.add_row(
                "", Text(f"  {hidden.value}", style="dim"), Text(f"  hidden in {hidden.where}", style="dim")
            )
    out.print(table)
    for one in result.settings:
        if one.note:
            out.print(Text(f"{one.name}: {one.note}", style="dim"))
    for file, there in result.files.items():
        out.print(Text(f"{file}  {'read' if there else 'not there'}", style="dim"))
    for key, is_set in result.keys.items():
        out.print(Text(f"{key}  {'set' if is_set else 'not set'}", style="dim"))
