"""A recall, live or of the past: the question is posed, ranked at a view with the help of models, and answered.

`Standpoint` says where it is asked from. `rank_from` is behind every ranking that someone asks for: `Memory.recall`,
the recall of a past view, and explanations of questions that were never asked. Recorded, a recall is one atomic batch:
the formula if the log lacks it, what was returned, and the accesses if they count. It may be lost in a power cut, and
one that cannot be written is still answered, and says so.
"""

from __future__ import annotations

import math
import threading
from typing import NamedTuple

import msgspec

from recollect.engine.answers import Answer, Degraded, Hit
from recollect.engine.embedding.store_embedder import Embedding
from recollect.engine.formula_lookup import formula_named
from recollect.engine.model_effects import Consulted, Models, consult, rank_at, retire_bad_shards, wants_more
from recollect.engine.moments import iso, parse_seq
from recollect.engine.recall_options import RecallOptions, question_of
from recollect.engine.store import Store
from recollect.engine.torn_state import Wholeness, locked
from recollect.engine.writer import Writer
from recollect.events.errors import InvalidInput, LogDamaged, RecollectError
from recollect.events.facts import Accessed, AnyFact, FormulaAdopted, Question, Recalled
from recollect.projections.view import View
from recollect.query.formula import Formula
from recollect.query.ranking import Ranking
from recollect.replay.fork import topic


class Standpoint(NamedTuple):
    """Where a question is asked from: the head or a seq, what embeds it, and formula and clock unless it has others."""

    store: Store
    embedding: Embedding
    formula: Formula
    now: int
    models: Models = Models()
    seq: int | None = None

    @property
    def lock(self) -> threading.RLock:
        return self.store.lock

    @property
    def whole(self) -> Wholeness:
        return self.store.whole


class Ranked(NamedTuple):
    """A question with all that models said to it, ranked at a view."""

    question: Question
    ranking: Ranking
    view: View
    formula: Formula
    degraded: tuple[Degraded, ...]


def rank_from(here: Standpoint, query: str, options: RecallOptions, *, words_instead: bool = False) -> Ranked:
    """The question of these arguments, ranked; with `words_instead` also while the embedder is away."""
    store, given = here.store, options.get("formula")
    formula = here.formula if given is None else formula_named(store, given, files=True)
    question, degraded = embedded(
        question_of(query, options, now=here.now),
        here.embedding,
        wait=options.get("wait", True),
        words_instead=words_instead,
    )
    _require_basis(here, options.get("basis"))
    view = store.view(here.seq)
    if here.seq is None:
        here.embedding.require_same(view.adoptions.embedder(view.seq))
    if question.session is not None:
        question = _with_previous(store, question, view, formula)
    ranked = Consulted(*rank_at(store, question, view, formula), degraded)
    if wants_more(ranked):
        ranked = consult(ranked, store, view, formula, models=here.models, embedding=here.embedding)
    return Ranked(ranked.question, ranked.ranking, view, formula, ranked.degraded)


def _require_basis(here: Standpoint, basis: int | str | None) -> None:
    """Read your writes: the view must reach the event at this seq."""
    if basis is None:
        return
    seq = parse_seq(basis)
    if seq is None:
        raise InvalidInput(f"basis is a seq, as in @120, not {basis!r}")
    if here.seq is not None and here.seq < seq:
        raise InvalidInput(f"the view as of @{here.seq} does not know of @{seq}; ask as of a later moment")
    here.store.await_seq(seq)


def embedded(
    question: Question, embedding: Embedding, *, wait: bool = True, words_instead: bool = False
) -> tuple[Question, tuple[Degraded, ...]]:
    """The question with its vector, or with what keeps it from having one."""
    vector, problem = embedding.question_vector(question.text, wait=wait, words_instead=words_instead)
    if problem is not None:
        loads = embedding.embedder is not None and not wait and embedding.failure is None
        return question, (Degraded("loading" if loads else "embedder", problem),)
    name = None if vector is None else embedding.name
    return msgspec.structs.replace(question, vector=vector, embedder=name), ()


@locked
def _with_previous(store: Store, question: Question, view: View, formula: Formula) -> Question:
    """With the previous question of the session and its answer, if the formula has a topic gate."""
    return topic.with_previous(store.log, question, view, formula, same=False)


def record(writer: Writer, ranked: Ranked, options: RecallOptions) -> Answer:
    """The answer, recorded if it is to be; one that cannot be recorded says so."""
    store = writer.store
    if not options.get("record", True):
        return answer(store, ranked)
    try:
        recall_id = _append(
            writer, ranked, in_force=options.get("formula") is None, track=options.get("track", True)
        )
        if ranked.question.effects.scanned:
            retire_bad_shards(store, ranked.question)
    except (RecollectError, OSError) as error:
        why = "a damaged log takes no writes" if isinstance(error, LogDamaged) else error
        note = Degraded("unrecorded", f"this recall was not recorded: {why}")
        return answer(store, ranked._replace(degraded=(*ranked.degraded, note)))
    return answer(store, ranked, recall_id)


def _append(writer: Writer, ranked: Ranked, *, in_force: bool, track: bool) -> str:
    """Append what was returned, the formula if the log lacks it, and the accesses if they count."""
    store, recipe, question = writer.store, ranked.formula, ranked.question
    engine = store.projections.adoptions
    facts: list[AnyFact] = []
    adopt = in_force and engine.formula_in_force(store.log.head) != recipe.digest
    if adopt or recipe.digest not in engine.formulas:
        facts.append(FormulaAdopted(name=recipe.name, digest=recipe.digest, text=recipe.text, in_force=adopt))
    recalled = Recalled(
        question=question,
        basis=ranked.ranking.basis,
        formula=recipe.digest,
        ids=ranked.ranking.ids,
        scores=ranked.ranking.scores,
        degraded=tuple(one.text for one in ranked.degraded),
    )
    facts.append(recalled)
    place = len(facts) - 1
    if track and recalled.ids:
        facts.append(Accessed(ids=recalled.ids, at=question.now, session=question.session, how="returned"))
    return f"r{store.append(facts, actor=writer.actor, durability='unsafe')[place]}"


def answer(store: Store, ranked: Ranked, recall_id: str | None = None) -> Answer:
    """The ranking in words."""
    ranking, question = ranked.ranking, ranked.question
    places = zip(ranking.ids, ranking.scores, ranking.places, strict=True)
    hits = tuple(
        Hit(
            id=id_,
            score=score,
            rank=position,
            content=store.content_of_row(int(ranking.sheet.rows[place])),
            factors=factors_of(ranking, place),
        )
        for position, (id_, score, place) in enumerate(places, 1)
    )
    facts = dict(ranking.sheet.facts)
    if len(hits) < question.k:
        facts["found"] = f"{len(hits)} of {question.k}"
    damage = store.damage_note
    degraded = ranked.degraded if damage is None else (Degraded("damage", damage), *ranked.degraded)
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


def factors_of(ranking: Ranking, place: int) -> dict[str, float]:
    """The columns of the sheet that a candidate has a value in."""
    values = ((name, float(column[place])) for name, column in ranking.sheet.columns.items())
    return {name: value for name, value in values if not math.isnan(value)}
