"""The published formulas once more, straight from their documents: plain loops over plain records.

Nothing here is shared with the engine: words are runs of ASCII letters and digits, BM25 is SQLite's formula,
cosines are sums of whole numbers, a memory is a record that the events are applied to one by one. Numbers
that the documents do not give are those of the formula files. Values are compared to 12 digits.
"""

from __future__ import annotations

import math
import re
import struct
from dataclasses import dataclass, field

DAY_US = 24 * 3_600 * 1_000_000
HOUR_US = 3_600 * 1_000_000


def twelve(value: float) -> float:
    return float(f"{value:.12g}")


def words(text: str) -> list[str]:
    return re.findall("[a-z0-9]+", text.lower())


@dataclass
class Record:
    """One memory, as the events so far left it."""

    id: str
    text: str
    vector: tuple[int, ...] | None
    importance: float
    created: int
    updated: int
    expires: int | None
    last_touch: int
    kind: str
    labels: frozenset[str]
    born: int
    visible: bool = True
    last_access: int | None = None
    accesses: int = 0
    used: int = 0
    feedback: int = 0
    sessions: set[str] = field(default_factory=set)
    strength: float = 1.0
    depth: int = 2
    stability: float = 1.0
    slept_spread: int = 1


@dataclass
class Asked:
    text: str
    vector: tuple[int, ...]
    now: int
    k: int


@dataclass
class Past:
    """What the events so far left: the memories, and what is not of one memory alone."""

    memories: dict[str, Record] = field(default_factory=dict)
    edges: dict[tuple[str, str, str], float] = field(default_factory=dict)
    verdicts: dict[str, list[bool]] = field(default_factory=dict)
    liked: dict[str, int] = field(default_factory=dict)


def unpack(data: bytes | None) -> tuple[int, ...] | None:
    return None if data is None else struct.unpack(f"<{len(data) // 2}h", data)


def replay(facts: list[object]) -> Past:
    """Apply the facts one by one; their types are told apart by name alone."""
    past = Past()
    memories = past.memories
    for seq, fact in enumerate(facts, 1):
        match type(fact).__name__:
            case "Ingested":
                memories[fact.id] = Record(
                    fact.id, fact.content, unpack(fact.vector), fact.importance, fact.at, fact.at,
                    fact.expires_at, seq, fact.kind, frozenset({*fact.tags, *fact.entities}), len(memories),
                    sessions={fact.session} - {None},
                )  # fmt: skip
            case "Revised":
                record = memories[fact.id]
                record.text, record.vector, record.updated = fact.content, unpack(fact.vector), fact.at
            case "Accessed":
                for id_ in fact.ids:
                    record = memories[id_]
                    record.accesses += 1
                    if fact.how == "used":
                        record.used += 1
                        for label in record.labels:
                            past.liked[label] = past.liked.get(label, 0) + 1
                    record.last_touch = seq
                    record.last_access = max(fact.at, record.last_access or fact.at)
                    record.sessions |= {fact.session} - {None}
            case "Linked":
                past.edges[fact.a, fact.b, fact.kind] = fact.weight
            case "Rated":
                worth = {"helpful": 1, "unhelpful": -1, "outdated": -2}[fact.verdict]
                memories[fact.id].feedback += worth
                past.verdicts.setdefault(memories[fact.id].kind, []).append(fact.verdict == "helpful")
            case "Forgotten":
                memories[fact.id].visible = False
            case "Consolidated":
                for change in fact.changes:
                    memories[change.id].strength = change.after
            case "Placed":
                for change in fact.changes:
                    memories[change.id].depth = change.depth
            case "Stabilized":
                for change in fact.changes:
                    memories[change.id].stability = change.after
            case "DreamEnded":
                for record in memories.values():
                    record.slept_spread = max(1, len(record.sessions))
    return past


def best(scores: dict[str, float], top: int) -> list[tuple[str, float]]:
    return sorted(((id_, twelve(s)) for id_, s in scores.items()), key=lambda p: (-p[1], p[0]))[:top]


