"""The store as it was at one seq: recall, explain, get, memories. It writes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Unpack

from recollect.engine import memories as reading
from recollect.engine.answers import Answer, Memo
from recollect.engine.embedding.store_embedder import Embedding
from recollect.engine.explain import Asking, Standpoint, explain_from
from recollect.engine.formula_lookup import formula_in_force, formula_named
from recollect.engine.model_effects import Models, consult
from recollect.engine.moments import parse_time
from recollect.engine.previous_answer import with_previous
from recollect.engine.recall import answer, pose
from recollect.engine.store import Store
from recollect.events.facts import Context, Filters
from recollect.projections.view import View
from recollect.query.explanation import Explanation
from recollect.query.formula import Formula


class PastView:
    """Everything is that moment's: corpus statistics, lifecycle, formula in force, and clock."""

    def __init__(
        self,
        store: Store,
        view: View,
        embedding: Embedding,
        *,
        now: int,
        models: Models = Models(),  # noqa: B008 (immutable)
    ) -> None:
        self._store = store
        self._seq = view.seq
        self._embedding = embedding
        self._now = now
        self._models = models

    @property
    def seq(self) -> int:
        return self._seq

    @property
    def _view(self) -> View:
        """Taken anew each time: an erasure ends every view from before it."""
        return self._store.view(self._seq)

    @property
    def formula(self) -> Formula:
        """The formula in force then; the default if none had been adopted yet."""
        return formula_in_force(self._view.adoptions, self.seq)

    def recall(
        self,
        query: str,
        *,
        k: int = 10,
        formula: str | Path | Formula | None = None,
        session: str | None = None,
        context: Context | Mapping[str, object] | None = None,
        filters: Filters | Mapping[str, object] | None = None,
        now: str | datetime | float | None = None,
        track: bool = True,  # noqa: ARG002 (the same arguments as a live recall; nothing is written)
        record: bool = True,  # noqa: ARG002
        wait: bool = True,
    ) -> Answer:
        """The answer that this question would have had then."""
        moment = self._now if now is None else parse_time(now, now=self._now, what="now")
        recipe = self.formula
        if formula is not None:
            recipe = formula_named(self._view.adoptions, formula)
        question, degraded = pose(
            query, now=moment, k=k, embedding=self._embedding, session=session, context=context, filters=filters, wait=wait,
            words_instead=True,
        )  # fmt: skip
        question = with_previous(self._store, question, self._view, recipe)
        question, ranking, notes = consult(
            self._store, question, self._view, recipe, models=self._models, embedding=self._embedding
        )
        return answer(self._store, question, ranking, recall_id=None, degraded=degraded + notes)

    def explain(self, query: str, id: str, **asking: Unpack[Asking]) -> Explanation:  # noqa: A002
        """Why a memory would have ranked where it would have then; takes `recall`'s arguments."""
        here = Standpoint(self._store, self._view, self._embedding, self.formula, self._now, self._models)
        return explain_from(here, query, id, asking)

    def get(self, id: str) -> Memo:  # noqa: A002 (the word callers know)
        return reading.memo(self._store, self._view, id)

    def memories(self, filters: Filters | Mapping[str, object] | None = None) -> list[Memo]:
        return reading.memos(self._store, self._view, filters, now=self._now)
