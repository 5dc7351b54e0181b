"""Comparisons, drill-downs, forks and re-embeddings for people."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from rich.console import Console
from rich.text import Text

from recollect.engine.reembed import ReembedReport
from recollect.engine.safe_text import drawing
from recollect.interfaces.cli.render.common import console, escaped, excerpt, table_of
from recollect.interfaces.common.compare_html import judged_numbers, meaning, most_changed, rank_text
from recollect.query.explanation import Explanation, StagePart
from recollect.replay.compare.comparison import Comparison, Mover, QuestionRow
from recollect.replay.compare.drill import BothWays, Drilldown
from recollect.replay.fork.fork import ForkReport

_ROWS_SHOWN = 10


@drawing
def comparison(result: Comparison, out: Console | None = None) -> None:
    out = out or console()
    out.print(Text(result.sentence, style="bold"))
    out.print(Text.assemble(("a  ", "dim"), result.a))
    out.print(Text.assemble(("b  ", "dim"), result.b))
    out.print(
        f"[dim]{result.questions} questions, {result.judged_questions} judged, {escaped(result.mode)} mode[/]"
    )
    if result.note:
        out.print(Text(result.note, style="yellow"))
    for degraded in result.degraded:
        out.print(Text(degraded, style="yellow"))
    out.print()
    table = table_of("metric", ">value", "~meaning")
    for name, value in result.metrics.items():
        if meaning(name):
            table.add_row(name, f"{value:.4f}".rstrip("0").rstrip("."), Text(meaning(name), style="dim"))
    out.print(table)
    if result.judged:
        _judged(out, result)
    changed = most_changed(result.rows, _ROWS_SHOWN)
    if changed:
        _questions(out, changed)
    if result.movers:
        _movers(out, result.movers)
    out.print(Text(f"\n{result.caveat}", style="dim"))


def _judged(out: Console, result: Comparison) -> None:
    out.print("\n[bold]by judgements[/]")
    table = table_of("metric", ">a", ">b", ">delta", "95 %", ">p", "win/tie/loss")
    for name, metric in result.judged.items():
        table.add_row(name, *judged_numbers(metric))
    out.print(table)
    before, after = (result.metrics[f"unjudged@{result.k}_{side}"] for side in "ab")
    out.print(f"[dim]unjudged@{result.k}: {before:.1%} of a's answers, {after:.1%} of b's[/]")


def _questions(out: Console, rows: Sequence[QuestionRow]) -> None:
    out.print("\n[bold]most changed questions[/]")
    table = table_of("recall", "~question", ">rbo@0.9", ">churn", ">entered", ">left")
    for row in rows:
        counts = (str(len(row.entered)), str(len(row.left)))
        table.add_row(row.name, excerpt(row.text), f"{row.rbo:.3f}", f"{row.churn:.2f}", *counts)
    out.print(table)


def _movers(out: Console, movers: Sequence[Mover]) -> None:
    out.print("\n[bold]biggest movers[/]")
    table = table_of("recall", ">a", ">b", "id", "~memory", "~question")
    for mover in movers[:_ROWS_SHOWN]:
        table.add_row(
            mover.question,
            rank_text(mover.rank_a),
            rank_text(mover.rank_b),
            mover.id,
            excerpt(mover.content),
            Text(excerpt(mover.text), style="dim"),
        )
    out.print(table)


@drawing
def drilldown(result: Drilldown) -> None:
    """Both explanations of every memory, side by side, stage by stage."""
    out = console()
    out.print(Text(f"{result.name}  {result.text!r}", style="bold"))
    out.print(Text(f"basis @{result.basis}  a {result.a}  b {result.b}", style="dim"))
    for memory in result.memories:
        _both_ways(out, memory)


def _both_ways(out: Console, memory: BothWays) -> None:
    out.print(
        Text(
            f"\n{rank_text(memory.a.rank)} → {rank_text(memory.b.rank)}  {excerpt(memory.content or memory.id)}"
        )
    )
    for side, explanation in (("a", memory.a), ("b", memory.b)):
        out.print(Text(f"  {side}  {explanation.sentence}", style="dim"))
    table = table_of("~  stage of a", ">score", "~  stage of b", ">score")
    for left, right in zip_longest(_scoring(memory.a), _scoring(memory.b)):
        table.add_row(*_stage(left), *_stage(right))
    out.print(table)


def _scoring(explanation: Explanation) -> list[StagePart]:
    """The stages that changed the score."""
    return [stage for stage in explanation.stages if stage.after is not None and stage.after != stage.before]


def _stage(stage: StagePart | None) -> tuple[str, str]:
    if stage is None:
        return "", ""
    return f"  {stage.number}. {stage.title}", f"{stage.after:.12g}"


@drawing
def fork(result: ForkReport) -> None:
    out = console()
    loop = "closed loop" if result.closed_loop else "accesses as recorded"
    out.print(
        f"[green]forked[/] {escaped(str(result.path))}  [dim]since @{result.since}, {loop}, head @{result.head}[/]"
    )
    out.print(f"{result.recalls_changed} of {result.recalls} recalls answered otherwise")
    if result.closed_loop:
        out.print(
            f"{result.accesses_changed} accesses followed, {result.accesses_dropped} of them to nothing"
        )
        out.print(f"{result.dreams_again} of {result.dreams} dreams dreamt again")
    if result.skipped:
        out.print(f"{result.skipped} events left out: of an unknown type, or erased without a trace")
    for note in result.degraded:
        out.print(note, style="yellow", markup=False)


@drawing
def reembedding(result: ReembedReport) -> None:
    console().print(
        f"[green]embedded[/] {result.embedded} memories with {escaped(result.embedder)}, "
        f"[dim]the store's embedder since @{result.adopted}, head @{result.head}[/]"
    )