class Corpus:
    """The visible memories and one question."""

    def __init__(self, past: Past, asked: Asked) -> None:
        self.asked = asked
        self.past = past
        self.living = {id_: record for id_, record in past.memories.items() if record.visible}
        self.shown = {
            id_: record
            for id_, record in self.living.items()
            if record.expires is None or record.expires > asked.now
        }

    def bm25(self, asked: list[str] | None = None) -> dict[str, float]:
        """SQLite's bm25(), larger is better; what is expired still counts in the statistics."""
        if not self.living:
            return {}
        texts = {id_: words(record.text) for id_, record in self.living.items()}
        average = sum(len(text) for text in texts.values()) / len(texts)
        idfs = []
        for word in words(self.asked.text) if asked is None else asked:
            df = sum(1 for text in texts.values() if word in text)
            idf = math.log((len(texts) - df + 0.5) / (df + 0.5))
            idfs.append((word, idf if idf > 0 else 1e-6))
        scores: dict[str, float] = {}
        for id_ in self.shown:
            score, hit = 0.0, False
            for word, idf in idfs:
                tf = texts[id_].count(word)
                score += idf * (tf * 2.2 / (tf + 1.2 * (1 - 0.75 + 0.75 * (len(texts[id_]) / average))))
                hit = hit or tf > 0
            if hit:
                scores[id_] = twelve(score)
        return scores

    def cosines(self) -> dict[str, float]:
        found = {}
        a = self.asked.vector
        for id_, record in self.shown.items():
            b = record.vector
            if b is not None:
                dot = sum(x * y for x, y in zip(a, b, strict=True))
                found[id_] = twelve(dot / math.sqrt(sum(x * x for x in a) * sum(y * y for y in b)))
        return found


def reverie(corpus: Corpus) -> list[tuple[str, float]]:
    scores: dict[str, float] = {}
    for found in (corpus.bm25(), corpus.cosines()):
        for rank, (id_, _) in enumerate(best(found, 100), 1):
            scores[id_] = scores.get(id_, 0.0) + 1 / (30 + rank)
    for id_ in scores:
        record, now = corpus.shown[id_], corpus.asked.now
        age_days = max(now - record.updated, 0) / DAY_US
        touched = record.created if record.last_access is None else record.last_access
        idle_days = max(now - touched, 0) / DAY_US
        scores[id_] *= 1.0 + 0.3 * math.exp(-age_days / 30.0)
        scores[id_] *= record.strength
        scores[id_] *= {1: 0.8, 2: 1.0, 3: 1.2}[record.depth]
        scores[id_] *= math.log(1 + record.slept_spread) / math.log(2)
        held, plain = math.exp(-idle_days / (30.0 * record.stability)), math.exp(-idle_days / 30.0)
        scores[id_] *= 1.0 + 0.3 * (held - plain)
    return best(scores, corpus.asked.k)


def mnemosyne(corpus: Corpus) -> list[tuple[str, float]]:
    bm25, cosines = corpus.bm25(), corpus.cosines()
    pool = max(50, 3 * corpus.asked.k)
    results = [id_ for id_, _ in best(cosines, pool)] + [id_ for id_, _ in best(bm25, pool)]
    best_bm25 = max((bm25[id_] for id_ in results if id_ in bm25), default=1.0)
    scores: dict[str, float] = {}
    for id_ in results:
        record = corpus.shown[id_]
        age_hours = max(corpus.asked.now - record.created, 0) / HOUR_US
        base = max(cosines.get(id_, 0.0), 0.0) * 0.5
        base += bm25.get(id_, 0.0) / best_bm25 * 0.3
        base += record.importance * 0.2
        final = base * (0.7 + 0.3 * math.exp(-age_hours / 168))
        scores[id_] = max(final, scores.get(id_, final))
    return best(scores, corpus.asked.k)


def dense_ranks(values: dict[str, float]) -> dict[str, int]:
    order = sorted(set(values.values()), reverse=True)
    return {id_: order.index(value) + 1 for id_, value in values.items()}


def engram(corpus: Corpus) -> list[tuple[str, float]]:
    cosines = corpus.cosines()
    by_touch = sorted(cosines, key=lambda id_: (-corpus.shown[id_].last_touch, id_))
    hits = dict(best(corpus.bm25(), 50))
    pool = by_touch[:200] + [id_ for id_ in hits if id_ in cosines and id_ not in by_touch[:200]]
    bm25 = dense_ranks({id_: hits[id_] for id_ in pool if id_ in hits})
    vector = dense_ranks({id_: cosines[id_] for id_ in pool})
    recency = dense_ranks({id_: corpus.shown[id_].created for id_ in pool})
    access = dense_ranks({id_: corpus.shown[id_].used for id_ in pool})  # showing it touches, and no more
    scores: dict[str, float] = {}
    for id_ in pool:
        score = 1.0 / (60 + bm25[id_]) if id_ in bm25 else 0.0
        score += 1.0 / (60 + vector[id_]) + 0.6 / (60 + recency[id_]) + 0.4 / (60 + access[id_])
        if corpus.shown[id_].importance >= 0.8:
            score += 1.0 / (60 + 1) - 1.0 / (60 + 11)
        scores[id_] = score
    return best(scores, min(3, corpus.asked.k))


