"""make eval: how well every built-in formula ranks, on collections whose right answers are known.

    python bench/eval.py            measure everything, write bench/results/quality.json, then docs/quality.md
    python bench/eval.py --report   write docs/quality.md again from the numbers that are there

Measures R@1, R@5, R@10, MRR and nDCG@10 on five kinds of text next to plain searches, tests our default against each
seed, cross-validates its weights over all of them at once, takes its parts away one by one, asks what it can have no
answer to, and asks about what changed. MiniLM embeddings are cached in bench/results/. Reads ../shared/data; says so and stops where it is not there.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import msgspec
import record_locomo
from quality import data
from quality.controls import by_formula, control_formulas
from quality.floor import floors
from quality.judging import OURS, collection_result, judge
from quality.measures import NDCG, RESAMPLES, Floats, p_value
from quality.report import page
from quality.results import CollectionResult, Quality, Variant
from quality.updates import updates
from quality.validating import tuned
from quality.variants import CHANGES, Change, variant

from recollect.engine.embedding.minilm import MiniLm
from recollect.query.formula import Formula, built_in, names

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "bench" / "results" / "quality.json"
PAGE = ROOT / "docs" / "quality.md"
PICTURE = ROOT / "docs" / "pictures" / "locomo-slope.svg"
SOME = (OURS, "reverie", "mnemosyne", "omega")

T = TypeVar("T")


def measured() -> Quality:
    ours, controls = built_in(OURS), control_formulas()
    formulas = [built_in(name) for name in names()]
    variants = [(change, variant(change)) for change in CHANGES]
    analyzers = {a for f in (*formulas, *controls, *(v for _, v in variants)) for a in f.analyzers}
    stores = {name: data.collection(name, analyzers) for name in data.COLLECTIONS}
    return Quality(
        date=datetime.now(UTC).date().isoformat(),
        machine=_machine(),
        commit=_commit(),
        formula=ours.label,
        embedder=MiniLm.name,
        resamples=RESAMPLES,
        collections=tuple(_collections(stores, formulas, controls, analyzers)),
        variants=tuple(_variants(ours, variants, stores)),
        floor=tuple(_told("the relevance floor", lambda: floors(ours, stores))),
        updates=tuple(updates(formula, stores["beam-dev"]) for formula in (*formulas, *controls)),
        tuning=_told("cross-validation", lambda: tuned(ours, stores)),
        example=_told("the recorded run", _example),
    )


def _collections(
    stores: dict[str, list[data.Store]],
    formulas: Sequence[Formula],
    controls: Sequence[Formula],
    analyzers: set[str],
) -> list[CollectionResult]:
    """The five collections under every formula, and four that are cut from them otherwise under some."""
    cut = {
        "locomo-together": data.locomo(analyzers, together=True),
        "locomo-notes": data.locomo(analyzers, sessions=False),
        "scifact-titles": data.scifact_titles(analyzers),
        "scifact-reversed": data.scifact_reversed(analyzers),
    }
    return [
        _told(name, lambda: collection_result(name, data.WHAT[name], found, judged, controls))  # noqa: B023
        for collections, judged in ((stores, formulas), (cut, [f for f in formulas if f.name in SOME]))
        for name, found in collections.items()
    ]


def _variants(
    ours: Formula, variants: Sequence[tuple[Change, Formula]], stores: dict[str, list[data.Store]]
) -> list[Variant]:
    base = {name: judge(by_formula(ours), found)[:, NDCG] for name, found in stores.items()}
    return [
        _told(change.name, lambda: _variant(change, formula, base, stores))  # noqa: B023
        for change, formula in variants
    ]


def _variant(
    change: Change, formula: Formula, base: dict[str, Floats], stores: dict[str, list[data.Store]]
) -> Variant:
    found = {name: judge(by_formula(formula), collection)[:, NDCG] for name, collection in stores.items()}
    return Variant(
        name=change.name,
        what=change.what,
        ndcg={name: float(values.mean()) for name, values in found.items()},
        delta={name: float((values - base[name]).mean()) for name, values in found.items()},
        p_values={name: float(p_value(values, base[name])) for name, values in found.items()},
    )


def _example() -> str:
    comparison, picture = record_locomo.shown()
    PICTURE.write_text(picture, "utf-8")
    return comparison


def _told(what: str, work: Callable[[], T]) -> T:
    """The work's result; what it was and how long it took, on standard error."""
    started = time.perf_counter()
    result = work()
    print(f"{what}: {time.perf_counter() - started:.0f} s", file=sys.stderr, flush=True)
    return result


def _machine() -> str:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, {memory:.0f} GB, Python {platform.python_version()}"


def _commit() -> str:
    shown = subprocess.run(
        ["git", "-C", str(ROOT), "describe", "--always", "--dirty"],
        capture_output=True,
        text=True,
        check=False,
    )
    return shown.stdout.strip() or "unknown"


def main(arguments: Sequence[str]) -> None:
    if problem := data.missing():
        print(f"skipped: {problem}")
        return
    if "--report" not in arguments:
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_bytes(msgspec.json.format(msgspec.json.encode(measured())))
    found = msgspec.json.decode(RESULTS.read_bytes(), type=Quality)
    PAGE.write_text(page(found), "utf-8")
    print(f"written: {RESULTS} and {PAGE}")


if __name__ == "__main__":
    main(sys.argv[1:])
