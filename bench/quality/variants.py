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


def without_amount(*names: str) -> Edit:
    """Without these columns in any boost; a boost that has nothing left goes too."""

    def edit(stages: Stages) -> Stages:
        kept = []
        for stage in stages:
            if "amounts" in stage:
                amounts = {name: amount for name, amount in stage["amounts"].items() if name not in names}
                if amounts:
                    kept.append({**stage, "amounts": amounts})
            else:
                kept.append(stage)
        return kept

    return edit


def without_metadata(stages: Stages) -> Stages:
    kept = [
        s for s in without("multiply")(stages) if s.get("factor") not in ("half_life_recency", "log_usage")
    ]
    return without_amount("half_life_recency", "log_usage", "importance")(kept)


def old_dates(stages: Stages) -> Stages:
    return [
        {**s, "amounts": {("in_span" if n == "in_span/2" else n): a for n, a in s["amounts"].items()}}
        if "amounts" in s
        else s
        for s in stages
    ]


def first_words(stages: Stages) -> Stages:
    """The label of the first version: any first word, by how much it stands first."""
    kept = without_amount("under_label")(stages)
    labels = [{"op": "labels", "analyzer": "english/2"}, {"op": "boost", "amounts": {"labels": 0.8}}]
    return [*kept, *labels]


def setting(op: str, **values: object) -> Edit:
    return lambda stages: [{**stage, **values} if stage["op"] == op else stage for stage in stages]


def words_with(**values: object) -> Edit:
    """Other parameters wherever BM25 is computed."""
    return lambda stages: [
        {**stage, **values} if stage.get("channel") == "lexical" else stage for stage in stages
    ]


def replacing(op: str, *others: dict[str, Any]) -> Edit:
    return lambda stages: [new for stage in stages for new in (others if stage["op"] == op else (stage,))]


def rrf(stages: Stages) -> Stages:
    """Places instead of margins, on the scale that the rest of the formula expects."""
    fuse = {"op": "fuse", "k": 60.0, "channels": ["lexical", "vector"], "overall": True}
    return replacing("weigh", fuse)(stages)


CHANGES = (
    Change("no words", "vectors alone carry the score", setting("weigh", weights={"vector": 1.0})),
    Change("no vectors", "words alone carry the score", setting("weigh", weights={"words": 1.0, "topic": 0.15})),
    Change("no turns around", "without the words of the turns around", setting("weigh", weights={"vector": 0.6, "words": 0.4})),
    Change("no exchange", "without `exchange`", without("exchange")),
    Change("reply", "`reply` 0.4, 0.3 instead of `exchange`", replacing("exchange", {"op": "reply", "before": 0.4, "after": 0.3})),
    Change("asking is telling", "turns that ask lose nothing", without_amount("asking")),
    Change("no sessions", "without `gather`", without("gather")),
    Change("no labels", "who speaks does not count", without_amount("under_label")),
    Change("first words", "`labels` (any first word) instead of `under_label`", first_words),
    Change("no asker", "the user's own question finds anybody's turns", without_amount("by_asker")),
    Change("no times named", "the time that a question names does not count", without_amount("in_span/2")),
    Change("dates of before", "`in_span` instead of `in_span/2`", old_dates),
    Change("no times told", "a question for a time finds any text", without_amount("tells_time")),
    Change("no metadata", "without recency, use, importance and feedback", without_metadata),
    Change("no floor", "without `silence`", without("silence")),
    Change("places", "reciprocal rank fusion instead of margins", rrf),
    Change("no stems", "words as they are, stop words and all", words_with(analyzer="unicode61-cjk/2")),
)  # fmt: skip


def variant(change: Change) -> Formula:
    text = resources.files("recollect.query.formulas").joinpath("recollect.toml").read_text("utf-8")
    fields = tomllib.loads(text)
    edited = change.edit(fields["stages"])
    assert edited != fields["stages"], change.name
    return build({**fields, "name": change.name, "stages": edited}, origin=change.name)
