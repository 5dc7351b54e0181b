"""recent access: memories by their last touch in the log, latest first.

A touch is the birth of a memory or an access to it. Both are recorded in seq order, so the latest are found
from the end backwards: a few hundred records are read, not the whole history.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

import numpy as np

from recollect.projections.columns import IntArray
from recollect.projections.lifecycle.histories import Histories


class RecentAccess(NamedTuple):
    """Memories, each once, by the seq of their last touch, descending; `complete` if there are no others."""

    memories: IntArray
    seqs: IntArray
    complete: bool


def recent_access(histories: Histories, seq: int, records: int) -> RecentAccess:
    """The memories of the last `records` births and accesses at or before `seq`.

    What was touched before the oldest record that was read may be missing, so only touches from there on
    are given: their order is final however many records are read.
    """
    accesses, births = histories.usage, histories.born
    read_to = bisect_right(range(len(accesses)), seq, key=accesses.seq)
    born_to = bisect_right(range(len(births)), seq, key=lambda memory: int(births[memory]))
    read_from, born_from = max(read_to - records, 0), max(born_to - records, 0)
    table = accesses.table.array[read_from:read_to]
    memories = np.concatenate((table["owner"].astype(np.int64), np.arange(born_from, born_to)))
    seqs = np.concatenate((table["seq"], births.array[born_from:born_to])).astype(np.int64)
    unread = [accesses.seq(read_from - 1)] if read_from else []
    unread += [int(births[born_from - 1])] if born_from else []
    return RecentAccess(*_once(memories, seqs, after=max(unread, default=0)), complete=not unread)


def _once(memories: IntArray, seqs: IntArray, *, after: int) -> tuple[IntArray, IntArray]:
    """Each memory once, with its last touch if that is later than `after`: latest first, then by number."""
    order = np.lexsort((memories, -seqs))
    _, first = np.unique(memories[order], return_index=True)
    kept = order[np.sort(first)]
    kept = kept[seqs[kept] > after]
    return memories[kept], seqs[kept]
