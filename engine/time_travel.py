"""What changed between two moments, and which event did it: why_changed, bisect, ranks. Nothing is written."""

from __future__ import annotations

import msgspec

from recollect.engine import validate
from recollect.engine.embedding.past import vector_of
from recollect.engine.event_summaries import summarize
from recollect.engine.formula_lookup import formula_named
from recollect.engine.memories import born
from recollect.engine.moments import Edge, When
from recollect.engine.names import memory_named
from recollect.engine.recall import Standpoint, check_context
from recollect.engine.recall_options import RecallOptions, question_of
from recollect.engine.recorded_question import Posed, posed
from recollect.engine.store import Progress, Store
from recollect.engine.torn_state import locked
from recollect.events.errors import InvalidInput
from recollect.events.facts import GridVector
from recollect.replay.changes import bisect as bisecting
from recollect.replay.changes import why_changed as changing
from recollect.replay.changes.bisect import Bisection
from recollect.replay.changes.inquiry import Inquiry, Moment
from recollect.replay.changes.ranks import RankHistory, rank_history
from recollect.replay.changes.why_changed import Change
from recollect.replay.redaction import erased_within
from recollect.replay.why import NothingLeftToExplain

_POINTS_MAX = 1_000


@locked
def why_changed(
    here: Standpoint, query: str, name: str, since: When, until: When | None, options: RecallOptions
) -> Change:  # fmt: skip
    """Why a memory's rank and score differ between two moments, cause by cause."""
    memory_id, begin, end = _range(here.store, name, since, until)
    asked = posed(here.store, query, options, required=True)
    inquiry = inquiry_of(here, asked, now=end.now)
    if asked.options.get("now") is not None:
        begin, end = (moment._replace(now=inquiry.question.now) for moment in (begin, end))
    return changing.why_changed(here.store.log, inquiry, memory_id, begin, end)


class RanksOptions(RecallOptions, total=False):
    """How many points, and recall's options."""

    points: int


class BisectOptions(RecallOptions, total=False):
    """How to search, as `Memory.bisect` says, and recall's options."""

    until_rank: int
    every: bool
    progress: Progress | None


@locked
def bisect(
    here: Standpoint, query: str, name: str, since: When | None, until: When | None, options: BisectOptions
) -> Bisection:
    """The first event after which a memory left, or entered, the first `until_rank` places."""
    until_rank = validate.whole(options.pop("until_rank", 10), "until_rank", low=1, high=validate.K_MAX)
    every, progress = options.pop("every", False), options.pop("progress", None)
    store = here.store
    memory_id, begin, end = _range(store, name, since, until)
    asked = posed(store, query, options, required=True)
    asked.options.setdefault("k", max(10, until_rank))
    inquiry = inquiry_of(here, asked, now=end.now)
    found = bisecting.bisect(
        store.log, inquiry, memory_id, since=begin.seq, until=end.seq, top=until_rank,
        clock=lambda _: inquiry.question.now, every=every, progress=progress,
    )  # fmt: skip
    if found.seq is None:
        return found
    return msgspec.structs.replace(found, event=summarize(store.event(found.seq).fact, None))


@locked
def ranks(
    here: Standpoint, query: str, name: str, since: When | None, until: When | None, options: RanksOptions
) -> RankHistory:
    """A memory's rank over time, each point with the corpus, formula and clock of its moment."""
    points = validate.whole(options.pop("points", 60), "points", low=2, high=_POINTS_MAX)
    store = here.store
    memory_id, begin, end = _range(store, name, since, until)
    asked = posed(store, query, options, required=True)
    inquiry = inquiry_of(here, asked, now=end.now)
    clock = store.log.effective_time if asked.options.get("now") is None else lambda _: inquiry.question.now
    return rank_history(
        store.log, inquiry, memory_id, since=begin.seq, until=end.seq, points=points, clock=clock
    )


def inquiry_of(here: Standpoint, asked: Posed, *, now: int) -> Inquiry:
    """The question in a form that can be asked at any moment."""
    store, wanted = here.store, asked.options.get("formula")
    if asked.options.get("without"):
        raise InvalidInput(
            "`without` is for recall, explain and impact; a question over time is asked of what was told"
        )
    question = asked.with_effects(question_of(asked.text, asked.options, now=now))
    formula = None if wanted is None else formula_named(store, wanted, files=True)
    check_context(question.context, formula or here.formula)

    def embed(label: str) -> tuple[GridVector | None, str | None]:
        recorded = asked.vector(label)
        return vector_of(store, here.embedding, asked.text, label) if recorded is None else (recorded, None)

    return Inquiry(
        store.log,
        store.projections,
        question,
        formula=formula,
        embed=embed,
    )


def moment_at(store: Store, when: When | None, *, edge: Edge = "ends") -> Moment:
    """As `at` understands it: now if not given, and never in the middle of a dream."""
    if when is None:
        return Moment(store.catch_up(), store.clock())
    seq, now = store.resolve(when, edge=edge)
    return Moment(store.projections.adoptions.whole(seq), now)


def _range(store: Store, name: str, since: When | None, until: When | None) -> tuple[str, Moment, Moment]:
    """The memory that this names, and where to ask for it: from its birth to now unless told otherwise."""
    memory_id, end = memory_named(store, name), moment_at(store, until)
    memory, _ = born(store, store.view(end.seq), memory_id)
    begin = moment_at(store, _birth(store, memory, end.seq) if since is None else since, edge="begins")
    if begin > end:
        raise InvalidInput(f"since (@{begin.seq}) lies after until (@{end.seq}); swap them")
    _refuse_erased(store, memory_id, begin.seq, end.seq)
    return memory_id, begin, end


def _birth(store: Store, memory: int, seq: int) -> int:
    """The seq at which a memory was first remembered; anew, if it had been erased by `seq`."""
    erasures = store.projections.documents.erasures
    erased = max((one.seq for one in erasures if one.memory == memory and one.seq <= seq), default=0)
    versions = _versions(store, memory)
    return next((seq_ for seq_ in versions if erased < seq_ <= seq), versions[0])


def _versions(store: Store, memory: int) -> list[int]:
    """The seqs at which a memory got a text or a vector."""
    documents = store.projections.documents
    seqs: list[int] = documents.born[documents.versions_of(memory)].tolist()
    return seqs


def _refuse_erased(store: Store, memory_id: str, since: int, until: int) -> None:
    """Refuse an erased memory: its past rank cannot be computed any more."""
    erased = erased_within(store.log, store.projections, memory_id, since, until)
    if erased is None:
        return
    versions = _versions(store, store.projections.documents.ids.find(memory_id))
    anew = next((seq for seq in versions if seq > erased), None)
    hint = "" if anew is None else f"; it was remembered anew at @{anew}: ask from there on"
    raise NothingLeftToExplain(f"{memory_id!r} was erased at @{erased}; nothing is left to rank it by{hint}")
