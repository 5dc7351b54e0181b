"""What people name when they compare, as the engine takes it: sides, questions, judgements, another embedder.

Questions are one per line, or JSON lines with `recall`'s arguments; a question's name is its `id`, or q and its line
number:

    where are auth sessions stored?
    {"query": "when do we deploy?", "id": "deploys", "k": 5, "filters": {"project": "web"}}
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple, cast

import msgspec

from recollect.engine import validate
from recollect.engine.embedding.choice import choose
from recollect.engine.embedding.embedder import Embedder, EmbedFunction
from recollect.engine.embedding.past import embedding_at
from recollect.engine.embedding.store_embedder import Embedding
from recollect.engine.formula_lookup import formula_named
from recollect.engine.moments import When
from recollect.engine.recall import check_context, embedded
from recollect.engine.recall_options import RecallOptions, question_of, refuse_unknown
from recollect.engine.store import Store
from recollect.events.errors import InvalidInput
from recollect.events.facts import AnyFact, DreamBegan, GridVector, Question
from recollect.events.log import Log
from recollect.events.named_files import named_path, read_named
from recollect.projections.view import Projections
from recollect.query import formula as formulas
from recollect.query.formula import Formula
from recollect.replay.compare.judgements import Judgements, given_qrels, parse_qrels
from recollect.replay.compare.recorded_questions import Asked
from recollect.replay.compare.sides import RecordedSide, Side
from recollect.replay.fork.fork import fork_side
from recollect.replay.fork.note import read_note
from recollect.replay.fork.reembedding import NewEmbedder
from recollect.replay.fork.rules import Dreaming

Recipe = str | Path | Formula
Queries = str | Path | Iterable[str | Mapping[str, object]]
AnyEmbedder = str | Embedder | EmbedFunction
DreamSettings = str | Path | Mapping[str, object]

RECORDED = "recorded"

_FILE_BYTES_MAX = 256 * 1024 * 1024
_QUESTION_OPTIONS = ("k", "session", "context", "filters", "now", "valid_at")


def side(store: Store, given: Recipe) -> Formula | Side:
    """A formula, "recorded", or the directory of a fork."""
    if given == RECORDED:
        return RecordedSide()
    if not isinstance(given, Formula) and _is_fork(given):
        return fork_side(store.log, named_path(given))
    return formula_named(store, given, files=True)


def to_embed(store: Store, named: Recipe | None, in_force: Formula, *, given: bool) -> Formula | None:
    """The formula that ranks with another embedder; None if each recall is to keep its own.

    `named` is b where it was `given`, else a.
    """
    if named is None:
        return in_force
    if named == RECORDED and not given:
        return None
    if named == RECORDED:
        raise InvalidInput(
            f"{RECORDED!r} is what was answered with the store's own embedder; with another one, b is a formula"
        )
    return _formula_not_fork(store, named, "another embedder is tried with a formula; name one as b")


def to_drill(store: Store, named: Recipe, asked: Asked) -> Formula:
    """The formula that explains a recorded question; "recorded" is the one that it was answered with."""
    if named == RECORDED and asked.recorded is not None:
        known = store.projections.adoptions.formulas
        if asked.recorded.formula not in known:
            raise InvalidInput(
                f"{asked.name} used the formula {asked.recorded.formula}, which the log does not hold"
            )
        return formulas.from_canonical(known[asked.recorded.formula])
    return _formula_not_fork(
        store, named, "one question is explained by formulas; `why` explains it in the fork"
    )


def _formula_not_fork(store: Store, named: Recipe, instead: str) -> Formula:
    if not isinstance(named, Formula) and _is_fork(named):
        raise InvalidInput(f"{named} is a fork, whose answers are known but not ranked here: {instead}")
    return formula_named(store, named, files=True)


def _is_fork(named: str | Path) -> bool:
    folder = named_path(named)
    return folder.is_dir() and read_note(folder) is not None


def questions(
    store: Store, embedding: Embedding, queries: Queries, at: When | None, *, formulas: Sequence[Formula]
) -> list[Asked]:
    """The questions of a file or a list, as they are asked of these formulas at the head or at a moment."""
    lines, origin = _lines(queries)
    seq, now = (store.catch_up(), store.clock()) if at is None else store.resolve(at)
    seq = store.view(seq).seq
    own = _own_embedding(store, embedding, seq)
    return [
        Asked(question.name, _posed(question, own, now, formulas), seq)
        for question in parse_questions(lines, origin=origin)
    ]


class NamedQuestion(NamedTuple):
    """A question, what was said beside it, and where it was read."""

    name: str
    query: str
    options: RecallOptions
    where: str


def parse_questions(lines: Iterable[str | Mapping[str, object]], *, origin: str) -> list[NamedQuestion]:
    """The questions in lines of text, in lines of JSON, or in mappings; empty lines are skipped."""
    found = []
    for number, given in enumerate(lines, 1):
        if isinstance(given, str) and not given.strip():
            continue
        where = f"{origin}, line {number}"
        try:
            found.append(_question(given, f"q{number}", where))
        except (InvalidInput, msgspec.DecodeError, RecursionError) as error:
            raise InvalidInput(f"{where}: {error}") from None
    if not found:
        raise InvalidInput(f"{origin} holds no questions; write one per line")
    names = [question.name for question in found]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InvalidInput(f"{origin} has two questions named {twice!r}")
    return found


def _question(given: object, name: str, where: str) -> NamedQuestion:
    if isinstance(given, str):
        text = given.strip()
        given = msgspec.json.decode(text, type=dict[str, object]) if text.startswith("{") else {"query": text}
    if not isinstance(given, Mapping):
        raise InvalidInput(f"a question is a text or the arguments of `recall`, not {given!r}")
    refuse_unknown(given, ("query", "id", *_QUESTION_OPTIONS))
    if "query" not in given:
        raise InvalidInput("a question needs a `query`")
    query = validate.query(given["query"])
    named = validate.optional_identifier(given.get("id"), "id")
    options = {option: given[option] for option in _QUESTION_OPTIONS if given.get(option) is not None}
    return NamedQuestion(named or name, query, cast("RecallOptions", options), where)


def _lines(queries: Queries) -> tuple[Iterable[str | Mapping[str, object]], str]:
    if isinstance(queries, str | Path):
        return read_text(queries).splitlines(), str(queries)
    if isinstance(queries, Mapping) or not isinstance(queries, Iterable):
        raise InvalidInput(f"queries must be a file or a list of questions, not {queries!r}")
    return queries, "the list of questions"


def _own_embedding(store: Store, embedding: Embedding, seq: int) -> Embedding:
    """What embedded the store's vectors at `seq`, also where the store was opened without an embedder."""
    adopted = store.projections.adoptions.embedder(seq)
    if embedding.embedder is None and adopted is not None:
        return Embedding(choose(adopted.label, from_log=True), adopted)
    return embedding_at(store, embedding, seq)


