"""A formula: a ranking recipe as data, with a digest.

Written as TOML by people; kept in the log as canonical JSON with every default filled in, so the past
depends on no file. Its digest is the SHA-256 of that text.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping
from functools import cache, cached_property
from importlib import resources
from pathlib import Path

import msgspec

from recollect.events.errors import RecollectError
from recollect.projections.analyzers import ANALYZERS
from recollect.query import catalogue
from recollect.query.channels import CHANNELS
from recollect.query.dials import CLASSIFIERS, Dial
from recollect.query.stages.abstain import Abstain
from recollect.query.stages.add import Add
from recollect.query.stages.boost import Boost
from recollect.query.stages.compute import Compute
from recollect.query.stages.cut import Cut
from recollect.query.stages.deduplicate import Deduplicate
from recollect.query.stages.expand import Expand
from recollect.query.stages.filter import Filter
from recollect.query.stages.fuse import Fuse
from recollect.query.stages.gate import Gate
from recollect.query.stages.lexical_stage import LexicalStage
from recollect.query.stages.measure import Measure
from recollect.query.stages.multiply import Multiply
from recollect.query.stages.normalise import Normalise
from recollect.query.stages.raise_ import Raise
from recollect.query.stages.rank_by import RankBy
from recollect.query.stages.rerank import Rerank
from recollect.query.stages.retrieve import Retrieve
from recollect.query.stages.shortcut import Shortcut
from recollect.query.stages.tiebreak import TieBreak
from recollect.query.stages.weigh import Weigh

AnyStage = (
    Retrieve | Measure | RankBy | Fuse | Weigh | Normalise | Multiply | Add | Raise | Filter | Expand
    | Rerank | Deduplicate | TieBreak | Abstain | Cut | Shortcut | Compute | Boost | Gate
)  # fmt: skip

_FACTOR_STAGES = {"multiply": Multiply, "add": Add, "compute": Compute}


class InvalidFormula(RecollectError):
    """A formula that cannot be used; the message says what is wrong and where."""

    def __init__(self, origin: str, problem: str) -> None:
        self.origin = origin
        self.problem = problem
        super().__init__(f"formula {origin}: {problem}")


class Formula(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, dict=True):
    """Name, source, one line of description, and the stages in order."""

    name: str
    stages: tuple[AnyStage, ...]
    source: str = ""
    description: str = ""
    dials: tuple[Dial, ...] = ()

    @cached_property
    def text(self) -> str:
        """The canonical JSON of this formula."""
        return msgspec.json.encode(self, order="sorted").decode()

    @cached_property
    def digest(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def label(self) -> str:
        """name@digest, as answers and events show it."""
        return f"{self.name}@{self.digest[:12]}"

    @property
    def analyzers(self) -> tuple[str, ...]:
        """The text analyzers that its lexical channels read."""
        found = (s.analyzer for s in self.stages if isinstance(s, LexicalStage | Deduplicate))
        return tuple(dict.fromkeys(found))


def parse(text: str, *, origin: str) -> Formula:
    """A formula from TOML."""
    try:
        return build(tomllib.loads(text), origin=origin)
    except tomllib.TOMLDecodeError as error:
        raise InvalidFormula(origin, f"is not valid TOML: {error}") from None


@cache
def from_canonical(text: str) -> Formula:
    """A formula from the canonical JSON that a log keeps."""
    return build(msgspec.json.decode(text.encode(), type=dict[str, object]), origin="in the log")


def build(fields: Mapping[str, object], *, origin: str) -> Formula:
    """Check and complete the fields of a formula."""
    stages = fields.get("stages")
    if not isinstance(stages, list) or not stages:
        raise InvalidFormula(origin, "has no stages; give it `stages = [ … ]`")
    completed = [_complete(stage, n, origin) for n, stage in enumerate(stages, 1)]
    try:
        formula = msgspec.convert({**fields, "stages": completed}, Formula)
    except msgspec.ValidationError as error:
        raise InvalidFormula(origin, _readable(str(error))) from None
    _check(formula, origin)
    return formula


def _complete(stage: object, number: int, origin: str) -> object:
    """Move a factor's own keys into `parameters` and fill in their defaults."""
    if not isinstance(stage, dict) or stage.get("op") not in _FACTOR_STAGES or "factor" not in stage:
        return stage
    own = {"op", *_FACTOR_STAGES[stage["op"]].__struct_fields__}
    name = stage["factor"]
    if name not in catalogue.FACTORS:
        known = ", ".join(sorted(catalogue.FACTORS))
        raise InvalidFormula(origin, f"stage {number} names the factor {name!r}; known factors are {known}")
    given = {**stage.get("parameters", {}), **{k: v for k, v in stage.items() if k not in own}}
    try:
        parameters = catalogue.complete(name, given)
    except msgspec.ValidationError as error:
        raise InvalidFormula(origin, f"stage {number}, factor {name!r}: {error}") from None
    return {**{k: v for k, v in stage.items() if k in own}, "parameters": parameters}


