"""Opening a store for `Memory`: its log, and the embedder, formula and models that are given or configured."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple, TypedDict

from recollect.engine.configuration import Configuration, configured
from recollect.engine.embedding.embedder import Embedder, EmbedFunction
from recollect.engine.embedding.names import AUTO
from recollect.engine.embedding.reranker import AnyReranker
from recollect.engine.embedding.store_embedder import WORDS_ONLY, Embedding, words_only_reason
from recollect.engine.formula_lookup import OwnFormula, own_formula
from recollect.engine.recall_models import Expander, Models, models_of
from recollect.engine.recall_options import refuse_unknown
from recollect.engine.store import Progress, Store, system_clock
from recollect.events.errors import InvalidInput
from recollect.events.log import Clock
from recollect.events.packs.urls import is_url
from recollect.interfaces.model_server.client import HelperUse, choose_embedder, embedder_of_store
from recollect.interfaces.model_server.connection import Tell
from recollect.query.formula import Formula


class OpenOptions(TypedDict, total=False):
    """The options of `Memory.open`."""

    embedder: str | Embedder | EmbedFunction | None
    reranker: AnyReranker | None
    expander: Expander | None
    formula: str | Path | Formula | None
    actor: str
    clock: Clock
    progress: Progress | None
    ahead: bool
    helper: HelperUse | None
    tell: Tell | None


class OpenStore(NamedTuple):
    """A store with what it embeds, ranks and answers with."""

    store: Store
    embedding: Embedding
    formula: OwnFormula | None
    models: Models


def open_store(path: str | Path, options: OpenOptions) -> OpenStore:
    """Open the store in a directory, in memory or at a URL; close it again if a part of it cannot be had."""
    refuse_unknown(options, OpenOptions.__annotations__)
    if not str(path).strip():
        raise InvalidInput(f"{str(path)!r} names no directory for a store")
    given = options.get("embedder", AUTO)
    helper, tell = options.get("helper"), options.get("tell")
    named = None if given == AUTO else choose_embedder(given, helper=helper, tell=tell)
    configuration = configured(None if is_url(str(path)) or str(path) == ":memory:" else path)
    models = models_of(configuration, options.get("reranker"), options.get("expander"))
    store = Store.open(
        path,
        clock=options.get("clock", system_clock),
        progress=options.get("progress"),
        ahead=options.get("ahead", False),
    )
    try:
        formula = own_formula(store, options.get("formula"), configuration["formula"])
        if given == AUTO:
            embedding = _own_embedding(store, configuration, helper, tell)
        else:
            embedding = Embedding(named, store.projections.adoptions.embedder(store.log.head))
        return OpenStore(store, embedding, formula, models)
    except BaseException:
        store.close()
        raise


def _own_embedding(
    store: Store, configuration: Configuration, helper: HelperUse | None, tell: Tell | None
) -> Embedding:
    """The embedder that the store has; for an empty one the configured one, or MiniLM if it is installed."""
    setting, adopted = configuration["embedder"], store.projections.adoptions.embedder(store.log.head)
    empty = not store.projections.documents.memories
    embedder = embedder_of_store(adopted, setting, empty=empty, helper=helper, tell=tell)
    reason = words_only_reason(setting.value) if embedder is None else WORDS_ONLY
    return Embedding(embedder, adopted, words_only=reason)
