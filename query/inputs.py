"""Named inputs of factors and weights: what can be known about each candidate besides the sheet's own columns.

Ages are never negative: a time after the question's clock has age 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from pathlib import PurePosixPath
from typing import NamedTuple

import numpy as np

from recollect.events.facts import Context
from recollect.events.grid import GridArray, from_bytes, norm2
from recollect.events.grid import cosines as cosines_of
from recollect.projections.columns import BoolArray, FloatArray, Int32Array, distinct, distinct_places
from recollect.projections.lexical.analyzers import ANALYZERS
from recollect.projections.lexical.frozen_unicode import casefold_14
from recollect.projections.lifecycle.affinity import Labels
from recollect.projections.lifecycle.traits import NO_PRIORITY
from recollect.projections.portable_math import round12
from recollect.projections.view import View
from recollect.query.sheet import RankContext, Sheet
from recollect.query.text.dates import Span, given_span, span_of_question, span_of_question_2
from recollect.query.text.intents import Cues

MICROS_PER_HOUR = 3_600_000_000
MICROS_PER_DAY = 24 * MICROS_PER_HOUR
_SMALL = (63).bit_length()


class _Age(NamedTuple):
    """The time from a moment of the lifecycle to the question's clock, in units of so many µs."""

    since: str
    unit: float


# A column of the lifecycle by name, an age, or what computes the values.
Input = str | _Age | Callable[[Sheet, RankContext], FloatArray]


def read(name: str, sheet: Sheet, ctx: RankContext) -> FloatArray:
    """An input by name, or else the column of that name (all NaN if neither exists)."""
    source = INPUTS.get(name)
    if source is None:
        return sheet.column(name)
    if isinstance(source, str):
        return np.asarray(getattr(ctx.lifecycle(sheet), source), dtype=np.float64)
    if isinstance(source, _Age):
        moments = np.asarray(getattr(ctx.lifecycle(sheet), source.since), dtype=np.int64)
        return np.maximum(ctx.question.now - moments, 0) / source.unit
    return source(sheet, ctx)


def _settled_spread(sheet: Sheet, ctx: RankContext) -> FloatArray:
    """Session spread as of the last dream; later accesses do not count yet."""
    dream = ctx.view.adoptions.last_dream(ctx.view.seq)
    if dream == 0:
        return np.ones(len(sheet))
    return np.asarray(ctx.view.lifecycle.at(sheet.memories, dream).session_spread, dtype=np.float64)


def _degree(sheet: Sheet, ctx: RankContext) -> FloatArray:
    return ctx.view.graph.degrees(sheet.memories, ctx.view.seq).astype(np.float64)


def _priority(sheet: Sheet, ctx: RankContext) -> FloatArray:
    """NaN for a memory without a priority."""
    given = ctx.lifecycle(sheet).priority
    return np.where(given == NO_PRIORITY, np.nan, given.astype(np.float64))


def _derived_from(sheet: Sheet, ctx: RankContext) -> FloatArray:
    """How many memories each candidate was derived from: edges of that kind that leave it."""
    found = ctx.view.graph.neighbours(sheet.memories, ctx.view.seq, direction="out", kinds=("derived_from",))
    counts = np.bincount(found.of, minlength=int(sheet.memories.max(initial=0)) + 1)
    return counts[sheet.memories].astype(np.float64)


def _doublings(sheet: Sheet, ctx: RankContext) -> FloatArray:
    """How often 64 memories were doubled to get as many as are alive, in whole steps; 0 below 64."""
    alive = ctx.view.documents.rows_born(ctx.view.seq) - ctx.view.documents.rows_dead(ctx.view.seq)
    return np.full(len(sheet), float(max(alive.bit_length() - _SMALL, 0)))


def _fuse_k(sheet: Sheet, ctx: RankContext) -> FloatArray:
    """The k of the `fuse` before; NaN without a `fuse`."""
    del ctx
    return np.full(len(sheet), sheet.fuse_k)


def in_span(sheet: Sheet, ctx: RankContext) -> FloatArray:
    """1 where the memory's date lies in the time that the question is about, else 0; NaN if it is about no time."""
    return _inside(span_of_question(ctx.question), sheet, ctx)


def in_span_2(sheet: Sheet, ctx: RankContext) -> FloatArray:
    """As `in_span`, with dates read to the day and with their years (`span_of_2` in `text/dates.py`)."""
    return _inside(span_of_question_2(ctx.question), sheet, ctx)


def _inside(span: Span | None, sheet: Sheet, ctx: RankContext) -> FloatArray:
    if span is None:
        return np.full(len(sheet), np.nan)
    dates = ctx.lifecycle(sheet).event_at
    return ((dates >= span.start) & (dates < span.end)).astype(np.float64)


