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
from recollect.projections.adoptions import Adoptions
from recollect.projections.lexical.analyzers import NEWEST
from recollect.query import catalogue
from recollect.query.dials import Dial
from recollect.query.factors.factor import FACTORS
from recollect.query.formula_check import problem_of, unknown_name, written_by
from recollect.query.formula_extension import Find, NotExtended, extended
from recollect.query.formula_limits import beyond_limits
from recollect.query.formula_tables import with_tables
from recollect.query.formula_words import unknown_key, unknown_word, unknown_word_of_dial
from recollect.query.free_numbers import FreeNumber, marked
from recollect.query.nearest import there_are
from recollect.query.stage_labels import label_twice, labels_of, set_aside
from recollect.query.stages.any_stage import AnyStage
from recollect.query.stages.filtering import Filter
from recollect.query.stages.measuring import Compute, Measure
from recollect.query.stages.retrieving import Retrieve
from recollect.query.stages.scoring import Add, Multiply
from recollect.query.versions import stated

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

DEFAULT_FORMULA = "recollect"
_FACTOR_STAGES = {"multiply": Multiply, "add": Add, "compute": Compute}
_BESIDE_THE_TEXT = ("given_labels", "free")


class InvalidFormula(RecollectError):
    """A formula that cannot be used; the message says what is wrong and where."""

    def __init__(self, origin: str, problem: str) -> None:
        self.origin = origin
        self.problem = problem
        super().__init__(f"formula {origin}: {problem}")


