"""Unicode as it was in one version, whatever the running Python knows: classes, folding and composition.

The tables are in `unicode_tables.py`. Nothing here uses `unicodedata`, `str.lower`, `\\w` or anything else that
changes with the interpreter, so a text has the same terms on every Python.
"""

from __future__ import annotations

import json
import re
import zlib
from base64 import b64decode
from bisect import bisect_right
from collections.abc import Callable
from functools import cache
from itertools import accumulate, groupby
from typing import Any

from recollect.projections.lexical.unicode_tables import PACKED

_COMBINING_MARK = "[\u0300-\u036f]"
_LATIN = "[A-Za-z\u00c0-\u024f\u1e00-\u1eff]"
_FORMS = "\uf900-\uffef"
_OTHER_PLANES = "\U00010000-\U0010ffff"
_SEGMENTS_MAX = 1 << 14

# Hangul syllables are composed by arithmetic (The Unicode Standard, section 3.12).
_SYLLABLES, _LEADS, _VOWELS, _TAILS = 0xAC00, 0x1100, 0x1161, 0x11A7
_VOWEL_COUNT, _TAIL_COUNT, _LEAD_COUNT = 21, 28, 19
_SYLLABLE_COUNT = _LEAD_COUNT * _VOWEL_COUNT * _TAIL_COUNT
_VOWEL_CODES = range(_VOWELS, _VOWELS + _VOWEL_COUNT)
_TAIL_CODES = range(_TAILS + 1, _TAILS + _TAIL_COUNT)


class _AsUnicode14(dict[int, int]):
    """Another character for every one that came after Unicode 14, or never came."""

    def __init__(self, instead: int) -> None:
        super().__init__()
        self._instead = instead
        runs = _tables()["after 14"]
        self._kinds = [run & 1 for run in runs]
        self._starts = [0, *accumulate(run >> 1 for run in runs)]

    def __missing__(self, code: int) -> int:
        after = self._kinds[bisect_right(self._starts, code) - 1]
        self[code] = replacement = self._instead if after else code
        return replacement


_as_unicode_14 = cache(_AsUnicode14)


def as_unicode_14(text: str) -> str:
    """The text as Python 3.11 understands it: a newer character is no letter, no digit and no space there.

    The result means the same to every later Python, so `\\b`, `\\d` and `lower` may be used on it.
    """
    return text if text.isascii() else text.translate(_as_unicode_14(0xFFFD))


def spaced_after_14(text: str) -> str:
    """The text with a space for every character that came after Unicode 14: how Python 3.11 splits it into terms."""
    return text if text.isascii() else text.translate(_as_unicode_14(0x20))


def lower_14(text: str) -> str:
    """`text.lower()` as Python 3.11 has it: newer characters stay as they are."""
    return _recased(text, str.lower)


def casefold_14(text: str) -> str:
    """`text.casefold()` as Python 3.11 has it."""
    return _recased(text, str.casefold)


def _recased(text: str, mapping: Callable[[str], str]) -> str:
    if as_unicode_14(text) == text:
        return mapping(text)
    pieces = groupby(text, key=lambda char: as_unicode_14(char) == char)
    return "".join(mapping("".join(piece)) if old else "".join(piece) for old, piece in pieces)


class Classes(dict[int, str]):
    """What each character turns into before a text is split at its spaces, looked up once per character.

    The folded letter, nothing, the character as a term of its own, or a space.
    """

    def __init__(self) -> None:
        tables = _tables()
        self._kinds = [run & 3 for run in tables["classes"]]
        self._starts = [0, *accumulate(run >> 2 for run in tables["classes"])]
        source, folded = (_text(steps) for steps in tables["folds"])
        super().__init__((ord(char), to) for char, to in zip(source, folded, strict=True))

    def __missing__(self, code: int) -> str:
        char = chr(code)
        kind = self._kinds[bisect_right(self._starts, code) - 1]
        self[code] = replacement = (" ", char, "", f" {char} ")[kind]
        return replacement


