"""Why a ranking by an analyzer of version 1 may come out otherwise: its terms follow the running Python's Unicode tables.

The log does not say under which version it was written. What can be known is whether a text holds a character that
the Pythons we run on do not agree about: one that came after Unicode 14, which Python 3.11 has.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property

from recollect.events.errors import LogDamaged
from recollect.events.facts import Recalled
from recollect.events.log import Log
from recollect.projections.documents import Documents
from recollect.projections.lexical.analyzers import FOLLOWS_PYTHON, PYTHON_UNICODE
from recollect.projections.lexical.frozen_unicode import as_unicode_14
from recollect.projections.view import Projections
from recollect.query.formula import from_log


class UnicodeReasons:
    def __init__(self, log: Log, projections: Projections) -> None:
        self._log = log
        self._projections = projections

    def of(self, seq: int) -> str | None:
        """What Unicode has to do with the recall at this seq; None if it cannot be the reason."""
        recalled = self._log.get(seq).fact
        if not isinstance(recalled, Recalled):
            return None
        formula = from_log(self._projections.adoptions.formulas.get(recalled.formula), recalled.formula)
        named = [] if formula is None else [one for one in formula.analyzers if one in FOLLOWS_PYTHON]
        if not named:
            return None
        if not _is_newer(recalled.question.text) and not 0 < self._first <= recalled.basis:
            return None
        return (
            f"it was ranked by {' and '.join(named)}, whose terms follow the tables of the running Python "
            f"(here Unicode {PYTHON_UNICODE}), and a text that it read holds characters newer than Unicode 14: "
            "if another version recorded it, they were other terms there"
        )

    @cached_property
    def _first(self) -> int:
        """The first seq at which a memory held such a character; 0 if none did."""
        documents = Documents()
        with suppress(LogDamaged):
            for recorded in self._log.read(0, self._projections.position):
                if any(new.text and _is_newer(new.text) for new in documents.apply(recorded)):
                    return recorded.seq
        return 0


def _is_newer(text: str) -> bool:
    return as_unicode_14(text) != text
