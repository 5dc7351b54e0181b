"""Analyzers: a text as the list of terms that the lexical index holds.

Behaviour has a name. `ANALYZERS` maps each name to a pure function; a change of behaviour is a new name and
the old one stays, so an old ranking finds the old terms.

`unicode61-cjk/1` follows the unicode61 tokenizer of SQLite's FTS5: maximal runs of letters and numbers, case
folded, diacritics removed. ASCII prose gives the very same terms. Where unicode61 loses something, it does not:

- vowel signs and other marks stay inside their word (Devanagari, Thai, …); Arabic and Hebrew vowel points,
  tatweel, joiners and soft hyphens are dropped without breaking it
- Han, kana and Hangul runs become character bigrams (a lone character stays), for there are no spaces to
  split at, or endings are glued on
- an emoji or other pictograph is a term; skin tones and variation selectors are dropped
- decomposed text, full-width letters and presentation forms are the same as their plain counterparts
- `getUserName` is found whole and by its parts: the parts follow at the end of the terms. So does `c++`
  beside its `c`. Paths, flags and snake_case fall into their parts, as in FTS5. These parts are looked for in
  the ASCII letters of the text as it is written: beside an accent, `C#É` decomposed has no `c#`

`english/1` takes these terms without the English stop words, stemmed by Porter's algorithm.

Both ask the running Python what a letter is, and that grows with every Unicode version. `unicode61-cjk/2` and
`english/2` follow the same rules by tables that lie in the package (Unicode 15.1, `unicode_tables.py`), so a text has
the same terms on every Python. The two agree on every character that their Unicode versions agree on.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, lru_cache
from itertools import pairwise
from unicodedata import category, name, normalize, unidata_version

from recollect.projections.lexical.frozen_unicode import Classes, composer
from recollect.projections.lexical.porter import stem
from recollect.projections.lexical.stop_words import STOP_WORDS

Analyzer = Callable[[str], list[str]]

# --- unicode61-cjk/1 -------------------------------------------------------------------------------

_BYTES = [bytes([code]) for code in range(256)]  # whose methods know ASCII alone
_ASCII_TERMS = b"".join(char.lower() if char.isalnum() else b" " for char in _BYTES)
_ASCII_CASES = b"".join(b"A" if char.isupper() else b"a" if char.islower() else b" " for char in _BYTES)

# lower, lower, upper, lower: `userId` and `getUserName`, but neither `JavaScript` nor `iPhone` nor `siRNA`.
HUMPED = re.compile(r"(?<![A-Za-z0-9])[a-z]{2,}[A-Z][a-z][A-Za-z0-9]*")
HUMPS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+")
_SHARP = re.compile(r"(?<![A-Za-z0-9])[A-Za-z][A-Za-z0-9]*(?:\+\+|#(?![A-Za-z0-9]))")

_COMPATIBILITY_FORMS = "[\uf900-\uffef]+"
_CJK = (
    "\u1100-\u11ff\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3038-\u303c\u3041-\u30ff\u3105-\u318f"
    "\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff"
    "\U0001b000-\U0001b16f\U00020000-\U0003ffff"
)
_WIDE = "[\u1100-\u11ff\u2e80-\U0010ffff]"  # all of the two above, and more
_CJK_CHAR = f"[{_CJK}]"
_CJK_RUN_OR_WORD = rf"[{_CJK}]+|[^\s{_CJK}]+"
_compiled = cache(re.compile)  # the wide ones take 10 ms: only texts that need them wait for that

_POINTS = (  # marks that a reader may leave out: combining diacritics, Hebrew and Arabic points
    range(0x0300, 0x0370), range(0x0591, 0x05C8), range(0x0610, 0x061B), range(0x064B, 0x0660),
    range(0x0670, 0x0671), range(0x06D6, 0x06EE), range(0x1AB0, 0x1B00), range(0x1DC0, 0x1E00),
    range(0x20D0, 0x2100), range(0xFE00, 0xFE30), range(0xE0100, 0xE01F0),
)  # fmt: skip
_UNSEEN = frozenset("\u00ad\u0640\u200c\u200d\u2060")  # soft hyphen, tatweel, joiners
_SKIN_TONES = range(0x1F3FB, 0x1F400)
_LINES_AND_SHAPES = range(0x2500, 0x2600)
_SPECIALS = range(0xFFF0, 0x10000)


class _Classes(dict[int, str]):
    """What each character turns into before the text is split at its spaces; worked out once per character."""

    def __missing__(self, code: int) -> str:
        self[code] = replacement = _classify(chr(code))
        return replacement


def _classify(char: str) -> str:
    """The folded letter, nothing, the character as a term of its own, or a space."""
    kind, code = category(char), ord(char)
    if char in _UNSEEN or code in _SKIN_TONES:
        return ""
    if kind[0] == "M":
        pointed = kind == "Me" or (kind == "Mn" and any(code in points for points in _POINTS))
        return "" if pointed else char
    if kind[0] in "LN" or kind == "Co":
        return _fold(char)
    return f" {char} " if kind == "So" and _is_pictograph(code) else " "


def _is_pictograph(code: int) -> bool:
    return code >= 0x2300 and code not in _LINES_AND_SHAPES and code not in _SPECIALS


def _fold(char: str) -> str:
    """One letter or number in lower case; a Latin or Greek one also without its diacritics."""
    folded = char.casefold()
    if len(folded) > 1:
        folded = char.lower()
    if name(char, "").startswith(("LATIN", "GREEK")):
        folded = "".join(part for part in normalize("NFD", folded) if category(part) != "Mn")
    # Russian writes both as the same letter.
    return "е" if folded == "ё" else folded


_CLASSES = _Classes()


def _cut(wide_terms: Analyzer) -> Analyzer:
    """The analyzer that takes the terms of a text that is not plain ASCII from `wide_terms`."""

    def analyze(text: str) -> list[str]:
        letters = text.encode("ascii", "replace")
        terms = letters.translate(_ASCII_TERMS).decode().split() if text.isascii() else wide_terms(text)
        if b"aA" in letters.translate(_ASCII_CASES) or "++" in text or "#" in text:
            terms += _parts(text)
        return terms

    return analyze


def _wide_terms(text: str) -> list[str]:
    if not _compiled(_WIDE).search(text):
        return normalize("NFC", text).translate(_CLASSES).split()
    plain = _compiled(_COMPATIBILITY_FORMS).sub(lambda forms: normalize("NFKC", forms[0]), text)
    return _bigrams(_compiled(_CJK_RUN_OR_WORD).findall(normalize("NFC", plain).translate(_CLASSES)))


def _bigrams(runs: list[str]) -> list[str]:
    """The pairs of neighbours in runs of Han, kana and Hangul; other runs as they are."""
    terms: list[str] = []
    for run in runs:
        if len(run) > 1 and _compiled(_CJK_CHAR).match(run):
            terms.extend(left + right for left, right in pairwise(run))
        else:
            terms.append(run)
    return terms


def _parts(text: str) -> list[str]:
    """The words inside camelCase identifiers, and names such as c++ and c#; all of them are ASCII."""
    parts = [part for humped in HUMPED.findall(text) for part in HUMPS.findall(humped)]
    return [part.lower() for part in parts + _SHARP.findall(text)]


