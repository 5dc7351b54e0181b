"""Telling a store about single memories: remember, revise, access, forget, restore."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from recollect.engine import validate
from recollect.engine.memories import memo
from recollect.engine.memory_arguments import changes, ingested, tell_kept
from recollect.engine.names import find_recall, memory_named, whole_id
from recollect.engine.store import Progress, Store
from recollect.engine.writer import Writer, require_visible
from recollect.events.envelope import Recorded
from recollect.events.errors import InvalidInput, UnknownRecall
from recollect.events.facts import (
    Accessed,
    AnyFact,
    Forgotten,
    Ingested,
    Recalled,
    Restored,
    Revised,
    Superseded,
)
from recollect.projections.view import View

_BATCH = 512


def remember_many(
    writer: Writer,
    items: Iterable[str | Mapping[str, object]],
    *,
    expect: int | None,
    progress: Progress | None,
) -> list[str]:
    """Keep many, in atomic batches; return their ids."""
    if isinstance(items, (str, bytes, Mapping)):
        raise InvalidInput(
            f"remember_many takes a list of items, not one {type(items).__name__}; put it in a list"
        )
    store = writer.store
    ids: list[str] = []
    batch: list[Ingested | Superseded] = []
    told = 0
    total = len(items) if isinstance(items, Sequence) else 0
    try:
        for item in items:
            batch += _told(item, now=store.clock())
            told += 1
            if told % _BATCH == 0:
                ids += _ingest(writer, batch, expect)
                batch, expect = [], expect if expect is None else store.log.head
                if progress:
                    progress(len(ids), max(total, len(ids)))
        ids += _ingest(writer, batch, expect)
    except BaseException as error:
        tell_kept(error, ids)
        raise
    if progress:
        progress(len(ids), len(ids))
    store.sealer.start()
    store.checkpointer.save_if_due()
    return ids


def _told(item: str | Mapping[str, object], *, now: int) -> list[Ingested | Superseded]:
    """The facts of one item: the memory, and one for each memory that it supersedes."""
    if not isinstance(item, Mapping):
        return [ingested(item, now=now)]
    fact = ingested({name: value for name, value in item.items() if name != "supersedes"}, now=now)
    return [fact, *_replacing(item.get("supersedes"), fact.id)]


def _replacing(given: object, new: str) -> list[Superseded]:
    """The facts that a memory supersedes others, given by one id or several."""
    olds = (
        () if given is None else (given,) if isinstance(given, str) else validate.labels(given, "supersedes")
    )
    if new in olds:
        raise InvalidInput(f"memory {new!r} cannot supersede itself; name another one")
    return [Superseded(old=validate.identifier(old), new=new) for old in olds]


def _ingest(writer: Writer, batch: Sequence[Ingested | Superseded], expect: int | None) -> list[str]:
    """Append a batch; check at its head what it supersedes."""
    facts = writer.embed(batch) if batch else []
    if not any(isinstance(fact, Superseded) for fact in batch):
        if batch:
            writer.append(facts, expect=expect)
    else:

        def attempt() -> None:
            view = writer.store.view()
            _require_replaceable(writer.store, view, batch)
            writer.append(facts, expect=view.seq if expect is None else expect)

        if expect is None:
            writer.store.decide(attempt)
        else:
            attempt()
    return [fact.id for fact in batch if isinstance(fact, Ingested)]


def _require_replaceable(store: Store, view: View, batch: Sequence[AnyFact]) -> None:
    """Everything that a batch supersedes must be visible at the view, or come earlier in the batch."""
    told: set[str] = set()
    for fact in batch:
        if isinstance(fact, Ingested):
            told.add(fact.id)
        elif isinstance(fact, Superseded) and fact.old not in told:
            require_visible(store, view, fact.old)


def missing_vector(writer: Writer, memory_id: str) -> list[str]:
    """Why the newest text of a memory has no vector although the store has an embedder, and what gives it one."""
    store, embedding = writer.store, writer.embedding
    if embedding.embedder is None:
        return []
    view = store.view()
    row = view.documents.newest_row(view.documents.ids.find(memory_id), view.seq)
    if row < 0 or view.vectors.comparable(np.array([row], dtype=np.int64), at=view.seq)[0]:
        return []
    why = embedding.failure or f"{embedding.name} was away"
    return [f"vector: {why}; the text is kept without a vector until `recollect reembed --missing`"]


def revise(writer: Writer, name: str, given: Mapping[str, object]) -> int:
    """Add a new version of a memory and return its revision count; embed the text before deciding at the head."""
    store, memory_id = writer.store, memory_named(writer.store, name)
    vectors: dict[str, bytes | None] = {}
    replaced = _replacing(given.get("supersedes"), memory_id)
    given = {name: value for name, value in given.items() if name != "supersedes"}

    def facts_at(view: View) -> list[AnyFact]:
        if not given and replaced:
            require_visible(store, view, memory_id)
            return [*replaced]
        return [_revised(store, view, memory_id, given), *replaced]

    writer.embed(facts_at(store.view()), vectors)

    def attempt() -> int:
        view = store.view()
        _require_replaceable(store, view, replaced)
        seq = writer.append(writer.embed(facts_at(view), vectors), expect=view.seq)[-1]
        memory = view.documents.ids.find(memory_id)
        return store.projections.lifecycle.state(memory, seq).revision_count

    return store.decide(attempt)


def _revised(store: Store, view: View, memory_id: str, given: Mapping[str, object]) -> Revised:
    """What these arguments change in a memory that can be revised, without its vector."""
    require_visible(store, view, memory_id)
    state = memo(store, view, memory_id).state
    checked = changes(state, memory_id, given, now=store.clock())
    return Revised(id=memory_id, **checked)  # type: ignore[arg-type]


def access(
    writer: Writer,
    ids: str | Iterable[str],
    session: str | None,
    how: str,
    *,
    recall: str | None,
    durable: bool,
) -> int:
    """Say that memories were read; return the seq of the event."""
    wanted = (ids,) if isinstance(ids, str) else validate.labels(ids, "ids")
    if not wanted:
        raise InvalidInput("access needs at least one memory id")
    store = writer.store
    fact = Accessed(
        ids=tuple(dict.fromkeys(memory_named(store, name) for name in wanted)),
        at=store.clock(),
        session=validate.optional_identifier(session, "session"),
        how=validate.access_kind(how),
        recall=None if recall is None else recorded_recall(store, recall),
    )
    return writer.append_if(
        lambda view: require_visible(store, view, *fact.ids),
        fact,
        durability="durable" if durable else "unsafe",
    )


def forget(writer: Writer, memory_id: str, reason: str) -> int:
    """Hide a memory, named by its whole id; return the seq of the event."""
    whole_id(writer.store, memory_id)
    fact = Forgotten(id=memory_id, reason=validate.text(reason, "reason"))
    return writer.append_if(lambda view: require_visible(writer.store, view, memory_id), fact)


def restore(writer: Writer, name: str, reason: str) -> int:
    """Bring back a hidden memory; return the seq of the event."""
    memory_id = memory_named(writer.store, name)
    fact = Restored(id=memory_id, reason=validate.text(reason, "reason"))
    return writer.append_if(lambda view: _require_hidden(writer.store, view, memory_id), fact)


def _require_hidden(store: Store, view: View, memory_id: str) -> None:
    found = memo(store, view, memory_id)
    if found.visible:
        raise InvalidInput(f"memory {memory_id!r} is not forgotten; there is nothing to restore")
    if found.erased_at is not None:
        raise InvalidInput(
            f"memory {memory_id!r} was {found.hidden_because}: nothing brings it back; remember it anew"
        )


def recall_seq(recall: object) -> int:
    """The seq in a recall id."""
    if not isinstance(recall, str) or not validate.is_recall_id(recall):
        raise UnknownRecall(recall)
    return int(recall[1:])


def recall_event(store: Store, recall: str) -> Recorded:
    """The event of a recorded recall, which may have been erased."""
    recorded = find_recall(store, recall)
    if recorded is None:
        raise UnknownRecall(recall, damage=store.damage)
    return recorded


def recorded_recall(store: Store, recall: str) -> int:
    """The seq of a recall that the log holds."""
    recorded = recall_event(store, recall)
    if not isinstance(recorded.fact, Recalled):
        raise UnknownRecall(recall)
    return recorded.seq
