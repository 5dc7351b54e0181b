"""Factors and BM25 variants have versions: recorded texts keep theirs, files get the newest and say so."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from recollect.interfaces.python.memory import Memory
from recollect.projections.lexical.bm25 import DEFAULTS, VARIANTS, Bm25
from recollect.query.catalogue import FACTORS, complete
from recollect.query.factors.factor import LIBM, PORTABLE, SIGNATURES
from recollect.query.formula import InvalidFormula, built_in, from_canonical, names, parse
from recollect.query.stages.stage import FactorStage, LexicalStage

GOLDEN = Path(__file__).parent.parent / "golden" / "stores" / "v1"
_WITHOUT_FMA = "glibc.cpu.hwcaps=-FMA,-AVX2,-AVX2_Usable,-FMA_Usable"
SECOND = [name for name in FACTORS if name.endswith("/2")]
FRESH = """
name = "fresh"
stages = [
  { op = "retrieve", channel = "lexical", top = 10 },
  { op = "compute", factor = "half_life_recency", half_life_hours = 37.0 },
  { op = "weigh", weights = { half_life_recency = 1.0 } },
]
"""
SCENARIO = """
import datetime as dt, sys
from recollect import Memory
from recollect.query.formula import parse
T, EPOCH = 1_770_000_000_000_000, dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)
STEPS = (953877, 9302111, 11058240, 13686684, 23644557, 55803257, 57195983, 57872983)
with Memory.open(sys.argv[2], embedder=None, clock=lambda: T) as m:
    if sys.argv[1] == "make":
        m.remember("deploys happen on tuesday", id="a", at=EPOCH + dt.timedelta(microseconds=T))
        for step in STEPS:
            now = EPOCH + dt.timedelta(microseconds=T + 3_600_000_000 + step * 1013)
            m.recall("deploys", formula=parse(sys.argv[3], origin="fresh"), now=now)
    report = m.verify()
    print(report.exact, report.checked, len(report.differences))
"""


def verdict(*arguments: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", SCENARIO, *arguments],
        env={**os.environ, **environment}, capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode().strip()


def named(formula: str | object) -> set[str]:
    """The factors and variants that a formula names."""
    recipe = built_in(formula) if isinstance(formula, str) else formula
    factors = {stage.factor for stage in recipe.stages if isinstance(stage, FactorStage)}
    return factors | {stage.variant for stage in recipe.stages if isinstance(stage, LexicalStage)}


def test_a_recall_recorded_with_fma_replays_exactly_without_it(tmp_path: Path):
    assert verdict("make", str(tmp_path), FRESH) == "True 8 0"
    assert verdict("verify", str(tmp_path), GLIBC_TUNABLES=_WITHOUT_FMA) == "True 8 0"


def test_a_text_adopted_before_there_were_versions_means_the_first_and_keeps_its_digest(tmp_path: Path):
    shutil.copytree(GOLDEN, tmp_path / "log")
    with Memory.open(tmp_path, embedder="hash") as memory:
        adopted = dict(memory.store.projections.adoptions.formulas)
    assert len(adopted) == 8
    for digest, text in adopted.items():
        formula = from_canonical(text)
        assert (formula.digest, formula.text) == (digest, text)
        assert not any("/" in name for name in named(formula))
        assert all(s.bm25.log is Bm25().log for s in formula.stages if isinstance(s, LexicalStage))


def test_a_name_without_a_version_is_the_newest_in_a_file_and_the_adopted_text_says_so(tmp_path: Path):
    path = tmp_path / "fresh.toml"
    path.write_text(FRESH, "utf-8")
    with Memory.open(tmp_path / "store", embedder=None) as memory:
        memory.remember("tea")
        memory.recall("tea", formula=path)
        assert memory.verify().exact
        (text,) = memory.store.projections.adoptions.formulas.values()
    assert '"factor":"half_life_recency/2"' in text
    assert '"variant":"fts5/2"' in text
    assert from_canonical(text) == parse(FRESH, origin="fresh")


def test_a_file_may_name_the_first_version_and_gets_the_digest_that_it_always_had():
    written = FRESH.replace('"half_life_recency",', '"half_life_recency/1",')
    words = 'top = 10, variant = "fts5/1", analyzer = "unicode61-cjk/1"'
    first = parse('order = "sources"' + written.replace("top = 10", words), origin="first")
    assert named(first) == {"fts5", "half_life_recency"}
    assert first.digest == "0a520a8bbe09287b9d7826a3d586a1c8aee0eca9923bc210a70e4f0e2b8afa0e"
    assert from_canonical(first.text) == first
    assert first.digest != parse(FRESH, origin="fresh").digest


def test_a_version_that_does_not_exist_is_refused():
    with pytest.raises(InvalidFormula, match="half_life_recency/3"):
        parse(FRESH.replace('"half_life_recency",', '"half_life_recency/3",'), origin="third")
    with pytest.raises(InvalidFormula, match="okapi/7"):
        parse(FRESH.replace("top = 10", 'variant = "okapi/7"'), origin="seventh")


@pytest.mark.parametrize("name", names())
def test_no_built_in_formula_computes_with_the_c_library(name: str):
    assert not named(name) & ({one.removesuffix("/2") for one in SECOND} | set(DEFAULTS))


@pytest.mark.parametrize("name", SECOND)
def test_both_versions_of_a_factor_differ_in_the_last_bits_alone(name: str):
    first = name.removesuffix("/2")
    assert (SIGNATURES[name].inputs, complete(name, {})) == (SIGNATURES[first].inputs, complete(first, {}))
    column = np.random.Generator(np.random.PCG64(3)).random(500)
    inputs = [column * (n + 1.0) for n, _ in enumerate(SIGNATURES[name].inputs)]
    dials = dict.fromkeys(SIGNATURES[name].dials, 24.0)
    new, old = (FACTORS[one](*inputs, **dials) for one in (name, first))
    np.testing.assert_allclose(new, old, rtol=1e-15, atol=0.0)


def test_retention_is_that_of_version_1_at_every_edge():
    stability = np.array([0.0, 0.0, np.nan, 1.0, 5e-3, 2.0])
    elapsed = np.array([0.0, 3.0, 0.0, np.nan, 7.0, 0.0])
    with np.errstate(all="raise"):
        new = PORTABLE.retention(elapsed, stability, 30.0)
    np.testing.assert_allclose(new, LIBM.retention(elapsed, stability, 30.0), rtol=1e-15, atol=0.0)


@pytest.mark.parametrize("variant", DEFAULTS)
def test_both_versions_of_a_variant_differ_in_the_last_bits_alone(variant: str):
    first, second = Bm25(variant=variant), Bm25(variant=f"{variant}/2")  # type: ignore[arg-type]
    assert (first.k1, first.b, first.delta, first.epsilon) == (
        second.k1,
        second.b,
        second.delta,
        second.epsilon,
    )
    idf = VARIANTS[first.family][0]
    for df in range(1, 60):
        assert idf(df, 99, second, lambda: 1.0) == pytest.approx(idf(df, 99, first, lambda: 1.0), rel=1e-14)


def test_an_explanation_shows_which_version_was_used(tmp_path: Path):
    with Memory.open(tmp_path, embedder=None) as memory:
        memory.remember("tea", id="m")
        told = memory.why(memory.recall("tea", formula="reverie").id, "m")
    assert "multiply by recency_boost/2" in [stage.title for stage in told.stages]
    assert [channel.variant for channel in told.channels] == ["fts5/2", None]