def span_given(sheet: Sheet, ctx: RankContext) -> FloatArray:
    """1 if the caller gave the time that the question is about, else 0."""
    return np.full(len(sheet), float(given_span(ctx.question.context, ctx.question.now) is not None))


# What a candidate shares with the caller: labels named in the question's context, and the session's past.


def shared_labels(sheet: Sheet, ctx: RankContext) -> FloatArray:
    """How many of the entities and tags in the question's context the candidate has."""
    context, columns = ctx.question.context, ctx.lifecycle(sheet)
    count = np.zeros(len(sheet))
    for wanted, numbers in ((context.entities, columns.entities), (context.tags, columns.tags)):
        if wanted:
            liked = frozenset(wanted)
            count += [float(len(liked.intersection(labels))) for labels in columns.members(numbers)]
    return count


_USES_MIN = 2


def affinity(sheet: Sheet, ctx: RankContext) -> FloatArray:
    """How many of the candidate's entities and tags the caller has an affinity for.

    Those are the ones that the question's context names. If it names none, they are learned: a label counts once
    memories with it have been used twice. Roles (`user`, `assistant`, …) do not count, since they name no topic.
    """
    context = ctx.question.context
    if context.entities or context.tags:
        return shared_labels(sheet, ctx)
    columns, uses, seq = ctx.lifecycle(sheet), ctx.view.lifecycle.uses, ctx.view.seq
    count = np.zeros(len(sheet))
    kinds: tuple[tuple[Labels, Int32Array], ...] = (("entities", columns.entities), ("tags", columns.tags))
    for kind, numbers in kinds:
        sets, place_of = distinct_places(numbers)
        liked = [
            float(sum(label not in ROLES and uses(kind, label, seq) >= _USES_MIN for label in labels))
            for labels in columns.members(sets)
        ]
        count += np.array(liked)[place_of]
    return count


def returned_before(sheet: Sheet, ctx: RankContext) -> FloatArray:
    """1 if an earlier recall of the question's session returned the candidate, else 0."""
    session = ctx.question.session
    if session is None:
        return np.zeros(len(sheet))
    return ctx.view.sessions.returned(session, sheet.memories, ctx.view.seq).astype(np.float64)


# How near each candidate's cluster is to the question.


def centroid_cosines(sheet: Sheet, ctx: RankContext) -> FloatArray:
    """The cosine of the question and the centroid of the candidate's cluster, in [-1, 1].

    A candidate in no cluster is a cluster of one, whose centroid is its own vector. NaN if the candidate or the
    question has no vector. Clusters from before the embedder in force are ignored: vectors of two embedders are never
    compared.
    """
    if ctx.question.vector is None:
        return np.full(len(sheet), np.nan)
    query, seq, vectors = from_bytes(ctx.question.vector), ctx.view.seq, ctx.view.vectors
    able = vectors.comparable(sheet.rows, at=seq)
    own = np.where(able, vectors.cosines(query, sheet.rows, at=seq), np.nan)
    shared = cluster_cosines(sheet, ctx)
    return np.where(np.isnan(shared), own, shared)


def cluster_cosines(sheet: Sheet, ctx: RankContext) -> FloatArray:
    """The same, but NaN for a candidate in no cluster."""
    cosines, seq = np.full(len(sheet), np.nan), ctx.view.seq
    adopted = ctx.view.adoptions.embedder(seq)
    clustered = ctx.view.graph.clusters.assigned(seq)
    if ctx.question.vector is None or clustered <= (0 if adopted is None else adopted.seq):
        return cosines
    query = from_bytes(ctx.question.vector)
    clusters = ctx.view.graph.clusters.of(sheet.memories, seq)
    for cluster, cosine in _cosines(ctx, query, distinct(clusters[clusters >= 0]).tolist()):
        cosines[clusters == cluster] = cosine
    return cosines


def _cosines(ctx: RankContext, query: GridArray, clusters: list[int]) -> list[tuple[int, float]]:
    """The cosines of the question and these clusters' centroids, where both have a direction in one space."""
    centroids = {cluster: from_bytes(ctx.view.graph.clusters.centroid(cluster)) for cluster in clusters}
    able = [n for n, centroid in centroids.items() if len(centroid) == len(query) and centroid.any()]
    if not able:
        return []
    points = np.stack([centroids[cluster] for cluster in able]).astype(np.int64)
    exact = cosines_of(points @ query.astype(np.int64), norm2(query), (points * points).sum(axis=1))
    return [(cluster, round12(cosine)) for cluster, cosine in zip(able, exact.tolist(), strict=True)]


