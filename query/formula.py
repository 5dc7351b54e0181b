"""A formula: a ranking recipe as data, with a digest.

Written as TOML by people; kept in the log as canonical JSON with every default filled in, so the past
depends on no file. Its digest is the SHA-256 of that text.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec
from msgspec import UNSET, UnsetType

from recollect.events.errors import InvalidInput, RecollectError
from recollect.events.toml_file import parse_toml, read_toml
from recollect.projections.lexical.analyzers import NEWEST
from recollect.query import catalogue
from recollect.query.dials import Dial
from recollect.query.factors.factor import FACTORS
from recollect.query.formula_check import problem_of, written_by
from recollect.query.formula_limits import beyond_limits
from recollect.query.formula_tables import with_tables
from recollect.query.stages.any_stage import AnyStage
from recollect.query.stages.measuring import Compute
from recollect.query.stages.scoring import Add, Multiply
from recollect.query.versions import stated

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

_FACTOR_STAGES = {"multiply": Multiply, "add": Add, "compute": Compute}


class InvalidFormula(RecollectError):
    """A formula that cannot be used; the message says what is wrong and where."""

    def __init__(self, origin: str, problem: str) -> None:
        self.origin = origin
        self.problem = problem
        super().__init__(f"formula {origin}: {problem}")


class Formula(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, dict=True):
    """Name, source, one line of description, and the stages in order.

    `order = "score"`: answers stand by score, or as the stages say. A text in the log that states no order is from
    before there was a choice: there a derived memory always stands below its sources. A file that states none means
    "score"; `order = "sources"` asks for the old rule.
    """

    name: str
    stages: tuple[AnyStage, ...]
    source: str = ""
    description: str = ""
    dials: tuple[Dial, ...] = ()
    order: Literal["score"] | UnsetType = UNSET

    @property
    def sources_first(self) -> bool:
        """Whether derived memories stand below their sources without a stage that says so."""
        return self.order is UNSET

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
        named = (getattr(stage, "analyzer", None) for stage in self.stages)
        return tuple(dict.fromkeys(analyzer for analyzer in named if analyzer is not None))

    @cached_property
    def written(self) -> tuple[tuple[str, ...], ...]:
        """The columns that each stage computes; ranks are counted, not computed."""
        every = (written_by(stage) for stage in self.stages)
        return tuple(tuple(name for name in names if not name.endswith(".rank")) for names in every)


def parse(text: str, *, origin: str) -> Formula:
    """A formula from TOML."""
    try:
        fields = parse_toml(text)
    except InvalidInput as error:
        raise InvalidFormula(origin, str(error)) from None
    return build(fields, origin=origin)


@cache
def from_canonical(text: str) -> Formula:
    """A formula from the canonical JSON that a log keeps; it was checked when it was adopted."""
    fields = msgspec.json.decode(text.encode(), type=dict[str, object])
    return build(fields, origin="in the log", check=False)


def from_log(text: str | None, digest: str) -> Formula | None:
    """The formula that a log keeps under this digest; None if its text is another, or no formula."""
    if text is None or hashlib.sha256(text.encode()).hexdigest() != digest:
        return None
    try:
        return from_canonical(text)
    except (InvalidFormula, msgspec.DecodeError):
        return None


def build(fields: Mapping[str, object], *, origin: str, check: bool = True) -> Formula:
    """Complete the fields of a formula, and check them; unchecked are those of a log, which state their versions."""
    stages = fields.get("stages")
    if not isinstance(stages, list) or not stages:
        raise InvalidFormula(origin, "has no stages; give it `stages = [ … ]`")
    try:
        meant = [stated(stage, FACTORS) for stage in stages] if check else stages
        formula = _built(_ordered(fields, origin) if check else fields, meant, origin)
    except RecursionError:
        raise InvalidFormula(origin, "is nested too deeply to be read") from None
    if check:
        formula = _with_newest_analyzers(formula, stages)
        if problem := problem_with(formula):
            raise InvalidFormula(origin, problem)
    assert len(formula.written) == len(formula.stages)  # computed here, once, and not by the first recall
    return formula


def _ordered(fields: Mapping[str, object], origin: str) -> dict[str, object]:
    """The fields of a file with the order that it means; the old one is that of a text without any."""
    order = fields.get("order", "score")
    if order not in ("score", "sources"):
        raise InvalidFormula(
            origin,
            f'has the order {order!r}; write "score", or "sources" for derived memories below their sources',
        )
    rest = {name: value for name, value in fields.items() if name != "order"}
    return rest if order == "sources" else {**rest, "order": order}


def _with_newest_analyzers(formula: Formula, written: list[object]) -> Formula:
    """A stage that names no analyzer gets the newest, and the text that is adopted states it.

    The default of the types is the first one for ever: that is what a text in the log means that states none.
    """
    stages = list(formula.stages)
    for place, (stage, given) in enumerate(zip(formula.stages, written, strict=True)):
        first = getattr(stage, "analyzer", None)
        if first is not None and isinstance(given, dict) and "analyzer" not in given:
            stages[place] = msgspec.structs.replace(stage, analyzer=NEWEST[first])
    return msgspec.structs.replace(formula, stages=tuple(stages))


def problem_with(formula: Formula) -> str | None:
    """What keeps a formula from being used, beside what its types say; None if nothing does."""
    beyond = beyond_limits(formula.name, formula.stages, formula.dials)
    return beyond or problem_of(formula.stages, formula.dials)


def _built(fields: Mapping[str, object], stages: list[object], origin: str) -> Formula:
    completed = [_complete(stage, n, origin) for n, stage in enumerate(stages, 1)]
    rest = {name: value for name, value in fields.items() if name != "tables"}
    try:
        tabled = with_tables(completed, fields.get("tables", {}))
        return msgspec.convert({**rest, "stages": tabled}, Formula)
    except (msgspec.ValidationError, OverflowError) as error:
        raise InvalidFormula(origin, _readable(str(error))) from None


def _complete(stage: object, number: int, origin: str) -> object:
    """Move a factor's own keys into `parameters` and fill in their defaults."""
    if not isinstance(stage, dict) or str(stage.get("op")) not in _FACTOR_STAGES:
        return stage
    name, nested = stage.get("factor"), stage.get("parameters", {})
    if not isinstance(name, str) or not isinstance(nested, dict):
        return stage
    own = {"op", *_FACTOR_STAGES[str(stage["op"])].__struct_fields__}
    if name not in FACTORS:
        known = ", ".join(sorted(FACTORS))
        raise InvalidFormula(origin, f"stage {number} names the factor {name!r}; known factors are {known}")
    given = {**nested, **{k: v for k, v in stage.items() if k not in own}}
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


def names() -> list[str]:
    """The built-in formulas."""
    entries = _texts().iterdir()
    return sorted(entry.name.removesuffix(".toml") for entry in entries if entry.name.endswith(".toml"))


def _texts() -> Traversable:
    from importlib import resources  # noqa: PLC0415 (a store has its formulas itself)

    return resources.files("recollect.query.formulas")


@cache
def built_in(name: str) -> Formula:
    text = _texts().joinpath(f"{name}.toml").read_text("utf-8")
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
        fields = read_toml(path)
    except InvalidInput as error:
        raise InvalidFormula(str(path), str(error)) from None
    return build(fields, origin=str(path))
