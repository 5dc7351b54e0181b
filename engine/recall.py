"""A recall, live or of the past: the question is posed, ranked at a view with the help of models, and answered.

`Standpoint` says where it is asked from. `rank_from` is behind every ranking that someone asks for: `Memory.recall`,
the recall of a past view, and explanations of questions that were never asked. Recorded, a recall is one atomic batch:
the formula if the log lacks it, what was returned, and the accesses if they count. It may be lost in a power cut, and
one that cannot be written is still answered, and says so.

A ranking is pure, so it only says what it would like: rewritings of the question, scores of a cross-encoder for
its best candidates. Here the models are asked, and the question that is recorded carries what they said; from
then on the ranking needs them no more. A model that fails, or says what cannot be used, degrades an answer and
never prevents one.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from recollect.engine import validate
from recollect.engine.answers import Answer, Degraded, DegradedKind, Hit
from recollect.engine.embedding.store_embedder import Embedding, meaning
from recollect.engine.formula_lookup import OwnFormula, formula_named
from recollect.engine.lazy import LazyModule
from recollect.engine.moments import iso
from recollect.engine.read_your_writes import require_basis
from recollect.engine.recall_models import Expander, Models
from recollect.engine.recall_options import RecallOptions, question_of
from recollect.engine.recorded_question import Posed, posed
from recollect.engine.store import Store
from recollect.engine.torn_state import locked
from recollect.engine.writer import Writer
from recollect.events.errors import HeadMoved, InvalidInput, LogDamaged, RecollectError
from recollect.events.facts import (
    Accessed,
    AnyFact,
    Context,
    Effects,
    Expansion,
    FormulaAdopted,
    ModelSaid,
    Question,
    Recalled,
    Reranked,
)
from recollect.events.redacted_log import ERASED
from recollect.projections.lexical.frozen_unicode import lower_14
from recollect.projections.view import View
from recollect.query.formula import Formula, formula_in_force
from recollect.query.nearest import there_are
from recollect.query.ranking import Ranking, rank_around
from recollect.query.stages.ordering import Rerank
from recollect.query.stages.retrieving import Retrieve
from recollect.query.stages.scoring import Weigh
from recollect.replay.fork import topic

if TYPE_CHECKING:
    from recollect.engine import impact as impacting
else:  # few questions use `without`
    impacting = LazyModule("recollect.engine.impact")


class Standpoint(NamedTuple):
    """Where a question is asked from: the head or a seq, what embeds it, and formula and clock unless it has others."""

    store: Store
    embedding: Embedding
    own: OwnFormula | None
    now: int
    models: Models = Models()
    seq: int | None = None

    @property
    def formula(self) -> Formula:
        return self.formula_at(self.store.view(self.seq))

    def formula_at(self, view: View) -> Formula:
        """The own formula, or the one in force at the view."""
        return formula_in_force(view.adoptions, view.seq) if self.own is None else self.own.formula


class Ranked(NamedTuple):
    """A question with all that models said to it, ranked at a view.

    The formula comes into force in place of the one adopted at the seq `replaces` (0: none was); never if that is None.
    """

    question: Question
    ranking: Ranking
    view: View
    formula: Formula
    degraded: tuple[Degraded, ...]
    replaces: int | None = None


# --- ranking ---------------------------------------------------------------------------------------


def rank_from(here: Standpoint, query: str, options: RecallOptions, *, words_instead: bool = False) -> Ranked:
    """Rank a question, a text or the id of a recall; `words_instead` ranks by words while the embedder is away."""
    store = here.store
    asked = posed(store, query, options) if validate.is_recall_id(query) else Posed(query, options)
    given = asked.options.get("formula")
    named = None if given is None else formula_named(store, given, files=True)
    question, without = _with_vector(here, asked, words_instead=words_instead)
    if (basis := options.get("basis")) is not None:
        require_basis(store, basis, here.seq)
    view = store.view(here.seq)
    formula = here.formula_at(view) if named is None else named
    if here.seq is None:
        here.embedding.require_same(view.adoptions.embedder(view.seq))
    if question.session is not None:
        question = _with_previous(store, question, view, formula)
    if options.get("without"):
        question, view = impacting.as_if_untold(store, question, view, formula, options["without"])
    degraded = tuple(one._replace(text=meaning(one.text, formula)) for one in without)
    replaces = None if named is not None else here.own.since if here.own else 0
    ranked = Ranked(*rank_at(store, question, view, formula), view, formula, degraded, replaces)
    return ask_models(here, ranked) if wants_more(ranked) else ranked


def _with_vector(
    here: Standpoint, asked: Posed, *, words_instead: bool
) -> tuple[Question, tuple[Degraded, ...]]:
    """Add the vector: the recorded one, if the embedder in force made it."""
    question = question_of(asked.text, asked.options, now=here.now)
    if asked.recorded is not None:
        question = asked.with_effects(question)
        seq = here.store.log.head if here.seq is None else here.seq
        adopted = here.store.projections.adoptions.embedder(seq)
        vector = None if adopted is None else asked.vector(adopted.label)
        if vector is not None and adopted is not None:
            return msgspec.structs.replace(question, vector=vector, embedder=adopted.label), ()
    return embedded(
        question, here.embedding, wait=asked.options.get("wait", True), words_instead=words_instead
    )


def embedded(
    question: Question, embedding: Embedding, *, wait: bool = True, words_instead: bool = False
) -> tuple[Question, tuple[Degraded, ...]]:
    """Add the vector to the question, or say why it gets no vector."""
    vector, problem = embedding.question_vector(question.text, wait=wait, words_instead=words_instead)
    if problem is not None:
        loads = embedding.embedder is not None and not wait and embedding.failure is None
        return question, (Degraded("loading" if loads else "embedder", problem),)
    name = None if vector is None else embedding.name
    return msgspec.structs.replace(question, vector=vector, embedder=name), ()


@locked
def _with_previous(store: Store, question: Question, view: View, formula: Formula) -> Question:
    """Add the session's previous question and answer, if the formula has a topic gate."""
    return topic.with_previous(store.log, question, view, formula, same=False)


