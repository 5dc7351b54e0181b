"""What a question is after: omega's four intents, by rules in a fixed order.

`keyword_sufficient` finds what only an exact match can answer: code, paths, quotes, identifiers, versions,
addresses. Phrases match whole words, so `who` is not found in `whole`. A question in another language than
English has the intent NONE unless it holds such a keyword: then all weights stay as they are.
"""

from __future__ import annotations

import re

from recollect.projections.lexical.frozen_unicode import as_unicode_14
from recollect.query.text.cues import FIRST, Cues

NAVIGATIONAL, FACTUAL, CONCEPTUAL, NONE = "NAVIGATIONAL", "FACTUAL", "CONCEPTUAL", "NONE"

_FACTUAL = Cues(
    "what was; what is; what are; which; when did; when was; who; where; did we; did i; was there; is there; "
    "decision about; preference for; error with; bug in; remind me; remember"
)
_CONCEPTUAL = Cues(
    "how does; how do; how to; why does; why do; why is; explain; understand; overview; architecture; design; "
    "pattern; approach; strategy; concept"
)
_PREFERENCES = Cues(
    "prefer; prefers; preferred; preference; preferences; favorite; favourite; like; likes; always use; default; "
    "rather; instead of"
)

_KEYWORDS = re.compile(
    r"`"  # a code span
    r"|(?<![\w/])(?:~|\.{1,2})?/\w[\w./-]*"  # /etc/hosts, ./run.sh, ~/notes
    r"|\b[\w.-]{1,80}/[\w./-]{0,160}\.\w"  # src/main.py, but not and/or; bounded, so that no text is slow
    r"|\b[A-Z][a-z]+[A-Z]\w*\b|\b[a-z]{2,}[A-Z][a-z]\w*\b"  # CamelCase, camelCase
    r"|\b[a-z0-9]+(?:_[a-z0-9]+)+\b"  # snake_case
    r"|\bmem-[0-9a-f]{8,}\b"
    r"|\bv?\d+\.\d+(?:\.\d+)*\b"  # a version
    r"|https?://"
    r"|\b[0-9a-f]{8,}\b"  # a commit or part of a UUID
)
_QUOTED = re.compile(r'\s*(?:"[^"]+"|“[^”]+”|«[^»]+»|「[^」]+」)\s*')


def keyword_sufficient(text: str) -> bool:
    """Whether the words alone say what is wanted, so that meaning has nothing to add."""
    return bool(_KEYWORDS.search(text) or _QUOTED.fullmatch(text))


def omega_intent(text: str, analyzer: str = FIRST) -> str:
    """NAVIGATIONAL, FACTUAL, CONCEPTUAL or NONE: the first whose rule holds."""
    if keyword_sufficient(text if analyzer == FIRST else as_unicode_14(text)):
        return NAVIGATIONAL
    if _FACTUAL.found_in(text, analyzer):
        return FACTUAL
    return CONCEPTUAL if _CONCEPTUAL.found_in(text, analyzer) else NONE


def omega_preference(text: str, analyzer: str = FIRST) -> str:
    """`yes` if the question asks what somebody prefers, else `no`."""
    return "yes" if _PREFERENCES.found_in(text, analyzer) else "no"
