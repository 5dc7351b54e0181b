"""An explanation for people: the sentence first, then a tree with bars."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from rich.text import Text
from rich.tree import Tree

from recollect.engine.safe_text import drawing
from recollect.interfaces.cli.render.common import console, excerpt, first_of
from recollect.projections.lexical.index import TermDetail
from recollect.query.explanation import ChannelPart, Counterfactual, Explanation, Neighbour, Reason, StagePart

_BAR_WIDTH = 24
_EIGHTHS = " ▏▎▍▌▋▊▉█"
_DIGEST_SHOWN = 12
_TERMS_SHOWN = 12


@drawing
def explanation(result: Explanation, *, full: bool = False) -> None:
    """The sentence, what decided, and the margins; in `full` all of it."""
    out = console()
    out.print(Text(result.sentence, style="bold"))
    origin = f"{result.recall or 'not recorded'}  basis @{result.basis}  now {result.now}"
    origin += f"  formula {result.formula}  embedder {result.embedder or 'none'}"
    out.print(Text.assemble((f"{excerpt(result.query)!r}", "italic"), (f"  {origin}", "dim")))
    if result.note:
        out.print(Text(result.note, style="yellow"))
    out.print(_tree(result, full=full))
    if not full:
        out.print(
            Text("--full shows the channels, the stages and the events behind every number", style="dim")
        )


whole = partial(explanation, full=True)


def _tree(result: Explanation, *, full: bool) -> Tree:
    tree = Tree(Text(f"{result.id}  {_standing(result)}"))
    for title, neighbour in (("above", result.above), ("below", result.below)):
        if neighbour:
            tree.add(_neighbour(title, neighbour))
    drop = result.dropped_at
    if drop and (drop.had is not None or drop.needed is not None):
        tree.add(Text(f"had {_number(drop.had)}, needed {_number(drop.needed)}", style="yellow"))
    for reason in result.reasons:
        tree.add(_reason(reason))
    if full:
        _add_details(tree, result)
    if result.counterfactual:
        tree.add(_counterfactual(result.counterfactual))
    return tree


def _add_details(tree: Tree, result: Explanation) -> None:
    """Channels, stages, and the events behind every number."""
    if result.channels:
        channels = tree.add(Text("channels", style="bold"))
        for channel in result.channels:
            _add_channel(channels, channel)
    if any(stage.state in ("applied", "dropped it") for stage in result.stages):
        stages = tree.add(Text("stages", style="bold"))
        full = max((abs(stage.after or 0.0) for stage in result.stages), default=0.0)
        for stage in result.stages:
            _add_stage(stages, stage, full)
    if result.facts:
        tree.add(Text("facts  " + "  ".join(f"{name} {value}" for name, value in result.facts.items())))
    if result.provenance:
        tree.add(_provenance(result.provenance))


def _standing(result: Explanation) -> str:
    place = "not in the answer" if result.rank is None else f"rank {result.rank} of {result.candidates}"
    return place if result.score is None else f"{place}  score {result.score:.12g}"


def _neighbour(title: str, neighbour: Neighbour) -> Text:
    how = "" if neighbour.decided_by == "score" else f"  decided by {neighbour.decided_by}"
    return Text(
        f"{title}  {neighbour.id}  {neighbour.score:.12g}  ({neighbour.margin:.3g} apart){how}", style="dim"
    )


def _reason(reason: Reason) -> Text:
    line = f"{reason.name}  {_number(reason.own)} against {_number(reason.other)}"
    return Text(f"{line}  ({reason.effect:+.3g} of the score)")


def _add_channel(tree: Tree, part: ChannelPart) -> None:
    rank = "not found" if part.rank is None else f"rank {part.rank}"
    source = "" if part.source is None else f"  from {_source(part.source)}"
    limits = f"{part.found} found of at most {part.depth}, the last {_number(part.last)}"
    branch = tree.add(Text(f"{part.name}  {rank}  value {_number(part.value)}{source}  ({limits})"))
    words = part.words or tuple(term.term for term in part.terms)
    matched = [(word, term) for word, term in zip(words, part.terms, strict=True) if term.contribution]
    full = max((abs(term.contribution) for _, term in matched), default=0.0)
    shown = first_of(matched, _TERMS_SHOWN)
    for word, term in shown:
        branch.add(_term(word, term, full))
    if len(matched) > len(shown):
        branch.add(Text(f"and {len(matched) - len(shown)} more", style="dim"))


def _source(source: str) -> str:
    return "the exact tail" if source == "tail" else f"shard {source[:_DIGEST_SHOWN]}"


def _term(word: str, term: TermDetail, full: float) -> Text:
    line = Text(f"{word}  ")
    line.append(bar(term.contribution, full), style="cyan")
    line.append(f" {term.contribution:.6g}  tf {term.tf}  df {term.df} of {term.N}  idf {term.idf:.4g}  ")
    line.append(f"length {term.length} (average {term.average_length:.4g})")
    return line


def _add_stage(tree: Tree, part: StagePart, full: float) -> None:
    line = Text(f"{part.number} {part.title}")
    if part.state != "applied":
        line.append(f"  {part.state}", style="red" if part.state == "dropped it" else "dim")
    elif part.scored and part.after is not None:
        line.append(f"  {bar(part.after, full)}", style="green")
        line.append(f" {part.after:.12g}")
        if part.before and part.before != part.after:
            line.append(f"  ×{part.after / part.before:.4g}")
    values = {**part.inputs, **part.reads}
    values = values or part.wrote
    branch = tree.add(line)
    if values:
        branch.add(Text("  ".join(f"{name} {_number(value)}" for name, value in values.items()), style="dim"))


def _provenance(provenance: Mapping[str, tuple[int, ...]]) -> Text:
    told = (f"{name} {' '.join(f'@{seq}' for seq in seqs)}" for name, seqs in provenance.items() if seqs)
    return Text("set by  " + "  ".join(told), style="dim")


def _counterfactual(change: Counterfactual) -> Text:
    return Text(
        f"to pass {change.above}: {change.kind} {change.name} of stage {change.number} "
        f"from {_number(change.current)} to {change.needed:.6g}"
    )


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.6g}"


def bar(value: float, full: float) -> str:
    """A bar of eighths of a character, `full` being its whole width."""
    if not full > 0.0:
        return ""
    eighths = round(min(abs(value) / full, 1.0) * _BAR_WIDTH * 8)
    whole, rest = divmod(eighths, 8)
    return _EIGHTHS[8] * whole + (_EIGHTHS[rest] if rest else "")
