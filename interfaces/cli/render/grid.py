"""A table of plain columns that loses nothing: wide where there is room, wrapped or stacked where there is not.

Columns of texts (`~name`) wrap between words; the others (`name`, and `>name` for numbers) stay whole. Where texts would
get less than `_TEXT_WIDTH_MIN` cells, each row is stacked: its short cells on one line, its texts below, indented. In a
pipe nothing is wrapped, and every row is one line. A single cell that is wider than the terminal is folded, never cut.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

_GAP = "  "
_INDENT = "    "
_TEXT_WIDTH_MIN = 16


class Grid:
    def __init__(self, *names: str) -> None:
        self._right = [name.startswith(">") for name in names]
        self._wraps = [name.startswith("~") for name in names]
        self._rows = [[Text(name.lstrip(">~"), style="dim") for name in names]]

    def add_row(self, *cells: str | Text, style: str = "") -> None:
        """One row. Cells that are missing are empty."""
        texts = [Text(cell) if isinstance(cell, str) else cell for cell in cells]
        texts += [Text()] * (len(self._right) - len(texts))
        for text in texts:
            if style:
                text.stylize(style)
        self._rows.append(texts)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = options.max_width if console.is_terminal else None
        for line in self.lines(console, width):
            line.no_wrap, line.overflow = True, "ignore"
            yield line

    def lines(self, console: Console, width: int | None) -> Iterator[Text]:
        """The table's lines; at most `width` cells wide, if it is given."""
        widths = [max(_width(row[place]) for row in self._rows) for place in range(len(self._right))]
        if width is not None and sum(widths) + len(_GAP) * (len(widths) - 1) > width:
            shrunk = self._shrunk(widths, width)
            if shrunk is None:
                yield from self._stacked(console, width)
                return
            widths = shrunk
        for row in self._rows:
            yield from self._row(console, row, widths)

    def _shrunk(self, widths: list[int], width: int) -> list[int] | None:
        """The widths with texts sharing what the others leave; None if that is too little."""
        texts = [place for place, wraps in enumerate(self._wraps) if wraps]
        room = width - sum(w for w, wraps in zip(widths, self._wraps, strict=True) if not wraps)
        room -= len(_GAP) * (len(widths) - 1)
        shrunk = list(widths)
        for left, place in zip(range(len(texts), 0, -1), sorted(texts, key=widths.__getitem__), strict=True):
            shrunk[place] = min(widths[place], room // left)
            if shrunk[place] < min(widths[place], _TEXT_WIDTH_MIN):
                return None
            room -= shrunk[place]
        return shrunk if texts and room >= 0 else None

    def _row(self, console: Console, row: Sequence[Text], widths: Sequence[int]) -> Iterator[Text]:
        cells = [
            _wrapped(console, cell, width) if wraps and _width(cell) > width else list(cell.split("\n"))
            for cell, width, wraps in zip(row, widths, self._wraps, strict=True)
        ]
        for number in range(max(map(len, cells))):
            line = Text()
            for place, lines in enumerate(cells):
                cell = lines[number] if number < len(lines) else Text()
                padding = " " * (widths[place] - cell_len(cell.plain))
                line.append(_GAP if place else "")
                line.append_text(Text(padding) + cell if self._right[place] else cell + Text(padding))
            line.rstrip()
            yield line

    def _stacked(self, console: Console, width: int) -> Iterator[Text]:
        for row in self._rows:
            line = Text()
            for cell, wraps in zip(row, self._wraps, strict=True):
                if wraps or not cell.plain:
                    continue
                if line.plain and cell_len(line.plain) + len(_GAP) + cell_len(cell.plain) > width:
                    yield from _wrapped(console, line, width)
                    line = Text(_INDENT)
                elif line.plain:
                    line.append(_GAP)
                line.append_text(cell)
            if line.plain:
                yield from _wrapped(console, line, width)
            for cell, wraps in zip(row, self._wraps, strict=True):
                if wraps and cell.plain:
                    yield from (
                        Text(_INDENT) + part for part in _wrapped(console, cell, width - len(_INDENT))
                    )


def _width(cell: Text) -> int:
    return max(map(cell_len, cell.plain.split("\n")))


def _wrapped(console: Console, text: Text, width: int) -> list[Text]:
    return list(text.wrap(console, max(width, 1), overflow="fold", no_wrap=False)) or [Text()]
