"""What the types of a formula cannot say: names that must be known, labels that lie ahead, columns that exist.

A formula that a person writes is checked; one that the log holds was checked when it was adopted, and must
stay readable whatever is checked by then.
"""

from __future__ import annotations

from collections.abc import Iterator

from recollect.projections.lexical.analyzers import ANALYZERS
from recollect.query.dials import CLASSIFIERS, Dial
from recollect.query.factors.factor import SIGNATURES
from recollect.query.inputs import INPUTS
from recollect.query.stages.any_stage import AnyStage
from recollect.query.stages.filtering import Abstain, Cut, Filter, Silence
from recollect.query.stages.jumping import Gate, Shortcut, Skip
from recollect.query.stages.measuring import (
    Coverage,
    Labels,
    Leads,
    LookUp,
    Measure,
    Overlap,
    RankBy,
    Resemble,
    TellsTime,
)
from recollect.query.stages.ordering import Rerank, TieBreak
from recollect.query.stages.retrieving import CHANNELS, Expand, Retrieve
from recollect.query.stages.scoring import Boost, Fuse, Normalise, Raise, Weigh
from recollect.query.stages.sessions import Around
from recollect.query.stages.stage import FactorStage

_EDGES = "edge."


def problem_of(stages: tuple[AnyStage, ...], dials: tuple[Dial, ...]) -> str | None:
    """The first thing that is wrong, and where; None if nothing is."""
    turned = {key for dial in dials for row in dial.table.values() for key in row}
    known = {"score"}
    for number, stage in enumerate(stages, 1):
        for problem in _problems(stage, stages[number:], known, turned):
            return f"stage {number} {problem}"
        known.update(written_by(stage))
    for dial in dials:
        if dial.select == "text" and dial.classifier not in CLASSIFIERS:
            names = ", ".join(sorted(CLASSIFIERS)) or "none"
            return f"dial {dial.name!r} names the classifier {dial.classifier!r}; known are {names}"
    return None


def _problems(
    stage: AnyStage, later: tuple[AnyStage, ...], known: set[str], turned: set[str]
) -> Iterator[str]:
    match stage:
        case Retrieve(channel=channel) if channel not in CHANNELS:
            yield f"names the channel {channel!r}; known are {', '.join(sorted(CHANNELS))}"
        case Retrieve() if stage.column in known:
            yield f"retrieves {stage.column!r} again; give it another `name`"
        case Shortcut(to=to) | Gate(to=to) | Skip(to=to) if to not in {ahead.label for ahead in later}:
            yield f"jumps to {to!r}, which is the label of no stage after it"
        case Rerank(upto=upto, weights=weights) if len(upto) != len(weights):
            yield f"has {len(upto)} bands but {len(weights)} weights"
        case _:
            pass
    analyzer = getattr(stage, "analyzer", None)
    if analyzer is not None and analyzer not in ANALYZERS:
        yield f"names the analyzer {analyzer!r}; known are {', '.join(ANALYZERS)}"
    if stage.when and stage.when not in turned:
        yield f"waits for the dial {stage.when!r}, which no dial has"
    for name in read_by(stage):
        if not (name in known or name in INPUTS or (name.startswith(_EDGES) and _EDGES in known)):
            columns = ", ".join(sorted(known - {_EDGES}))
            yield f"reads {name!r}, which is no input and which no stage before it writes; there are {columns}"


def written_by(stage: AnyStage) -> tuple[str, ...]:  # noqa: PLR0911 (one line per stage)
    """The columns that a stage writes."""
    match stage:
        case Retrieve():
            return stage.column, f"{stage.column}.rank"
        case Measure():
            return (stage.name or stage.channel,)
        case RankBy():
            return (f"{stage.name or stage.by}.rank",)
        case Normalise():
            return (stage.name or stage.column,)
        case FactorStage():
            return (stage.column,)
        case LookUp(name=name) | Leads(name=name) | Labels(name=name):
            return (name,)
        case Coverage(name=name) | TellsTime(name=name) | Around(name=name):
            return (name,)
        case Overlap():
            return "word_ratio", "word_overlap"
        case Resemble():
            return ("trigram",)
        case Expand():
            return ("graph",) if stage.decay > 0.0 else ("hop", _EDGES)
        case Cut():
            return ("tokens",)
        case _:
            return ()


def read_by(stage: AnyStage) -> tuple[str, ...]:  # noqa: PLR0911 (one line per stage)
    """The inputs and columns that a stage reads by name."""
    match stage:
        case FactorStage(factor=factor):
            return SIGNATURES[factor].inputs
        case Fuse(channels=channels, weights=weights):
            return tuple(f"{name}.rank" for name in (*channels, *weights))
        case Weigh():
            return tuple(name + stage.suffix for name in stage.weights)
        case Boost(amounts=amounts):
            return tuple(amounts)
        case (
            RankBy(by=name)
            | Filter(by=name)
            | Normalise(column=name)
            | Raise(column=name)
            | Shortcut(column=name)
        ):
            return (name,)
        case TieBreak(by=names):
            return names
        case Abstain(any_of=minima) | Silence(below=minima):
            return tuple(minima)
        case _:
            return ()
