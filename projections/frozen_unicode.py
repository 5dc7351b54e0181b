"""Unicode as it was in one version, whatever the running Python knows: classes, folding and composition.

The tables lie in `unicode_tables.py`. Nothing here asks `unicodedata`, `str.lower`, `\\w` or anything else that
grows with the interpreter, so a text has the same terms on every Python.
"""

from __future__ import annotations

import json
import re
import zlib
from base64 import b85decode
from bisect import bisect_right
from functools import cache
from itertools import accumulate, groupby
from typing import Any

from recollect.projections.unicode_tables import PACKED

_COMBINING_MARK = "[\u0300-\u036f]"
_LATIN = "[A-Za-z\u00c0-\u024f\u1e00-\u1eff]"
_SEGMENTS_MAX = 1 << 14

# Hangul syllables are composed by arithmetic (The Unicode Standard, section 3.12).
_SYLLABLES, _LEADS, _VOWELS, _TAILS = 0xAC00, 0x1100, 0x1161, 0x11A7
_VOWEL_COUNT, _TAIL_COUNT, _LEAD_COUNT = 21, 28, 19
_SYLLABLE_COUNT = _LEAD_COUNT * _VOWEL_COUNT * _TAIL_COUNT


class Classes(dict[int, str]):
    """What each character turns into before a text is split at its spaces, looked up once per character.

    The folded letter, nothing, the character as a term of its own, or a space.
    """

    def __init__(self) -> None:
        tables = _tables()
        self._kinds = [run & 3 for run in tables["classes"]]
        self._starts = [0, *accumulate(run >> 2 for run in tables["classes"])]
        source, folded = (_text(steps) for steps in tables["folds"])
        super().__init__(str.maketrans(source, folded))

    def __missing__(self, code: int) -> str:
        char = chr(code)
        kind = self._kinds[bisect_right(self._starts, code) - 1]
        self[code] = replacement = (" ", char, "", f" {char} ")[kind]
        return replacement


class Composer:
    """Canonical composition (NFC), with full-width letters and presentation forms (U+F900 to U+FFEF) as plain ones."""

    def __init__(self) -> None:
        tables = _tables()
        composites, firsts, seconds = (_text(steps) for steps in tables["composites"])
        pairs = [first + second for first, second in zip(firsts, seconds, strict=True)]
        self._composed = dict(zip(pairs, composites, strict=True))
        self._apart = dict(zip(composites, pairs, strict=True)) | _mapped(tables["decompositions"])
        self._orders = _orders(tables["orders"])
        self._forms = str.maketrans(_mapped(tables["forms"]))
        self._segments: dict[str, str] = {}
        jamo = f"{chr(_VOWELS)}-{chr(_VOWELS + _VOWEL_COUNT - 1)}{chr(_TAILS + 1)}-{chr(_TAILS + _TAIL_COUNT - 1)}"
        unsettled = _ranges(set(seconds) | set(self._apart) - set(composites)) + jamo
        marks = _ranges(set(self._orders))
        self._form_runs = re.compile("[\uf900-\uffef]+")
        # A letter with its marks, if it can become another: one that composes or decomposes, or two to be ordered.
        self._unsettled = re.compile(
            f"[{marks}]*[{unsettled}][{unsettled}{marks}]*|[{marks}]{{2,}}[{unsettled}{marks}]*"
        )
        self._latin_marks = re.compile(f"(?<={_LATIN}){_COMBINING_MARK}+")

    def composed(self, text: str) -> str:
        """The text in composed form, but for diacritics on Latin letters: those are gone."""
        if self._form_runs.search(text):
            text = self._form_runs.sub(lambda forms: forms[0].translate(self._forms), text)
        if not self._unsettled.search(text):
            return text
        text = self._latin_marks.sub("", text)
        parts, done = [], 0
        for found in self._unsettled.finditer(text):
            start = max(found.start() - 1, done)
            parts += [text[done:start], self._segment(text[start : found.end()])]
            done = found.end()
        return "".join([*parts, text[done:]])

    def _segment(self, segment: str) -> str:
        known = self._segments.get(segment)
        if known is None:
            if len(self._segments) >= _SEGMENTS_MAX:
                self._segments.clear()
            self._segments[segment] = known = self._compose(self._decompose(segment))
        return known

    def _decompose(self, segment: str) -> list[str]:
        """Its characters taken apart, marks in canonical order."""
        chars: list[str] = []
        for char in segment:
            parts = _jamo(char) or self._apart.get(char)
            chars += self._decompose(parts) if parts else [char]
        ordered: list[str] = []
        for is_mark, run in groupby(chars, self._orders.__contains__):
            ordered += sorted(run, key=self._orders.__getitem__) if is_mark else run
        return ordered

    def _compose(self, chars: list[str]) -> str:
        """The canonical composition algorithm over one segment."""
        kept: list[str] = []
        starter, last = -1, 0
        for char in chars:
            order = self._orders.get(char, 0)
            adjacent = starter == len(kept) - 1
            if starter >= 0 and (adjacent or last < order):
                together = _syllable(kept[starter], char) or self._composed.get(kept[starter] + char)
                if together:
                    kept[starter] = together
                    continue
            if order == 0:
                starter = len(kept)
            kept.append(char)
            last = order
        return "".join(kept)