# --- answering and recording -----------------------------------------------------------------------


def record(here: Standpoint, writer: Writer, ranked: Ranked, options: RecallOptions) -> Answer:
    """Record the ranking unless `record` is false, and answer; say so if it could not be recorded."""
    store = here.store
    if not options.get("record", True) or options.get("without"):
        return answer(store, ranked)
    try:
        track = options.get("track", True)
        try:
            recall_id = _append(writer, ranked, track=track)
        except HeadMoved:
            recall_id, ranked = _ranked_again(here, writer, ranked, track=track)
        if ranked.question.effects.scanned:
            retire_bad_shards(store, ranked.question)
    except (RecollectError, OSError) as error:
        why = "a damaged log takes no writes" if isinstance(error, LogDamaged) else error
        note = Degraded("unrecorded", f"this recall was not recorded: {why}")
        return answer(store, ranked._replace(degraded=(*ranked.degraded, note)))
    return answer(store, ranked, recall_id)


def _ranked_again(here: Standpoint, writer: Writer, before: Ranked, *, track: bool) -> tuple[str, Ranked]:
    """Rank and append again, after an erasure that the ranking does not know of: no attestation would cover it.

    Once more beside other writers, then with them kept out.
    """

    def attempt() -> tuple[str, Ranked]:
        ranked = _at_head(here, before)
        return _append(writer, ranked, track=track), ranked

    return here.store.decide(attempt, attempts=1)


