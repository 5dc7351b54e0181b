"""The Porter stemmer: English words without their endings, so that `connection` finds `connected`.

M. F. Porter, "An algorithm for suffix stripping", Program 14(3), 1980, with the two changes that its author
made later (`bli` and `logi` in step 2). Words are lower-case ASCII letters; one or two letters stay as they
are. A suffix is always the longest that fits; if its condition fails, the step leaves the word alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

Suffixes = Sequence[tuple[str, str]]

_VOWELS = frozenset("aeiou")

_STEP_2: Suffixes = (
    ("ational", "ate"), ("tional", "tion"), ("enci", "ence"), ("anci", "ance"), ("izer", "ize"),
    ("bli", "ble"), ("alli", "al"), ("entli", "ent"), ("eli", "e"), ("ousli", "ous"), ("ization", "ize"),
    ("ation", "ate"), ("ator", "ate"), ("alism", "al"), ("iveness", "ive"), ("fulness", "ful"),
    ("ousness", "ous"), ("aliti", "al"), ("iviti", "ive"), ("biliti", "ble"), ("logi", "log"),
)  # fmt: skip
_STEP_3: Suffixes = (
    ("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"), ("ful", ""), ("ness", ""),
)  # fmt: skip
_STEP_4: Suffixes = tuple(
    (suffix, "")
    for suffix in (
        "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou", "ism",
        "ate", "iti", "ous", "ive", "ize",
    )
)  # fmt: skip


def stem(word: str) -> str:
    """The stem of one lower-case word."""
    if len(word) <= 2:
        return word
    word = _final_y(_past_and_gerund(_plural(word)))
    word = _replace(word, _STEP_2, _measure_positive)
    word = _replace(word, _STEP_3, _measure_positive)
    word = _replace(word, _STEP_4, _measure_above_one)
    return _double_l(_final_e(word))


def _shape(word: str) -> str:
    """One letter per letter: v for a vowel, c for a consonant; y is a vowel after a consonant."""
    shape = ""
    for letter in word:
        vowel = letter in _VOWELS or (letter == "y" and shape[-1:] == "c")
        shape += "v" if vowel else "c"
    return shape


def _measure(word: str) -> int:
    """m of the form [C](VC)^m[V]: how often a consonant follows a vowel."""
    return _shape(word).count("vc")


def _measure_positive(base: str, _suffix: str) -> bool:
    return _measure(base) > 0


def _measure_above_one(base: str, suffix: str) -> bool:
    return _measure(base) > 1 and (suffix != "ion" or base.endswith(("s", "t")))


def _has_vowel(word: str) -> bool:
    return "v" in _shape(word)


def _ends_doubled(word: str) -> bool:
    return len(word) > 1 and word[-1] == word[-2] and _shape(word)[-1] == "c"


def _ends_cvc(word: str) -> bool:
    """*o: consonant, vowel, consonant, the last not w, x or y, as in `hop`."""
    return _shape(word)[-3:] == "cvc" and word[-1] not in "wxy"


def _replace(word: str, suffixes: Suffixes, condition: Callable[[str, str], bool]) -> str:
    fitting = [pair for pair in suffixes if word.endswith(pair[0])]
    if not fitting:
        return word
    suffix, replacement = max(fitting, key=lambda pair: len(pair[0]))
    base = word[: -len(suffix)]
    return base + replacement if condition(base, suffix) else word


def _plural(word: str) -> str:
    """Step 1a: caresses → caress, ponies → poni, cats → cat."""
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _past_and_gerund(word: str) -> str:
    """Step 1b: agreed → agree, plastered → plaster, hopping → hop, filing → file."""
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for suffix in ("ed", "ing"):
        base = word[: -len(suffix)]
        if word.endswith(suffix):
            return _mend(base) if _has_vowel(base) else word
    return word


def _mend(base: str) -> str:
    """What -ed and -ing leave behind: conflat → conflate, hopp → hop, fil → file."""
    if base.endswith(("at", "bl", "iz")):
        return base + "e"
    if _ends_doubled(base) and base[-1] not in "lsz":
        return base[:-1]
    return base + "e" if _measure(base) == 1 and _ends_cvc(base) else base


def _final_y(word: str) -> str:
    """Step 1c: happy → happi, sky → sky."""
    return word[:-1] + "i" if word.endswith("y") and _has_vowel(word[:-1]) else word


def _final_e(word: str) -> str:
    """Step 5a: probate → probat, rate → rate, cease → ceas."""
    if not word.endswith("e"):
        return word
    base = word[:-1]
    measure = _measure(base)
    return base if measure > 1 or (measure == 1 and not _ends_cvc(base)) else word


def _double_l(word: str) -> str:
    """Step 5b: controll → control, roll → roll."""
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word
