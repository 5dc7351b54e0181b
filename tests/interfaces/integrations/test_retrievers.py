"""The retrievers: a recall as LangChain and LlamaIndex know it, recorded and explainable like any other."""

from __future__ import annotations

import asyncio
import subprocess
import sys

import pytest

from recollect.events.errors import InvalidInput
from recollect.interfaces.python.async_memory import AsyncMemory
from recollect.interfaces.python.memory import Memory

QUESTION = "where are auth sessions stored?"


@pytest.fixture
def memory(tmp_path):
    with Memory.open(tmp_path / "store", embedder="hash") as opened:
        opened.remember("Auth sessions live in Postgres", id="auth", kind="decision", tags=["db"])
        opened.remember("Session cookies expire after 14 days", id="ttl")
        yield opened


def langchain(memory, **options):
    pytest.importorskip("langchain_core", reason="needs the langchain extra")
    from recollect.integrations.langchain import RecollectRetriever

    return RecollectRetriever(memory=memory, **options)


def llama_index(memory, **options):
    pytest.importorskip("llama_index.core", reason="needs the llama-index extra")
    from recollect.integrations.llama_index import RecollectRetriever

    return RecollectRetriever(memory, **options)


def test_langchain_documents_carry_the_hit_and_the_recall(memory):
    documents = langchain(memory, k=2, session="monday").invoke(QUESTION)
    answer = memory.at(memory.status().head).recall(QUESTION, k=2)
    assert [document.id for document in documents] == [hit.id for hit in answer.hits] == ["auth", "ttl"]
    first = documents[0]
    assert first.page_content == "Auth sessions live in Postgres"
    assert {
        "id", "score", "rank", "kind", "at", "project", "session", "source", "tags", "revision", "recall", "basis",
        "formula", "factors", "degraded",
    } == set(first.metadata)  # fmt: skip
    assert (first.metadata["rank"], first.metadata["id"], first.metadata["tags"]) == (1, "auth", ["db"])
    explanation = memory.why(first.metadata["recall"], first.id)
    assert (explanation.rank, explanation.score, explanation.exact) == (1, first.metadata["score"], True)
    assert memory.verify().checked == 1


def test_langchain_refuses_an_option_that_it_does_not_have(memory):
    with pytest.raises(ValueError, match="top_k"):
        langchain(memory, top_k=3)


def test_langchain_options_are_those_of_recall(memory):
    retriever = langchain(
        memory, filters={"kinds": ["decision"]}, formula="reverie", track=False, record=False
    )
    head = memory.status().head
    documents = retriever.invoke(QUESTION)
    assert [document.id for document in documents] == ["auth"]
    assert documents[0].metadata["recall"] is None
    assert documents[0].metadata["formula"].startswith("reverie@")
    assert memory.status().head == head
    with pytest.raises(InvalidInput, match="k is 0"):
        langchain(memory, k=0).invoke(QUESTION)


@pytest.mark.parametrize("shared", [False, True])
def test_langchain_is_awaited_over_either_memory(memory, shared):
    async def main():
        source = AsyncMemory(memory, owner=False) if shared else memory
        found = await langchain(source, k=1).ainvoke(QUESTION)
        if shared:
            await source.close()
        return found

    assert [document.id for document in asyncio.run(main())] == ["auth"]


def test_langchain_works_in_a_chain_and_in_both_worlds(memory):
    async_memory = AsyncMemory(memory, owner=False)
    chain = langchain(async_memory, k=1) | (lambda documents: documents[0].page_content.upper())
    assert chain.invoke(QUESTION) == "AUTH SESSIONS LIVE IN POSTGRES"
    asyncio.run(async_memory.close())


def test_llama_index_nodes_carry_the_hit_and_the_recall(memory):
    nodes = llama_index(memory, k=2).retrieve(QUESTION)
    assert [node.node_id for node in nodes] == ["auth", "ttl"]
    first = nodes[0]
    assert (first.text, first.metadata["rank"]) == ("Auth sessions live in Postgres", 1)
    assert memory.why(first.metadata["recall"], first.node_id).score == first.score
    assert first.node.get_content(metadata_mode="llm") == "Auth sessions live in Postgres"


def test_llama_index_is_awaited(memory):
    nodes = asyncio.run(llama_index(memory, k=1, record=False).aretrieve(QUESTION))
    assert [node.node_id for node in nodes] == ["auth"]
    assert nodes[0].metadata["recall"] is None


@pytest.mark.parametrize(
    ("module", "package", "extra"),
    [("langchain", "langchain_core", "langchain"), ("llama_index", "llama_index", "llama-index")],
)
def test_a_missing_framework_is_named_with_the_extra_that_brings_it(module, package, extra):
    script = f"import sys; sys.modules[{package!r}] = None; import recollect.integrations.{module}"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert f"pip install 'recollect[{extra}]'" in result.stderr.splitlines()[-1]
