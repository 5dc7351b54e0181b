"""What `doctor` finds about vectors: whether each memory's vector is that of its own text.

A vector that came with its text cannot be another text's. One that `reembed` gave says which text it was made from
(`Reembedded.sources`); in events of older programs, which do not say, a text that is younger than the embedder's
adoption should never have needed a new vector. Such vectors are made again and compared, and so is a sample of all
others where the embedder is at hand; all of them where that costs nothing (`hash`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from recollect.engine.embedding.choice import choose
from recollect.engine.embedding.embedder import PROBE_COSINE_MIN, Embedder
from recollect.engine.embedding.names import is_known
from recollect.engine.embedding.store_embedder import Embedding
from recollect.engine.reembed import TextSource, reembedded, still_newest
from recollect.engine.store import Store
from recollect.events.errors import RecollectError
from recollect.events.facts import Ingested, Reembedded, Revised
from recollect.events.grid import cosine_of, from_bytes
from recollect.events.redacted_log import RedactedLog
from recollect.projections.adoptions import Adoption
from recollect.projections.view import Projections

_SAMPLE = 256
_BATCH = 256


class VectorCheck(NamedTuple):
    """`wrong` are memories whose vector is not that of their text; without its embedder none can be compared."""

    wrong: tuple[TextSource, ...] = ()
    missing_embedder: str | None = None


def check_vectors(log: RedactedLog, projections: Projections, given: Embedder | None = None) -> VectorCheck:
    """Compare vectors with texts, at the head; `given` is an embedder that is at hand anyway."""
    seq = projections.position
    adopted = projections.adoptions.embedder(seq)
    if adopted is None:
        return VectorCheck()
    rows = _embedded_rows(projections, seq)
    suspects = [row for row in rows if _is_suspect(log, projections, row, adopted)]
    ready = given is not None and given.name == adopted.label
    if adopted.label.partition("/")[0] == "hash":
        chosen = rows
    elif ready:
        chosen = sorted({*suspects, *rows[:: max(1, len(rows) // _SAMPLE)]})
    else:
        chosen = suspects
    if not chosen:
        return VectorCheck()
    embedder = given if ready else _at_hand(adopted)
    if embedder is None:
        return VectorCheck(missing_embedder=adopted.label)
    texts = {row: text for row in chosen if (text := _text(log, projections, row)) is not None}
    return VectorCheck(tuple(_wrong(projections, texts, Embedding(embedder, adopted))))


def mend_vectors(store: Store, wrong: Sequence[TextSource], given: Embedder | None = None) -> None:
    """Give these memories the vectors of their texts, unless they were revised or erased meanwhile."""
    adopted = store.projections.adoptions.embedder(store.catch_up())
    if adopted is None:
        return
    embedder = given if given is not None and given.name == adopted.label else _at_hand(adopted)
    if embedder is None:
        return
    for start in range(0, len(wrong), _BATCH):
        texts = wrong[start : start + _BATCH]
        made = Embedding(embedder, adopted).vectors([one.text for one in texts])
        with store.deciding() as view:
            fact = reembedded(adopted, texts, made, still_newest(store, texts))
            if fact is not None and view.adoptions.embedder(view.seq) == adopted:
                store.append([fact])


def _at_hand(adopted: Adoption) -> Embedder | None:
    try:
        return choose(adopted.label, from_log=True) if is_known(adopted.label) else None
    except RecollectError:
        return None


def _embedded_rows(projections: Projections, seq: int) -> list[int]:
    """The newest row of every memory, where it has a vector of the embedder in force."""
    documents = projections.documents
    newest = np.full(documents.memories, -1, dtype=np.int64)
    np.maximum.at(newest, documents.memory_of, np.arange(documents.rows))
    newest = newest[newest >= 0]
    found: list[int] = newest[projections.vectors.comparable(newest, at=seq)].tolist()
    return found


def _is_suspect(log: RedactedLog, projections: Projections, row: int, adopted: Adoption) -> bool:
    """Whether the vector may be of another text than the row's."""
    born, source = int(projections.documents.born[row]), projections.documents.source(row)
    fact = log.get(born).fact if born != source else None
    if not isinstance(fact, Reembedded):
        return False
    if not fact.sources:
        return source > adopted.seq
    id_ = projections.documents.ids.values[int(projections.documents.memory_of[row])]
    made_from = dict(zip((memory for memory, _ in fact.vectors), fact.sources, strict=False))
    return made_from.get(id_) != source


def _text(log: RedactedLog, projections: Projections, row: int) -> TextSource | None:
    source = projections.documents.source(row)
    fact = log.get(source).fact
    if not isinstance(fact, Ingested | Revised) or not isinstance(fact.content, str):
        return None
    return TextSource(source, fact.id, fact.content)


def _wrong(
    projections: Projections, texts: Mapping[int, TextSource], embedding: Embedding
) -> list[TextSource]:
    """Those of the texts, by row, whose vector is another one."""
    wrong = []
    rows = list(texts)
    for start in range(0, len(rows), _BATCH):
        batch = rows[start : start + _BATCH]
        made = embedding.vectors([texts[row].text for row in batch])
        for row, vector in zip(batch, made, strict=True):
            stored = projections.vectors.vector(row)
            if vector and stored is not None and cosine_of(from_bytes(vector), stored) < PROBE_COSINE_MIN:
                wrong.append(texts[row])
    return wrong
