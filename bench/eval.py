"""make eval: how well every built-in formula ranks, on collections whose right answers are known.

    python bench/eval.py               measure everything, write bench/results/quality.json, then docs/quality.md
    python bench/eval.py --workers 4   the same with four processes instead of one per core
    python bench/eval.py --report      write docs/quality.md again from the numbers that are there

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
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec
import record_locomo
from quality import data
from quality.controls import by_formula, control_formulas
from quality.floor import floors
from quality.judging import OURS, collection_result, judge
from quality.measures import NDCG, RESAMPLES, Floats, p_value
from quality.renamed import renamed
from quality.report import page
from quality.results import CollectionResult, Floor, Quality, Renamed, Updates, Variant
from quality.tuning import Weights
from quality.updates import updates
from quality.validating import FOLDS, Examined, chosen_without, examine, tuned
from quality.variants import CHANGES, variant

from recollect.engine.embedding.minilm import MiniLm
from recollect.query.formula import Formula, built_in, names

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "bench" / "results" / "quality.json"
PAGE = ROOT / "docs" / "quality.md"
PICTURE = ROOT / "docs" / "pictures" / "locomo-slope.svg"
SOME = (OURS, "mnemosyne")

T = TypeVar("T")


class _Material(NamedTuple):
    """What every part of the evaluation reads; worker processes inherit it."""

    ours: Formula
    formulas: list[Formula]
    controls: list[Formula]
    stores: dict[str, list[data.Store]]
    cut: dict[str, list[data.Store]]
    examined: list[Examined]
    base: dict[str, Floats]


_material: _Material


def measured(workers: int) -> Quality:
    global _material  # noqa: PLW0603 (forked workers inherit it; pickling stores would take longer than ranking)
    commit = _commit()
    _material = made = _told("reading, indexing and one pass", _read)
    folds = range(FOLDS)
    tasks: list[tuple[str, Callable[..., object], tuple[object, ...]]] = [
        *((f"weights without fold {fold + 1}", _chosen, (fold,)) for fold in folds),
        *((name, _collection, (name,)) for name in (*made.stores, *made.cut)),
        *((f"variant: {change.name}", _variant, (n,)) for n, change in enumerate(CHANGES)),
        ("the relevance floor", _floors, ()),
        ("what changed", _updates, ()),
        ("called otherwise", _renamed, ()),
        ("the recorded run", _example, ()),
    ]
    with ProcessPoolExecutor(workers, mp_context=get_context("fork")) as pool:
        waiting = {name: pool.submit(_timed, name, work, *given) for name, work, given in tasks}
        found = {name: future.result() for name, future in waiting.items()}
    chosen = [found[f"weights without fold {fold + 1}"] for fold in folds]
    return Quality(
        date=datetime.now(UTC).date().isoformat(),
        machine=_machine(),
        commit=commit,
        formula=made.ours.label,
        embedder=MiniLm.name,
        resamples=RESAMPLES,
        collections=tuple(found[name] for name in (*made.stores, *made.cut)),
        variants=tuple(found[f"variant: {change.name}"] for change in CHANGES),
        floor=tuple(found["the relevance floor"]),
        updates=tuple(found["what changed"]),
        renamed=tuple(found["called otherwise"]),
        tuning=_told("judging what was chosen", lambda: tuned(made.ours, made.examined, chosen)),
        example=found["the recorded run"],
    )


def _read() -> _Material:
    ours, controls = built_in(OURS), control_formulas()
    formulas = [built_in(name) for name in names()]
    every = (*formulas, *controls, *(variant(change) for change in CHANGES))
    analyzers = {analyzer for formula in every for analyzer in formula.analyzers}
    stores = {name: data.collection(name, analyzers) for name in data.COLLECTIONS}
    cut = {
        "locomo-together": data.locomo(analyzers, together=True),
        "locomo-notes": data.locomo(analyzers, sessions=False),
        "scifact-reversed": data.scifact_reversed(analyzers),
    }
    base = {name: judge(by_formula(ours), found)[:, NDCG] for name, found in stores.items()}
    examined = [examine(name, found, ours) for name, found in stores.items()]
    return _Material(ours, formulas, controls, stores, cut, examined, base)


def _timed(what: str, work: Callable[..., T], *given: object) -> T:
    return _told(what, lambda: work(*given))


def _chosen(fold: int) -> Weights:
    return chosen_without(_material.examined, fold)


def _collection(name: str) -> CollectionResult:
    """One of the five under every formula, or one that is cut otherwise under some."""
    own = name in _material.stores
    stores = _material.stores[name] if own else _material.cut[name]
    formulas = [formula for formula in _material.formulas if own or formula.name in SOME]
    return collection_result(name, data.WHAT[name], stores, formulas, _material.controls)


def _variant(number: int) -> Variant:
    change, base = CHANGES[number], _material.base
    answer = by_formula(variant(change))
    found = {name: judge(answer, stores)[:, NDCG] for name, stores in _material.stores.items()}
    return Variant(
        name=change.name,
        what=change.what,
        ndcg={name: float(values.mean()) for name, values in found.items()},
        delta={name: float((values - base[name]).mean()) for name, values in found.items()},
        p_values={name: float(p_value(values, base[name])) for name, values in found.items()},
    )


def _floors() -> list[Floor]:
    return floors(_material.ours, _material.stores)


def _updates() -> list[Updates]:
    every = (*_material.formulas, *_material.controls)
    return [updates(formula, _material.stores["beam-dev"]) for formula in every]


def _renamed() -> list[Renamed]:
    ours = _material.ours
    return [renamed(name, ours, ours.analyzers) for name in data.COLLECTIONS]


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
        workers = (
            int(arguments[arguments.index("--workers") + 1])
            if "--workers" in arguments
            else os.cpu_count() or 1
        )
        RESULTS.write_bytes(msgspec.json.format(msgspec.json.encode(measured(workers))))
    found = msgspec.json.decode(RESULTS.read_bytes(), type=Quality)
    PAGE.write_text(page(found), "utf-8")
    print(f"written: {RESULTS} and {PAGE}")


if __name__ == "__main__":
    main(sys.argv[1:])
