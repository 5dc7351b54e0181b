"""The default formula with one thing changed: what each part is worth, and what was tried instead.

Each variant is a formula file's text, edited, and runs through the engine like any other.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from importlib import resources
from typing import Any, NamedTuple

from recollect.query.formula import Formula, build

Stages = list[dict[str, Any]]  # as TOML gives them
Edit = Callable[[Stages], Stages]


class Change(NamedTuple):
    name: str
    what: str
    edit: Edit


def without(*ops: str) -> Edit:
    return lambda stages: [stage for stage in stages if stage["op"] not in ops]


def without_labels(stages: Stages) -> Stages:
    def bare(stage: dict[str, Any]) -> dict[str, Any]:
        amounts = {name: amount for name, amount in stage.get("amounts", {}).items() if name != "labels"}
        return {**stage, "amounts": amounts} if "amounts" in stage else stage

    return [bare(stage) for stage in stages if stage["op"] != "labels"]


def without_metadata(stages: Stages) -> Stages:
    kept = without("compute", "multiply")(stages)
    return [stage for stage in kept if stage["op"] != "boost" or "labels" in stage["amounts"]]


def without_times(stages: Stages) -> Stages:
    def bare(stage: dict[str, Any]) -> dict[str, Any]:
        return {**stage, "amounts": {"labels": stage["amounts"]["labels"]}}

    return [bare(stage) if "labels" in stage.get("amounts", {}) else stage for stage in stages]


def setting(op: str, **values: object) -> Edit:
    return lambda stages: [{**stage, **values} if stage["op"] == op else stage for stage in stages]


def words_with(**values: object) -> Edit:
    """Other parameters wherever BM25 is computed."""
    return lambda stages: [
        {**stage, **values} if stage.get("channel") == "lexical" else stage for stage in stages
    ]


def replacing(op: str, *others: dict[str, Any]) -> Edit:
    return lambda stages: [new for stage in stages for new in (others if stage["op"] == op else (stage,))]


def leads(stages: Stages) -> Stages:
    """The first word counts in full, whether it is a label or not, and before the session does."""
    kept = without_labels(stages)
    weigh = {"op": "weigh", "weights": {"vector": 0.6, "words": 0.4, "leads": 0.3}}
    return replacing("weigh", {"op": "leads", "analyzer": "english/2"}, weigh)(kept)


def rrf(stages: Stages) -> Stages:
    """Places instead of margins, on the scale that the rest of the formula expects."""
    fuse = {"op": "fuse", "k": 60.0, "channels": ["lexical", "vector"], "overall": True}
    return replacing("weigh", fuse)(stages)


def squeezed_vectors(stages: Stages) -> Stages:
    """The cosine on the scale of the batch, as the words are."""
    squeeze = {"op": "normalise", "column": "vector", "method": "minmax", "name": "meaning"}
    weigh = {"op": "weigh", "weights": {"meaning": 0.5, "words": 0.5}}
    return replacing("weigh", squeeze, weigh)(stages)


CHANGES = (
    Change("no words", "vectors alone carry the score", setting("weigh", weights={"vector": 1.0})),
    Change("no vectors", "words alone carry the score", setting("weigh", weights={"words": 1.0})),
    Change("no neighbours", "without `reply`", without("reply")),
    Change("no sessions", "without `gather`", without("gather")),
    Change("no labels", "without `labels`", without_labels),
    Change("no times", "without the time that a question names", without_times),
    Change("no metadata", "without recency, use, importance and feedback", without_metadata),
    Change("even neighbours", "`echo` 0.35 instead of `reply`", replacing("reply", {"op": "echo", "share": 0.35})),
    Change("first word", "`leads` 0.3 (any first word) instead of `labels`", leads),
    Change("places", "reciprocal rank fusion instead of margins", rrf),
    Change("squeezed", "cosines min-max normalised, half and half", squeezed_vectors),
    Change("no stems", "words as they are, stop words and all", words_with(analyzer="unicode61-cjk/2")),
    Change("steep BM25", "k1 1.2, b 0.75 instead of 0.9, 0.4", words_with(k1=1.2, b=0.75)),
    Change("flat BM25", "k1 0.6, b 0.2", words_with(k1=0.6, b=0.2)),
    Change("twice the pool", "200 candidates per channel", setting("retrieve", top=200)),
)  # fmt: skip


def variant(change: Change) -> Formula:
    text = resources.files("recollect.query.formulas").joinpath("recollect.toml").read_text("utf-8")
    fields = tomllib.loads(text)
    edited = change.edit(fields["stages"])
    assert edited != fields["stages"], change.name
    return build({**fields, "name": change.name, "stages": edited}, origin=change.name)
