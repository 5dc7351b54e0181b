"""Write projections/lexical/unicode_tables.py: what the analyzers ask of Unicode, from the tables of Python 3.13.

    python3.13 tools/make_unicode_tables.py           write the file
    python3.13 tools/make_unicode_tables.py --check   say whether the file is what would be written

Never run it with another Unicode version for the names that exist: newer tables are a new analyzer. The rules
below are those of `unicode61-cjk/1`, which asks the running Python instead.
"""

from __future__ import annotations

import base64
import hashlib
import json
import sys
import zlib
from itertools import groupby, pairwise
from pathlib import Path
from unicodedata import category, combining, decomposition, name, normalize, unidata_version

VERSION = "15.1.0"
OUTPUT = Path(__file__).resolve().parent.parent / "projections" / "lexical" / "unicode_tables.py"

SPACE, ITSELF, NOTHING, TERM = range(4)
EVERY = [chr(code) for code in range(0x110000)]
HANGUL = range(0xAC00, 0xD7A4)
FORMS = range(0xF900, 0xFFF0)

POINTS = (  # marks that a reader may leave out: combining diacritics, Hebrew and Arabic points
    range(0x0300, 0x0370), range(0x0591, 0x05C8), range(0x0610, 0x061B), range(0x064B, 0x0660),
    range(0x0670, 0x0671), range(0x06D6, 0x06EE), range(0x1AB0, 0x1B00), range(0x1DC0, 0x1E00),
    range(0x20D0, 0x2100), range(0xFE00, 0xFE30), range(0xE0100, 0xE01F0),
)  # fmt: skip
UNSEEN = frozenset("\u00ad\u0640\u200c\u200d\u2060")  # soft hyphen, tatweel, joiners
SKIN_TONES = range(0x1F3FB, 0x1F400)
LINES_AND_SHAPES = range(0x2500, 0x2600)
SPECIALS = range(0xFFF0, 0x10000)

# Came with Unicode 15.0 and 15.1, so that Python 3.11 does not know it.
AFTER_14 = (
    (0x0CF3, 0x0CF4), (0x0ECE, 0x0ECF), (0x2FFC, 0x3000), (0x31EF, 0x31F0), (0x10EFD, 0x10F00), (0x1123F, 0x11242),
    (0x11B00, 0x11B0A), (0x11F00, 0x11F11), (0x11F12, 0x11F3B), (0x11F3E, 0x11F5A), (0x1342F, 0x13430),
    (0x13439, 0x13456), (0x1B132, 0x1B133), (0x1B155, 0x1B156), (0x1D2C0, 0x1D2D4), (0x1DF25, 0x1DF2B),
    (0x1E030, 0x1E06E), (0x1E08F, 0x1E090), (0x1E4D0, 0x1E4FA), (0x1F6DC, 0x1F6DD), (0x1F774, 0x1F777),
    (0x1F77B, 0x1F780), (0x1F7D9, 0x1F7DA), (0x1FA75, 0x1FA78), (0x1FA87, 0x1FA89), (0x1FAAD, 0x1FAB0),
    (0x1FABB, 0x1FABE), (0x1FABF, 0x1FAC0), (0x1FACE, 0x1FAD0), (0x1FADA, 0x1FADC), (0x1FAE8, 0x1FAE9),
    (0x1FAF7, 0x1FAF9), (0x2B739, 0x2B73A), (0x2EBF0, 0x2EE5E), (0x31350, 0x323B0),
)  # fmt: skip

HEADER = '''"""Unicode {version} as the analyzers read it. Written by tools/make_unicode_tables.py: never edit it.

`projections/lexical/frozen_unicode.py` unpacks it. DIGEST is the SHA-256 of the unpacked bytes.
"""

from __future__ import annotations

UNICODE_VERSION = "{version}"
DIGEST = "{digest}"
PACKED = (
'''


