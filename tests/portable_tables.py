"""Writes projections/portable_tables.py: `python tests/portable_tables.py`. A test keeps the file and this level.

Numbers are computed to 60 digits with `decimal` and rounded once.
"""

from __future__ import annotations

import decimal
from decimal import Decimal
from pathlib import Path

FILE = Path(__file__).parent.parent / "projections" / "portable_tables.py"
N = 128
_CONTEXT = decimal.Context(prec=60, Emin=-999999, Emax=999999)


def _ln(x: Decimal) -> Decimal:
    return _CONTEXT.ln(x)


def _cut(x: Decimal, bit: int) -> float:
    """The nearest multiple of 2 ** -bit."""
    return float(int((x * 2**bit).to_integral_value())) / 2.0**bit


def constants() -> dict[str, float]:
    with decimal.localcontext(_CONTEXT):
        ln2 = _ln(Decimal(2))
        step_high, ln2_high = _cut(ln2 / N, 39), _cut(ln2, 42)
        return {
            "LN2": float(ln2),
            "STEPS_PER_UNIT": float(N / ln2),
            "STEP_HIGH": step_high,
            "STEP_LOW": float(ln2 / N - Decimal(step_high)),
            "LN2_HIGH": ln2_high,
            "LN2_LOW": float(ln2 - Decimal(ln2_high)),
        }


def tables() -> dict[str, list[float]]:
    """exp: 2^(i/N) rounded, and its relative error. log: 1/c of each cell, and ln c in two parts."""
    found: dict[str, list[float]] = {
        name: [] for name in ("POWER", "POWER_TAIL", "INVERSE", "LN_HIGH", "LN_LOW")
    }
    with decimal.localcontext(_CONTEXT):
        ln2 = _ln(Decimal(2))
        for i in range(N):
            power = _CONTEXT.exp(ln2 * i / N)
            found["POWER"].append(float(power))
            found["POWER_TAIL"].append(float(power / Decimal(float(power)) - 1))
            inverse = _inverse(i)
            ln = -_ln(Decimal(inverse))
            found["INVERSE"].append(inverse)
            found["LN_HIGH"].append(_cut(ln, 42))
            found["LN_LOW"].append(float(ln - Decimal(_cut(ln, 42))))
    return found


def _inverse(i: int) -> float:
    """1/c to 11 bits, c the middle of cell i: 80 cells of 1/256 from 11/16 to 1, 48 of 1/128 from 1 to 11/8."""
    if i in (79, 80):  # beside 1, where the logarithm is the remainder's alone
        return 1.0
    twice = Decimal(352 + 2 * i + 1) if i < 80 else Decimal(512 + 4 * (i - 80) + 2)
    return _cut(512 / twice, 10 if i < 80 else 11)


def text() -> str:
    lines = [
        '"""Constants of `portable_math`, each rounded once from 60 digits. Written by tests/portable_tables.py."""',
        "",
        "from __future__ import annotations",
        "",
    ]
    lines += [f'{name} = float.fromhex("{value.hex()}")' for name, value in constants().items()]
    lines += ["", "", "def _numbers(text: str) -> tuple[float, ...]:"]
    lines += ["    return tuple(map(float.fromhex, text.split()))", ""]
    for name, values in tables().items():
        lines += ["", f'{name} = _numbers("""']
        lines += ["    " + " ".join(v.hex() for v in values[i : i + 4]) for i in range(0, N, 4)]
        lines += ['""")']
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    FILE.write_text(text(), "utf-8")
