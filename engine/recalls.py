"""Recorded recalls, newest first: the questions, their actors and sessions, and what they got.

The log is read backwards from its end, a run of recalls at a time, and only as far as the page needs. Where recalls lie
close together a run is read in one go, which takes a sixth of the time of reading them one by one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypedDict

import msgspec

from recollect.engine import log_stream, validate
from recollect.engine.moments import When, iso, parse_seq
from recollect.engine.names import memory_named
from recollect.engine.recall_options import refuse_unknown
from recollect.engine.remember import recall_seq
from recollect.engine.store import REDACTED, Store
from recollect.engine.torn_state import locked
from recollect.events.envelope import Recorded
from recollect.events.errors import InvalidInput
from recollect.events.facts import Filters, MemoryId, Question, Rated, Recalled
from recollect.events.log import facts_of
from recollect.query.formula import from_log

LIMIT_DEFAULT = 50
LIMIT_MAX = 10_000
_RUN = 512
_SPARSE = 6


class RecallFilters(TypedDict, total=False):
    """Which recalls: every one given must hold; `limit` counts them, and they come before `before`.

    `session` is the one that asked, `project` the one that the question was about, `grep` a part of its text in any
    case, `held` a memory that was among the hits; `empty` found nothing, `rated` was judged afterwards: at all (True), "good" or "bad".
    """

    since: When | None
    until: When | None
    session: str | None
    project: str | None
    actor: str | None
    formula: str | None
    grep: str | None
    held: str | None
    empty: bool
    rated: bool | Literal["good", "bad"]
    limit: int
    before: int | str | None


class RecordedRecall(msgspec.Struct, frozen=True, kw_only=True):
    """A recall as the log has it; `hits` is how many there were, `best` the first of them."""

    id: str
    at: str
    query: str
    filters: Filters
    session: str | None
    actor: str
    formula: str
    hits: int
    best: str | None
    basis: int
    k: int
    degraded: tuple[str, ...]


class Recalls(msgspec.Struct, frozen=True, kw_only=True):
    """A page of recorded recalls, newest first; as a sequence it is its rows.

    `total` counts all recalls of the log; `before` asks for the page after this one, None if there is none.
    """

    recalls: tuple[RecordedRecall, ...]
    total: int
    before: int | None

    def __iter__(self) -> Iterator[RecordedRecall]:
        return iter(self.recalls)

    def __len__(self) -> int:
        return len(self.recalls)

    def __getitem__(self, index: int) -> RecordedRecall:
        return self.recalls[index]


@locked
def recalls(store: Store, filters: RecallFilters) -> Recalls:
    """The last `limit` recalls that pass the filters and, with `before`, came before that one."""
    refuse_unknown(filters, RecallFilters.__annotations__)
    limit = validate.whole(filters.get("limit", LIMIT_DEFAULT), "limit", low=1, high=LIMIT_MAX)
    wanted = _Wanted(store, filters)
    seqs = wanted.seqs(_before(filters.get("before")))
    found: list[Recorded] = []
    for recorded in backwards(store, seqs, first_run=limit + 1):
        if wanted.matches(recorded):
            found.append(recorded)
        if len(found) > limit:
            break
    shown = found[:limit]
    return Recalls(
        recalls=tuple(_row(store, recorded) for recorded in shown),
        total=len(store.projections.adoptions.recalls),
        before=shown[-1].seq if len(found) > limit else None,
    )


def _before(given: int | str | None) -> int | None:
    """A page begins before a recall (`r12`) or a seq."""
    if isinstance(given, str) and given.startswith("r"):
        return recall_seq(given)
    seq = None if given is None else parse_seq(given)
    if given is not None and seq is None:
        raise InvalidInput(f"before is {given!r}; it must be a recall such as r12, or a seq such as @12")
    return seq


class _Wanted:
    """The filters of one call, checked."""

    def __init__(self, store: Store, given: RecallFilters) -> None:
        selection = log_stream.select(
            store, session=given.get("session"), since=given.get("since"), until=given.get("until")
        )
        self._after, self._upto = selection.span(store.log, store.projections.position)
        self._store = store
        self._given = given
        self._grep = validate.text(given.get("grep") or "", "grep").casefold()
        self._formulas = _digests(store, given.get("formula"))
        rated = given.get("rated")
        self._rated = _rated(store, rated) if rated else None
        held = given.get("held")
        self._held = None if held is None else memory_named(store, held)
        names = ("session", "project", "actor", "grep", "held", "formula", "empty")
        self._reads = any(given.get(name) not in (None, "", False) for name in names)

    def seqs(self, before: int | None) -> list[int]:
        """Where the recalls are that may match, oldest first."""
        recalls = self._store.projections.adoptions.recalls
        upto = self._upto if before is None else min(self._upto, before - 1)
        first, end = recalls.searchsorted([self._after, upto], side="right").tolist()
        found: list[int] = recalls[first:end].tolist()
        return found if self._rated is None else [seq for seq in found if seq in self._rated]

    def matches(self, recorded: Recorded) -> bool:
        """Whether a recall passes; of one that was erased nothing is left that a filter could read."""
        fact, given = recorded.fact, self._given
        if not isinstance(fact, Recalled):
            return not self._reads
        question = fact.question
        projects = (question.filters.project, question.context.project)
        return (
            given.get("session") in (None, question.session)
            and (given.get("project") is None or given["project"] in projects)
            and given.get("actor") in (None, recorded.actor)
            and (self._formulas is None or fact.formula in self._formulas)
            and (not self._grep or self._grep in question.text.casefold())
            and (self._held is None or self._held in fact.ids)
            and not (given.get("empty") and fact.ids)
        )


def _digests(store: Store, formula: str | None) -> frozenset[str] | None:
    """The formulas of the log that a name, name@digest or the beginning of a digest means."""
    if formula is None:
        return None
    known = store.projections.adoptions.formulas
    name, _, digest = formula.partition("@")
    named = {one for one in known if label_of(store, one).partition("@")[0] == name}
    found = {one for one in named if one.startswith(digest)} or {
        one for one in known if one.startswith(formula)
    }
    if not found:
        there = ", ".join(sorted({label_of(store, one) for one in known})) or "none yet"
        raise InvalidInput(f"no recall was ranked by a formula {formula!r}; in the log there are: {there}")
    return frozenset(found)


def _rated(store: Store, how: bool | str) -> set[int]:
    """The recalls that a rating names: any, or only a good or a bad one."""
    if how not in (True, "good", "bad"):
        raise InvalidInput(f"rated is {how!r}; it is true, good or bad")
    return {
        fact.recall
        for _, fact in facts_of(store.log, Rated)
        if fact.recall is not None
        if how is True or (fact.verdict == "helpful") == (how == "good")
    }


def backwards(store: Store, seqs: list[int], *, first_run: int) -> Iterator[Recorded]:
    """The events at these seqs, the last one first; no more of them are read than are asked for, roughly."""
    end, run = len(seqs), first_run
    while end > 0:
        part = seqs[max(0, end - run) : end]
        if part[-1] - part[0] < _SPARSE * len(part):
            chosen = set(part)
            events = [one for one in store.log.read(part[0] - 1, part[-1]) if one.seq in chosen]
        else:
            events = [store.event(seq) for seq in part]
        yield from reversed(events)
        end, run = end - len(part), _RUN


def _row(store: Store, recorded: Recorded) -> RecordedRecall:
    fact = recalled_of(recorded)
    return RecordedRecall(
        id=f"r{recorded.seq}",
        at=iso(recorded.at),
        query=fact.question.text,
        filters=fact.question.filters,
        session=fact.question.session,
        actor=recorded.actor,
        formula=label_of(store, fact.formula),
        hits=len(fact.ids),
        best=fact.ids[0] if fact.ids else None,
        basis=fact.basis,
        k=fact.question.k,
        degraded=fact.degraded,
    )


def recalled_of(recorded: Recorded) -> Recalled:
    """What a recall recorded; of one that was erased the time is left."""
    if isinstance(recorded.fact, Recalled):
        return recorded.fact
    question = Question(text=REDACTED, now=recorded.at)
    return Recalled(question=question, basis=0, formula="", ids=(), scores=())


def those_that_held(store: Store, memory_id: MemoryId) -> Iterator[tuple[Recorded, Recalled]]:
    """The recalls with this memory among the hits, newest first."""
    for recorded in backwards(store, store.projections.adoptions.recalls.tolist(), first_run=_RUN):
        if isinstance(fact := recorded.fact, Recalled) and memory_id in fact.ids:
            yield recorded, fact


def label_of(store: Store, digest: str) -> str:
    """A formula of the log as name@digest."""
    formula = from_log(store.projections.adoptions.formulas.get(digest), digest)
    return digest[:12] if formula is None else f"{formula.name}@{digest[:12]}"