def class_of(char: str) -> int:
    """A letter or number stays (folded, see `fold`), as do marks that belong to a word; a pictograph is a term."""
    kind, code = category(char), ord(char)
    if char in UNSEEN or code in SKIN_TONES:
        return NOTHING
    if kind[0] == "M":
        pointed = kind == "Me" or (kind == "Mn" and any(code in points for points in POINTS))
        return NOTHING if pointed else ITSELF
    if kind[0] in "LN" or kind == "Co":
        return ITSELF
    pictograph = code >= 0x2300 and code not in LINES_AND_SHAPES and code not in SPECIALS
    return TERM if kind == "So" and pictograph else SPACE


def fold(char: str) -> str:
    """One letter or number in lower case; a Latin or Greek one also without its diacritics."""
    folded = char.casefold()
    if len(folded) > 1:
        folded = char.lower()
    if name(char, "").startswith(("LATIN", "GREEK")):
        folded = "".join(part for part in normalize("NFD", folded) if category(part) != "Mn")
    return "е" if folded == "ё" else folded  # Russian writes both as the same letter


def is_after_14(char: str) -> bool:
    """Whether Unicode 14 had no such character."""
    return category(char) == "Cn" or any(first <= ord(char) < end for first, end in AFTER_14)


def runs_of(values: list[int]) -> list[tuple[int, int]]:
    return [(value, len(list(run))) for value, run in groupby(values)]


def steps(text: str) -> list[int]:
    """Each code point minus the one before it: nearly the same ones again and again, so that they pack well."""
    return [ord(char) - ord(before) for before, char in pairwise("\0" + text)]


def tables() -> dict[str, object]:
    """The payload. Parallel texts say from what to what; runs cover all code points from 0 on."""
    folds = [c for c in EVERY if category(c)[0] in "LN" and class_of(c) == ITSELF and fold(c) != c]
    assert all(len(fold(c)) == 1 for c in folds)
    canonical = [c for c in EVERY if decomposition(c) and decomposition(c)[0] != "<" and ord(c) not in HANGUL]
    composites = [c for c in canonical if normalize("NFC", c) == c]
    pairs = ["".join(chr(int(code, 16)) for code in decomposition(c).split()) for c in composites]
    others = [c for c in canonical if normalize("NFC", c) != c]
    forms = [chr(code) for code in FORMS if normalize("NFKD", chr(code)) != normalize("NFD", chr(code))]
    return {
        "unicode": unidata_version,
        "classes": [length * 4 + value for value, length in runs_of([class_of(c) for c in EVERY])],
        "after 14": [length * 2 + value for value, length in runs_of([is_after_14(c) for c in EVERY])],
        "folds": [steps("".join(folds)), steps("".join(map(fold, folds)))],
        "orders": runs_of([combining(c) for c in EVERY]),
        "composites": [steps("".join(part)) for part in (composites, *zip(*pairs, strict=True))],
        "decompositions": [steps("".join(others)), "\n".join(normalize("NFD", c) for c in others)],
        "forms": [steps("".join(forms)), "\n".join(normalize("NFKD", c) for c in forms)],
    }


def module() -> str:
    payload = json.dumps(tables(), ensure_ascii=False, separators=(",", ":")).encode()
    text = base64.b64encode(zlib.compress(payload, 9)).decode()
    lines = [f"    {json.dumps(text[at : at + 100])}\n" for at in range(0, len(text), 100)]
    digest = hashlib.sha256(payload).hexdigest()
    return HEADER.format(version=unidata_version, digest=digest) + "".join(lines) + ")\n"


def main() -> int:
    if unidata_version != VERSION:
        sys.stderr.write(f"this Python has Unicode {unidata_version}; the tables are those of {VERSION}\n")
        return 2
    if sys.argv[1:] == ["--check"]:
        return 0 if OUTPUT.read_text("utf-8") == module() else 1
    OUTPUT.write_text(module(), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
