"""Random valid formulas from the stages that there are, and small stores and questions to ask them of."""

from __future__ import annotations

from typing import NamedTuple

from hypothesis import strategies as st
from strategies import log_of

from recollect.events.facts import (
    Accessed,
    AnyFact,
    Cluster,
    Clustered,
    Context,
    Downscaled,
    DreamBegan,
    DreamEnded,
    Effects,
    EmbedderAdopted,
    Filters,
    Forgotten,
    Ingested,
    Linked,
    Previous,
    Pruned,
    Pruning,
    Question,
    Rated,
    Reranked,
    Superseded,
)
from recollect.events.grid import quantize, to_bytes
from recollect.projections.lexical.analyzers import ANALYZERS
from recollect.projections.view import Projections, View
from recollect.query.catalogue import FACTORS
from recollect.query.formula import Formula, build
from recollect.query.formula_check import read_by, written_by
from recollect.query.inputs import INPUTS
from recollect.query.stages.retrieving import CHANNELS

DAY = 86_400_000_000
NOW = 40 * DAY
WORDS = ("auth", "session", "postgres", "redis", "deploy", "the")
IDS = tuple(f"m{n}" for n in range(9))

texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join)
vectors = (
    st.lists(st.integers(-3, 3), min_size=4, max_size=4).filter(any).map(lambda v: to_bytes(quantize(v)))
)
ids = st.sampled_from(IDS)
shares = st.integers(0, 10).map(lambda tenths: tenths / 10)
moments = st.integers(0, 40).map(lambda days: days * DAY)

ingestions = st.builds(
    Ingested,
    id=ids,
    content=texts,
    at=moments,
    vector=st.none() | vectors,
    embedder=st.just("tiny"),
    importance=shares,
    session=st.none() | st.sampled_from(("s1", "s2")),
    kind=st.sampled_from(("note", "decision")),
    project=st.none() | st.sampled_from(("alpha", "beta")),
    tags=st.lists(st.sampled_from(("red", "blue")), max_size=2, unique=True).map(tuple),
    expires_at=st.none() | st.none() | st.integers(30, 60).map(lambda days: days * DAY),
)
changes = st.one_of(
    ingestions,
    ingestions,
    st.builds(
        Accessed,
        ids=st.lists(ids, min_size=1, max_size=3).map(tuple),
        at=moments,
        session=st.sampled_from(("s1", "s2", None)),
    ),
    st.builds(Forgotten, id=ids, reason=st.just("wrong")),
    st.builds(Superseded, old=ids, new=ids),
    st.builds(Pruned, dream=st.just("d"), items=ids.map(lambda id_: (Pruning(id=id_, reason="stale"),))),
    st.builds(Linked, a=ids, b=ids, kind=st.sampled_from(("related", "contradicts")), weight=shares),
    st.builds(Linked, a=ids, b=ids, kind=st.sampled_from(("related", "derived_from")), weight=shares),
    st.builds(Rated, id=ids, verdict=st.sampled_from(("helpful", "unhelpful", "outdated")), at=moments),
    st.builds(Downscaled, dream=st.just("d"), factor=shares.filter(bool), floor=st.just(0.01)),
    st.just(DreamBegan(dream="d", basis=0, now=0)),
    st.just(DreamEnded(dream="d")),
    st.builds(
        lambda centroid, members: Clustered(
            method="leader", clusters=(Cluster(name="c", centroid=centroid, members=tuple(members)),)
        ),
        vectors,
        st.lists(ids, unique=True, max_size=3),
    ),
)
ADOPTED = EmbedderAdopted(name="tiny", dimensions=4, probe=to_bytes(quantize([1, 0, 0, 0])))


class World(NamedTuple):
    """A view and the question asked of it."""

    view: View
    question: Question


def view_of(facts: list[AnyFact]) -> View:
    log = log_of(ADOPTED, *facts)
    projections = Projections(ANALYZERS)
    for recorded in log:
        projections.apply(recorded)
    return projections.at(len(log), log[-1].at)


filters = st.just(Filters()) | st.builds(
    Filters,
    project=st.none() | st.just("alpha"),
    kinds=st.just(()) | st.just(("note",)),
    tags=st.just(()) | st.just(("red",)),
    exclude=st.lists(ids, max_size=1).map(tuple),
    min_importance=st.none() | st.just(0.3),
    unscoped=st.booleans(),
)
effects = st.just(Effects()) | st.builds(
    Effects,
    reranked=st.none()
    | st.builds(
        Reranked, model=st.just("cross"), scores=st.dictionaries(ids, st.floats(-5, 5).map(lambda x: x + 0.0))
    ),
    previous=st.none()
    | st.builds(
        lambda vector, answer: Previous(
            recall=1, vector=vector, ids=tuple(answer), scores=tuple(1 / (n + 1) for n in range(len(answer)))
        ),
        vectors,
        st.lists(ids, unique=True, max_size=3),
    ),
)
questions = st.builds(
    Question,
    text=texts | st.just(""),
    now=st.just(NOW),
    k=st.integers(1, 4),
    vector=st.none() | vectors | vectors,
    session=st.none() | st.just("s1"),
    context=st.just(Context()) | st.just(Context(tags=("red",), project="alpha")),
    filters=filters,
    effects=effects,
)
worlds = st.builds(
    lambda memories, later, question: World(view_of([*memories, *later]), question),
    st.lists(ingestions, min_size=3, max_size=12),
    st.lists(changes, max_size=12),
    questions,
)

# --- formulas --------------------------------------------------------------------------------------

Fields = dict[str, object]
_NAMES = ("lexical", "vector", "cosine", "words", *sorted(INPUTS))
columns = st.sampled_from(_NAMES)
any_column = st.sampled_from(("score", "graph", *_NAMES))
small = st.integers(0, 8).map(lambda n: n / 4)
labels = st.sampled_from(("", "", "", "end"))


