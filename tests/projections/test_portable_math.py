"""exp and log of our own: within one ulp, and the same bits whatever C library and CPU there are."""

from __future__ import annotations

import decimal
import hashlib
import math
import os
import subprocess
import sys
from decimal import Decimal

import numpy as np
import portable_tables
import pytest

from recollect.projections import portable_math
from recollect.projections import portable_tables as shipped

_EXACT = decimal.Context(prec=50, Emin=-999_999, Emax=999_999)
_DECAY = Decimal("-0.15625")
_WITHOUT_FMA = "glibc.cpu.hwcaps=-FMA,-AVX2,-AVX2_Usable,-FMA_Usable"
_DIGESTS = """
import hashlib, numpy as np
from recollect.projections import portable_math as pm
raw = np.random.PCG64(7).random_raw(200_000)
bits = raw.view(np.float64)
ages = (raw >> np.uint64(11)).astype(np.float64) / -(2.0**50)
for values in (bits, ages, -ages, 1.0 + ages / 2.0**5):
    for function, column in ((pm.exp, pm.exp_column), (pm.log, pm.log_column)):
        found = column(values)
        some = np.array([function(value) for value in values[:2000].tolist()])
        for part in (found, some):  # the sign of nan is not promised
            print(hashlib.sha256(np.where(np.isnan(part), 0.0, part).tobytes()).hexdigest())
small = (ages[:2000] / 8.0).tolist()
more = [[pm.exp2(v), pm.expm1(v), pm.power(1.0 - v, -0.1542)] for v in small]
print(hashlib.sha256(np.array(more).tobytes()).hexdigest())
"""


def off(got: float, exact: Decimal) -> float:
    """How many units in the last place a result is off."""
    return float(abs(Decimal(got) - exact) / Decimal(math.ulp(float(exact))))


def spread(low: float, high: float, count: int) -> np.ndarray:
    """Numbers between two, the same ones always, with full mantissas."""
    return low + (high - low) * np.random.Generator(np.random.PCG64(count)).random(count)


def test_the_tables_are_those_that_60_digits_give():
    assert portable_tables.FILE.read_text("utf-8") == portable_tables.text()
    assert len(shipped.POWER) == len(shipped.LN_LOW) == 128


@pytest.mark.parametrize(("low", "high"), [(-5.0, 0.0), (-700.0, 709.0), (-1e-3, 1e-3)])
def test_exp_is_within_one_ulp(low: float, high: float):
    values = spread(low, high, 3000)
    found = portable_math.exp_column(values).tolist()
    assert max(off(y, _EXACT.exp(Decimal(x))) for x, y in zip(values.tolist(), found, strict=True)) < 0.52


def test_exp_is_within_one_ulp_where_results_are_subnormal():
    values = spread(-745.1, -708.0, 2000)
    found = portable_math.exp_column(values).tolist()
    assert max(off(y, _EXACT.exp(Decimal(x))) for x, y in zip(values.tolist(), found, strict=True)) < 0.76


@pytest.mark.parametrize(("low", "high"), [(0.5, 2.0), (0.999, 1.001), (1.0, 1e6), (1e-320, 1e-305)])
def test_log_is_within_one_ulp(low: float, high: float):
    values = spread(low, high, 3000)
    found = portable_math.log_column(values).tolist()
    assert max(off(y, _EXACT.ln(Decimal(x))) for x, y in zip(values.tolist(), found, strict=True)) < 0.51


def test_what_a_dream_computes_with_them_is_within_three_ulp():
    for x in spread(-0.8, 0.8, 2000).tolist():
        assert off(portable_math.expm1(x), _EXACT.subtract(_EXACT.exp(Decimal(x)), 1)) < 3.0
        assert off(portable_math.exp2(x * 30.0), _EXACT.power(2, Decimal(x * 30.0))) < 1.0
        assert off(portable_math.power(1.0 + x, float(_DECAY)), _EXACT.power(Decimal(1.0 + x), _DECAY)) < 2.0
    assert [portable_math.exp2(float(n)) for n in (-1074, -3, 0, 9)] == [5e-324, 0.125, 1.0, 512.0]


def test_edges_have_the_values_of_the_standard_and_raise_nothing():
    inf, nan = math.inf, math.nan
    found = portable_math.exp_column(np.array([0.0, -0.0, inf, -inf, 709.79, -745.2, 5e-324]))
    assert found.tolist() == [1.0, 1.0, inf, 0.0, inf, 0.0, 1.0]
    assert portable_math.exp(709.78) == pytest.approx(math.exp(709.78), rel=1e-15)
    assert portable_math.log_column(np.array([1.0, 0.0, -0.0, inf])).tolist() == [0.0, -inf, -inf, inf]
    strange = [*portable_math.log_column(np.array([nan, -1.0, -inf])), portable_math.log(-1.0)]
    assert np.isnan([*strange, *portable_math.exp_column(np.array([nan])), portable_math.exp(nan)]).all()
    assert portable_math.log(2.0) == portable_math.LN2 == math.log(2.0)
    assert portable_math.log(5e-324) == pytest.approx(-744.4400719213812, rel=1e-15)


def test_one_number_has_the_bits_that_it_has_in_any_column():
    values = np.concatenate([spread(-746.0, 711.0, 3000), spread(-1e-9, 1e-9, 1000), spread(0.0, 9.0, 1000)])
    exps, logs = portable_math.exp_column(values), portable_math.log_column(np.abs(values))
    assert exps.tolist() == [portable_math.exp(x) for x in values.tolist()]
    assert logs.tolist() == [portable_math.log(abs(x)) for x in values.tolist()]
    assert exps[4090:4110].tobytes() == portable_math.exp_column(values[4090:4110]).tobytes()  # across blocks


def run(program: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, **environment}, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


@pytest.mark.parametrize(
    "environment",
    [
        {"GLIBC_TUNABLES": _WITHOUT_FMA},
        {"NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR", "PYTHONWARNINGS": "ignore"},
    ],
    ids=["a C library without FMA", "numpy without AVX"],
)
def test_the_bits_are_the_same_under_other_libraries_and_instructions(environment: dict[str, str]):
    assert run(_DIGESTS, **environment) == run(_DIGESTS)


def test_the_bits_are_those_of_every_machine_that_was_tried():
    digest = hashlib.sha256(run(_DIGESTS).encode()).hexdigest()
    assert digest == "b9fcf71689263a263de912d28439cfd815f9e2cfe45545b5eeba9ed7721e62db"
