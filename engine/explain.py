"""Explaining answers: recorded recalls replayed with one memory watched, and questions that were never asked."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypedDict, Unpack

from recollect.engine.embedding.store_embedder import Embedding
from recollect.engine.formula_lookup import formula_named
from recollect.engine.model_effects import Models, consult
from recollect.engine.moments import parse_time
from recollect.engine.previous_answer import with_previous
from recollect.engine.recall import pose
from recollect.engine.store import Store
from recollect.events.errors import InvalidInput
from recollect.events.facts import Context, Filters
from recollect.projections.view import View
from recollect.query.formula import Formula

if TYPE_CHECKING:
    from recollect.query.explanation import Explanation


class Asking(TypedDict, total=False):
    """The arguments of `recall`; `track` and `record` are taken and mean nothing, since nothing is written."""

    k: int
    formula: str | Path | Formula | None
    session: str | None
    context: Context | Mapping[str, object] | None
    filters: Filters | Mapping[str, object] | None
    now: str | datetime | float | None
    track: bool
    record: bool
    wait: bool


def refuse_unknown(asking: Asking) -> None:
    """A misspelt argument would be a question without it."""
    unknown = sorted(set(asking) - set(Asking.__annotations__))
    if unknown:
        raise InvalidInput(f"unknown argument {unknown[0]!r}; there are {', '.join(Asking.__annotations__)}")


class Standpoint(NamedTuple):
    """Where a question is asked from: the view, what embeds it, and the formula and clock unless it has others."""

    store: Store
    view: View
    embedding: Embedding
    formula: Formula
    now: int
    models: Models


class Explaining:
    """What an open store explains: mixed into `Memory`."""

    _store: Store
    _embedding: Embedding
    _formula: Formula
    _models: Models

    def why(self, recall: str, id: str) -> Explanation:  # noqa: A002 (the word callers know)
        """Why a memory ranked where it did in a recorded recall: replayed, not remembered."""
        from recollect.replay.why import why  # noqa: PLC0415 (opening a store does not wait for this)

        self._store.catch_up()
        with self._store.lock, self._store.whole:
            return why(self._store.log, self._store.projections, recall_seq(recall), id)

    def why_not(self, recall: str, id: str) -> Explanation:  # noqa: A002
        """Why a memory was not in a recorded answer: the same object, whose `dropped_at` says where it was lost."""
        from recollect.replay.why import why_not  # noqa: PLC0415

        self._store.catch_up()
        with self._store.lock, self._store.whole:
            return why_not(self._store.log, self._store.projections, recall_seq(recall), id)

    def explain(self, query: str, id: str, **asking: Unpack[Asking]) -> Explanation:  # noqa: A002
        """Why a memory would rank where it does if this were asked now; takes `recall`'s arguments."""
        here = Standpoint(
            self._store,
            self._store.view(),
            self._embedding,
            self._formula,
            self._store.clock(),
            self._models,
        )
        return explain_from(here, query, id, asking)


def recall_seq(recall: object) -> int:
    """The seq in a recall id."""
    digits = recall[1:] if isinstance(recall, str) and recall.startswith("r") else ""
    if not digits.isdecimal():
        raise InvalidInput(f"{recall!r} is not a recall id; they look like 'r12', as recall gives them")
    return int(digits)


def explain_from(here: Standpoint, query: str, memory_id: str, asking: Asking) -> Explanation:
    """One memory in the answer that a question has there."""
    from recollect.query.explain.explaining import explain  # noqa: PLC0415

    refuse_unknown(asking)
    given, moment = asking.get("formula"), asking.get("now")
    recipe = here.formula if given is None else formula_named(here.view.adoptions, given)
    question, _ = pose(
        query,
        now=here.now if moment is None else parse_time(moment, now=here.now, what="now"),
        k=asking.get("k", 10),
        embedding=here.embedding,
        session=asking.get("session"),
        context=asking.get("context"),
        filters=asking.get("filters"),
        wait=asking.get("wait", True),
    )
    question = with_previous(here.store, question, here.view, recipe)
    consulted = consult(here.store, question, here.view, recipe, models=here.models, embedding=here.embedding)
    with here.store.lock, here.store.whole:
        return explain(consulted.question, here.view, recipe, memory_id)
