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
from recollect.query.stages.fuse import Fuse
from recollect.query.stages.multiply import Multiply
from recollect.query.stages.retrieve import Retrieve

AnyStage = Retrieve | Fuse | Multiply

_STAGE_KEYS = {"op", "enabled", "factor", "parameters"}


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
        found = (s.analyzer for s in self.stages if isinstance(s, Retrieve) and s.channel == "lexical")
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
    _check_channels(formula, origin)
    return formula


def _complete(stage: object, number: int, origin: str) -> object:
    """Move a factor's own keys into `parameters` and fill in their defaults."""
    if not isinstance(stage, dict) or "factor" not in stage:
        return stage
    name = stage["factor"]
    if name not in catalogue.FACTORS:
        known = ", ".join(sorted(catalogue.FACTORS))
        raise InvalidFormula(origin, f"stage {number} names the factor {name!r}; known factors are {known}")
    given = {**stage.get("parameters", {}), **{k: v for k, v in stage.items() if k not in _STAGE_KEYS}}
    try:
        parameters = catalogue.complete(name, given)
    except msgspec.ValidationError as error:
        raise InvalidFormula(origin, f"stage {number}, factor {name!r}: {error}") from None
    return {**{k: v for k, v in stage.items() if k in _STAGE_KEYS}, "parameters": parameters}


def _readable(problem: str) -> str:
    """msgspec's `$.stages[2].top` counts from 0; people count stages from 1."""
    head, at, path = problem.partition(" - at `$.stages[")
    if not at:
        return problem
    index, _, rest = path.partition("]")
    return f"stage {int(index) + 1}{rest.rstrip('`')}: {head}"


def _check_channels(formula: Formula, origin: str) -> None:
    """Every fused channel must have been retrieved before, and every analyzer must be known."""
    retrieved: set[str] = set()
    for number, stage in enumerate(formula.stages, 1):
        match stage:
            case Retrieve():
                if stage.analyzer not in ANALYZERS:
                    known = ", ".join(ANALYZERS)
                    raise InvalidFormula(
                        origin, f"stage {number} names the analyzer {stage.analyzer!r}; known are {known}"
                    )
                if stage.column in retrieved:
                    raise InvalidFormula(
                        origin, f"stage {number} retrieves {stage.column!r} again; give it another `name`"
                    )
                retrieved.add(stage.column)
            case Fuse(channels=channels):
                for channel in (*channels, *stage.weights):
                    if channel not in retrieved:
                        raise InvalidFormula(
                            origin, f"stage {number} fuses {channel!r}, which no stage before it retrieves"
                        )
            case Multiply():
                pass


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