def reverie_with_sources_first(corpus: Corpus) -> list[tuple[str, float]]:
    """reverie's scores; what was derived from an older candidate waits for it, unless the question is nearer to it."""
    k, corpus.asked.k = corpus.asked.k, 10**6
    scored, cosines = reverie(corpus), corpus.cosines()
    corpus.asked.k = k
    scores, placed, waiting = dict(scored), [], []
    for id_, _ in scored:
        waiting.append(id_)
        while ready := [one for one in waiting if sources(corpus, cosines, one) & set(scores) <= set(placed)]:
            placed += ready
            waiting = [one for one in waiting if one not in ready]
    return [(id_, scores[id_]) for id_ in placed][:k]


def sources(corpus: Corpus, cosines: dict[str, float], derived: str) -> set[str]:
    found = set()
    for a, b, kind in corpus.past.edges:
        if (
            a == derived
            and kind == "derived_from"
            and corpus.past.memories[b].born < corpus.past.memories[a].born
        ):
            nearer = a in cosines and b in cosines and cosines[a] > cosines[b]
            found |= set() if nearer else {b}
    return found


EDGE_BOOSTS = {
    "supports": 0.08, "extends": 0.07, "continuation": 0.06, "detail_of": 0.05, "summary_of": 0.04, "similar": 0.03,
    "references": 0.03, "derived_from": 0.02, "caused_by": 0.02, "contradiction": 0.01,
}  # fmt: skip


def landed(corpus: Corpus, nearest: list[str]) -> dict[str, set[str]]:
    """Two hops along the arrows from the nearest ten: what is landed on, and by which kinds of edges."""
    frontier, seen, kinds = nearest[:10], set(nearest[:10]), {}
    for hop in (1, 2):
        found = [
            (b, kind)
            for a, b, kind in corpus.past.edges
            if a in frontier and a != b and b in corpus.shown and (hop == 1 or b not in seen)
        ]
        for b, kind in found:
            kinds.setdefault(b, set()).add(kind)
        frontier = list({b for b, _ in found} - seen)
        seen |= set(frontier)
    return kinds


def flat(scores: list[float]) -> bool:
    """The variance floor: σ < 0.02; the deviation of one score is 0."""
    mean = sum(scores) / len(scores)
    return math.sqrt(sum((score - mean) ** 2 for score in scores) / len(scores)) < 0.02


def memorysync(corpus: Corpus) -> list[tuple[str, float]]:
    cosines = corpus.cosines()
    nearest = [id_ for id_, _ in best(cosines, 100)]
    kinds = landed(corpus, nearest)
    batch = {id_: corpus.shown[id_] for id_ in [*nearest, *kinds]}
    hours = {id_: max(corpus.asked.now - record.created, 0) / HOUR_US for id_, record in batch.items()}
    semantic = {id_: min(max(cosines[id_], 0.0), 1.0) for id_ in batch if id_ in cosines}
    importance = {id_: record.importance for id_, record in batch.items()}
    factors = [
        (0.40, semantic),
        (0.20, {id_: (cosines[id_] + 1) / 2 for id_ in batch if id_ in cosines}),
        (0.15, {id_: math.exp(-hours[id_] * math.log(2) / 72) for id_ in batch}),
        (0.15, importance),
        (0.10, {id_: min(1.0, math.log(1 + record.accesses) / 5) for id_, record in batch.items()}),
    ]
    scores = dict.fromkeys(batch, 0.0)
    for weight, values in factors:
        for id_, value in values.items():
            low, high = min(values.values()), max(values.values())
            scores[id_] += weight * (1.0 if low == high else (value - low) / (high - low))
    tied = bool(scores) and flat(list(scores.values()))
    chain = {id_: (semantic.get(id_, -1.0), importance[id_], batch[id_].created, id_) for id_ in batch}
    for id_, record in batch.items():
        scores[id_] += sum(EDGE_BOOSTS.get(kind, 0.0) for kind in kinds.get(id_, ()))
        scores[id_] += min(0.05 * sum(corpus.past.liked.get(label, 0) >= 2 for label in record.labels), 0.10)
    if tied:
        order = sorted(batch, key=chain.__getitem__, reverse=True)
        return [(id_, twelve(scores[id_])) for id_ in order][: corpus.asked.k]
    return best(scores, corpus.asked.k)


FORMULAS = {
    "reverie": reverie,
    "reverie with derived_from": reverie_with_sources_first,
    "mnemosyne": mnemosyne,
    "engram": engram,
    "memorysync": memorysync,
}