# What a question's surroundings and a memory have in common: tags, project, names of files.
#
# The names of a context are its tags, its entities, and of every file the stem, the name and each part of the
# path with more than two characters; letter case does not matter.

_PART_MIN = 3


def names_of(context: Context) -> tuple[str, ...]:
    """The names of a context, each once, in order."""
    return _names(context.files, context.tags, context.entities)


@lru_cache(maxsize=64)
def _names(files: tuple[str, ...], tags: tuple[str, ...], entities: tuple[str, ...]) -> tuple[str, ...]:
    names: list[str] = []
    for file in files:
        path = PurePosixPath(file.replace("\\", "/"))
        names += [_stem(path.name), path.name, *(part for part in path.parts if len(part) >= _PART_MIN)]
    return tuple(dict.fromkeys(casefold_14(name) for name in (*names, *tags, *entities) if name.strip()))


def _stem(name: str) -> str:
    """A file's name without its suffix; "notes." has no suffix, whatever the running Python's `PurePath.stem` says."""
    dot = name.rfind(".")
    return name[:dot] if 0 < dot < len(name) - 1 else name


def context_tags(sheet: Sheet, ctx: RankContext) -> FloatArray:
    """How many of the memory's tags are names of the context."""
    names = set(names_of(ctx.question.context))
    columns = ctx.lifecycle(sheet)
    shared = [
        len(names.intersection(map(casefold_14, tags))) if names else 0
        for tags in columns.members(columns.tags)
    ]
    return np.array(shared, dtype=np.float64)


def context_project(sheet: Sheet, ctx: RankContext) -> FloatArray:
    """1 where the memory's project is the context's, or one of its names; else 0."""
    context = ctx.question.context
    wanted = {*names_of(context), *([casefold_14(context.project)] if context.project else [])}
    columns = ctx.lifecycle(sheet)
    projects = columns.texts(columns.project)
    return np.array([float(bool(p) and casefold_14(str(p)) in wanted) for p in projects], dtype=np.float64)


_ZERO_MAX = 0.9
_SAMPLE = 64


def nearness(sheet: Sheet, ctx: RankContext) -> FloatArray:
    """The cosine with the question on a scale on which texts that have nothing to do with each other are at 0.

    Models differ in what they call unrelated: with one such texts have cosines about 0, with another about 0.7. The store
    keeps the vector of one fixed text (the probe that its embedder was adopted with), which has nothing to do with nearly
    any memory; its mean cosine with candidates is the model's zero.

    nearness(d) = (cos(question, d) − zero) / (1 − zero)    zero = the mean of cos(probe, d) over the first candidates, at
                                                                   most 64 of them, and at most 0.9

    NaN if the memory has no vector of the question's embedder, or the question has no vector.
    """
    view, asked = ctx.view, ctx.question.vector
    adopted = view.adoptions.embedder(view.seq)
    if asked is None or adopted is None or len(adopted.probe) != len(asked):
        return np.full(len(sheet), np.nan)
    cosines = sheet.columns.get("vector")
    able = view.vectors.comparable(sheet.rows, at=view.seq)
    if cosines is None or np.isnan(cosines[able]).any():
        cosines = np.where(able, view.vectors.cosines(from_bytes(asked), sheet.rows, at=view.seq), np.nan)
    zero = unrelated_cosine(view, sheet.rows[able])
    return (cosines - zero) / (1.0 - zero)


def unrelated_cosine(view: View, rows: Int32Array) -> float:
    """The model's zero: the mean cosine of the probe with the first 64 of these comparable rows, at most 0.9."""
    adopted, sample = view.adoptions.embedder(view.seq), rows[:_SAMPLE]
    if adopted is None or not len(sample):
        return 0.0
    unrelated = view.vectors.cosines(from_bytes(adopted.probe), sample, at=view.seq).tolist()
    return min(math.fsum(unrelated) / len(unrelated), _ZERO_MAX)


# Who speaks: labels that texts begin with, roles that importers tag, and who asks the question.
#
# A turn of a conversation between people begins with its speaker's name ("Ann: I adopted a puppy"), a turn of a chat
# with an assistant is tagged with its role; importers write them so. A question in the first person, which has a word
# such as I, me, my, we or our, is asked by the person whose turns are tagged `user`.

