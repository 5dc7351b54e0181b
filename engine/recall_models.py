"""What a recall may ask beside the embedder: a reranker, an expander, and the chat server behind them and the dream."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from recollect.engine.configuration import Configuration
from recollect.engine.embedding.reranker import AnyReranker, Reranker, choose_reranker

if TYPE_CHECKING:
    from recollect.engine.chat import ChatServer, Summary

Expander = Callable[[str], Iterable[str]]
"""From a question to rewritings. One that has a `name`, and `prompt_digest` of a question, is recorded with them."""


class Models(NamedTuple):
    """The models that a recall or a dream may ask beside the embedder."""

    reranker: Reranker | None = None
    expander: Expander | None = None
    chat: ChatServer | None = None

    @property
    def summariser(self) -> Callable[[Sequence[str]], Summary | None] | None:
        """What summarises texts for a dream, if a chat server is configured."""
        return None if self.chat is None else self.chat.summarise


def models_of(
    configured: Configuration, reranker: AnyReranker | None = None, expander: Expander | None = None
) -> Models:
    """The given models, or else the configured ones."""
    said, url = configured["reranker"].chosen, configured["chat.url"].chosen
    if reranker is None and said is not None:
        chosen = choose_reranker(said.value, named_by_user=said.named_by_user)
    else:
        chosen = choose_reranker(reranker)
    if url is None:
        return Models(chosen, expander)
    from recollect.engine.chat import ChatServer  # noqa: PLC0415 (http takes 15 ms)

    chat = ChatServer(url.value, configured["chat.model"].value, named_by_user=url.named_by_user)
    return Models(chosen, expander or chat, chat)