class Composer:
    """Canonical composition (NFC), with full-width letters and presentation forms (U+F900 to U+FFEF) as plain ones."""

    def __init__(self) -> None:
        tables = _tables()
        composites, firsts, seconds = map(_text, tables["composites"])
        pairs = [first + second for first, second in zip(firsts, seconds, strict=True)]
        self._composed = dict(zip(pairs, composites, strict=True))
        self._apart = dict(zip(composites, pairs, strict=True)) | _mapped(tables["decompositions"])
        self._orders = _orders(tables["orders"])
        self._forms = str.maketrans(_mapped(tables["forms"]))
        self._segments: dict[str, str] = {}
        jamo = {chr(code) for code in (*_VOWEL_CODES, *_TAIL_CODES)}
        unsettled = set(seconds) | set(self._apart) - set(composites) | jamo
        self._concerned = frozenset(unsettled | set(self._orders))
        concerned, marks = _ranges(self._concerned), _ranges(frozenset(self._orders))
        # Each begins with one class of characters of the first plane: only those are searched for quickly.
        self._suspect = re.compile(f"[{concerned}{_FORMS}{_OTHER_PLANES}]")
        self._changing = re.compile(f"[{_ranges(frozenset(unsettled))}{_FORMS}{_OTHER_PLANES}]")
        self._to_order = re.compile(f"[{marks}][{marks}]")
        self._runs = re.compile(f"[{concerned}{_OTHER_PLANES}][{concerned}{_OTHER_PLANES}]*")
        self._form_runs = re.compile(f"[{_FORMS}]+")
        self._latin_marks = re.compile(f"(?<={_LATIN}){_COMBINING_MARK}+")

    def composed(self, text: str) -> str:
        """The text in composed form, but for diacritics on Latin letters: those are gone."""
        suspect = self._suspect.search(text)
        if suspect is None:
            return text
        first = suspect.start()
        if not (self._changing.search(text, first) or self._to_order.search(text, first)):
            return text
        text = self._form_runs.sub(lambda forms: forms[0].translate(self._forms), text)
        text = self._latin_marks.sub("", text)
        parts, done = [], 0
        for found in self._runs.finditer(text):
            start, end = max(found.start() - 1, 0), found.end()  # with the character that the marks are on
            parts += [text[done:start], self._segment(text[start:end])]
            done = end
        return "".join([*parts, text[done:]])

    def _segment(self, segment: str) -> str:
        known = self._segments.get(segment)
        if known is None:
            if self._concerned.isdisjoint(segment):
                return segment
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
        for _, run in groupby(chars, self._orders.__contains__):
            ordered += sorted(run, key=lambda char: self._orders.get(char, 0))
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


composer = cache(Composer)  # made for the first text that needs it


def _tables() -> dict[str, Any]:
    """The tables, unpacked; they are read twice, so they are not kept."""
    unpacked: dict[str, Any] = json.loads(zlib.decompress(b64decode(PACKED)))
    return unpacked


def _text(steps: list[int]) -> str:
    return "".join(map(chr, accumulate(steps)))


def _mapped(table: tuple[list[int], str]) -> dict[str, str]:
    return dict(zip(map(chr, accumulate(table[0])), table[1].split("\n"), strict=True))


def _orders(runs: list[tuple[int, int]]) -> dict[str, int]:
    """The canonical combining class of every mark that has one."""
    orders: dict[str, int] = {}
    code = 0
    for order, length in runs:
        if order:
            orders.update(dict.fromkeys(map(chr, range(code, code + length)), order))
        code += length
    return orders


def _ranges(chars: frozenset[str]) -> str:
    """The inside of a character class, for the characters of the first plane."""
    codes = {ord(char) for char in chars if char <= "\uffff"}
    firsts = sorted(code for code in codes if code - 1 not in codes)
    lasts = sorted(code for code in codes if code + 1 not in codes)
    return "".join(f"{chr(a)}-{chr(b)}" for a, b in zip(firsts, lasts, strict=True))


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
    if _LEADS <= a < _LEADS + _LEAD_COUNT and b in _VOWEL_CODES:
        return chr(_SYLLABLES + ((a - _LEADS) * _VOWEL_COUNT + b - _VOWELS) * _TAIL_COUNT)
    index = a - _SYLLABLES
    if 0 <= index < _SYLLABLE_COUNT and index % _TAIL_COUNT == 0 and b in _TAIL_CODES:
        return chr(a + b - _TAILS)
    return None
