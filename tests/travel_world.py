"""Random stores for tests of time travel: events of every kind that moves a ranking, over a few words."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hypothesis import strategies as st

from recollect.events.facts import (
    Accessed,
    AnyFact,
    Consolidated,
    Downscaled,
    DreamBegan,
    DreamEnded,
    Forgotten,
    Linked,
    Placed,
    Placement,
    Rated,
    Restored,
    Revised,
    StabilityChange,
    Stabilized,
    StrengthChange,
    Superseded,
)
from recollect.interfaces.python.memory import Memory

DAY = 86_400_000_000
START = 1_763_000_000_000_000
WORDS = ["auth", "session", "postgres", "redis", "deploy", "tuesday", "billing", "cookie"]
QUERY = "auth session postgres"

texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join)
numbers = st.integers(0, 9)
ids = numbers.map(lambda n: f"m{n}")
shares = st.integers(0, 10).map(lambda tenths: tenths / 10)
moments = st.integers(0, 60).map(lambda days: START + days * DAY)
sessions = st.sampled_from(["s1", "s2", None])

dreamt = st.one_of(
    st.builds(Downscaled, dream=st.just("d"), factor=st.sampled_from([0.9, 0.5]), floor=st.just(0.05)),
    st.builds(
        Consolidated,
        dream=st.just("d"),
        changes=st.builds(StrengthChange, id=ids, before=shares, after=shares).map(lambda change: (change,)),
    ),
    st.builds(
        Stabilized,
        dream=st.just("d"),
        changes=st.builds(StabilityChange, id=ids, before=shares, after=shares).map(lambda change: (change,)),
    ),
    st.builds(
        Placed,
        dream=st.just("d"),
        changes=st.builds(
            Placement,
            id=ids,
            status_before=st.just("staged"),
            status=st.sampled_from(["consolidated", "archived"]),
            depth_before=st.just(2),
            depth=st.integers(1, 3),
        ).map(lambda change: (change,)),
    ),
)
facts = st.one_of(
    st.builds(Accessed, ids=st.lists(ids, min_size=1, max_size=3).map(tuple), at=moments, session=sessions),
    st.builds(Accessed, ids=ids.map(lambda id_: (id_,)), at=moments, session=sessions),
    st.builds(Revised, id=ids, at=moments, importance=shares, tags=st.just(("red",))),
    st.builds(Forgotten, id=ids),
    st.builds(Restored, id=ids),
    st.builds(Superseded, old=ids, new=ids),
    st.builds(Linked, a=ids, b=ids, kind=st.sampled_from(["related", "derived_from"]), weight=shares),
    st.builds(Rated, id=ids, verdict=st.sampled_from(["helpful", "unhelpful", "outdated"]), at=moments),
    dreamt,
)
actions = st.one_of(
    st.tuples(st.just("remember"), numbers, texts),
    st.tuples(st.just("remember"), numbers, texts),
    st.tuples(st.just("revise"), numbers, texts),
    st.tuples(st.just("recall"), texts),
    st.tuples(st.just("fact"), facts),
    st.tuples(st.just("fact"), facts),
    st.tuples(st.just("dream"), st.lists(dreamt, max_size=3)),
)
histories = st.lists(actions, min_size=4, max_size=24)


class Hours:
    """A clock that moves an hour per reading."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> int:
        self.now += DAY // 24
        return self.now


def world(folder: Path | str, history: Sequence[tuple], *, formula: str | None = None) -> Memory:
    """A store in which this happened; what does not apply is skipped."""
    memory = Memory.open(folder, embedder="hash", formula=formula, clock=Hours())
    for name, *rest in history:
        play(memory, name, rest)
    return memory


def play(memory: Memory, name: str, rest: list) -> None:
    known = memory._store.projections.documents.ids
    match name, rest:
        case "remember", [number, text]:
            memory.remember(text, id=f"m{number}", session="s1" if number % 2 else None)
        case "revise", [number, text]:
            if known.find(f"m{number}") >= 0 and memory.get(f"m{number}").visible:
                memory.revise(f"m{number}", text)
        case "recall", [text]:
            memory.recall(text, k=3, session="s1")
        case "fact", [fact]:
            tell(memory, fact)
        case "dream", [parts]:
            began = DreamBegan(dream=f"d{memory._store.log.head}", basis=memory._store.log.head, now=START)
            tell(memory, began, *parts, DreamEnded(dream=began.dream))


def tell(memory: Memory, *facts: AnyFact) -> int:
    """Append facts as they are; returns the last seq."""
    seq = memory._store.append(facts)[-1]
    memory._store.catch_up()
    return seq
