"""tune: a store chooses a formula's numbers from its own recorded questions.

`replay/tune` searches and judges; here the result becomes a file, or the formula in force. A result that the later part
of the log does not bear out is shown and goes nowhere. Nothing of it depends on a clock or on chance: the same command on
the same log gives the same file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TypedDict

import msgspec

from recollect.engine.formula_lookup import extendable, formula_named
from recollect.engine.recall import Standpoint
from recollect.engine.recall_options import refuse_unknown
from recollect.engine.store import Progress, Store
from recollect.engine.torn_state import locked
from recollect.engine.transfer import target_of
from recollect.engine.unfinished_files import refuse_existing, write_file
from recollect.engine.writer import Writer
from recollect.query.flat_formula import flat_toml, toml
from recollect.query.formula import Formula, names, parse
from recollect.query.formula import built_in as built_in_formula
from recollect.query.free_numbers import numbers_of
from recollect.replay.tune import tuning
from recollect.replay.tune.tuning import Found, Verdict

Page = Callable[["Tuned"], str]


class Number(msgspec.Struct, frozen=True, kw_only=True):
    """One free number: the stage it belongs to, its range, and what it was and is."""

    stage: str
    name: str
    low: float
    high: float
    before: float
    after: float


class Tried(msgspec.Struct, frozen=True, kw_only=True):
    """One step of the search: how good it was on the earlier part, and the best by then."""

    objective: float
    best: float


class Tuned(msgspec.Struct, frozen=True, kw_only=True):
    """What was learned, and how it does on the later part of the log.

    `before` and `after` are the estimates for the formula it started from and the one it found on the `judged` questions
    that the search did not see; `low` and `high` hold their difference with 95 %. `text` is the TOML file. `more` is how
    many more judged questions would settle a difference of this size.
    """

    formula: str
    start: str
    before: float
    after: float
    low: float
    high: float
    p_value: float
    judged: int
    chosen_on: int
    recommended: bool
    sentence: str
    numbers: tuple[Number, ...]
    seq: int
    chain: str
    text: str
    more: int | None = None
    adopted: bool = False
    trials: tuple[Tried, ...] = ()


class TuneOptions(TypedDict, total=False):
    """Where what was learned goes, as `Memory.tune` says."""

    out: str | Path | None
    adopt: bool
    html: str | Path | None
    overwrite: bool
    progress: Progress | None


def tune(
    here: Standpoint,
    writer: Writer,
    formula: str | Path | Formula | None,
    options: TuneOptions,
    *,
    page: Page,
) -> Tuned:
    """What was learned; `adopted` says whether it was put in force."""
    refuse_unknown(options, TuneOptions.__annotations__)
    store, overwrite = here.store, options.get("overwrite", False)
    files = {"out": options.get("out"), "html": options.get("html")}
    targets = {kind: target_of(store, path) for kind, path in files.items() if path is not None}
    for target in targets.values():
        refuse_existing(target, overwrite=overwrite)
    store.catch_up()
    start = here.formula if formula is None else formula_named(store, formula, files=True)
    result, found = _learned(store, start, options.get("progress"))
    if options.get("adopt") and result.recommended:
        writer.adopt(found)
        result = msgspec.structs.replace(result, adopted=True)
    if "html" in targets:
        write_file(targets["html"], page(result), overwrite=overwrite)
    if "out" in targets and result.recommended:
        write_file(targets["out"], result.text, overwrite=overwrite)
    return result


@locked
def _learned(store: Store, start: Formula, progress: Progress | None) -> tuple[Tuned, Formula]:
    """Search and judge at the head."""
    seq = store.log.head
    found = tuning.tune(store.log, store.projections, start, upto=seq, progress=progress)
    chain = store.log.chain_at(seq).hex()
    text = learned_toml(store, start, found, seq=seq, chain=chain)
    formula = parse(text, origin="learned", find=partial(extendable, store.projections.adoptions))
    verdict = found.verdict
    return Tuned(
        formula=formula.label, start=start.label, before=verdict.before, after=verdict.after, low=verdict.low,
        high=verdict.high, p_value=verdict.p_value, judged=verdict.judged, chosen_on=found.chosen_on,
        recommended=verdict.recommended, sentence=in_words(verdict), numbers=_numbers(found, _labels(store, start)), seq=seq, chain=chain,
        text=text, more=verdict.more if not verdict.recommended else None,
        trials=tuple(Tried(objective=one.objective, best=one.best) for one in found.trials),
    ), formula  # fmt: skip


def _numbers(found: Found, labels: Sequence[str]) -> tuple[Number, ...]:
    return tuple(
        Number(stage=labels[n.stage], name=n.name, low=n.low, high=n.high, before=before, after=after)
        for n, before, after in zip(found.free, found.start, found.values, strict=True)
    )


def in_words(verdict: Verdict) -> str:
    """The verdict as a sentence."""
    gain = f"{verdict.before:.4f} → {verdict.after:.4f} on {verdict.judged} later questions"
    sure = f"95 % {verdict.low:+.4f} … {verdict.high:+.4f}, p = {verdict.p_value:.4f}"
    if verdict.recommended:
        return f"the numbers found are better: {gain} ({sure})"
    if verdict.more is None:
        return f"nothing better was found: {gain} ({sure}); the formula stays as it is"
    more = (
        f"about {verdict.more:,} more judged questions would settle it" if verdict.more else "it may be luck"
    )
    return f"not recommended: {gain} is too little to tell from luck ({sure}); {more}"


# --- the file --------------------------------------------------------------------------------------


def learned_toml(store: Store, start: Formula, found: Found, *, seq: int, chain: str) -> str:
    """The TOML file: what it extends, the numbers that changed, and what they were learned from."""
    name = f"{start.name.removesuffix('-tuned')}-tuned"
    learned = [
        "", "[learned]", f"formula = {toml(f'{start.name}@{start.digest}')}", f"seq = {seq}", f"chain = {toml(chain)}",
        f"judged = {found.verdict.judged}", f"before = {found.verdict.before:.6f}", f"after = {found.verdict.after:.6f}",
    ]  # fmt: skip
    base = _name_of(store, start)
    if base is None:
        whole = tuning.with_values(start, found.free, found.values)
        own = msgspec.structs.replace(whole, name=name)
        return "\n".join([flat_toml(own).rstrip("\n"), *learned]) + "\n"
    lines = [
        f"name = {toml(name)}",
        f"extends = {toml(base)}",
        f"description = {toml(f'{start.name} with numbers from its own traffic')}",
        *_overrides(start, found, _labels(store, start)),
        *learned,
    ]
    return "\n".join(lines) + "\n"


def _name_of(store: Store, formula: Formula) -> str | None:
    """The name by which a file may extend a formula here; None for one that is only in a file."""
    if formula.name in names() and built_in_formula(formula.name).digest == formula.digest:
        return formula.name
    return formula.label if formula.digest in store.projections.adoptions.formulas else None


def _labels(store: Store, formula: Formula) -> tuple[str, ...]:
    """What the stages are called in what a file extends: labels are no part of a formula's text, and no log keeps them."""
    base = _name_of(store, formula)
    return formula.labels if base is None else extendable(store.projections.adoptions, base).labels


def _overrides(start: Formula, found: Found, labels: Sequence[str]) -> Sequence[str]:
    """A table for each stage of which a number changed."""
    changed: dict[int, dict[str, float]] = {}
    for number, before, after in zip(found.free, found.start, found.values, strict=True):
        if before != after:
            changed.setdefault(number.stage, {})[number.name] = after
    lines: list[str] = []
    for stage, values in changed.items():
        lines += ["", f"[override.{toml_key(labels[stage])}]", *_settings(start, stage, values)]
    return lines


def _settings(start: Formula, stage: int, values: dict[str, float]) -> list[str]:
    places = numbers_of(start.stages[stage])
    plain: dict[str, object] = {}
    tables: dict[str, dict[str, float]] = {}
    for name, value in values.items():
        field = places[name].field
        if field in (name, "parameters"):
            plain[name] = value
        else:
            tables.setdefault(field, {})[name] = value
    return [f"{toml_key(key)} = {toml(value)}" for key, value in (plain | tables).items()]


def toml_key(name: str) -> str:
    """A key as TOML writes it."""
    return toml({name: 0}).removeprefix("{ ").removesuffix(" = 0 }")
