"""Slope charts: two orders of the same memories beside each other, a line per memory, as SVG.

What rose is green, what fell is red, what is in one of the two orders only has a short stub. The colours suit
light and dark paper.
"""

from __future__ import annotations

from collections.abc import Callable
from html import escape

from recollect.engine.event_summaries import shorten
from recollect.replay.compare.comparison import QuestionRow

TextOf = Callable[[str, int], str]

_ROW_PX = 22
_TOP_PX = 26
_LEFT_X, _RIGHT_X, _WIDTH = 330, 470, 800
_LABEL_CHARACTERS = 46

CHART_STYLE = """
svg text { font: 12px system-ui, sans-serif; fill: #1f2328; } svg text.rank { fill: #656d76; }
svg line { stroke: #8c959f; stroke-width: 1.5; }
svg .up line { stroke: #1a7f37; } svg .up text { fill: #1a7f37; }
svg .down line { stroke: #cf222e; } svg .down text { fill: #cf222e; }
@media (prefers-color-scheme: dark) {
  svg text { fill: #e6edf3; } svg text.rank { fill: #8d96a0; } svg line { stroke: #6e7681; }
  svg .up line { stroke: #3fb950; } svg .up text { fill: #3fb950; }
  svg .down line { stroke: #f85149; } svg .down text { fill: #f85149; } }
"""


def slope_chart(row: QuestionRow, text_of: TextOf) -> str:
    """Both orders of one question; a memory that is in one of them only has a short stub."""
    height = _TOP_PX + _ROW_PX * max(len(row.a), len(row.b), 1)
    lines = "".join(_slope(row, id_, text_of) for id_ in dict.fromkeys((*row.a, *row.b)))
    heads = (
        f'<text class="rank" x="{_LEFT_X}" y="14" text-anchor="end">a</text>'
        f'<text class="rank" x="{_RIGHT_X}" y="14">b</text>'
    )
    return (
        f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{escape(row.text)}: a\'s order and b\'s order">'
        f"{heads}{lines}</svg>"
    )


def standalone_chart(row: QuestionRow, text_of: TextOf) -> str:
    """The chart as a file of its own."""
    chart = slope_chart(row, text_of).replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
    return chart.replace(">", f"><style>{CHART_STYLE}</style>", 1) + "\n"


def _slope(row: QuestionRow, id_: str, text_of: TextOf) -> str:
    left = row.a.index(id_) if id_ in row.a else None
    right = row.b.index(id_) if id_ in row.b else None
    label = escape(shorten(text_of(id_, row.basis) or id_, _LABEL_CHARACTERS))
    direction = _direction(left, right)
    parts = [f'<g class="{direction}"><title>{escape(id_)}</title>']
    if left is not None:
        parts.append(
            f'<text x="{_LEFT_X - 8}" y="{_y(left) + 4}" text-anchor="end">{label} · {left + 1}</text>'
        )
    if right is not None:
        parts.append(f'<text x="{_RIGHT_X + 8}" y="{_y(right) + 4}">{right + 1} · {label}</text>')
    x1, y1, x2, y2 = _ends(left, right)
    parts.append(f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" /></g>')
    return "".join(parts)


def _direction(left: int | None, right: int | None) -> str:
    if left == right:
        return "same"
    if left is None:
        return "up"
    return "up" if right is not None and right < left else "down"


def _ends(left: int | None, right: int | None) -> tuple[int, int, int, int]:
    middle = (_LEFT_X + _RIGHT_X) // 2
    if left is None:
        assert right is not None
        return middle + 40, _y(right), _RIGHT_X, _y(right)
    if right is None:
        return _LEFT_X, _y(left), middle - 40, _y(left)
    return _LEFT_X, _y(left), _RIGHT_X, _y(right)


def _y(place: int) -> int:
    return _TOP_PX + _ROW_PX * place + _ROW_PX // 2 - 4