USER = "user"
ROLES = frozenset({USER, "assistant", "system", "tool"})
_STEMS, _WORDS = "english/2", "unicode61-cjk/2"
FIRST_PERSON = Cues(
    """
    i; me; my; mine; myself; we; us; our; ours; ourselves;
    ich; mir; mich; mein; meine; meinen; meinem; meiner; wir; uns; unser; unsere;
    je; moi; mon; ma; mes; nous; notre; nos; yo; mi; mis; nosotros; nuestro; nuestra; eu; meu; minha; nosso; nossa;
    я; мне; меня; мой; моя; мои; мы; нам; нас; наш; 我的; 我们; 我在; 我有; 我想; 我是; 私の; 私は; 私が; 僕の; 僕は; 나는; 내가;
    나의; 우리; أنا; मैं; मेरा; मेरी; हम
    """
)


def asking(sheet: Sheet, ctx: RankContext) -> FloatArray:
    """1 where the memory has a label and its text has a question mark, else 0: a question seldom holds the answer.

    Only turns between people count: a question to an assistant often says what it is about.
    """
    marks = ctx.view.marks
    return (marks.asking(sheet.rows) & (marks.label_numbers(sheet.rows) >= 0)).astype(np.float64)


def under_label(sheet: Sheet, ctx: RankContext) -> FloatArray:
    """Where the question holds a word of the label that the memory stands under: 1 in a session, 1 − 1/n outside; else 0.

    n candidates stand under that label: outside a session, one that a single memory has is the beginning of a title,
    one that many share is what notes are about. Words are stems without English stop words; a label that has no other
    words ("Will:") is compared as it is written.
    """
    own = ctx.view.marks.label_numbers(sheet.rows)
    numbers, place_of = distinct_places(own)
    counts = np.bincount(place_of[sheet.kept], minlength=len(numbers))
    names = ctx.view.marks.labels.values
    named = [number >= 0 and _named_in(ctx.question.text, names[number]) for number in numbers.tolist()]
    shared = np.where(named, 1.0 - 1.0 / np.maximum(counts, 1), 0.0)[place_of]
    spoken = np.array(named, dtype=np.float64)[place_of]
    return np.where(ctx.view.conversations.of(sheet.memories) >= 0, spoken, shared)


def by_asker(sheet: Sheet, ctx: RankContext) -> FloatArray:
    """1 where the question is in the first person and the memory is tagged `user`, else 0."""
    if not FIRST_PERSON.found_in(ctx.question.text, _WORDS):
        return np.zeros(len(sheet))
    return _tagged(sheet, ctx, frozenset({USER})).astype(np.float64)


def has_role(sheet: Sheet, ctx: RankContext) -> BoolArray:
    """Where the memory is a turn of a chat with an assistant: one of its tags is a role."""
    return _tagged(sheet, ctx, ROLES)


def _tagged(sheet: Sheet, ctx: RankContext, wanted: frozenset[str]) -> BoolArray:
    columns = ctx.lifecycle(sheet)
    sets, place_of = distinct_places(columns.tags)
    held = [not wanted.isdisjoint(tags) for tags in columns.members(sets)]
    return np.array(held, dtype=np.bool_)[place_of]


@lru_cache(maxsize=4096)
def _named_in(question: str, label: str) -> bool:
    for analyzer in (_STEMS, _WORDS):
        if words := ANALYZERS[analyzer](label):
            return not set(words).isdisjoint(ANALYZERS[analyzer](question))
    return False


INPUTS: dict[str, Input] = {
    "age_days": _Age("updated_at", float(MICROS_PER_DAY)),
    "age_hours": _Age("created_at", float(MICROS_PER_HOUR)),
    "idle_days": _Age("touched_at", float(MICROS_PER_DAY)),
    "created_at": "created_at",
    "touched_at": "touched_at",
    "strength": "strength",
    "depth_score": "depth_score",
    "session_spread": _settled_spread,
    "stability": "stability",
    "importance": "importance",
    "access_count": "access_count",
    "returned_count": "returned_count",
    "injected_count": "injected_count",
    "used_count": "used_count",
    "feedback": "feedback",
    "trust": "trust",
    "degree": _degree,
    "centroid_cosine": centroid_cosines,
    "shared_labels": shared_labels,
    "affinity": affinity,
    "returned_before": returned_before,
    "priority": _priority,
    "kind_helpful": "kind_helpful",
    "kind_unhelpful": "kind_unhelpful",
    "derived_from": _derived_from,
    "context_tags": context_tags,
    "context_project": context_project,
    "cluster_cosine": cluster_cosines,
    "in_span": in_span,
    "in_span/2": in_span_2,
    "span_given": span_given,
    "event_dated": "event_dated",
    "nearness": nearness,
    "doublings": _doublings,
    "fuse_k": _fuse_k,
    "asking": asking,
    "under_label": under_label,
    "by_asker": by_asker,
}
