"""Line charts as SVG text: the same numbers give the same bytes, readable on light and on dark paper.

The x axis is logarithmic where its values span a factor of 10 or more (a 0 stands one step left of the first
value); the y axis begins at 0 unless its values span more than a factor of 50, then it is logarithmic too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

WIDTH, HEIGHT = 640, 300
LEFT, RIGHT, TOP, BOTTOM = 64, 170, 34, 46
STYLE = """
text { font: 12px system-ui, sans-serif; fill: #1f2328; } .axis { fill: #656d76; } .title { font-weight: 600; }
line { stroke: #d0d7de; stroke-width: 1; } polyline { fill: none; stroke-width: 2; }
.s0 { stroke: #0969da; fill: #0969da; } .s1 { stroke: #bc4c00; fill: #bc4c00; } .s2 { stroke: #1a7f37; fill: #1a7f37; }
polyline.s0, polyline.s1, polyline.s2 { fill: none; } text.s0, text.s1, text.s2 { stroke: none; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; } .axis { fill: #8d96a0; } line { stroke: #30363d; }
  .s0 { stroke: #4493f8; fill: #4493f8; } .s1 { stroke: #f0883e; fill: #f0883e; } .s2 { stroke: #3fb950; fill: #3fb950; } }
"""


class Series(NamedTuple):
    """A named line through points (x, y), x ascending."""

    name: str
    points: Sequence[tuple[float, float]]


class Scale(NamedTuple):
    """Where the values of an axis stand, in pixels."""

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool

    def at(self, value: float) -> float:
        low, high, value = (self._turned(number) for number in (self.low, self.high, value))
        share = 0.5 if high == low else (value - low) / (high - low)
        return round(self.start + share * (self.end - self.start), 1)

    def _turned(self, value: float) -> float:
        return math.log10(value) if self.logarithmic else value


def line_chart(title: str, x_name: str, y_name: str, lines: Sequence[Series]) -> str:
    """The chart as a file of its own."""
    xs = sorted({x for line in lines for x, _ in line.points})
    ys = [y for line in lines for _, y in line.points]
    across, zero = _across(xs)
    up = _up(ys)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">',
        f"<style>{STYLE}</style>",
        f'<text class="title" x="{LEFT}" y="18">{escape(title)}</text>',
        f'<text class="axis" x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 8}" text-anchor="middle">{escape(x_name)}</text>',
        f'<text class="axis" x="8" y="18">{escape(y_name)}</text>',
        *_grid(xs, across, up, zero),
        *(part for number, line in enumerate(lines) for part in _line(number, line, across, up, zero)),
        "</svg>\n",
    ]
    return "\n".join(parts)


def _across(xs: Sequence[float]) -> tuple[Scale, float]:
    """The x axis, and the number in whose place a 0 stands on a logarithmic one."""
    positive = [x for x in xs if x > 0] or [1.0]
    logarithmic = positive[-1] / positive[0] >= 10
    zero = positive[0] / 10 if logarithmic else 0.0
    low = zero if xs[0] == 0 else xs[0]
    return Scale(low, xs[-1], LEFT + 10, WIDTH - RIGHT - 10, logarithmic), zero


def _up(ys: Sequence[float]) -> Scale:
    lowest, highest = min(ys), max(ys)
    if lowest > 0 and highest / lowest > 50:
        return Scale(
            10 ** math.floor(math.log10(lowest)),
            10 ** math.ceil(math.log10(highest)),
            HEIGHT - BOTTOM,
            TOP,
            True,
        )
    return Scale(0.0, _round_up(highest), HEIGHT - BOTTOM, TOP, False)


def _round_up(value: float) -> float:
    """The next of 1, 2, 2.5, 5, 10 times a power of ten."""
    power = 10 ** math.floor(math.log10(value)) if value > 0 else 1.0
    return next(step * power for step in (1, 2, 2.5, 5, 10) if step * power >= value)


def _grid(xs: Sequence[float], across: Scale, up: Scale, zero: float) -> list[str]:
    parts = []
    if up.logarithmic:
        decades = range(round(math.log10(up.low)), round(math.log10(up.high)) + 1)
        marks = [10.0**decade for decade in decades]
    else:
        marks = [up.high * quarter / 4 for quarter in range(5)]
    for mark in marks:
        y = up.at(mark)
        parts.append(f'<line x1="{LEFT}" y1="{y}" x2="{WIDTH - RIGHT}" y2="{y}" />')
        parts.append(f'<text class="axis" x="{LEFT - 8}" y="{y + 4}" text-anchor="end">{mark:g}</text>')
    under = HEIGHT - BOTTOM + 18
    return parts + [
        f'<text class="axis" x="{across.at(x or zero)}" y="{under}" text-anchor="middle">{_short(x)}</text>'
        for x in xs
    ]


def _line(number: int, line: Series, across: Scale, up: Scale, zero: float) -> list[str]:
    points = [(across.at(x or zero), up.at(y)) for x, y in line.points]
    style = f"s{number % 3}"
    path = " ".join(f"{x},{y}" for x, y in points)
    end_x, end_y = points[-1]
    return [
        f'<polyline class="{style}" points="{path}" />',
        *(f'<circle class="{style}" cx="{x}" cy="{y}" r="3" />' for x, y in points),
        f'<text class="{style}" x="{end_x + 8}" y="{end_y + 4}">{escape(line.name)}</text>',
    ]


def _short(value: float) -> str:
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"
