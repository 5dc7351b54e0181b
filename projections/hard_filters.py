"""Which memories a question may see: the hard filters, as a mask over many memories and in words for one.

A memory that expires at `now` is expired. `since` is inclusive and `until` exclusive, both on the time of
creation; `valid_at` must lie in [valid_from, valid_to), and is the clock in a question with `valid_now` that names
no other time (`scope_of`). `kinds`, `tags`, `entities` and `sources` match any.
Whether a memory is forgotten is decided in `documents`.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec
import numpy as np

from recollect.events.facts import Filters, Micros, Question
from recollect.projections.columns import BoolArray, Int32Array, Interner
from recollect.projections.lifecycle.columns import LifecycleColumns
from recollect.projections.lifecycle.state import LifecycleState
from recollect.projections.lifecycle.traits import ALWAYS

NO_FILTERS = Filters()
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def scope_of(question: Question) -> Filters:
    """The filters of a question; with `valid_now`, the question's clock is the time of validity unless another is named."""
    if not question.valid_now or question.filters.valid_at is not None:
        return question.filters
    return msgspec.structs.replace(question.filters, valid_at=question.now)


def admissible(columns: LifecycleColumns, ids: Interner, *, now: Micros, filters: Filters) -> BoolArray:
    """Which of these memories have not expired and match the filters."""
    mask = columns.expires_at > now
    if filters == NO_FILTERS:
        return mask
    for wanted, column in (
        ((filters.project,), "project"),
        ((filters.session,), "session"),
        (filters.kinds, "kind"),
        (filters.sources, "source"),
    ):
        names = [name for name in wanted if name is not None]
        if names:
            values = getattr(columns, column)
            matches = _one_of(values, names, columns.strings)
            mask &= matches | (values < 0) if column == "project" and filters.unscoped else matches
    if filters.tags:
        mask &= columns.sets.holding(filters.tags)[columns.tags]
    if filters.entities:
        mask &= columns.sets.holding(filters.entities)[columns.entities]
    mask &= _in_time(columns, filters)
    if filters.min_importance is not None:
        mask &= columns.importance >= filters.min_importance
    if filters.exclude:
        mask &= ~np.isin(columns.memories, [ids.find(id_) for id_ in filters.exclude])
    return mask


def _one_of(column: Int32Array, names: list[str], strings: Interner) -> BoolArray:
    mask = np.zeros(len(column), dtype=np.bool_)
    for number in map(strings.find, names):
        if number >= 0:
            mask |= column == number
    return mask


def _in_time(columns: LifecycleColumns, filters: Filters) -> BoolArray:
    mask = np.ones(len(columns), dtype=np.bool_)
    if filters.since is not None:
        mask &= columns.created_at >= filters.since
    if filters.until is not None:
        mask &= columns.created_at < filters.until
    if filters.valid_at is not None:
        mask &= (columns.valid_from <= filters.valid_at) & (filters.valid_at < columns.valid_to)
    return mask


def refusal(state: LifecycleState, id_: str, *, now: Micros, filters: Filters) -> str | None:
    """Why this memory is not admissible, in words; None if it is."""
    if state.expires_at is not None and state.expires_at <= now:
        return f"expired at {_when(state.expires_at)}"
    if id_ in filters.exclude:
        return "the question excludes it by its id"
    return (
        _refused_by_name(state, filters)
        or _refused_by_time(state, filters)
        or _refused_by_validity(state, filters, now)
        or _refused_by_rank(state, filters)
    )


def _refused_by_name(state: LifecycleState, filters: Filters) -> str | None:
    for what, value, wanted in (
        ("project", state.project, () if filters.project is None else (filters.project,)),
        ("session", state.session, () if filters.session is None else (filters.session,)),
        ("kind", state.kind, filters.kinds),
        ("source", state.source, filters.sources),
    ):
        if wanted and value not in wanted and not (what == "project" and value is None and filters.unscoped):
            return f"{what} is {value!r}, the question asked for {_either(wanted)}"
    for what, values, wanted in (
        ("tags", state.tags, filters.tags),
        ("entities", state.entities, filters.entities),
    ):
        if wanted and not set(values) & set(wanted):
            has = ", ".join(map(repr, values)) or "none"
            return f"{what} are {has}, the question asked for {_either(wanted)}"
    return None


def _refused_by_time(state: LifecycleState, filters: Filters) -> str | None:
    created = f"created at {_when(state.created_at)}, the question asked for"
    if filters.since is not None and state.created_at < filters.since:
        return f"{created} {_when(filters.since)} or later"
    if filters.until is not None and state.created_at >= filters.until:
        return f"{created} before {_when(filters.until)}"
    return None


def _refused_by_validity(state: LifecycleState, filters: Filters, now: Micros) -> str | None:
    """Why validity excludes the memory: "over" or "not yet" for a question about its own clock, else the time asked for."""
    asked = filters.valid_at
    if asked is None:
        return None
    about = f"the question asked about {_when(asked)}"
    if state.valid_from is not None and asked < state.valid_from:
        since = _when(state.valid_from)
        return f"not yet valid: only from {since}" if asked == now else f"valid from {since}, {about}"
    if state.valid_to is not None and asked >= state.valid_to:
        end = _when(state.valid_to)
        return f"no longer valid since {end}" if asked == now else f"valid until {end}, {about}"
    return None


def _refused_by_rank(state: LifecycleState, filters: Filters) -> str | None:
    if filters.min_importance is not None and not state.importance >= filters.min_importance:
        return f"importance is {state.importance}, the question asked for at least {filters.min_importance}"
    return None


def _either(wanted: tuple[str, ...]) -> str:
    return " or ".join(map(repr, wanted))


def _when(at: Micros) -> str:
    try:
        return (_EPOCH + timedelta(microseconds=at)).isoformat()
    except OverflowError:
        return "the beginning of time" if at < ALWAYS // 2 else f"{at} µs"
