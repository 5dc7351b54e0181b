"""Asking with models: what a ranking wants from outside is fetched, recorded with the question, and ranked again.

A ranking is pure, so it only says what it would like: rewritings of the question, scores of a cross-encoder for
its best candidates. Here the models are asked, and the question that is recorded carries what they said; from
then on the ranking needs them no more. A model that fails, or says what cannot be used, degrades an answer and
never prevents one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import NamedTuple

import msgspec

from recollect.engine import validate
from recollect.engine.answers import Degraded, DegradedKind
from recollect.engine.embedding.reranker import Reranker
from recollect.engine.embedding.store_embedder import Embedding
from recollect.engine.store import Store
from recollect.events.errors import InvalidInput, RecollectError
from recollect.events.facts import Effects, Expansion, Question, Reranked
from recollect.projections.view import View
from recollect.query.formula import Formula
from recollect.query.ranking import Ranking, rank_around
from recollect.query.stages.ordering import Rerank
from recollect.query.stages.retrieving import Retrieve
from recollect.query.stages.scoring import Weigh

Expander = Callable[[str], Iterable[str]]


class Models(NamedTuple):
    """What may be asked beside the embedder."""

    reranker: Reranker | None = None
    expander: Expander | None = None


class Consulted(NamedTuple):
    """The question with what the models said, its ranking, and what is degraded about it."""

    question: Question
    ranking: Ranking
    degraded: tuple[Degraded, ...]


class _Desk(NamedTuple):
    """What ranking a question needs beside it."""

    store: Store
    view: View
    formula: Formula
    models: Models
    embedding: Embedding


def wants_more(first: Consulted) -> bool:
    """Whether a ranking would like something of a model, or did without a shard."""
    sheet = first.ranking.sheet
    return bool(sheet.expansions_wanted or len(sheet.wanted) or first.question.effects.scanned)


def consult(
    first: Consulted, store: Store, view: View, formula: Formula, *, models: Models, embedding: Embedding
) -> Consulted:
    """A ranking again, with what it wants of the models, and with a note on shards that it did without."""
    desk = _Desk(store, view, formula, models, embedding)
    done = _reranked(desk, _expanded(desk, first))
    for digest in done.question.effects.scanned:
        done = _noting(done, "shard", _scanned(store, digest))
    return done


def rank_at(store: Store, question: Question, view: View, formula: Formula) -> tuple[Question, Ranking]:
    """The ranking, and the question with the shards that were done without."""
    check_weights(question.context.weights, formula)
    with store.lock, store.whole:  # `@locked` would be one more level on the longest way
        store.require(formula)
        if not view.projections.lexicals.keys() >= set(formula.analyzers):  # an erasure made them all anew
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


def _scanned(store: Store, digest: str) -> str:
    failed = store.projections.vectors.shards.why_not(digest)
    reason = failed.reason if failed else "it could not be had when this was asked first"
    remedy = (
        "" if failed is None or failed.proven else "; `recollect doctor` says more, and `--fix` retires it"
    )
    return (
        f"vector: the shard {digest[:12]} was not used, its rows were compared one by one ({reason}){remedy}"
    )


def retire_bad_shards(store: Store, question: Question) -> None:
    """Retire the shards that this question did without, if the log adopted a bad file; an answer never fails by it."""
    for digest in question.effects.scanned:
        failed = store.projections.vectors.shards.why_not(digest)
        if failed is not None and failed.proven:
            with suppress(RecollectError, OSError):  # tried again by the next recall
                store.retire_shard(digest, failed.reason)


def _again(desk: _Desk, before: Consulted, effects: Effects) -> Consulted:
    question = msgspec.structs.replace(before.question, effects=effects)
    return Consulted(*rank_at(desk.store, question, desk.view, desk.formula), before.degraded)


def _noting(before: Consulted, kind: DegradedKind, note: str) -> Consulted:
    return before._replace(degraded=(*before.degraded, Degraded(kind, note)))


# --- rewritings of the question --------------------------------------------------------------------


def _expanded(desk: _Desk, before: Consulted) -> Consulted:
    """A shortcut needs no rewritings: the words that were given have decided."""
    sheet, expander = before.ranking.sheet, desk.models.expander
    if expander is None or not sheet.expansions_wanted or "shortcut" in sheet.facts:
        return before
    try:
        expansions = _expansions(desk, before.question, expander)
    except Exception as error:  # noqa: BLE001 (whatever a model throws, the answer stands without it)
        return _noting(
            before, "expansion", f"expansion: the expander failed ({_words(error)}), ranked without it"
        )
    effects = msgspec.structs.replace(before.question.effects, expansions=expansions)
    return _again(desk, before, effects)


def _expansions(desk: _Desk, question: Question, expander: Expander) -> tuple[Expansion, ...]:
    wanted = max(
        stage.expanded.first
        for stage in desk.formula.stages
        if isinstance(stage, Retrieve) and stage.expanded
    )
    texts = dict.fromkeys(_rewriting(text) for text in expander(question.text))
    chosen = [text for text in texts if text and text != question.text.strip()][:wanted]
    vectors = (
        desk.embedding.vectors(chosen, queries=True) if chosen and question.vector else [None] * len(chosen)
    )
    return tuple(Expansion(text=text, vector=vector) for text, vector in zip(chosen, vectors, strict=True))


def _rewriting(text: object) -> str:
    return validate.query(text, "rewriting").strip()


# --- the cross-encoder -----------------------------------------------------------------------------


def _reranked(desk: _Desk, before: Consulted) -> Consulted:
    """Reranking needs at least two candidates."""
    places, reranker = before.ranking.sheet.wanted, desk.models.reranker
    if len(places) < 2:
        return before
    if reranker is None:
        expected = any(isinstance(s, Rerank) and s.enabled and s.expected for s in desk.formula.stages)
        note = "rerank: the formula expects a cross-encoder and none was given"
        return _noting(before, "rerank", note) if expected else before
    sheet = before.ranking.sheet
    texts = [desk.store.content_of_row(int(sheet.rows[place])) for place in places]
    try:
        scores = reranker.score(before.question.text, texts)
    except Exception as error:  # noqa: BLE001 (whatever a model throws, the answer stands without it)
        return _noting(
            before, "rerank", f"rerank: {reranker.name} failed ({_words(error)}), ranked without it"
        )
    if len(scores) != len(places):
        note = f"rerank: {reranker.name} gave {len(scores)} scores for {len(places)} texts, ranked without it"
        return _noting(before, "rerank", note)
    return _with_scores(desk, before, reranker.name, scores)


def _with_scores(desk: _Desk, before: Consulted, model: str, scores: list[float]) -> Consulted:
    """Ranked again with the scores that are numbers; what is not finite would spoil all the others."""
    sheet, ids = before.ranking.sheet, desk.view.documents.ids.values
    wanted = [ids[int(sheet.memories[place])] for place in sheet.wanted]
    usable = {id_: score for id_, score in zip(wanted, scores, strict=True) if math.isfinite(score)}
    lost = len(wanted) - len(usable)
    if lost:
        note = f"rerank: {lost} of {len(wanted)} scores of {model} were not finite and do not count"
        before = _noting(before, "rerank", note)
    if not usable:
        return before
    reranked = Reranked(model=model, scores=usable)
    return _again(desk, before, msgspec.structs.replace(before.question.effects, reranked=reranked))


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
