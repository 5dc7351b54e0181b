"""The health and size of a store, as one record."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from recollect.dream.schedule import new_memories
from recollect.engine.answers import EmbedderStatus, Status
from recollect.engine.copies import unknown_copies
from recollect.engine.embedding.store_embedder import Embedding, meaning
from recollect.engine.moments import iso
from recollect.engine.store import Store
from recollect.engine.torn_state import locked
from recollect.engine.witnesses import beside
from recollect.events.errors import InvalidInput
from recollect.events.private_files import exposed
from recollect.projections.columns import Int32Array
from recollect.query.formula import Formula
from recollect.replay.fork.note import GO_ON, read_note


@locked
def status_of(store: Store, embedding: Embedding, formula: Formula) -> Status:
    """Health and sizes at the head."""
    store.catch_up()
    log, projections = store.log.status(), store.projections
    seq, documents = projections.position, projections.documents
    rows = np.arange(documents.rows, dtype=np.int32)
    alive = rows[documents.alive(rows, seq)]
    without_vector = _without_vector(store, alive)
    now = store.clock()
    fork, fork_problem = _fork(store)
    last_dream, checkpoint = projections.adoptions.last_dream(seq), seq - store.checkpoint_age_events
    return Status(
        store=log.path if log.replication else str(store.folder or ":memory:"),
        head=log.head,
        memories=documents.memories,
        visible=len(alive),
        by_status=projections.lifecycle.count_by_status(documents.memory_of[alive], seq),
        recalls=len(projections.adoptions.recalls),
        log_bytes=log.bytes,
        segments=log.segments,
        durable=log.durable,
        formula=formula.label,
        embedder=_embedder(store, embedding),
        shards=len(projections.vectors.shards_at(seq)),
        rows_unsealed=projections.vectors.unsealed_rows(seq),
        last_dream=last_dream,
        new_since_dream=new_memories(projections.at(seq, 0), last_dream),
        checkpoint_age_events=store.checkpoint_age_events,
        degraded=(*fork_problem, *log.troubles, *_problems(store, embedding, formula, without_vector, now)),
        now=iso(now),
        head_at=iso(store.log.time_of(log.head)) if log.head else None,
        last_dream_at=_time(store, last_dream),
        checkpoint=checkpoint,
        checkpoint_at=_time(store, checkpoint),
        unsynced_bytes=log.unsynced_bytes,
        cache_bytes=_bytes_under(store.cache),
        without_vector=without_vector,
        fork=fork,
        replication=log.replication,
        behind=log.behind + log.head - seq,
    )


def _fork(store: Store) -> tuple[str | None, list[str]]:
    """What the store is a fork of, and that it is not finished."""
    try:
        note = None if store.folder is None else read_note(store.folder)
    except (InvalidInput, OSError) as error:
        return "of a store that is not known", [str(error)]
    if note is None:
        return None, []
    return note.described, [f"{note.unfinished}; {GO_ON}"] if note.unfinished else []


def _embedder(store: Store, embedding: Embedding) -> EmbedderStatus:
    """The store's own, with the state of the one that it was opened with; one in a helper tells more."""
    adopted = store.projections.adoptions.embedder(store.projections.position)
    return EmbedderStatus(
        name=adopted.label if adopted else embedding.name,
        dimensions=adopted.dimensions if adopted else 0,
        state=embedding.state,
    )


def _without_vector(store: Store, alive: Int32Array) -> int:
    projections = store.projections
    if projections.adoptions.embedder(projections.position) is None:
        return 0
    able = projections.vectors.comparable(alive, at=projections.position)
    return int(len(alive) - np.count_nonzero(able))


def _time(store: Store, seq: int) -> str | None:
    return iso(store.log.effective_time(seq)) if 0 < seq <= store.log.head else None


def _bytes_under(folder: Path | None) -> int:
    if folder is None or not folder.is_dir():
        return 0
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _problems(
    store: Store, embedding: Embedding, formula: Formula, without_vector: int, now: int
) -> list[str]:
    """What is degraded, each with what to do about it."""
    problems = [str(store.damage)] if store.damage else []
    if store.read_only:
        problems.append(
            "the store is read-only: nothing can be written, recalls are answered and not recorded"
        )
    if ahead := store.log.clock_ahead(now):
        problems.append(str(ahead))
    if (embedding.embedder is None or embedding.failure or embedding.loading) and (
        problem := embedding.problem
    ):
        problems.append(meaning(problem, formula))
    if without_vector and embedding.name is not None:
        problems.append(
            f"{without_vector} memories have no vector and are found by words only; "
            "`recollect reembed --missing` gives them one"
        )
    for label, count in store.projections.adoptions.unknown.items():
        problems.append(f"{count} events of the unknown type {label}: a newer program wrote them; upgrade")
    if store.unfinished_erasure:
        problems.append(str(store.unfinished_erasure))
    if unknown := unknown_copies(store.folder):
        problems.append(unknown)
    if store.sealer.last_error:
        problems.append(f"the last index build failed: {store.sealer.last_error}; searches scan instead")
    if store.folder is not None and (open_to_others := exposed(store.folder)):
        problems.append(open_to_others)
    if store.checkpointer.last_error:
        problems.append(
            f"the last checkpoint failed: {store.checkpointer.last_error}; the next opening takes longer"
        )
    problems += [
        f"{one.witness} contradicts the log: {one.problem}"
        for one in beside(store.log, store.folder, store.cache)
    ]
    problems += store.scrub_problems
    problems += store.log.warnings
    return problems