def _at_head(here: Standpoint, before: Ranked) -> Ranked:
    """The same question ranked at the head, with its vector and what models said to it."""
    store, question = here.store, before.question
    view = store.view()
    here.embedding.require_same(view.adoptions.embedder(view.seq))
    effects = msgspec.structs.replace(question.effects, scanned=())
    formula = before.formula if before.replaces is None else here.formula_at(view)
    question = _with_previous(store, msgspec.structs.replace(question, effects=effects), view, formula)
    question, ranking = rank_at(store, question, view, formula)
    ranked = before._replace(question=question, ranking=ranking, view=view, formula=formula)
    if store.is_deciding or not wants_more(ranked):
        note = "rerank: memories were erased meanwhile, and what took their places was ranked without it"
        return _noting(ranked, "rerank", note) if effects.reranked and ranking.sheet.wanted else ranked
    asked = ask_models(here, ranked)
    return asked._replace(degraded=tuple(dict.fromkeys(asked.degraded)))


def _append(writer: Writer, ranked: Ranked, *, track: bool) -> str:
    """Append what was returned, the formula if the log lacks it, and the accesses if they count.

    `HeadMoved` if something was erased since the basis; if the formula comes into force, if anything was written.
    """
    store, recipe, question, basis = writer.store, ranked.formula, ranked.question, ranked.ranking.basis
    engine = store.projections.adoptions
    facts: list[AnyFact] = []
    replaced = ranked.replaces == engine.formula_since(basis)
    adopt = replaced and engine.formula_in_force(basis) != recipe.digest
    if adopt or recipe.digest not in engine.formulas:
        facts.append(FormulaAdopted(name=recipe.name, digest=recipe.digest, text=recipe.text, in_force=adopt))
    recalled = Recalled(
        question=question,
        basis=basis,
        formula=recipe.digest,
        ids=ranked.ranking.ids,
        scores=ranked.ranking.scores,
        degraded=tuple(one.text for one in ranked.degraded),
    )
    facts.append(recalled)
    place = len(facts) - 1
    if track and recalled.ids:
        facts.append(Accessed(ids=recalled.ids, at=question.now, session=question.session, how="returned"))
    expect, unless = (basis, None) if adopt else (None, (ERASED, basis))
    seqs = store.append(facts, actor=writer.actor, durability="unsafe", expect=expect, unless=unless)
    return f"r{seqs[place]}"


def answer(store: Store, ranked: Ranked, recall_id: str | None = None) -> Answer:
    """The answer that a ranking gives, with texts."""
    ranking, question = ranked.ranking, ranked.question
    hits = _hits(store, ranked)
    facts = dict(ranking.sheet.facts)
    if len(hits) < question.k:
        facts["found"] = f"{len(hits)} of {question.k}"
    damage = store.damage_note
    degraded = ranked.degraded if damage is None else (Degraded("damage", damage), *ranked.degraded)
    if store.log.unfollowed is not None:
        degraded = (Degraded("behind", store.log.unfollowed), *degraded)
    return Answer(
        id=recall_id,
        basis=ranking.basis,
        formula=ranking.formula,
        query=question.text,
        now=iso(question.now),
        hits=hits,
        degraded=tuple(one.text for one in degraded),
        facts=facts,
        degraded_kinds=tuple(one.kind for one in degraded),
    )


def _hits(store: Store, ranked: Ranked) -> tuple[Hit, ...]:
    """Each hit with its text and what is known of it at the basis."""
    ranking = ranked.ranking
    if not ranking.ids:
        return ()
    places = list(ranking.order[: len(ranking.ids)])
    states = ranked.view.lifecycle.at(ranking.sheet.memories[places], ranking.basis)
    return tuple(
        Hit(
            id=id_, score=score, rank=position, content=store.content_of_row(int(ranking.sheet.rows[place]), ranked.view),
            factors=factors_of(ranking, place), kind=kind or "note", at=iso(at), project=project, session=session,
            source=source, tags=tags, revision=revision,
        )
        for position, (id_, score, place, kind, at, project, session, source, tags, revision) in enumerate(
            zip(
                ranking.ids, ranking.scores, places, states.texts(states.kind), states.created_at.tolist(),
                states.texts(states.project), states.texts(states.session), states.texts(states.source),
                states.members(states.tags), states.revision_count.tolist(), strict=True,
            ),
            1,
        )
    )  # fmt: skip


