"""A recall's id where a question is taken: what was said beside it comes along, and each of it can be said otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, cast

import msgspec

from recollect.engine.moments import to_datetime
from recollect.engine.names import find_recall
from recollect.engine.recall_options import ANY_TIME, RecallOptions
from recollect.engine.store import REDACTED, Store
from recollect.engine.validate import is_recall_id
from recollect.events.errors import InvalidInput, UnknownRecall
from recollect.events.facts import Context, Filters, GridVector, Question, Recalled
from recollect.query.formula import from_log

_TIMES = ("since", "until", "valid_at")


class Posed(NamedTuple):
    """A question as it is to be asked; `recorded` is the one that it was taken from, None for a text."""

    text: str
    options: RecallOptions
    recorded: Question | None = None

    def vector(self, embedder: str | None) -> GridVector | None:
        """The vector that this embedder gave to the question when it was recorded; None if it did not."""
        if self.recorded is None or embedder is None or self.recorded.embedder != embedder:
            return None
        return self.recorded.vector

    def with_effects(self, question: Question) -> Question:
        """The question with what models said to it when it was recorded; what was asked before depends on the moment."""
        if self.recorded is None:
            return question
        effects = msgspec.structs.replace(self.recorded.effects, previous=None, scanned=())
        return question if effects == question.effects else msgspec.structs.replace(question, effects=effects)


def posed(store: Store, query: str, options: RecallOptions, *, required: bool = False) -> Posed:
    """The question that a text means: the recorded one if it is the id of a recall, else the text itself.

    A text that only looks like an id is asked as it is, unless a recall is `required`.
    """
    recorded = find_recall(store, query)
    if recorded is None:
        if required and is_recall_id(query):
            raise UnknownRecall(query)
        return Posed(query, options)
    if not isinstance(recorded.fact, Recalled) or recorded.fact.question.text == REDACTED:
        raise InvalidInput(f"the question of {query} was erased; ask it in words")
    question = recorded.fact.question
    return Posed(question.text, _with_recorded(store, recorded.fact, options), question)


def _with_recorded(store: Store, fact: Recalled, given: RecallOptions) -> RecallOptions:
    """The given options, completed by those of the recorded recall."""
    question = fact.question
    formula = from_log(store.projections.adoptions.formulas.get(fact.formula), fact.formula)
    if formula is None and given.get("formula") is None:
        raise InvalidInput(
            f"it was ranked by the formula {fact.formula[:12]}, which the log does not hold; name one"
        )
    filters = _mapping(question.filters)
    if not question.valid_now:
        filters.setdefault("valid_at", ANY_TIME)
    if given.get("valid_at") is not None:
        filters.pop("valid_at", None)
    merged: RecallOptions = {
        "k": question.k,
        "session": question.session,
        "now": to_datetime(question.now),
        "formula": formula,
    }
    said = {name: value for name, value in given.items() if value is not None}
    said["filters"] = _over(filters, given.get("filters"))
    said["context"] = _over(_mapping(question.context), given.get("context"))
    return cast("RecallOptions", {**merged, **said})


def _mapping(recorded: Filters | Context) -> dict[str, object]:
    """The recorded entries, as a caller would give them."""
    given = msgspec.structs.asdict(recorded)
    return {
        name: to_datetime(value) if name in _TIMES else value
        for name, value in given.items()
        if value not in (None, (), {})
    }


def _over(recorded: dict[str, object], given: object) -> object:
    """The recorded entries, replaced by the given ones; a given Struct replaces all of them."""
    return {**recorded, **given} if isinstance(given, Mapping) else recorded if given is None else given