def _posed(named: NamedQuestion, embedding: Embedding, now: int, formulas: Sequence[Formula]) -> Question:
    try:
        question, _ = embedded(question_of(named.query, named.options, now=now), embedding)
        for formula in formulas:
            check_context(question.context, formula)
    except InvalidInput as error:
        raise InvalidInput(f"{named.where}: {error}") from None
    return question


def judgements(given: str | Path | Judgements | None) -> Judgements | None:
    """Judgements as they are, or from a file."""
    if isinstance(given, str | Path):
        return parse_qrels(read_text(given), origin=str(given))
    return None if given is None else given_qrels(given)


def read_text(path: str | Path) -> str:
    try:
        return read_named(path, bytes_max=_FILE_BYTES_MAX).decode()
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InvalidInput(f"{path} is not text in UTF-8") from None


def new_embedder(given: AnyEmbedder) -> NewEmbedder:
    """An embedder that is not the store's, and the fact that would adopt it."""
    chosen = choose(given)
    if chosen is None:
        raise InvalidInput(
            "there is nothing to compare without an embedder; name one, such as 'minilm' or 'hash'"
        )
    embedding = Embedding(chosen, None)

    def embed(texts: Sequence[str], *, queries: bool = False) -> list[GridVector]:
        return [vector for vector in embedding.vectors(texts, queries=queries) if vector is not None]

    return NewEmbedder(embedding.adoption(), embed, partial(embed, queries=True))


def dreaming(settings: DreamSettings) -> Dreaming:
    """The settings to repeat dreams with: a TOML file, or tables of what differs from the defaults."""
    from recollect.dream.cycle import chosen_phases, dream  # noqa: PLC0415 (DuckDB waits until it is needed)
    from recollect.dream.settings import load_settings, settings_from  # noqa: PLC0415
    from recollect.dream.what_if import WhatIf  # noqa: PLC0415

    numbers = settings_from(settings) if isinstance(settings, Mapping) else load_settings(settings)

    def night(projections: Projections, log: Log, began: DreamBegan) -> Sequence[AnyFact]:
        if numbers.scan.analyzer not in projections.lexicals:
            projections.index(numbers.scan.analyzer, log.read(0, projections.position))
        what_if = WhatIf(projections, began.now)
        return dream(
            what_if,
            settings=numbers,
            now=began.now,
            phases=chosen_phases(None),
            recorded_at=log.effective_time,
        ).facts

    return Dreaming(numbers.text, night)