def factors_of(ranking: Ranking, place: int) -> dict[str, float]:
    """The columns of the sheet that a candidate has a value in."""
    values = ((name, float(column[place])) for name, column in ranking.sheet.columns.items())
    return {name: value for name, value in values if not math.isnan(value)}


# --- asking models ---------------------------------------------------------------------------------


def wants_more(ranked: Ranked) -> bool:
    """Whether a ranking would like something of a model, or did without a shard."""
    sheet = ranked.ranking.sheet
    return bool(sheet.expansions_wanted or len(sheet.wanted) or ranked.question.effects.scanned)


def ask_models(here: Standpoint, first: Ranked) -> Ranked:
    """Rank again with what the models say; note the shards that were missing."""
    done = _reranked(here, _expanded(here, first))
    for digest in done.question.effects.scanned:
        done = _noting(done, "shard", _scanned(here.store, digest))
    return done


def rank_at(store: Store, question: Question, view: View, formula: Formula) -> tuple[Question, Ranking]:
    """Rank under the store's lock; return the question with the shards that were missing."""
    check_context(question.context, formula)
    with store.lock, store.torn_state:  # `@locked` would be one more level on the longest way
        store.require_analyzers(formula.analyzers)
        if not view.projections.lexicals.keys() >= set(formula.analyzers):  # an erasure made them all anew
            view = store.view(view.seq)
        return rank_around(question, view, formula, prefetch=True)


def check_context(context: Context, formula: Formula) -> None:
    """Weights, profile and surface that a question brings must be ones that the formula knows."""
    if context.weights:
        _check_weights(context.weights, formula)
    for select, wanted in (("profile", context.profile), ("surface", context.surface)):
        if wanted:
            _check_row(select, wanted, formula)


def _check_row(select: str, wanted: str, formula: Formula) -> None:
    rows = [row for dial in formula.dials if dial.select == select for row in dial.table]
    if not rows:
        raise InvalidInput(
            f"formula {formula.name!r} has no {select}s; ask without context.{select}, or under a formula that has them"
        )
    if lower_14(wanted) not in {lower_14(row) for row in rows}:
        raise InvalidInput(f"formula {formula.name!r} has no {select} {wanted!r}; {there_are(wanted, rows)}")


def _check_weights(weights: Mapping[str, float], formula: Formula) -> None:
    """Weights that a question brings must be ones that the formula lets it bring."""
    open_ = [s for s in formula.stages if isinstance(s, Weigh) and s.enabled and s.overridable]
    if not open_:
        raise InvalidInput(
            f"the weights of formula {formula.name!r} are fixed; ask without context.weights, or write a formula "
            f"of your own whose weigh stage says overridable = true"
        )
    known = sorted({name for stage in open_ for name in stage.weights})
    for name, weight in weights.items():
        if name not in known:
            raise InvalidInput(f"formula {formula.name!r} has no weight {name!r}; {there_are(name, known)}")
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
    """Retire the bad shards that this question did without; an error here never fails an answer."""
    for digest in question.effects.scanned:
        failed = store.projections.vectors.shards.why_not(digest)
        if failed is not None and failed.proven:
            with suppress(RecollectError, OSError):  # tried again by the next recall
                store.retire_shard(digest, failed.reason)


def _again(here: Standpoint, before: Ranked, effects: Effects) -> Ranked:
    question = msgspec.structs.replace(before.question, effects=effects)
    question, ranking = rank_at(here.store, question, before.view, before.formula)
    return before._replace(question=question, ranking=ranking)


def _noting(before: Ranked, kind: DegradedKind, note: str) -> Ranked:
    return before._replace(degraded=(*before.degraded, Degraded(kind, note)))


# --- rewritings of the question --------------------------------------------------------------------


