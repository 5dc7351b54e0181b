"""Summarise (only with a summariser): a memory derived from several, which stay as they are.

A group is the living memories of one topic key and project, else those of one cluster, `sources_min` or more. The
summary is linked `derived_from` to each source; its trust and importance are the least of theirs. Under the
default formula it never outranks a source for the source's own text: the stage `derived_from` sees to that.
A group that was summarised once is not summarised again; a summary of a grown group supersedes the smaller one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from recollect.dream.candidates import Candidates
from recollect.dream.phase import Change, Outcome, PhaseInput
from recollect.events.facts import (
    AnyFact,
    GridVector,
    Ingested,
    Linked,
    MemoryId,
    ModelSaid,
    Superseded,
)
from recollect.projections.columns import IntArray
from recollect.query.stages.ordering import DERIVED_FROM

_GROUPS = """
    WITH grouped AS (
        SELECT *, CASE WHEN key >= 0 THEN 0 ELSE 1 END AS how, CASE WHEN key >= 0 THEN key ELSE cluster END AS name,
               CASE WHEN key >= 0 THEN project ELSE -1 END AS scope
        FROM memories WHERE NOT derived AND (key >= 0 OR cluster >= 0)
    ), newest AS (
        SELECT *, row_number() OVER (PARTITION BY how, name, scope ORDER BY updated_at DESC, memory) AS place
        FROM grouped
    )
    SELECT list(memory ORDER BY memory) AS members FROM newest WHERE place <= $sources_max
    GROUP BY how, name, scope HAVING count(*) >= $sources_min
    ORDER BY count(*) DESC, how, name, scope
"""


class Composed(NamedTuple):
    """What a summariser made of some texts, embedded; `said_by` is the model behind it, if that is known."""

    content: str
    vector: GridVector | None = None
    embedder: str | None = None
    said_by: ModelSaid | None = None


Compose = Callable[[Sequence[MemoryId]], Composed | None]


def summary_id(sources: Sequence[MemoryId]) -> MemoryId:
    """The id of the summary of these memories; their order does not matter."""
    return "summary-" + hashlib.sha256("\n".join(sorted(sources)).encode()).hexdigest()[:16]


def summarise(given: PhaseInput, compose: Compose) -> Outcome:
    settings, ids = given.settings.summarise, given.view.documents.ids
    candidates = Candidates(given)
    earlier = _sources(given, candidates.memories)
    candidates.add("derived", np.isin(candidates.memories, list(earlier)))
    candidates.add("cluster", given.view.graph.clusters.of(candidates.memories, given.view.seq))
    groups = candidates.ask(_GROUPS, sources_min=settings.sources_min, sources_max=settings.sources_max)
    facts: list[AnyFact] = []
    changes: list[Change] = []
    for row in groups:
        if len(changes) == settings.groups_max:
            break
        members: list[int] = list(row["members"])
        sources = [ids.values[memory] for memory in members]
        composed = compose(sources) if ids.find(summary_id(sources)) < 0 else None
        if composed is not None:
            facts += _derived(given, members, composed)
            facts += [
                Superseded(old=ids.values[old], new=summary_id(sources), reason="a summary of more sources")
                for old, covered in earlier.items()
                if covered <= set(members)
            ]
            why = f"summarises {len(sources)} memories: {', '.join(sources)}"
            changes.append(
                Change(id=summary_id(sources), what="memory", before=None, after="derived", why=why)
            )
    return Outcome(tuple(facts), len(groups), tuple(changes))


def _sources(given: PhaseInput, memories: IntArray) -> dict[int, set[int]]:
    """The living derived memories with what they were derived from."""
    edges = given.view.graph.neighbours(memories, given.view.seq, direction="out", kinds=(DERIVED_FROM,))
    found: dict[int, set[int]] = {}
    for derived, source in zip(edges.of.tolist(), edges.memory.tolist(), strict=True):
        found.setdefault(derived, set()).add(source)
    return found


def _derived(given: PhaseInput, members: list[int], composed: Composed) -> list[AnyFact]:
    """The summary and its links."""
    columns = given.view.lifecycle.at(np.array(members, dtype=np.int64), given.view.seq)
    sources = [given.view.documents.ids.values[memory] for memory in members]
    projects = set(columns.texts(columns.project))
    fact = Ingested(
        id=summary_id(sources),
        content=composed.content,
        at=given.now,
        vector=composed.vector,
        embedder=composed.embedder,
        kind=given.settings.summarise.kind,
        importance=float(columns.importance.min()),
        trust=float(columns.trust.min()),
        tags=("derived",),
        project=projects.pop() if len(projects) == 1 else None,
        source=f"dream {given.dream}",
        said_by=composed.said_by,
    )
    return [fact, *(Linked(a=fact.id, b=source, kind=DERIVED_FROM) for source in sources)]
