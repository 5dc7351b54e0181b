"""docs/quality.md out of bench/results/quality.json. Every number on the page comes from there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from quality.measures import COLUMNS
from quality.prose import (
    CAVEATS,
    EMPTY_MAX,
    FLOOR,
    INTRODUCTION,
    RENAMED,
    REPRODUCE,
    TARGETS,
    TRIED,
    UPDATES,
    VALIDATION,
    WORKED_EXAMPLE,
)
from quality.results import CollectionResult, Quality, Renamed, Tuning, Validation, Values, Variant

OURS = "recollect"
TESTED = 0.05


def page(found: Quality) -> str:
    """The whole page."""
    main = [c for c in found.collections if c.name in TARGETS]
    others = [c for c in found.collections if c.name not in TARGETS]
    parts = [
        f"# How well it ranks\n\n{INTRODUCTION}",
        _measured(found),
        _targets(found, main),
        "## Every formula on every kind of text\n\nnDCG@10. Controls are in italics.\n\n" + _kinds(main),
        *(_collection(collection) for collection in main),
        "## Collections that no formula was tuned on\n\n"
        "The same texts, cut otherwise, with the same formula file.\n\n" + _others(others),
        _tuning(found.tuning),
        f"## What each part is worth, and what was tried instead\n\n{TRIED}\n\n{_variants(found.variants)}",
        f"## The relevance floor\n\n{FLOOR}\n\n" + _floor(found),
        f"## What changed\n\n{UPDATES}\n\n" + _updates(found),
        *([_renamed(found.renamed)] if found.renamed else []),
        _example(found.example),
        f"## What these numbers do not say\n\n{CAVEATS}",
        f"## Doing it again\n\n{REPRODUCE}",
    ]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _renamed(found: Sequence[Renamed]) -> str:
    rows = [
        (
            one.collection,
            str(one.groups),
            str(one.questions),
            f"{one.ndcg:.3f}",
            f"{one.renamed:.3f}",
            f"{one.renamed - one.ndcg:+.3f}",
            f"{one.p_value:.2f}",
        )
        for one in found
    ]
    head = ("collection", "stores", "questions", "nDCG@10", "called otherwise", "difference", "p")
    return f"## Called otherwise\n\n{RENAMED}\n\n{_table(head, rows)}"


def _example(printed: str) -> str:
    return (
        f"## Worked example: a recorded run under another formula\n\n{WORKED_EXAMPLE}\n\n```\n{printed}\n```\n\n"
        "![reverie's order on the left, recollect's on the right](pictures/locomo-slope.svg)"
    )


def _measured(found: Quality) -> str:
    return (
        f"Measured on {found.date} with `{found.formula}` at commit {found.commit}, {found.embedder}, on "
        f"{found.machine}. Intervals are bootstrap percentiles, p-values paired randomisation tests, both with "
        f"{found.resamples:,} rounds."
    )


def _targets(found: Quality, main: Sequence[CollectionResult]) -> str:
    """What was to be reached, and what is."""
    table = []
    for collection in main:
        name = collection.name
        (validated,) = (v.means["nDCG@10"] for v in found.tuning.validations if v.collection == name)
        (ours,) = (row.means["nDCG@10"] for row in collection.rows if row.name == OURS)
        (empty,) = (f.silent for f in found.floor if f.related and f.what.startswith(f"{name},"))
        missed = [] if validated >= TARGETS[name] else [f"{validated - TARGETS[name]:+.3f}"]
        missed += [] if empty <= EMPTY_MAX[name] else [f"{empty - EMPTY_MAX[name]:+.1%} empty"]
        table.append(
            (
                name,
                f"{TARGETS[name]:.2f}",
                f"{validated:.3f}",
                f"{ours:.3f}",
                f"{EMPTY_MAX[name]:.0%}",
                f"{empty:.1%}",
                f"**no** ({', '.join(missed)})" if missed else "yes",
            )
        )
    heads = (
        "collection", "nDCG@10 to reach", "cross-validated", "the file as it is", "wrongly empty at most", "wrongly empty",
        "reached",
    )  # fmt: skip
    return _table(heads, table) + "\n\n" + _ahead(main)


def _kinds(main: Sequence[CollectionResult]) -> str:
    """nDCG@10 of every ranking on every collection, the best worst place first."""
    by_name = {c.name: {row.name: row for row in c.rows} for c in main}
    names = list(by_name[main[0].name])
    best = {c.name: max(row.means["nDCG@10"] for row in c.rows) for c in main}

    def worst(name: str) -> float:
        return min(by_name[c.name][name].means["nDCG@10"] / best[c.name] for c in main)

    rows = [
        (
            _styled(name, control=by_name[main[0].name][name].control),
            *(f"{by_name[c.name][name].means['nDCG@10']:.3f}" for c in main),
        )
        for name in sorted(names, key=worst, reverse=True)
    ]
    said = "\n".join(f"- {c.name}: {c.what} ({c.memories:,} memories, {c.questions} questions)" for c in main)
    return f"{said}\n\n" + _table(("ranking", *(c.name for c in main)), rows)


def _styled(name: str, *, control: bool) -> str:
    return f"*{name}*" if control else f"**{name}**" if name == OURS else name


def _updates(found: Quality) -> str:
    rows = [
        (
            f"**{u.formula}**" if u.formula == OURS else u.formula,
            f"{u.later_first} of {u.pairs}",
            f"{u.on_top} of {u.pairs}",
        )
        for u in sorted(found.updates, key=lambda u: (-u.later_first, -u.on_top, u.formula))
    ]
    return _table(("ranking", "the later before the earlier", "the later first of all"), rows)


def _ahead(main: Sequence[CollectionResult]) -> str:
    """Whether the default is ahead of every seed on every metric."""
    lines = []
    for collection in main:
        (ours,) = (row for row in collection.rows if row.name == OURS)
        seeds = [row for row in collection.rows if not row.control and row.name != OURS]
        behind = [f"{r.name} in {m}" for r in seeds for m in COLUMNS if r.means[m] >= ours.means[m]]
        unsure = [
            f"{r.name} in {m} (p = {r.p_values[m]:.3f})"
            for r in seeds
            for m in COLUMNS
            if r.means[m] < ours.means[m] and r.p_values[m] >= TESTED
        ]
        said = f"{collection.name}: recollect is ahead of all {len(seeds)} other built-in formulas on every metric"
        said = said if not behind else f"{collection.name}: recollect is behind {', '.join(behind)}"
        if unsure:
            said += f", not significantly (p ≥ {TESTED:g}) of {', '.join(unsure)}"
        elif not behind:
            worst = max(p for row in seeds for p in row.p_values.values())
            said += f", each time significantly (largest p = {worst:.4f})"
        lines.append(f"- {said}.")
    return "\n".join(lines)


def _collection(found: CollectionResult) -> str:
    stores = "one store" if found.stores == 1 else f"{found.stores} stores"
    head = f"## {found.name}\n\n{found.what.capitalize()}: {found.memories:,} memories in {stores}, {found.questions} questions."
    rows = [
        (
            _styled(row.name, control=row.control),
            *(f"{row.means[m]:.3f}" for m in COLUMNS),
            f"{row.low['nDCG@10']:.3f} … {row.high['nDCG@10']:.3f}",
        )
        for row in found.rows
    ]
    tested = [
        (row.name, *(f"{row.p_values[m]:.4f}" for m in COLUMNS)) for row in found.rows if row.name != OURS
    ]
    parts = [
        head,
        "Controls are in italics.\n\n" + _table(("ranking", *COLUMNS, "nDCG@10, 95 %"), rows),
        "p of the paired randomisation test, recollect against each:\n\n"
        + _table(("against", *COLUMNS), tested),
    ]
    if found.types:
        parts.append("### By type of question\n\nnDCG@10, and R@10 behind it.\n\n" + _types(found))
    return "\n\n".join(parts)


def _types(found: CollectionResult) -> str:
    heads = ("ranking", *(f"{type_.type} ({type_.questions})" for type_ in found.types))
    rows = [
        (
            f"**{row.name}**" if row.name == OURS else row.name,
            *(f"{t.means[row.name]['nDCG@10']:.3f} · {t.means[row.name]['R@10']:.3f}" for t in found.types),
        )
        for row in found.rows
    ]
    return _table(heads, rows)


def _others(collections: Sequence[CollectionResult]) -> str:
    """nDCG@10 of all rankings on the collections that are cut otherwise."""
    heads = ("ranking, nDCG@10", *(collection.name for collection in collections))
    by_name = [{row.name: row.means["nDCG@10"] for row in collection.rows} for collection in collections]
    order = sorted(by_name[0], key=lambda name: -sum(values[name] for values in by_name))
    rows = [
        (f"**{name}**" if name == OURS else name, *(f"{values[name]:.3f}" for values in by_name))
        for name in order
    ]
    said = "\n".join(
        f"- {c.name}: {c.what} ({c.memories:,} memories, {c.questions} questions)" for c in collections
    )
    beaten = [
        f"{row.name} on {c.name} ({row.means['nDCG@10']:.3f} against {ours.means['nDCG@10']:.3f})"
        for c in collections
        for ours in (row for row in c.rows if row.name == OURS)
        for row in c.rows
        if row.means["nDCG@10"] > ours.means["nDCG@10"]
    ]
    verdict = f"Better than recollect: {', '.join(beaten)}." if beaten else "None is better than recollect."
    return f"{said}\n\n{_table(heads, rows)}\n\n{verdict}"


def _tuning(found: Tuning) -> str:
    grid = "; ".join(f"{name} {', '.join(f'{v:g}' for v in values)}" for name, values in found.grid.items())
    said = (
        f"Tried are {grid}. The file has {_weights(found.adopted)}. For the file's weights numpy and the engine differ in "
        f"no question's nDCG@10 by more than {found.numpy_against_engine:.1g}."
    )
    return "\n\n".join(
        [f"## Cross-validation\n\n{VALIDATION}", said, _summary(found.validations), _chosen(found)]
    )


def _summary(validations: Sequence[Validation]) -> str:
    rows = [
        (
            v.collection,
            *(f"{v.means[m]:.3f}" for m in COLUMNS),
            f"{v.low['nDCG@10']:.3f} … {v.high['nDCG@10']:.3f}",
            *(f"{fold.means['nDCG@10']:.3f}" for fold in v.folds),
            f"{v.fold_deviation:.3f}",
        )
        for v in validations
    ]
    folds = [f"fold {n + 1}" for n in range(len(validations[0].folds))]
    return _table(("judged on", *COLUMNS, "nDCG@10, 95 %", *folds, "deviation"), rows)


def _chosen(found: Tuning) -> str:
    """What the rest chose for each fold."""
    rows = [
        (f"fold {n}", *(f"{value:g}" for value in chosen.values()), ", ".join(edge) or "none")
        for n, (chosen, edge) in enumerate(zip(found.chosen, found.at_edge, strict=True), 1)
    ]
    own = ("the file", *(f"{value:g}" for value in found.adopted.values()), "")
    return _table(("chosen without", *found.adopted, "at the grid's edge"), [*rows, own])


def _weights(values: Values) -> str:
    return ", ".join(f"{name} {value:g}" for name, value in values.items())


def _variants(variants: Sequence[Variant]) -> str:
    names = list(TARGETS)
    heads = ("change", "what", *(f"{name}, nDCG@10 (change, p)" for name in names))
    rows = [
        (v.name, v.what, *(f"{v.ndcg[n]:.3f} ({v.delta[n]:+.3f}, {_p(v.p_values[n])})" for n in names))
        for v in variants
    ]
    return _table(heads, rows)


def _p(value: float) -> str:
    return f"{value:.3f}" if value >= 0.001 else "< 0.001"


def _floor(found: Quality) -> str:
    rows = [
        (f.what, "yes" if f.related else "no", f"{f.questions:,}", f"{f.silent:.1%}") for f in found.floor
    ]
    return _table(("asked, and of what", "has an answer", "questions", "empty answers"), rows)


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
