"""A LlamaIndex retriever over an open memory. Needs `pip install 'recollect[llama-index]'`.

    retriever = RecollectRetriever(memory, k=5)
    nodes = retriever.retrieve("where are auth sessions stored?")

Every recall is recorded as any other: `memory.why(node.metadata["recall"], node.node_id)` explains it. The numbers in
a node's metadata are kept out of prompts and embeddings.
"""

from __future__ import annotations

from typing import Unpack

try:
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
except ModuleNotFoundError as missing:
    raise ModuleNotFoundError(
        f"the LlamaIndex retriever needs {missing.name}; install it with: pip install 'recollect[llama-index]'",
        name=missing.name,
    ) from None

from recollect.engine.answers import Answer
from recollect.engine.recall_options import RecallOptions, refuse_unknown
from recollect.integrations.recall import AnyMemory, arecall, metadata, recall


class RecollectRetriever(BaseRetriever):  # type: ignore[misc, unused-ignore]  # untyped where it is not installed
    """The arguments of `Memory.recall`, kept; `memory` is a `Memory` or an `AsyncMemory`."""

    def __init__(self, memory: AnyMemory, **options: Unpack[RecallOptions]) -> None:
        super().__init__()
        refuse_unknown(options, RecallOptions.__annotations__)
        self._memory = memory
        self._options = options

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return _nodes(recall(self._memory, query_bundle.query_str, self._options))

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return _nodes(await arecall(self._memory, query_bundle.query_str, self._options))


def _nodes(answer: Answer) -> list[NodeWithScore]:
    nodes = []
    for hit in answer.hits:
        beside = metadata(answer, hit)
        node = TextNode(
            text=hit.content,
            id_=hit.id,
            metadata=beside,
            excluded_llm_metadata_keys=list(beside),
            excluded_embed_metadata_keys=list(beside),
        )
        nodes.append(NodeWithScore(node=node, score=hit.score))
    return nodes
