"""Random valid logs: every type of event, over a few memories, some of which never come to exist.

`log_of(*facts)` writes a log by hand; `logs()` draws one. Events name ids that are unknown, hidden or visible
alike, ids are ingested twice, edges replaced, downscales revoked: all that a log may hold, in any order.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from msgspec import UNSET

from recollect.events.envelope import Recorded, encode, type_name
from recollect.events.facts import (
    Accessed,
    AnyFact,
    Attested,
    Branch,
    ClockCorrected,
    Cluster,
    Clustered,
    Consolidated,
    Downscaled,
    DreamBegan,
    DreamEnded,
    Effects,
    EmbedderAdopted,
    Erased,
    ExpectationWithdrawn,
    Expected,
    Filters,
    Forgotten,
    FormulaAdopted,
    Ingested,
    Linked,
    Pairing,
    Placed,
    Placement,
    Promoted,
    Promotion,
    Pruned,
    Pruning,
    Question,
    Rated,
    Recalled,
    Recovered,
    Redacted,
    Reembedded,
    Reranked,
    Restored,
    Revised,
    ShardSealed,
    StabilityChange,
    Stabilized,
    StrengthChange,
    Superseded,
    Unknown,
    Unlinked,
)
from recollect.events.grid import quantize, to_bytes
from recollect.events.upcasts import VERSIONS

DAY = 86_400_000_000
DIMENSIONS = 4
EMBEDDERS = ("tiny", "other")
IDS = ("m0", "m1", "m2", "m3")
GHOST = "ghost"  # an id that is never ingested

AnyRecorded = AnyFact | Unknown | Redacted

ids = st.sampled_from((*IDS, *IDS, GHOST))
times = st.integers(0, 40).map(lambda days: days * DAY)
maybe_times = st.none() | times
sessions = st.none() | st.sampled_from(("s0", "s1", "s2"))
projects = st.none() | st.sampled_from(("alpha", "beta"))
sources = st.none() | st.sampled_from(("cli", "web"))
kinds = st.sampled_from(("note", "decision", "session", "Bug"))
tag_sets = st.lists(st.sampled_from(("red", "green", "blue", "")), max_size=3).map(tuple)
shares = st.integers(0, 10).map(lambda tenths: tenths / 10)
texts = st.lists(st.sampled_from(["tea", "cup", "blue", "the", "moon", "42", "naïve"]), max_size=6).map(
    " ".join
)
marks = st.none() | st.just("Explicit")
grid_vectors = (
    st.lists(st.integers(-9, 9), min_size=DIMENSIONS, max_size=DIMENSIONS)
    .filter(any)
    .map(lambda entries: to_bytes(quantize(entries)))
)
embeddings = st.just((None, None)) | st.tuples(grid_vectors, st.sampled_from(EMBEDDERS))


def unset_or(values: SearchStrategy[object]) -> SearchStrategy[object]:
    return st.just(UNSET) | values


@st.composite
def ingested(draw: st.DrawFn) -> Ingested:
    vector, embedder = draw(embeddings)
    return Ingested(
        id=draw(st.sampled_from(IDS)),
        content=draw(texts),
        at=draw(times),
        vector=vector,
        embedder=embedder,
        kind=draw(kinds),
        importance=draw(shares),
        priority=draw(st.none() | st.integers(-1, 3)),
        tags=draw(tag_sets),
        entities=draw(tag_sets),
        project=draw(projects),
        session=draw(sessions),
        source=draw(sources),
        valid_from=draw(maybe_times),
        valid_to=draw(maybe_times),
        expires_at=draw(maybe_times),
        importance_tag=draw(marks),
        key=draw(st.none() | st.just("topic")),
        trust=draw(shares),
    )


@st.composite
def revised(draw: st.DrawFn) -> Revised:
    """A few fields; a vector comes with its embedder."""
    optional = {
        "content": texts,
        "kind": kinds,
        "importance": shares,
        "priority": st.none() | st.integers(-1, 3),
        "tags": tag_sets,
        "entities": tag_sets,
        "project": projects,
        "session": sessions,
        "source": sources,
        "valid_from": maybe_times,
        "valid_to": maybe_times,
        "expires_at": maybe_times,
        "importance_tag": marks,
        "key": st.none() | st.just("topic"),
        "trust": shares,
    }
    names = draw(st.lists(st.sampled_from(sorted(optional)), max_size=4, unique=True))
    fields = {name: draw(optional[name]) for name in names}
    vector, embedder = draw(st.just((UNSET, UNSET)) | embeddings)
    return Revised(id=draw(ids), at=draw(times), vector=vector, embedder=embedder, **fields)


accessed = st.builds(
    Accessed,
    ids=st.lists(ids, min_size=1, max_size=3).map(tuple),
    at=times,
    session=sessions,
    how=st.sampled_from(("returned", "injected", "used")),
    recall=st.none() | st.integers(1, 9),
)
questions = st.builds(
    Question,
    text=texts,
    now=times,
    vector=st.none() | grid_vectors,
    session=sessions,
    filters=st.builds(Filters, project=projects, tags=tag_sets, exclude=st.lists(ids, max_size=1).map(tuple)),
    effects=st.just(Effects())
    | st.builds(Effects, reranked=st.just(Reranked(model="cross", scores={"m0": 0.5}))),
)
recalled = st.builds(
    lambda question, found, branch: Recalled(
        question=question,
        basis=0,
        formula="f0",
        ids=tuple(found),
        scores=tuple(1.0 for _ in found),
        branch=branch,
    ),
    questions,
    st.lists(st.sampled_from(IDS), max_size=2, unique=True),
    st.none() | st.just(Branch(seq=7, chain="0" * 64)),
)
clustered = st.builds(
    Clustered,
    method=st.just("leader"),
    clusters=st.lists(
        st.builds(
            Cluster,
            name=st.sampled_from(("tea", "moon")),
            centroid=grid_vectors,
            members=st.lists(ids, max_size=3).map(tuple),
        ),
        max_size=2,
    ).map(tuple),
)
downscaled = st.builds(
    Downscaled,
    dream=st.just("d1"),
    factor=st.sampled_from((0.95, 0.9, 1.0, 0.3)),
    tagged_factor=st.sampled_from((0.98, 1.0, 0.7)),
    floor=st.sampled_from((0.0, 0.01, 0.4)),
    undoes=st.none() | st.integers(1, 3),  # `logs` makes it the seq of the n-th last downscale
)
edge_kinds = st.sampled_from(("related", "contradicts"))
statuses = st.sampled_from(("staged", "consolidated", "archived"))
depths = st.integers(1, 3)


def in_dream(fact_type: type, **fields: SearchStrategy[object]) -> SearchStrategy[AnyFact]:
    return st.builds(fact_type, dream=st.just("d1"), **fields)


def several(values: SearchStrategy[object]) -> SearchStrategy[object]:
    return st.lists(values, max_size=2).map(tuple)


dreams: tuple[SearchStrategy[AnyFact], ...] = (
    in_dream(DreamBegan, basis=st.just(0), now=times),
    in_dream(
        Consolidated,
        changes=several(st.builds(StrengthChange, id=ids, before=shares, after=shares)),
        pairs=several(
            st.builds(Pairing, new=ids, old=ids, similarity=shares, decision=st.sampled_from(("link",)))
        ),
    ),
    in_dream(
        Stabilized, changes=several(st.builds(StabilityChange, id=ids, before=st.just(1.0), after=shares))
    ),
    in_dream(Pruned, items=several(st.builds(Pruning, id=ids, reason=st.sampled_from(("stale", ""))))),
    in_dream(
        Placed,
        changes=several(
            st.builds(
                Placement, id=ids, status_before=statuses, status=statuses, depth_before=depths, depth=depths
            )
        ),
    ),
    in_dream(
        Promoted,
        changes=several(
            st.builds(
                Promotion,
                id=ids,
                layer_before=st.just(""),
                layer=st.sampled_from(("", "knowledge")),
                depth_before=depths,
                depth=depths,
            )
        ),
    ),
    in_dream(DreamEnded, counts=st.just({"pruned": 1})),
)
reasons = st.sampled_from(("", "wrong", "old"))
engine: tuple[SearchStrategy[AnyFact], ...] = (
    st.builds(
        FormulaAdopted,
        name=st.just("f"),
        digest=st.just("f0"),
        text=st.just("stages = []"),
        in_force=st.booleans(),
    ),
    st.builds(
        EmbedderAdopted, name=st.sampled_from(EMBEDDERS), dimensions=st.just(DIMENSIONS), probe=grid_vectors
    ),
    st.builds(
        Recovered,
        segment=st.just("1.log"),
        offset=st.just(0),
        length=st.just(7),
        quarantined_as=st.just("1.bad"),
    ),
    st.builds(Attested, upto=st.just(0), recalls=st.just(0), digest=st.just("")),
    st.builds(
        Expected,
        recall=st.integers(1, 30),
        id=ids,
        at=times,
        top=st.integers(1, 9),
        note=st.sampled_from(("", "asked twice")),
    ),
    st.builds(ExpectationWithdrawn, expected=st.integers(1, 30)),
    st.builds(ClockCorrected, first=st.just(1), at=st.just(0), was=st.just(0)),
)


def facts(*, shards: SearchStrategy[ShardSealed] | None = None) -> SearchStrategy[AnyRecorded]:
    """One fact of any type; the frequent ones more often. Shards need real digests: only if given."""
    often = (ingested(), ingested(), ingested(), revised(), accessed, accessed, downscaled)
    once: tuple[SearchStrategy[AnyRecorded], ...] = (
        st.builds(
            Reembedded,
            embedder=st.sampled_from(EMBEDDERS),
            vectors=several(st.tuples(ids, grid_vectors)),
        ),
        st.builds(Forgotten, id=ids, reason=reasons),
        st.builds(Restored, id=ids, reason=reasons),
        st.builds(Superseded, old=ids, new=ids, reason=reasons),
        st.builds(Erased, id=ids, seqs=st.just(()), reason=reasons),
        recalled,
        st.builds(Rated, id=ids, verdict=st.sampled_from(("helpful", "unhelpful", "outdated")), at=times),
        st.builds(Linked, a=ids, b=ids, kind=edge_kinds, weight=shares),
        st.builds(Linked, a=ids, b=ids, kind=edge_kinds, weight=shares),
        st.builds(Unlinked, a=ids, b=ids, kind=st.none() | edge_kinds),
        clustered,
        *dreams,
        *engine,
        st.just(Unknown(type="memory.dreamt_of", version=7)),
        st.just(Redacted(type="memory.ingested")),
    )
    return st.one_of(*often, *once, *(() if shards is None else (shards,)))


@st.composite
def logs(
    draw: st.DrawFn,
    *,
    min_size: int = 0,
    max_size: int = 30,
    shards: SearchStrategy[ShardSealed] | None = None,
) -> list[Recorded]:
    """A whole log: seqs 1, 2, 3, …, times that never decrease, and references to earlier events made real."""
    # Drawn first, since lists left to themselves are mostly short.
    size = draw(st.integers(min_size, max_size))
    drawn = draw(st.lists(facts(shards=shards), min_size=size, max_size=size))
    steps = draw(st.lists(st.integers(0, 2), min_size=size, max_size=size))
    return log_of(*_with_real_references(drawn), steps=steps)


def _with_real_references(drawn: Sequence[AnyRecorded]) -> list[AnyRecorded]:
    downscales: list[int] = []
    texts_of: dict[str, tuple[int, ...]] = {}
    real: list[AnyRecorded] = []
    for seq, fact in enumerate(drawn, start=1):
        real.append(fact)
        if isinstance(fact, Downscaled):
            back = fact.undoes
            undoes = downscales[-back] if back is not None and back <= len(downscales) else None
            real[-1] = msgspec.structs.replace(fact, undoes=undoes)
            downscales.append(seq)
        elif isinstance(fact, Ingested | Revised):
            texts_of[fact.id] = (*texts_of.get(fact.id, ()), seq)
        elif isinstance(fact, Erased):
            real[-1] = msgspec.structs.replace(fact, seqs=texts_of.get(fact.id, ()))
        elif isinstance(fact, Recalled | DreamBegan):
            real[-1] = msgspec.structs.replace(fact, basis=seq - 1)
    return real


def log_of(*facts: AnyRecorded, steps: Sequence[int] | None = None) -> list[Recorded]:
    """These facts as a log; `steps` are the seconds between their recorded times."""
    recorded = []
    at = 1_700_000_000_000_000
    for seq, fact in enumerate(facts, start=1):
        at += 1_000_000 * (1 if steps is None else steps[seq - 1])
        recorded.append(_recorded(seq, at, fact))
    return recorded


def _recorded(seq: int, at: int, fact: AnyRecorded) -> Recorded:
    event_id = seq.to_bytes(16, "big")
    if isinstance(fact, Unknown):
        return Recorded(seq, at, event_id, "test", fact.type, fact.version, b"", fact)
    if isinstance(fact, Redacted):
        return Recorded(seq, at, event_id, "test", fact.type, 1, b"", fact)
    name = type_name(type(fact))
    return Recorded(seq, at, event_id, "test", name, VERSIONS[name], encode(fact), fact)