def stage(op: str, **fields: st.SearchStrategy[object]) -> st.SearchStrategy[Fields]:
    always = {"enabled": st.sampled_from((True, True, True, True, False))}
    return st.fixed_dictionaries({"op": st.just(op), **always, **fields})


def retrieve(channel: str) -> st.SearchStrategy[Fields]:
    return stage(
        "retrieve",
        channel=st.just(channel),
        top=st.integers(1, 8),
        min=st.just(0.1) if channel == "lexical" else st.just(-1.0),
        variant=st.sampled_from(("fts5", "okapi", "plus", "l", "lucene")),
    )


factor_names = st.sampled_from(
    sorted(FACTORS.keys() - {"high_importance_bonus"})
)  # which needs a fuse before it
later_stages = st.one_of(
    stage("multiply", factor=factor_names),
    stage("multiply", factor=factor_names),
    stage("add", factor=factor_names, scale=small),
    stage("compute", factor=factor_names, name=st.sampled_from(("", "extra"))),
    stage("boost", amounts=st.dictionaries(columns, small, min_size=1, max_size=2), cap=st.none() | small),
    stage("raise", column=columns, scale=small),
    stage("normalise", column=any_column, method=st.sampled_from(("minmax", "max")), low=small),
    stage("normalise", column=st.just("score"), method=st.sampled_from(("minmax", "max"))),
    stage("rank", by=any_column, name=st.just("again"), ties=st.sampled_from(("dense", "ordinal"))),
    stage("filter", by=any_column, min=st.none() | small, required=st.booleans()),
    stage("expand", hops=st.integers(1, 2), seeds=st.integers(1, 3), decay=st.sampled_from((0.0, 0.5))),
    stage("rerank", top=st.integers(1, 5)),
    stage("deduplicate", by=st.sampled_from(("vector", "text")), threshold=st.just(0.9)),
    stage(
        "tie-break", sigma=st.sampled_from((0.0, 0.01, 9.0)), by=st.tuples(columns), id_descending=st.booleans()
    ),
    stage("abstain", min_score=small, any_of=st.dictionaries(columns, small, min_size=1, max_size=2)),
    stage("abstain", min_score=small.filter(bool)),
    stage("cut", top=st.integers(1, 6)),
    stage("cut", tokens=st.integers(1, 20)),
    stage("look-up", table=st.just({"note": 0.5}), name=st.sampled_from(("strength", "extra"))),
    stage("exclude", kinds=st.just(("decision",))),
    stage("overlap"),
    stage("resemble", min=shares, trigrams_min=st.just(1)),
    stage("admit"),
    stage("echo", share=small),
    stage("gather", share=small),
    stage("leads"),
    stage("labels"),
    stage("reply", before=small, after=small),
    stage("silence", below=st.dictionaries(columns, small, min_size=1, max_size=2)),
    stage("weigh", weights=st.dictionaries(any_column, small, min_size=1, max_size=3), to_one=st.booleans()),
)  # fmt: skip


@st.composite
def formulas(draw: st.DrawFn) -> Formula:
    """Some channels, a first score, and any stages after it that read what there is; jumps to labels."""
    channels = draw(st.lists(st.sampled_from(sorted(CHANNELS)), min_size=1, max_size=3, unique=True))
    stages = [draw(retrieve(channel)) for channel in channels]
    stages[0]["enabled"] = True
    if draw(st.booleans()):
        stages.append({"op": "measure", "channel": "vector", "name": "cosine"})
        stages.append({"op": "measure", "channel": "lexical", "name": "words"})
    stages.append(draw(_first_score([str(one["channel"]) for one in stages if one.get("enabled")])))
    first = len(stages)
    stages = readable([*stages, *draw(st.lists(later_stages, max_size=8))])
    if draw(st.booleans()):
        stages.insert(first, {"op": "shortcut", "column": channels[0], "to": "end", "min": draw(small)})
        middle = draw(st.integers(first + 1, len(stages)))
        stages[middle:middle] = [
            {"op": "cut", "top": 6, "label": "end"},
            {"op": "skip", "after": channels[0], "to": "past"},
        ]
        stages.append({"op": "multiply", "factor": "strength", "label": "past"})
    if draw(st.integers(0, 3)) == 0:
        stages.insert(0, {"op": "gate", "to": "gated", "threshold": 0.5})
        stages.append({"op": "multiply", "factor": "strength", "label": "gated"})
    return build({"name": "random", "stages": stages}, origin="random")


def readable(stages: list[Fields]) -> list[Fields]:
    """The stages without those that read a column which none before them writes."""
    known, kept = {"score", *INPUTS}, []
    for fields in stages:
        (built,) = build({"name": "one", "stages": [fields]}, origin="one", check=False).stages
        if known.issuperset(read_by(built)):
            kept.append(fields)
            known.update(written_by(built) if built.enabled else ())
    return kept


def _first_score(channels: list[str]) -> st.SearchStrategy[Fields]:
    fuse = {
        "op": st.just("fuse"),
        "channels": st.just(channels),
        "k": st.sampled_from((1.0, 60.0)),
        "weights": st.dictionaries(st.sampled_from(channels), small.filter(bool)),
        "per_channel": st.booleans(),
        "overall": st.booleans(),
    }
    weigh = {
        "op": st.just("weigh"),
        "weights": st.dictionaries(
            st.sampled_from((*channels, *sorted(INPUTS))), small.filter(bool), min_size=1, max_size=3
        ),
        "to_one": st.booleans(),
    }
    return st.fixed_dictionaries(fuse) | st.fixed_dictionaries(weigh)
