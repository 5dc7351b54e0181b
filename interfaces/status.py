"""The health and size of a store, as one record."""

from __future__ import annotations

import numpy as np

from recollect.answers import EmbedderStatus, Status
from recollect.dream.schedule import new_memories
from recollect.embedding import Embedding
from recollect.query.formula import Formula
from recollect.store import Store


def status_of(store: Store, embedding: Embedding, formula: Formula) -> Status:
    log, projections = store.log.status(), store.projections
    seq, documents = projections.position, projections.documents
    visible = documents.rows_born(seq) - documents.rows_dead(seq)
    adopted = projections.engine.embedder(seq)
    return Status(
        store=str(store.folder) if store.folder else ":memory:",
        head=log.head,
        memories=documents.memories,
        visible=visible,
        by_status=_by_status(store),
        recalls=len(projections.engine.recalls),
        log_bytes=log.bytes,
        segments=log.segments,
        durable=log.durable,
        formula=formula.label,
        embedder=EmbedderStatus(
            name=adopted.label if adopted else embedding.name,
            dimensions=adopted.dimensions if adopted else 0,
            state=embedding.state,
        ),
        shards=len(projections.vectors.shards_at(seq)),
        rows_unsealed=projections.vectors.unsealed_rows(seq),
        last_dream=(last_dream := projections.engine.last_dream(seq)),
        new_since_dream=new_memories(projections.at(seq, 0), last_dream),
        checkpoint_age_events=store.checkpoint_age_events,
        degraded=tuple(_problems(store, embedding, log.damage)),
    )


def _by_status(store: Store) -> dict[str, int]:
    projections = store.projections
    seq, documents = projections.position, projections.documents
    rows = np.arange(documents.rows, dtype=np.int32)
    memories = documents.memory_of[rows[documents.alive(rows, seq)]]
    return projections.lifecycle.count_by_status(memories, seq)


def _problems(store: Store, embedding: Embedding, damage: str | None) -> list[str]:
    damage = damage or (str(store.damage) if store.damage else None)
    problems = [damage] if damage else []
    if embedding.embedder is None:
        problems.append("vector: no embedder, ranked by words only; open the store with one")
    for label, count in store.projections.engine.unknown.items():
        problems.append(f"{count} events of the unknown type {label}: a newer program wrote them; upgrade")
    if store.sealer.last_error:
        problems.append(f"the last index build failed: {store.sealer.last_error}")
    return problems