def _expanded(here: Standpoint, before: Ranked) -> Ranked:
    """Rank again with rewritings of the question; a shortcut needs none."""
    sheet, expander = before.ranking.sheet, here.models.expander
    if expander is None or not sheet.expansions_wanted or "shortcut" in sheet.facts:
        return before
    try:
        expansions = _expansions(here, before, expander)
        said_by = _said_by(expander, before.question.text)
    except Exception as error:  # noqa: BLE001 (a model that fails must not prevent the answer)
        return _noting(
            before, "expansion", f"expansion: the expander failed ({_words(error)}), ranked without it"
        )
    effects = msgspec.structs.replace(before.question.effects, expansions=expansions, expanded_by=said_by)
    return _again(here, before, effects)


def _said_by(expander: Expander, question: str) -> ModelSaid:
    digest: Callable[[str], str] | None = getattr(expander, "prompt_digest", None)
    named = str(getattr(expander, "name", getattr(expander, "__qualname__", type(expander).__name__)))
    return ModelSaid(model=named, prompt=digest(question) if digest else "")


def _expansions(here: Standpoint, before: Ranked, expander: Expander) -> tuple[Expansion, ...]:
    question = before.question
    wanted = max(
        stage.expanded.first
        for stage in before.formula.stages
        if isinstance(stage, Retrieve) and stage.expanded
    )
    texts = dict.fromkeys(validate.query(text, "rewriting").strip() for text in expander(question.text))
    chosen = [text for text in texts if text and text != question.text.strip()][:wanted]
    vectors = (
        here.embedding.vectors(chosen, queries=True) if chosen and question.vector else [None] * len(chosen)
    )
    return tuple(Expansion(text=text, vector=vector) for text, vector in zip(chosen, vectors, strict=True))


# --- the cross-encoder -----------------------------------------------------------------------------


def _reranked(here: Standpoint, before: Ranked) -> Ranked:
    """Rank again with the scores of the cross-encoder; that needs at least two candidates.

    Of a question that brings scores of the same model along, only candidates without one are asked about.
    """
    reranker, known = here.models.reranker, before.question.effects.reranked
    places = before.ranking.sheet.wanted
    if known and places and reranker and known.model != reranker.name:
        before = _again(here, before, msgspec.structs.replace(before.question.effects, reranked=None))
        places, known = before.ranking.sheet.wanted, None
    if len(places) < (1 if known else 2):
        return before
    if reranker is None:
        expected = any(isinstance(s, Rerank) and s.enabled and s.expected for s in before.formula.stages)
        note = "rerank: the formula expects a cross-encoder and none was given"
        return _noting(before, "rerank", note) if expected else before
    sheet = before.ranking.sheet
    texts = [here.store.content_of_row(int(sheet.rows[place]), before.view) for place in places]
    try:
        scores = reranker.score(before.question.text, texts)
    except Exception as error:  # noqa: BLE001 (a model that fails must not prevent the answer)
        return _noting(
            before, "rerank", f"rerank: {reranker.name} failed ({_words(error)}), ranked without it"
        )
    if len(scores) != len(places):
        note = f"rerank: {reranker.name} gave {len(scores)} scores for {len(places)} texts, ranked without it"
        return _noting(before, "rerank", note)
    return _with_scores(here, before, reranker.name, scores)


def _with_scores(here: Standpoint, before: Ranked, model: str, scores: list[float]) -> Ranked:
    """Rank again with the finite scores; one that is not finite would spoil the others."""
    sheet, ids = before.ranking.sheet, before.view.documents.ids.values
    wanted = [ids[int(sheet.memories[place])] for place in sheet.wanted]
    known = before.question.effects.reranked
    usable = {id_: score for id_, score in zip(wanted, scores, strict=True) if math.isfinite(score)}
    lost = len(wanted) - len(usable)
    if lost:
        note = f"rerank: {lost} of {len(wanted)} scores of {model} were not finite and do not count"
        before = _noting(before, "rerank", note)
    if not usable:
        return before
    earlier = known.scores if known else {}
    asked = msgspec.json.encode({"query": before.question.text, "ids": [*earlier, *wanted]})
    reranked = Reranked(model=model, scores=earlier | usable, prompt=hashlib.sha256(asked).hexdigest())
    return _again(here, before, msgspec.structs.replace(before.question.effects, reranked=reranked))


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
