"""A comparison as one page: no scripts, no assets from elsewhere, light and dark, every text escaped.

The changed questions come as slope charts: a's order on the left, b's on the right, a line per memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from recollect.engine.event_summaries import shorten
from recollect.engine.moments import iso
from recollect.interfaces.common.slope_chart import CHART_STYLE, TextOf, slope_chart
from recollect.replay.compare.comparison import Comparison, JudgedMetric, Mover, QuestionRow

_CHARTS_SHOWN = 24
_COUNTS = {"entered", "left"}
_MEANINGS = {
    "unchanged": "share of questions with the same answer",
    "top1_changed": "share of questions with another first hit",
    "churn": "share of the first {} that is new",
    "jaccard": "overlap of the first {}; 1 is the same",
    "rbo": "similarity of the order at p = {}; 1 is the same",
    "tau_b": "agreement of the order, from -1 to 1",
    "mean_abs_rank_change": "places moved, on average",
    "entered": "memories that came into an answer",
    "left": "memories that fell out of an answer",
}

STYLE = """
:root { color-scheme: light dark; --ink: #1f2328; --dim: #656d76; --paper: #ffffff; --line: #d0d7de; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6edf3; --dim: #8d96a0; --paper: #0d1117; --line: #30363d; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
       max-width: 860px; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; overflow-wrap: anywhere; } h2 { font-size: 1.1rem; margin-top: 2rem; }
h3 { font-size: 1rem; margin: 1.6rem 0 0; overflow-wrap: anywhere; } h3 + p { margin: 0 0 .5rem; font-size: .9rem; }
table { border-collapse: collapse; width: 100%; } .wide { overflow-x: auto; }
th, td { text-align: left; vertical-align: top; padding: .2rem .8rem .2rem 0; border-bottom: 1px solid var(--line); }
td:first-child { overflow-wrap: anywhere; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
.dim, th { color: var(--dim); font-weight: normal; } .note { border-left: 3px solid var(--line); padding-left: 1rem; }
svg { width: 100%; min-width: 680px; height: auto; display: block; }
@media (max-width: 560px) { body { font-size: 14px; margin: 1rem auto; } table { font-size: 13px; } }
"""


def meaning(metric: str) -> str:
    """What a metric says, in a few words."""
    name, _, parameter = metric.partition("@")
    return _MEANINGS.get(name, "").format(parameter)


def most_changed(rows: Sequence[QuestionRow], count: int) -> list[QuestionRow]:
    """The questions whose answers differ most, by rank-biased overlap."""
    return sorted((row for row in rows if not row.unchanged), key=lambda row: row.rbo)[:count]


def page(comparison: Comparison, text_of: TextOf) -> str:
    """The whole report; `text_of` gives a memory's text as of a seq."""
    changed = most_changed(comparison.rows, _CHARTS_SHOWN)
    parts = [
        f"<h1>{escape(comparison.a)} <span class=dim>against</span> {escape(comparison.b)}</h1>",
        f"<p>{escape(comparison.sentence)}</p>",
        f"<p class=dim>{escape(_size(comparison))}</p>",
        f"<p class=note>{escape(comparison.note)}</p>" if comparison.note else "",
        _metrics(comparison),
        _judged(comparison),
        _movers(comparison.movers),
        _charts(changed, sum(not row.unchanged for row in comparison.rows), text_of),
        f"<h2>How to read this</h2><p class=note>{escape(comparison.caveat)}</p>",
    ]
    return html_page(f"{comparison.a} against {comparison.b}", CHART_STYLE, parts)


def html_page(title: str, style: str, parts: Sequence[str]) -> str:
    """A page with this title, these further styles, and the parts that are not empty."""
    head = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(title)}</title>",
        f"<style>{STYLE}{style}</style></head><body>",
    ]
    return "\n".join([*head, *filter(None, parts), "</body></html>"]) + "\n"


def _size(comparison: Comparison) -> str:
    judged = f"{comparison.judged_questions} judged"
    return f"{comparison.questions} questions, {judged}, {comparison.mode} mode"


def _metrics(comparison: Comparison) -> str:
    rows = [
        (name, _value(name, value), meaning(name))
        for name, value in comparison.metrics.items()
        if meaning(name)
    ]
    return "<h2>What changed</h2>" + html_table(("metric", ">value", "meaning"), rows)


def _value(name: str, value: float) -> str:
    """Counts are whole numbers."""
    return f"{value:.0f}" if name in _COUNTS else f"{value:.4f}"


def _judged(comparison: Comparison) -> str:
    if not comparison.judged:
        return ""
    rows = [(name, *judged_numbers(metric)) for name, metric in comparison.judged.items()]
    unjudged = [comparison.metrics[f"unjudged@{comparison.k}_{side}"] for side in "ab"]
    return (
        "<h2>By judgements</h2>"
        + html_table(("metric", ">a", ">b", ">difference", "95 % interval", ">p", "win / tie / loss"), rows)
        + f"<p class=dim>Not judged: {unjudged[0]:.1%} of a's first {comparison.k} and {unjudged[1]:.1%} of b's.</p>"
    )


def judged_numbers(metric: JudgedMetric) -> tuple[str, ...]:
    """Both sides, their difference with its interval and p, and who won: the cells of a row."""
    return (
        f"{metric.a:.4f}",
        f"{metric.b:.4f}",
        f"{metric.delta:+.4f}",
        f"{metric.low:+.4f} … {metric.high:+.4f}",
        f"{metric.p_value:.4f}",
        f"{metric.wins}/{metric.ties}/{metric.losses}",
    )


def _movers(movers: Sequence[Mover]) -> str:
    if not movers:
        return ""
    rows = [
        (
            m.question,
            rank_text(m.rank_a),
            rank_text(m.rank_b),
            shorten(m.content or m.id),
            shorten(m.text, 40),
        )
        for m in movers
    ]
    return "<h2>Biggest movers</h2>" + html_table(("recall", ">a", ">b", "memory", "question"), rows)


def rank_text(rank: int | None) -> str:
    return "–" if rank is None else str(rank)


def html_table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A column of numbers is named with a leading `>`."""
    marks = [" class=n" if name.startswith(">") else "" for name in names]
    head = "".join(
        f"<th{mark}>{escape(name.lstrip('>'))}</th>" for name, mark in zip(names, marks, strict=True)
    )
    body = "".join(
        "<tr>" + "".join(f"<td{m}>{escape(cell)}</td>" for cell, m in zip(row, marks, strict=True)) + "</tr>"
        for row in rows
    )
    return f"<div class=wide><table><tr>{head}</tr>{body}</table></div>"


def _charts(rows: Sequence[QuestionRow], changed: int, text_of: TextOf) -> str:
    if not rows:
        return "<h2>Changed questions</h2><p>None.</p>"
    shown = (
        "" if changed == len(rows) else f" <span class=dim>(the {len(rows)} most changed of {changed})</span>"
    )
    charts = "".join(
        f"<h3>{escape(row.text)}</h3><p class=dim>{escape(row.name)} at @{row.basis}, {_time(row.now)}, "
        f"RBO {row.rbo:.3f}</p><div class=wide>{slope_chart(row, text_of)}</div>"
        for row in rows
    )
    return f"<h2>Changed questions{shown}</h2>{charts}"


def _time(now: int) -> str:
    return iso(now)[:16].replace("T", " ") + " UTC"