def _readable(problem: str) -> str:
    """msgspec's `$.stages[2].top` counts from 0; people count stages from 1."""
    head, at, path = problem.partition(" - at `$.stages[")
    if not at:
        return problem
    index, _, rest = path.partition("]")
    return f"stage {int(index) + 1}{rest.rstrip('`')}: {head}"


def _check(formula: Formula, origin: str) -> None:
    """What the types cannot say: names that must be known, labels that lie ahead, ranks that exist."""
    ranked: set[str] = set()
    for number, stage in enumerate(formula.stages, 1):
        problem = _problem(stage, formula.stages[number:], ranked)
        if problem:
            raise InvalidFormula(origin, f"stage {number} {problem}")
        match stage:
            case Retrieve():
                ranked.add(stage.column)
            case RankBy():
                ranked.add(stage.name or stage.by)
            case _:
                pass
    for dial in formula.dials:
        if dial.select == "text" and dial.classifier not in CLASSIFIERS:
            known = ", ".join(sorted(CLASSIFIERS)) or "none"
            raise InvalidFormula(
                origin, f"dial {dial.name!r} names the classifier {dial.classifier!r}; known: {known}"
            )


def _problem(  # noqa: PLR0911 (one line per thing that can be wrong)
    stage: AnyStage, later: tuple[AnyStage, ...], ranked: set[str]
) -> str | None:
    match stage:
        case Retrieve(channel=channel) if channel not in CHANNELS:
            return f"names the channel {channel!r}; known are {', '.join(sorted(CHANNELS))}"
        case Retrieve() if stage.column in ranked:
            return f"retrieves {stage.column!r} again; give it another `name`"
        case Fuse(channels=channels, weights=weights):
            missing = [name for name in (*channels, *weights) if name not in ranked]
            return f"fuses {missing[0]!r}, which no stage before it retrieves or ranks" if missing else None
        case (Shortcut(to=to) | Gate(to=to)) if to not in {ahead.label for ahead in later}:
            return f"jumps to {to!r}, which is the label of no stage after it"
        case Rerank(upto=upto, weights=weights) if len(upto) != len(weights):
            return f"has {len(upto)} bands but {len(weights)} weights"
        case _:
            pass
    analyzer = getattr(stage, "analyzer", None)
    if analyzer is not None and analyzer not in ANALYZERS:
        return f"names the analyzer {analyzer!r}; known are {', '.join(ANALYZERS)}"
    return None


def names() -> list[str]:
    """The built-in formulas."""
    folder = resources.files("recollect.query.formulas")
    return sorted(
        entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml")
    )


@cache
def built_in(name: str) -> Formula:
    text = resources.files("recollect.query.formulas").joinpath(f"{name}.toml").read_text("utf-8")
    return parse(text, origin=name)


def load(name_or_path: str | Path) -> Formula:
    """A built-in formula by name, or a user's own by the path of its TOML file."""
    if isinstance(name_or_path, str) and name_or_path in names():
        return built_in(name_or_path)
    path = Path(name_or_path)
    if path.suffix != ".toml":
        known = ", ".join(names())
        raise InvalidFormula(
            repr(str(name_or_path)), f"is not built in (there are {known}) and not a path to a .toml file"
        )
    try:
        return parse(path.read_text("utf-8"), origin=str(path))
    except OSError as error:
        raise InvalidFormula(str(path), f"cannot be read: {error.strerror}") from None
