"""A LangChain retriever over an open memory. Needs `pip install 'recollect[langchain]'`.

    retriever = RecollectRetriever(memory=memory, k=5)
    documents = retriever.invoke("where are auth sessions stored?")
    documents = retriever.invoke("where are auth sessions stored?", k=3)  # any argument of recall

Every recall is recorded as any other: `memory.why(document.metadata["recall"], document.id)` explains it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Unpack

try:
    from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
except ModuleNotFoundError as missing:
    raise ModuleNotFoundError(
        f"the LangChain retriever needs {missing.name}; install it with: pip install 'recollect[langchain]'",
        name=missing.name,
    ) from None
from pydantic import ConfigDict

from recollect.engine.answers import Answer
from recollect.engine.recall_options import RecallOptions
from recollect.events.facts import Filters
from recollect.integrations.recall import arecall, metadata, recall
from recollect.interfaces.python.async_memory import AsyncMemory
from recollect.interfaces.python.memory import Memory
from recollect.query.formula import Formula


class RecollectRetriever(BaseRetriever):
    """The arguments of `Memory.recall`, kept; `memory` is a `Memory` or an `AsyncMemory`."""

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    memory: Memory | AsyncMemory
    k: int = 10
    filters: Filters | Mapping[str, object] | None = None
    formula: str | Path | Formula | None = None
    session: str | None = None
    track: bool = True
    record: bool = True

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002 (LangChain's signature)
        **options: Unpack[RecallOptions],
    ) -> list[Document]:
        return _documents(recall(self.memory, query, self._options(options)))

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,  # noqa: ARG002 (LangChain's signature)
        **options: Unpack[RecallOptions],
    ) -> list[Document]:
        return _documents(await arecall(self.memory, query, self._options(options)))

    def _options(self, given: RecallOptions) -> RecallOptions:
        """The retriever's own arguments, and over them those of this call: `invoke(query, k=3)`."""
        own = RecallOptions(
            k=self.k, formula=self.formula, session=self.session, filters=self.filters, track=self.track,
            record=self.record,
        )  # fmt: skip
        return own | given


def _documents(answer: Answer) -> list[Document]:
    return [
        Document(page_content=hit.content, id=hit.id, metadata=metadata(answer, hit)) for hit in answer.hits
    ]
