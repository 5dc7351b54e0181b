"""What `tune` learned as one page: no scripts, no assets from elsewhere, light and dark, every text escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from recollect.engine.tune import Tried, Tuned
from recollect.interfaces.common.compare_html import html_page, html_table

_WIDTH, _HEIGHT, _LEFT, _BOTTOM = 820, 260, 60, 30
_PLOT_STYLE = """
.best { fill: none; stroke: #0969da; stroke-width: 2; } .tried { fill: var(--dim); opacity: .45; }
.axis { stroke: var(--line); } text { fill: var(--dim); font-size: 12px; }
"""


def page(tuned: Tuned) -> str:
    """The whole report."""
    parts = [
        f"<h1>{escape(tuned.start)} <span class=dim>tuned to</span> {escape(tuned.formula)}</h1>",
        f"<p>{escape(tuned.sentence)}</p>",
        f"<p class=dim>chosen on {tuned.chosen_on} questions, judged on {tuned.judged} later ones, up to @{tuned.seq}</p>",
        "<h2>The numbers</h2>",
        html_table(
            ("stage", "number", ">was", ">is", ">from", ">to"),
            [
                (n.stage, n.name, f"{n.before:g}", f"{n.after:g}", f"{n.low:g}", f"{n.high:g}")
                for n in tuned.numbers
            ],
        ),
        "<h2>The search</h2>",
        f"<div class=wide>{plot(tuned.trials)}</div>",
        "<p class=dim>Every point is one set of numbers on the earlier questions; the line is the best so far.</p>",
        "<h2>The file</h2>",
        f"<pre>{escape(tuned.text)}</pre>",
    ]
    return html_page(f"{tuned.start} tuned", _PLOT_STYLE, parts)


def plot(trials: Sequence[Tried]) -> str:
    """The objective over the search, as SVG."""
    values = [trial.objective for trial in trials]
    low, high = min(values), max(values)
    spread = (high - low) or 1.0

    def at(number: int, value: float) -> tuple[float, float]:
        x = _LEFT + (_WIDTH - _LEFT - 10) * number / max(len(trials) - 1, 1)
        y = 10 + (_HEIGHT - _BOTTOM - 10) * (high - value) / spread
        return round(x, 1), round(y, 1)

    dots = "".join(
        f'<circle class=tried cx="{x}" cy="{y}" r="2"/>' for x, y in (at(n, v) for n, v in enumerate(values))
    )
    line = " ".join(f"{x},{y}" for x, y in (at(n, trial.best) for n, trial in enumerate(trials)))
    base = _HEIGHT - _BOTTOM
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="the objective over the search">'
        f'<line class=axis x1="{_LEFT}" y1="{base}" x2="{_WIDTH - 10}" y2="{base}"/>'
        f'<line class=axis x1="{_LEFT}" y1="10" x2="{_LEFT}" y2="{base}"/>'
        f'<text x="4" y="16">{high:.4f}</text><text x="4" y="{base}">{low:.4f}</text>'
        f'<text x="{_LEFT}" y="{_HEIGHT - 8}">1</text>'
        f'<text x="{_WIDTH - 60}" y="{_HEIGHT - 8}">{len(trials)} tries</text>'
        f'{dots}<polyline class=best points="{line}"/></svg>'
    )
