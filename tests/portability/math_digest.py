"""Prints digests of a million values each of our exp and log, from inputs that are made of whole numbers.

Beside them, as a control, what the machine's own functions give: where these move, the condition is another one indeed.
"""

from __future__ import annotations

import hashlib
import json
import math
import sys
import unicodedata
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "golden"))

from replay_stores import from_tree

VALUES = 1_000_000
FEWER = 100_000


def main() -> None:
    from_tree()
    import numpy as np

    from recollect.projections.portable_math import exp_column, log_column

    def digest(values: object) -> str:
        return hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest()

    numbers = np.arange(VALUES, dtype=np.float64)
    spread = (numbers * 7_368_787) % 1_048_573  # exact: below 2 ** 53
    powers, positive = (spread - 524_288.0) / 749.0, (spread + 1.0) / 1024.0
    some = powers[:FEWER].tolist()
    matrix = (spread[:90_000] / 1_048_573.0).reshape(300, 300)
    words = {f"word {n}" for n in range(1000)}
    own = {
        "math.exp": digest([math.exp(value) for value in some]),
        "np.exp": digest(np.exp(powers)),
        "np.log": digest(np.log(positive)),
        "matmul": digest(matrix @ matrix),
        "sum": digest([sum(some[n : n + 100]) for n in range(0, FEWER, 100)]),
        "set order": hashlib.sha256("".join(words).encode()).hexdigest(),
        "Unicode": hashlib.sha256(
            "".join(map(unicodedata.category, map(chr, range(0x110000)))).encode()
        ).hexdigest(),
    }
    ours = {"exp": digest(exp_column(powers)), "log": digest(log_column(positive))}
    sys.stdout.write(json.dumps({"ours": ours, "own": own}))


if __name__ == "__main__":
    main()
