"""Whether a question asks for a time, and the words by which a text tells one. English alone.

The words are terms of an English analyzer: days of the week, months, units of the calendar, "yesterday", "ago", years
from 1900 to 2099 and ordinals from 1st to 31st. `may` and `march` are left out: they are other words more often.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

from recollect.projections.lexical.analyzers import ANALYZERS

_SPLIT_BY = "unicode61-cjk/2"
_WHAT = "(?:what|which) (?:date|day|month|year|time)"
_WHEN = re.compile(
    rf"^(?:when|how long|{_WHAT}) "
    rf"|(?:^| )(?:when (?:did|do|does|was|were|is|are|will|has|have|had)|(?:on|in|at|during) {_WHAT}) "
)
_TIMES = (
    "yesterday today tonight tomorrow ago week month year morning weekend summer winter monday tuesday wednesday "
    "thursday friday saturday sunday january february april june july august september october november december "
    "jan feb mar apr jun jul aug sep sept oct nov dec"
)
_ENDINGS = ("st", "nd", "rd", "th")


@lru_cache(maxsize=64)
def asks_when(text: str) -> bool:
    """Whether the question begins with "when", "how long" or "what year", or asks so further on."""
    return bool(_WHEN.search(" ".join(ANALYZERS[_SPLIT_BY](text)) + " "))


@cache
def time_terms(analyzer: str) -> tuple[str, ...]:
    """The terms by which a text tells a time, each once, in order."""
    years = [str(year) for year in range(1900, 2100)]
    ordinals = [f"{day}{ending}" for day in range(1, 32) for ending in _ENDINGS]
    return tuple(dict.fromkeys((*ANALYZERS[analyzer](_TIMES), *years, *ordinals)))
