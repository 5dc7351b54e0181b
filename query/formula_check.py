"""What the types of a formula cannot say: names that must be known, labels that lie ahead, columns that exist.

A formula that a person writes is checked; one that the log holds was checked when it was adopted, and must
stay readable whatever is checked by then, if only what it names is here (`unknown_name`).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from recollect.projections.lexical.analyzers import ANALYZERS
from recollect.query.dials import CLASSIFIERS, Dial
from recollect.query.factors.factor import SIGNATURES
from recollect.query.inputs import INPUTS
from recollect.query.nearest import there_are
from recollect.query.stages.any_stage import AnyStage
from recollect.query.stages.filtering import Abstain, Cut, Exclude, Filter, Silence
from recollect.query.stages.jumping import END, Gate, Shortcut, Skip
from recollect.query.stages.measuring import (
    Compute,
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
from recollect.query.stages.stage import FactorStage, ScoringStage

_EDGES = "edge."
_NEEDED: dict[type[AnyStage], tuple[str, str]] = {
    Fuse: ("channels", "fuses no channels; name those that `retrieve` or `rank` wrote"),
    Weigh: ("weights", "weighs nothing; give it `weights`"),
    Boost: ("amounts", "boosts by nothing; give it `amounts`"),
    Silence: ("below", "is silent below nothing; give it `below`"),
    Exclude: ("kinds", "excludes nothing; give it `kinds`"),
    TieBreak: ("by", "breaks ties by nothing; give it `by`"),
}


def problem_of(stages: tuple[AnyStage, ...], dials: tuple[Dial, ...]) -> str | None:
    """The first thing that is wrong, and where; None if nothing is."""
    turned = {key for dial in dials for row in dial.table.values() for key in row}
    known, disabled = {"score"}, set[str]()
    for number, stage in enumerate(stages, 1):
        sofar, later = stages[:number], stages[number:]
        unread = _unread(stage, later, known, disabled)
        for problem in chain(unread, _problems(stage, sofar, later, known, turned)):
            return f"stage {number} {problem}"
        (known if stage.enabled else disabled).update(written_by(stage))
    if not any(_gives_a_score(stage) for stage in stages):
        return "has no stage that gives a score; add a `fuse` or a `weigh`, or enable one"
    for problem in _problems_of_dials(stages, dials):
        return problem
    return None


def unknown_name(stages: tuple[AnyStage, ...], dials: tuple[Dial, ...]) -> str | None:
    """The first name that no ranking can look up here, and where: a channel, an analyzer or a classifier."""
    for number, stage in enumerate(stages, 1):
        for problem in _unknown_names(stage):
            return f"stage {number} {problem}"
    return next((problem for dial in dials for problem in _unknown_classifier(dial)), None)


def _unknown_names(stage: AnyStage) -> Iterator[str]:
    if isinstance(stage, Retrieve) and stage.channel not in CHANNELS:
        yield f"names the channel {stage.channel!r}; {there_are(stage.channel, CHANNELS)}"
    analyzer = getattr(stage, "analyzer", None)
    if analyzer is not None and analyzer not in ANALYZERS:
        yield f"names the analyzer {analyzer!r}; {there_are(analyzer, ANALYZERS)}"


def _unknown_classifier(dial: Dial) -> Iterator[str]:
    if dial.select == "text" and dial.classifier not in CLASSIFIERS:
        yield (
            f"dial {dial.name!r} names the classifier {dial.classifier!r}; "
            f"{there_are(dial.classifier, CLASSIFIERS)}"
        )


def _problems(
    stage: AnyStage,
    sofar: tuple[AnyStage, ...],
    later: tuple[AnyStage, ...],
    known: set[str],
    turned: set[str],
) -> Iterator[str]:
    """What is wrong with a stage; `sofar` are the stages up to it, itself among them."""
    yield from _unknown_names(stage)
    match stage:
        case Retrieve() if stage.column in known:
            yield f"retrieves {stage.column!r} again; give it another `name`"
        case Shortcut(to=to) | Gate(to=to) | Skip(to=to) if to not in {END, *_labels(later)}:
            yield f"jumps to {to!r}, which is the label of no stage after it; {there_are(to, {END, *_labels(later)})}"
        case Rerank(upto=upto, weights=weights) if len(upto) != len(weights):
            yield f"has {len(upto)} bands but {len(weights)} weights"
        case _:
            pass
    if stage.when and stage.when not in turned:
        yield f"waits for the dial {stage.when!r}, which no dial has; {there_are(stage.when, turned)}"
    if isinstance(stage, FactorStage):
        yield from _problems_of_inputs(stage, sofar)
    yield from _unknown_dials(stage, turned)
    yield from _too_early(stage, sofar)
    yield from _empty(stage)


def _labels(stages: tuple[AnyStage, ...]) -> set[str]:
    return {stage.label for stage in stages if stage.label}


def _problems_of_inputs(stage: FactorStage, sofar: tuple[AnyStage, ...]) -> Iterator[str]:
    own = SIGNATURES[stage.factor].inputs
    for name in stage.inputs if isinstance(stage.inputs, dict) else ():
        if name not in own:
            yield f"gives {stage.factor!r} the input {name!r}, which it does not read; {there_are(name, own)}"
    if "fuse_k" in stage.sources and not any(isinstance(one, Fuse) for one in sofar):
        yield f"has the factor {stage.factor!r}, which needs the k of a `fuse` before it, but no `fuse` comes before"


def _unknown_dials(stage: AnyStage, turned: set[str]) -> Iterator[str]:
    for dial in dials_named(stage):
        if dial not in turned:
            yield f"names the dial {dial!r}, which no dial has; {there_are(dial, turned)}"


def _unread(
    stage: AnyStage, later: tuple[AnyStage, ...], known: set[str], disabled: set[str]
) -> Iterator[str]:
    """Columns that a stage reads but no stage before it writes. A sum may lose some of its columns, not all."""
    names = read_by(stage)
    missing = [name for name in names if name not in INPUTS and not _has(known, name)]
    without = not stage.enabled or (isinstance(stage, (Fuse, Weigh, Boost)) and len(missing) < len(names))
    for name in missing:
        if _has(disabled, name):
            if not without:
                yield f"reads {name!r}, which only a disabled stage writes; enable that one, or disable this one too"
        elif any(_has(set(written_by(ahead)), name) for ahead in later):
            yield f"reads {name!r}, which only a stage after it writes; put it after that stage"
        else:
            columns = {*known, *INPUTS} - {_EDGES}
            yield f"reads {name!r}, which is no input and which no stage before it writes; {there_are(name, columns)}"


def _has(columns: set[str], name: str) -> bool:
    return name in columns or (name.startswith(_EDGES) and _EDGES in columns)


def _too_early(stage: AnyStage, sofar: tuple[AnyStage, ...]) -> Iterator[str]:
    """Why a stage comes too early: there are no candidates yet, or no scores to change."""
    before = sofar[:-1]
    if isinstance(stage, (Retrieve, Gate)) or not stage.enabled:
        return
    if not any(isinstance(one, Retrieve) and one.enabled for one in before):
        yield "stands before there are candidates; put it after a `retrieve`"
    elif _needs_a_score(stage) and not any(_gives_a_score(one) for one in before):
        yield "changes a score that no stage has given yet; put it after the `fuse` or `weigh` that gives it"


def _gives_a_score(stage: AnyStage) -> bool:
    """Whether a candidate that has no score can get one here."""
    return stage.enabled and isinstance(stage, (Fuse, Weigh, Raise, Shortcut, Gate))


def _needs_a_score(stage: AnyStage) -> bool:
    """Whether the stage does nothing to candidates without a score."""
    match stage:
        case Compute() | Normalise() if "score" not in read_by(stage):
            return False
        case Expand(decay=decay):
            return decay > 0.0
        case Weigh(weights=weights):
            return "score" in weights
        case Fuse() | Raise() | Shortcut() | Gate():
            return False
        case _:
            return isinstance(stage, (ScoringStage, TieBreak)) or "score" in read_by(stage)


def _empty(stage: AnyStage) -> Iterator[str]:
    """A stage with nothing to work on, or with a name beside what it works on."""
    if type(stage) in _NEEDED and not getattr(stage, _NEEDED[type(stage)][0]):
        yield _NEEDED[type(stage)][1]
    match stage:
        case Fuse(channels=channels, weights=weights, dials=dials):
            if len(set(channels)) < len(channels):
                yield f"fuses {max(channels, key=channels.count)!r} twice; name it once and give it a weight"
            for name in (*weights, *dials):
                if name not in channels:
                    yield f"weighs {name!r}, which it does not fuse; {there_are(name, channels)}"
        case Weigh(weights=weights, dials=dials, extras=extras):
            for name in (*dials, *extras):
                if name not in weights:
                    yield f"has a dial for {name!r}, which it does not weigh; {there_are(name, weights)}"
        case Abstain(any_of=any_of, min_score=0.0) if not any_of:
            yield "abstains from nothing; give it `min_score` or `any_of`"
        case _:
            pass


def dials_named(stage: AnyStage) -> tuple[str, ...]:
    """The dials that a stage names, beside `when`."""
    match stage:
        case Fuse(dials=dials) | Abstain(dials=dials):
            return tuple(dials.values())
        case Weigh(dials=dials, extras=extras):
            return (*dials.values(), *extras.values())
        case Expand(dial=dial) if dial:
            return (dial,)
        case Retrieve(expanded=expanded) if expanded and expanded.dial:
            return (expanded.dial,)
        case _:
            return ()


def _problems_of_dials(stages: tuple[AnyStage, ...], dials: tuple[Dial, ...]) -> Iterator[str]:
    used = {name for stage in stages for name in (stage.when, *dials_named(stage))}
    used |= {
        name for stage in stages if isinstance(stage, FactorStage) for name in SIGNATURES[stage.factor].dials
    }
    for dial in dials:
        yield from _unknown_classifier(dial)
        if dial.default and dial.default not in dial.table:
            yield f"dial {dial.name!r} has the default {dial.default!r}, which is no row; {there_are(dial.default, dial.table)}"
        for row, numbers in dial.table.items():
            for key in numbers:
                if key not in used:
                    yield f"dial {dial.name!r}, row {row!r} turns {key!r}, which no stage reads; {there_are(key, used - {''})}"


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
        case FactorStage():
            return stage.sources
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
