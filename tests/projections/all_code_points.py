"""Run by other Pythons, with nothing installed: the terms and cases of every code point as digests.

python all_code_points.py ROOT    prints the digest of the terms, how many texts of Unicode 14 `/1` splits otherwise,
                                  the digest of all as Python 3.11 splits and lowers it, and on 3.11 how often it is not
"""

from __future__ import annotations

import hashlib
import json
import sys
import types
from pathlib import Path

_BLOCK = 1_024


def main(root: Path) -> None:
    for name, folder in (("recollect", "src/recollect"), ("recollect.projections", "projections")):
        package = types.ModuleType(name)
        package.__path__ = [str(root / folder)]
        sys.modules[name] = package
    from recollect.projections.lexical.analyzers import ANALYZERS
    from recollect.projections.lexical.frozen_unicode import (
        as_unicode_14,
        casefold_14,
        lower_14,
        spaced_after_14,
    )

    digest, otherwise = hashlib.sha256(), 0
    on_3_11, wrong = hashlib.sha256(), 0
    for start in range(0, 0x110000, _BLOCK):
        chars = [chr(code) for code in range(start, start + _BLOCK)]
        text = " . ".join(f"{char} и{char}" for char in chars)
        terms = ANALYZERS["unicode61-cjk/2"](text)
        digest.update(json.dumps(terms).encode())
        cased = [
            (char, f"É{char}Σ") for char in chars if start < 0x20000
        ]  # beyond are no letters with a case
        as_3_11 = [
            ANALYZERS["unicode61-cjk/2"](spaced_after_14(text)),
            [lower_14(one) for some in cased for one in some],
            [casefold_14(one) for some in cased for one in some],
        ]
        on_3_11.update(json.dumps(as_3_11).encode())
        if sys.version_info[:2] == (3, 11):
            wrong += as_3_11 != [
                ANALYZERS["unicode61-cjk/1"](text),
                [one.lower() for some in cased for one in some],
                [one.casefold() for some in cased for one in some],
            ]
        if as_unicode_14(text) != text:
            text = as_unicode_14(text)
            terms = ANALYZERS["unicode61-cjk/2"](text)
        otherwise += terms != ANALYZERS["unicode61-cjk/1"](text)
    sys.stdout.write(json.dumps([digest.hexdigest(), otherwise, on_3_11.hexdigest(), wrong]))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
