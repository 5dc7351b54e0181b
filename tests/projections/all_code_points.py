"""Run by other Pythons, with nothing installed: the terms of every code point as one digest.

python all_code_points.py ROOT    prints the digest, and how many texts of Unicode 14 `/1` splits otherwise
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
    from recollect.projections.lexical.frozen_unicode import as_unicode_14

    digest, otherwise = hashlib.sha256(), 0
    for start in range(0, 0x110000, _BLOCK):
        chars = [chr(code) for code in range(start, start + _BLOCK)]
        text = " . ".join(f"{char} и{char}" for char in chars)
        terms = ANALYZERS["unicode61-cjk/2"](text)
        digest.update(json.dumps(terms).encode())
        if as_unicode_14(text) != text:
            text = as_unicode_14(text)
            terms = ANALYZERS["unicode61-cjk/2"](text)
        otherwise += terms != ANALYZERS["unicode61-cjk/1"](text)
    sys.stdout.write(json.dumps([digest.hexdigest(), otherwise]))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
