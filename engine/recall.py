"""A question, ranked at a view and put into words: what live recalls and recalls of the past share."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime
from typing import TypeVar

import msgspec

from recollect.engine import validate
from recollect.engine.answers import Answer, Hit
from recollect.engine.embedding.store_embedder import Embedding
from recollect.engine.moments import iso, parse_time
from recollect.engine.store import Store
from recollect.events.errors import InvalidInput
from recollect.events.facts import Context, Filters, Ingested, Question, Redacted, Revised
from recollect.projections.view import View
from recollect.query.formula import Formula
from recollect.query.ranking import Ranking, rank_around
from recollect.query.stages.scoring import Weigh

REDACTED = "[erased]"
_Options = TypeVar("_Options", Filters, Context)
_TIME_FIELDS = {"since", "until", "valid_at"}
_ENTRIES_MAX = 10_000
_LIST_FIELDS = {"kinds", "tags", "entities", "sources", "exclude", "files"}


def options(kind: type[_Options], given: _Options | Mapping[str, object] | None, *, now: int) -> _Options:
    """Filters or context from a mapping; unknown names and wrong values are refused."""
    if given is None:
        return kind()
    if isinstance(given, kind):
        return _bounded(given)
    if not isinstance(given, Mapping):
        raise InvalidInput(f"{kind.__name__.lower()} must be a mapping, not {given!r}")
    unknown = set(given) - set(kind.__struct_fields__)
    if unknown:
        known = ", ".join(kind.__struct_fields__)
        raise InvalidInput(f"unknown {kind.__name__.lower()} entry {sorted(unknown)[0]!r}; there are {known}")
    fields = {name: _field(name, value, now) for name, value in given.items() if value is not None}
    try:
        return _bounded(msgspec.convert(fields, kind))
    except (msgspec.ValidationError, OverflowError, RecursionError) as error:
        raise InvalidInput(f"{kind.__name__.lower()}: {error}") from None


def _bounded(given: _Options) -> _Options:
    """The same options; refused if a text is too long or no Unicode, or a list too long."""
    for name in given.__struct_fields__:
        value, what = getattr(given, name), f"{type(given).__name__.lower()} entry {name!r}"
        entries = value if isinstance(value, (tuple, dict)) else (value,)
        if len(entries) > _ENTRIES_MAX:
            raise InvalidInput(f"{what} has {len(entries):,} values; at most {_ENTRIES_MAX:,} are taken")
        for entry in entries:
            if isinstance(entry, str):
                validate.text(entry, what)
    return given


def _field(name: str, value: object, now: int) -> object:
    if name in _TIME_FIELDS and isinstance(value, (str, int, float, datetime)):
        return parse_time(value, now=now, what=name)
    return [value] if name in _LIST_FIELDS and isinstance(value, str) else value


def pose(
    text: str,
    *,
    now: int,
    k: int,
    embedding: Embedding,
    session: str | None,
    context: Context | Mapping[str, object] | None,
    filters: Filters | Mapping[str, object] | None,
    wait: bool,
    words_instead: bool = False,
) -> tuple[Question, tuple[str, ...]]:
    """The question as data, and what is degraded about it. An empty text finds nothing by words."""
    validate.query(text)
    k = validate.whole(k, "k", low=1, high=validate.K_MAX)
    vector, problem = embedding.question_vector(text, wait=wait, words_instead=words_instead)
    question = Question(
        text=text,
        now=now,
        k=k,
        vector=vector,
        embedder=embedding.name if vector is not None else None,
        session=validate.optional_identifier(session, "session"),
        context=options(Context, context, now=now),
        filters=options(Filters, filters, now=now),
    )
    return question, (problem,) if problem else ()


def ask(store: Store, question: Question, view: View, formula: Formula) -> tuple[Question, Ranking]:
    """The ranking, and the question with the shards that were done without."""
    check_weights(question.context.weights, formula)
    with store.lock, store.whole:
        store.require(formula)
        if not view.projections.lexicals.keys() >= set(
            formula.analyzers
        ):  # an erasure made all projections anew
            view = store.view(view.seq)
        return rank_around(question, view, formula, prefetch=True)


def check_weights(weights: Mapping[str, float], formula: Formula) -> None:
    """Weights that a question brings must be ones that the formula lets it bring."""
    if not weights:
        return
    open_ = [s for s in formula.stages if isinstance(s, Weigh) and s.enabled and s.overridable]
    if not open_:
        raise InvalidInput(
            f"the weights of formula {formula.name!r} are fixed; ask without context.weights, or write a formula "
            f"of your own whose weigh stage says overridable = true"
        )
    known = sorted({name for stage in open_ for name in stage.weights})
    for name, weight in weights.items():
        if name not in known:
            raise InvalidInput(f"formula {formula.name!r} has no weight {name!r}; it has {', '.join(known)}")
        validate.number(weight, f"weight {name!r}", low=0.0, high=validate.WEIGHT_MAX)
    if not any(weights.values()):
        raise InvalidInput("every weight is 0; give at least one that is not, or none at all")


def answer(
    store: Store,
    question: Question,
    ranking: Ranking,
    *,
    recall_id: str | None,
    degraded: tuple[str, ...],
) -> Answer:
    hits = tuple(
        Hit(
            id=id_,
            score=score,
            rank=position,
            content=content_of_row(store, int(ranking.sheet.rows[place])),
            factors=factors_of(ranking, place),
        )
        for position, (id_, score, place) in enumerate(
            zip(ranking.ids, ranking.scores, ranking.places, strict=True), 1
        )
    )
    facts = dict(ranking.sheet.facts)
    if len(hits) < question.k:
        facts["found"] = f"{len(hits)} of {question.k}"
    return Answer(
        id=recall_id,
        basis=ranking.basis,
        formula=ranking.formula,
        query=question.text,
        now=iso(question.now),
        hits=hits,
        degraded=degraded if store.damage_note is None else (store.damage_note, *degraded),
        facts=facts,
    )


def factors_of(ranking: Ranking, place: int) -> dict[str, float]:
    """The columns of the sheet that a candidate has a value in."""
    values = ((name, float(column[place])) for name, column in ranking.sheet.columns.items())
    return {name: value for name, value in values if not math.isnan(value)}


def content_of_row(store: Store, row: int) -> str:
    """The text of a row, from the event that holds it."""
    fact = store.event(store.projections.documents.source(row)).fact
    if isinstance(fact, Redacted):
        return REDACTED
    assert isinstance(fact, (Ingested, Revised))
    assert isinstance(fact.content, str)
    return fact.content
