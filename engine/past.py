"""The store as it was at one seq: recall, explain, get, memories. It writes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Unpack

from recollect.engine import memories as reading
from recollect.engine.answers import Answer, Memo
from recollect.engine.embedding.past import embedding_at
from recollect.engine.embedding.store_embedder import Embedding
from recollect.engine.lazy import LazyModule
from recollect.engine.moments import When
from recollect.engine.recall import Standpoint, answer, rank_from
from recollect.engine.recall_models import Models
from recollect.engine.recall_options import RecallOptions
from recollect.engine.store import Store
from recollect.events.facts import Filters
from recollect.query.explanation import Explanation
from recollect.query.formula import Formula

if TYPE_CHECKING:
    from recollect.engine import explain as explaining
else:
    explaining = LazyModule("recollect.engine.explain")


class PastView:
    """Everything is that moment's: corpus statistics, lifecycle, formula in force, and clock."""

    def __init__(self, store: Store, embedding: Embedding, when: When, models: Models) -> None:
        seq, self._now = store.resolve(when)
        self._store = store
        self._seq = store.view(seq).seq
        self._embedding = embedding_at(store, embedding, seq)
        self._models = models

    @property
    def seq(self) -> int:
        return self._seq

    @property
    def formula(self) -> Formula:
        """The formula in force then; the default if none had been adopted yet."""
        return self.here.formula

    @property
    def here(self) -> Standpoint:
        """Where a question is asked from; take the view again each time: an erasure invalidates earlier views."""
        return Standpoint(self._store, self._embedding, None, self._now, self._models, self._seq)

    def recall(self, query: str, **options: Unpack[RecallOptions]) -> Answer:
        """The answer that this question would have had then; takes the arguments of a live recall."""
        return answer(self._store, rank_from(self.here, query, options, words_instead=True))

    def explain(self, query: str, id: str, **options: Unpack[RecallOptions]) -> Explanation:  # noqa: A002
        """Why a memory would have ranked where it did at that moment; takes `recall`'s arguments."""
        return explaining.explain(self.here, query, id, options)

    def get(self, id: str) -> Memo:  # noqa: A002 (the word callers know)
        return reading.get(self._store, id, self._seq)

    def memories(
        self, filters: Filters | Mapping[str, object] | None = None, *, limit: int | None = None
    ) -> list[Memo]:
        return reading.memos(self._store, self._seq, filters, now=self._now, limit=limit)