class Formula(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, dict=True, eq=False):
    """Name, source, one line of description, and the stages in order. Two with the same text are the same.

    `order = "score"`: answers stand by score, or as the stages say. A text in the log that states no order is from
    before there was a choice: there a derived memory always stands below its sources. A file that states no order
    means "score"; `order = "sources"` asks for the old rule.

    `given_labels` and `free` decide no ranking: they are for people and for `tune`, and no part of the text.
    """

    name: str
    stages: tuple[AnyStage, ...]
    source: str = ""
    description: str = ""
    dials: tuple[Dial, ...] = ()
    order: Literal["score"] | UnsetType = UNSET
    given_labels: tuple[str, ...] = ()
    free: tuple[FreeNumber, ...] = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Formula) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    @property
    def sources_first(self) -> bool:
        """Whether derived memories stand below their sources without a stage that says so."""
        return self.order is UNSET

    @cached_property
    def text(self) -> str:
        """The canonical JSON of this formula."""
        fields = {
            name: getattr(self, name) for name in self.__struct_fields__ if name not in _BESIDE_THE_TEXT
        }
        said = {name: value for name, value in fields.items() if value is not UNSET}
        return msgspec.json.encode(said, order="sorted").decode()

    @cached_property
    def digest(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def label(self) -> str:
        """name@digest, as answers and events show it."""
        return f"{self.name}@{self.digest[:12]}"

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """What each stage is called, each name once."""
        return labels_of(self.stages, self.given_labels)

    @property
    def analyzers(self) -> tuple[str, ...]:
        """The text analyzers that its lexical channels read."""
        named = (getattr(stage, "analyzer", None) for stage in self.stages)
        return tuple(dict.fromkeys(analyzer for analyzer in named if analyzer is not None))

    @property
    def needs_vector(self) -> bool:
        """Whether it finds nothing for a question without a vector: no other channel brings candidates, or all of them
        must have a cosine with the question.
        """
        applied = [stage for stage in self.stages if stage.enabled and not stage.when]
        cosines = {
            stage.name or stage.channel
            for stage in applied
            if isinstance(stage, (Retrieve, Measure)) and stage.channel == "vector"
        }
        required = any(
            isinstance(stage, Filter) and stage.required and stage.by in cosines for stage in applied
        )
        return required or not any(
            isinstance(s, Retrieve) and s.channel != "vector" for s in self.stages if s.enabled
        )

    @cached_property
    def written(self) -> tuple[tuple[str, ...], ...]:
        """The columns that each stage computes; ranks are counted, not computed."""
        every = (written_by(stage) for stage in self.stages)
        return tuple(tuple(name for name in names if not name.endswith(".rank")) for names in every)


def parse(text: str, *, origin: str, find: Find | None = None) -> Formula:
    """A formula from TOML; `find` finds what it extends, which is a built-in one if it is not given."""
    try:
        fields = parse_toml(text)
    except InvalidInput as error:
        raise InvalidFormula(origin, str(error)) from None
    return build(fields, origin=origin, find=find)


@cache
def from_canonical(text: str, origin: str = "in the log") -> Formula:
    """A formula from the canonical JSON that a log keeps; it was checked when it was adopted."""
    try:
        fields = msgspec.json.decode(text.encode(), type=dict[str, object])
    except (msgspec.DecodeError, RecursionError) as error:
        raise InvalidFormula(origin, f"is no JSON object that can be read ({error})") from None
    return build(fields, origin=origin, check=False)


def formula_in_force(adoptions: Adoptions, seq: int) -> Formula:
    """The formula that the log adopted last by then; the default without any."""
    digest = adoptions.formula_in_force(seq)
    return built_in(DEFAULT_FORMULA) if digest is None else from_canonical(adoptions.formulas[digest])


def from_log(text: str | None, digest: str) -> Formula | None:
    """The formula that a log keeps under this digest; None if its text is another, or no formula."""
    return None if text is None or problem_in_log(text, digest) else from_canonical(text)


def problem_in_log(text: str, digest: str) -> str | None:
    """Why what a log keeps under this digest ranks nothing here; None if it can."""
    if hashlib.sha256(text.encode()).hexdigest() != digest:
        return "is not the formula of this digest"
    try:
        from_canonical(text)
    except InvalidFormula as error:
        return error.problem
    return None


def readable(kept: Mapping[str, str]) -> list[Formula]:
    """Of the formulas that a log keeps (digest, text), those that can rank here."""
    found = (from_log(text, digest) for digest, text in kept.items())
    return [formula for formula in found if formula is not None]


def build(
    fields: Mapping[str, object], *, origin: str, check: bool = True, find: Find | None = None
) -> Formula:
    """Complete the fields of a formula, and check them; unchecked are those of a log, which state their versions."""
    if check:
        return _from_file(fields, origin, find or built_in_named)
    try:
        formula = _built(fields, _stages_of(fields, origin), origin)
    except RecursionError:
        raise InvalidFormula(origin, "is nested too deeply to be read") from None
    if problem := unknown_name(formula.stages, formula.dials):
        raise InvalidFormula(origin, problem)
    assert len(formula.written) == len(formula.stages)  # computed here, once, and not by the first recall
    return formula


def _stages_of(fields: Mapping[str, object], origin: str) -> list[object]:
    stages = fields.get("stages")
    if not isinstance(stages, list) or not stages:
        raise InvalidFormula(origin, 'has no stages; give it `stages = [ … ]`, or `extends = "NAME"`')
    return stages


def _from_file(fields: Mapping[str, object], origin: str, find: Find) -> Formula:
    """A formula that a person wrote, with what it extends, the newest versions, and every check."""
    if problem := unknown_key(fields):
        raise InvalidFormula(origin, problem)
    try:
        whole = (
            extended(fields, find, origin=origin) if "extends" in fields else _not_extending(fields, origin)
        )
        stages = _stages_of(whole, origin)
        free = [stage.get("free", {}) if isinstance(stage, dict) else {} for stage in stages]
        bare = [_without_free(stage) for stage in stages]
        for number, stage in enumerate(bare, 1):
            if problem := unknown_word(stage):
                raise InvalidFormula(origin, f"stage {number} {problem}")
        dials = whole.get("dials", ())
        for number, dial in enumerate(dials if isinstance(dials, list) else (), 1):
            if problem := unknown_word_of_dial(dial):
                raise InvalidFormula(origin, f"dial {number} {problem}")
        meant = [stated(stage, FACTORS) for stage in bare]
        formula = _with_newest_analyzers(_built(_ordered(whole, origin), meant, origin), bare)
    except RecursionError:
        raise InvalidFormula(origin, "is nested too deeply to be read") from None
    except NotExtended as error:
        raise InvalidFormula(origin, str(error)) from None
    return _checked(formula, free, origin)


def _without_free(stage: object) -> object:
    return {key: value for key, value in stage.items() if key != "free"} if isinstance(stage, dict) else stage


def _not_extending(fields: Mapping[str, object], origin: str) -> Mapping[str, object]:
    if "override" in fields:
        raise InvalidFormula(origin, 'has [override] tables but extends nothing; say `extends = "NAME"`')
    return fields


def _checked(formula: Formula, free: list[object], origin: str) -> Formula:
    stages, labels = set_aside(formula.stages)
    if twice := label_twice(labels):
        raise InvalidFormula(origin, f"has two stages with the label {twice!r}")
    if problem := problem_with(formula):
        raise InvalidFormula(origin, problem)
    numbers: list[FreeNumber] = []
    for number, (stage, given) in enumerate(zip(stages, free, strict=True)):
        try:
            numbers += marked(stage, number, given)
        except msgspec.ValidationError as error:
            raise InvalidFormula(origin, f"stage {number + 1} {error}") from None
    formula = msgspec.structs.replace(formula, stages=stages, given_labels=labels, free=tuple(numbers))
    assert len(formula.written) == len(formula.stages)  # computed here, once, and not by the first recall
    return formula


def built_in_named(name: str) -> Formula:
    """The built-in formula of a name, or of name@digest."""
    bare, _, digest = name.partition("@")
    if bare not in names() or not built_in(bare).digest.startswith(digest):
        raise NotExtended(f"extends {name!r}, which is not a built-in formula; {there_are(name, names())}")
    return built_in(bare)


def _ordered(fields: Mapping[str, object], origin: str) -> dict[str, object]:
    """The fields of a file with its order made explicit; a text without `order` means the old rule."""
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

    The default of the types stays the first analyzer for ever: that is what a text in the log without one means.
    """
    stages = list(formula.stages)
    for place, (stage, given) in enumerate(zip(formula.stages, written, strict=True)):
        first = getattr(stage, "analyzer", None)
        if first is not None and isinstance(given, dict) and "analyzer" not in given:
            stages[place] = msgspec.structs.replace(stage, analyzer=NEWEST[first])
    return msgspec.structs.replace(formula, stages=tuple(stages))


def problem_with(formula: Formula) -> str | None:
    """What is wrong with a formula that its types cannot express; None if nothing is."""
    beyond = beyond_limits(formula.name, formula.stages, formula.dials)
    return beyond or problem_of(formula.stages, formula.dials)


def _built(fields: Mapping[str, object], stages: list[object], origin: str) -> Formula:
    completed = [_complete(stage, n, origin) for n, stage in enumerate(stages, 1)]
    rest = {name: value for name, value in fields.items() if name not in ("tables", "learned")}
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
        raise InvalidFormula(
            origin,
            f"stage {number} names the factor {name!r}; {there_are(name, FACTORS, say='known factors are')}",
        )
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


def built_in_text(name: str) -> str:
    """A built-in formula as it is written."""
    return _texts().joinpath(f"{name}.toml").read_text("utf-8")


@cache
def built_in(name: str) -> Formula:
    return parse(built_in_text(name), origin=name)


def load(name_or_path: str | Path, *, find: Find | None = None) -> Formula:
    """A built-in formula by name, or a user's own by the path of its TOML file."""
    if isinstance(name_or_path, str) and name_or_path in names():
        return built_in(name_or_path)
    path = Path(name_or_path)
    if path.suffix != ".toml":
        raise InvalidFormula(
            repr(str(name_or_path)),
            f"is not built in and not a path to a .toml file; {there_are(name_or_path, names())}",
        )
    try:
        fields = read_toml(path)
    except InvalidInput as error:
        raise InvalidFormula(str(path), str(error)) from None
    return build(fields, origin=str(path), find=find)