# --- unicode61-cjk/2 -------------------------------------------------------------------------------

_COMPOSABLE = "[\u0300-\U0010ffff]"  # nothing below can become another character
_CJK_RUN_OR_TERM = f"[{_CJK}]+|[^ {_CJK}]+"
_frozen_classes = cache(Classes)


def _frozen_wide_terms(text: str) -> list[str]:
    if _compiled(_COMPOSABLE).search(text):
        text = composer().composed(text)
    spaced = text.translate(_frozen_classes())
    if not _compiled(_WIDE).search(spaced):
        return list(filter(None, spaced.split(" ")))
    return _bigrams(_compiled(_CJK_RUN_OR_TERM).findall(spaced))


# --- english/1, english/2 ----------------------------------------------------------------------------

_STEMS_MAX = 1 << 16
_ENGLISH = re.compile("[a-z]+")


class _Stems(dict[str, str]):
    """A cache of stems by word; stop words map to no stem."""

    def __missing__(self, term: str) -> str:
        if len(self) >= _STEMS_MAX:
            self.clear()
        english = _ENGLISH.fullmatch(term)  # terms are in lower case
        self[term] = stemmed = "" if term in STOP_WORDS else stem(term) if english else term
        return stemmed


_STEMS = _Stems()


def _stemmed(cut: Analyzer) -> Analyzer:
    return lambda text: list(filter(None, map(_STEMS.__getitem__, cut(text))))


_UNICODE61_CJK_1, _UNICODE61_CJK_2 = _cut(_wide_terms), _cut(_frozen_wide_terms)

ANALYZERS: dict[str, Analyzer] = {
    "unicode61-cjk/1": _UNICODE61_CJK_1,
    "english/1": _stemmed(_UNICODE61_CJK_1),
    "unicode61-cjk/2": _UNICODE61_CJK_2,
    "english/2": _stemmed(_UNICODE61_CJK_2),
}


@lru_cache(maxsize=256)
def terms_of(text: str, analyzer: str) -> tuple[str, ...]:
    """The different terms of a text, in order."""
    return tuple(dict.fromkeys(ANALYZERS[analyzer](text)))


# The newest version of each, for a formula file that names no version.
NEWEST = {"unicode61-cjk/1": "unicode61-cjk/2", "english/1": "english/2"}

# Those whose terms follow the tables of the running Python.
FOLLOWS_PYTHON = frozenset({"unicode61-cjk/1", "english/1"})
PYTHON_UNICODE = unidata_version
