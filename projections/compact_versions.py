"""Histories in a checkpoint, without what can be computed again: links, and counters.

A record of accesses takes 56 bytes in memory. Its links (`prev`, `jump`, `depth`) follow from the order of the records.
Counters are kept as the step from the owner's version before; seqs and times as the step from the record before. Each
column has the smallest integers that hold it, and one number if all are the same: six to ten bytes a record.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
import numpy.typing as npt

from recollect.projections.columns import IntArray, Saved, State, Versions

_LINKS = ("prev", "jump", "depth")
_WIDTHS = (np.int8, np.int16, np.int32)


def dump_compact(versions: Versions, prefix: str, counters: Collection[str]) -> State:
    """The history as small arrays; `counters` are the columns that are kept as steps per owner."""
    table = versions.table.array
    owners = table["owner"].astype(np.int64)
    state: State = {
        f"{prefix}.rows": np.array([len(table)], dtype=np.int64),
        f"{prefix}.owner": _small(owners),
    }
    order, starts = _chains(owners)
    for name in (name for name in table.dtype.names or () if name not in (*_LINKS, "owner")):
        values = table[name].astype(np.int64)
        if name in counters:
            values = values[order]
            values = values - np.where(starts, 0, np.roll(values, 1))
        else:
            state[f"{prefix}.{name}.first"] = values[:1]
            values = np.diff(values)
        state[f"{prefix}.{name}"] = _small(values)
    return state


def load_compact(versions: Versions, prefix: str, state: Saved, counters: Collection[str]) -> None:
    """Take over what `dump_compact` gave."""
    rows = int(state[f"{prefix}.rows"][0])
    owners = _wide(state[f"{prefix}.owner"], rows)
    order, starts = _chains(owners)
    table = np.empty(rows, dtype=versions.table.dtype)
    table["owner"] = owners
    for name in (name for name in table.dtype.names or () if name not in (*_LINKS, "owner")):
        steps = state[f"{prefix}.{name}"]
        if name in counters:
            sums = np.cumsum(_wide(steps, rows))
            before = np.concatenate(([0], sums[:-1]))[: len(sums)]
            table[name][order] = sums - before[starts][np.cumsum(starts) - 1]
        elif rows:
            first = state[f"{prefix}.{name}.first"]
            table[name] = np.cumsum(np.concatenate((first, _wide(steps, rows - 1))))
    _link(table, order, starts)
    latest = np.full(int(owners.max(initial=-1)) + 1, -1, dtype=np.int32)
    latest[owners] = np.arange(rows)  # if an owner occurs several times, the last one stays
    versions.adopt(table, latest)


def _link(table: npt.NDArray[Any], order: IntArray, starts: npt.NDArray[np.bool_]) -> None:
    """The links that appending the records one by one makes: they depend on how deep each is in its chain."""
    places = np.arange(len(order))
    first = places[starts][np.cumsum(starts) - 1]
    depths = places - first
    far = _jump_depths(int(depths.max(initial=0)) + 1)[depths]
    table["depth"][order] = depths
    table["prev"][order] = np.where(starts, -1, np.roll(order, 1))
    table["jump"][order] = np.where(starts, -1, order[np.where(starts, 0, first + far)])


def _jump_depths(count: int) -> IntArray:
    """For each depth, the depth of the record that it jumps to (see `Versions`)."""
    jumps = [-1]
    for depth in range(count - 1):
        jump = jumps[depth]
        far = jumps[jump] if jump >= 0 else -1
        jumps.append(far if far >= 0 and depth - jump == jump - far else depth)
    return np.array(jumps, dtype=np.int64)


def _chains(owners: IntArray) -> tuple[IntArray, npt.NDArray[np.bool_]]:
    """The records by owner, each owner's in their order, and which of them are an owner's first."""
    order = np.argsort(
        (owners & 0xFFFF).astype(np.uint16), kind="stable"
    )  # numpy sorts 16 bits in linear time
    if len(owners) and int(owners.max()) > 0xFFFF:
        order = order[np.argsort((owners[order] >> 16).astype(np.uint16), kind="stable")]
    ordered = owners[order]
    return order, np.concatenate((np.ones(min(1, len(ordered)), dtype=np.bool_), ordered[1:] != ordered[:-1]))


def _small(values: IntArray) -> npt.NDArray[Any]:
    if not len(values):
        return values
    low, high = int(values.min()), int(values.max())
    kept = values[:1] if low == high else values
    for width in _WIDTHS:
        if np.iinfo(width).min <= low and high <= np.iinfo(width).max:
            return kept.astype(width)
    return kept


def _wide(values: npt.NDArray[Any], rows: int) -> IntArray:
    wide: IntArray = values.astype(np.int64)
    return np.repeat(wide, rows) if len(wide) == 1 else wide
