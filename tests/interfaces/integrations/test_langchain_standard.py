"""LangChain's own tests of a retriever, run on ours."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_tests.integration_tests import RetrieversIntegrationTests

from recollect.integrations.langchain import RecollectRetriever
from recollect.interfaces.python.memory import Memory

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class TestRecollectRetriever(RetrieversIntegrationTests):
    @pytest.fixture(autouse=True)
    def _memory(self, memory: Memory) -> None:
        self.memory = memory
        memory.remember_many(f"Auth sessions of service {number} live in Postgres" for number in range(5))

    @property
    def retriever_constructor(self) -> type[RecollectRetriever]:
        return RecollectRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"memory": self.memory}

    @property
    def retriever_query_example(self) -> str:
        return "where do auth sessions live?"


def test_any_argument_of_recall_may_be_given_with_the_question(memory: Memory):
    memory.remember("Auth sessions live in Postgres", kind="decision", project="shop", at="2026-01-01")
    memory.remember("Auth sessions of the blog live in Redis", project="blog")
    retriever = RecollectRetriever(memory=memory)
    (document,) = retriever.invoke("auth sessions", filters={"project": "shop"}, record=False)
    told = document.metadata
    assert (told["kind"], told["project"], told["session"], told["at"][:10]) == (
        "decision", "shop", None, "2026-01-01",
    )  # fmt: skip
    with pytest.raises(TypeError, match="argument 'kk'"):
        retriever.invoke("auth sessions", kk=3)
