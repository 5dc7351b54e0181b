"""What a memory resembles: the living memories of its project whose vectors are near its own.

Models differ in what they call unrelated, so nearness is measured from the model's own zero (`unrelated_cosine`):

    nearness = (cosine − zero) / (1 − zero)      at least RECOLLECT_SIMILAR, 0.6 unless set; "off" looks for none

One vector search that waits for no index: a shard that is not at hand is scanned. A memory without a vector is compared
by words: the cosine of the sets of terms, |A ∩ B| / √(|A|·|B|). Nothing is decided here, and nothing is written.
"""

from __future__ import annotations

import math
import os
from typing import Literal

import msgspec
import numpy as np

from recollect.engine import validate
from recollect.engine.memories import born
from recollect.engine.moments import iso
from recollect.engine.store import Store
from recollect.engine.torn_state import locked
from recollect.events.errors import InvalidInput
from recollect.events.facts import Filters, MemoryId
from recollect.projections.columns import BoolArray, Int32Array
from recollect.projections.lexical.bm25 import Bm25
from recollect.projections.portable_math import round12
from recollect.projections.vectors.shard_cache import around
from recollect.projections.view import View
from recollect.query.inputs import unrelated_cosine

Basis = Literal["meaning", "words"]

SETTING = "RECOLLECT_SIMILAR"
NEARNESS_MIN = 0.6
SIMILAR_MAX = 3
_LOOKED_AT = 64
_WORDS_MAX = 64


class Similar(msgspec.Struct, frozen=True, kw_only=True):
    """A memory that another one resembles; `cosine` is that of their vectors, or of their words if `by` says so."""

    id: MemoryId
    content: str
    cosine: float
    when: str
    by: Basis = "meaning"


def nearness_min() -> float | None:
    """How near a memory must be to be named; None to look for none."""
    told = os.environ.get(SETTING, "").strip()
    if told == "off":
        return None
    try:
        share = float(told) if told else NEARNESS_MIN
    except ValueError:
        share = math.nan
    if not 0.0 < share <= 1.0:
        raise InvalidInput(f"{SETTING} is a share above 0 and at most 1, or off, not {told!r}")
    return share


@locked
def similar(store: Store, memory_id: str) -> list[Similar]:
    """The memories that this one resembles, nearest first; at most three."""
    least, view = nearness_min(), store.view()
    memory, row = born(store, view, validate.identifier(memory_id))
    if least is None:
        return []
    by: Basis
    others, text, found = _Others(view, memory), store.content_of_row(row), []
    if view.vectors.comparable(np.array([row]), at=view.seq)[0]:
        by, pairs = "meaning", _by_meaning(view, row, others, least)
    else:
        by, pairs = "words", _by_words(view, row, text, others, least)
    for other, cosine in pairs[:SIMILAR_MAX]:
        number = int(view.documents.memory_of[other])
        found.append(
            Similar(
                id=view.documents.ids.values[number],
                content=store.content_of_row(other),
                cosine=cosine,
                when=iso(view.lifecycle.state(number, view.seq).created_at),
                by=by,
            )
        )
    return found


class _Others:
    """Admits rows of other memories that answer at the time of the view, of the same project if the memory has one."""

    def __init__(self, view: View, memory: int) -> None:
        self._view, self._memory, self._now = view, memory, view.time
        self._scope = Filters(project=view.lifecycle.state(memory, view.seq).project, valid_at=self._now)

    def __call__(self, rows: Int32Array) -> BoolArray:
        memories, view = self._view.documents.memory_of[rows], self._view
        able = view.lifecycle.admissible(memories, seq=view.seq, now=self._now, filters=self._scope)
        able &= memories != self._memory
        return able


def _by_meaning(view: View, row: int, others: _Others, least: float) -> list[tuple[int, float]]:
    vectors = view.projections.vectors
    point = vectors.vector(row)
    assert point is not None
    absent = [one.digest for one in vectors.shards_at(view.seq) if not vectors.shards.has(one.digest)]
    hits, _ = around(
        lambda without: vectors.search(
            point, at=view.seq, top=_LOOKED_AT, admit=others, without=[*absent, *without]
        )
    )
    zero = unrelated_cosine(view, hits.rows)
    near = (hits.cosines - zero) / (1.0 - zero) >= least
    return list(zip(hits.rows[near].tolist(), hits.cosines[near].tolist(), strict=True))


def _by_words(view: View, row: int, text: str, others: _Others, least: float) -> list[tuple[int, float]]:
    """Search with any existing index of words; find nothing without one."""
    lexical = next(iter(view.projections.lexicals.values()), None)
    own = set() if lexical is None else set(lexical.terms_of(row))
    if lexical is None or not own:
        return []
    query = " ".join(text.split()[:_WORDS_MAX])
    hits = lexical.search(query, at=view.seq, bm25=Bm25(), top=_LOOKED_AT, admit=others)
    found = []
    for other in hits.rows.tolist():
        terms = set(lexical.terms_of(other))
        cosine = round12(len(own & terms) / math.sqrt(len(own) * len(terms)))
        if cosine >= least:
            found.append((other, cosine))
    return sorted(found, key=lambda pair: (-pair[1], pair[0]))