@cache
def composer() -> Composer:
    """Made for the first text that needs it."""
    return Composer()


def _tables() -> dict[str, Any]:
    """The tables, unpacked; they are read twice, so they are not kept."""
    unpacked: dict[str, Any] = json.loads(zlib.decompress(b85decode(PACKED)))
    return unpacked


def _text(steps: list[int]) -> str:
    return "".join(map(chr, accumulate(steps)))


def _mapped(table: tuple[list[int], str]) -> dict[str, str]:
    return dict(zip(_text(table[0]), table[1].split("\n"), strict=True))


def _orders(runs: list[tuple[int, int]]) -> dict[str, int]:
    """The canonical combining class of every mark that has one."""
    orders, code = {}, 0
    for order, length in runs:
        if order:
            orders.update((chr(at), order) for at in range(code, code + length))
        code += length
    return orders


def _ranges(chars: set[str]) -> str:
    """The inside of a character class."""
    codes = sorted(map(ord, chars))
    starts = _edges(codes, -1)
    return "".join(f"{chr(a)}-{chr(b)}" for a, b in zip(starts, _edges(codes, 1), strict=True))


def _edges(codes: list[int], side: int) -> list[int]:
    known = set(codes)
    return [code for code in codes if code + side not in known]


def _jamo(char: str) -> str | None:
    """A Hangul syllable taken apart."""
    index = ord(char) - _SYLLABLES
    if not 0 <= index < _SYLLABLE_COUNT:
        return None
    lead, rest = divmod(index, _VOWEL_COUNT * _TAIL_COUNT)
    vowel, tail = divmod(rest, _TAIL_COUNT)
    return chr(_LEADS + lead) + chr(_VOWELS + vowel) + (chr(_TAILS + tail) if tail else "")


def _syllable(first: str, second: str) -> str | None:
    """A lead and a vowel, or a syllable without a tail and a tail, as one syllable."""
    a, b = ord(first), ord(second)
    if _LEADS <= a < _LEADS + _LEAD_COUNT and _VOWELS <= b < _VOWELS + _VOWEL_COUNT:
        return chr(_SYLLABLES + ((a - _LEADS) * _VOWEL_COUNT + b - _VOWELS) * _TAIL_COUNT)
    index = a - _SYLLABLES
    if 0 <= index < _SYLLABLE_COUNT and index % _TAIL_COUNT == 0 and _TAILS < b < _TAILS + _TAIL_COUNT:
        return chr(a + b - _TAILS)
    return None
