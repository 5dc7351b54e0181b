"""omega once more, phase by phase in the order of its document: for questions of no intent, or quoted ones.

Such questions are about no time, no preference and no context, and nothing is recorded of models: phases 4, 6 and 11 and
the cross-encoder have nothing to do. What is shared with `straight_line` are the records, the words and BM25.
"""

from __future__ import annotations

import math
from statistics import fmean

from straight_line import DAY_US, Corpus, best, twelve, words

STOP_WORDS = {"and", "or", "not", "for", "the", "with"}
TYPE_WEIGHTS = {"constraint": 3.0, "decision": 2.0, "session_summary": 1.2, "file_summary": 0.05}
PRIORITIES = {"constraint": 5, "decision": 4, "session_summary": 2, "file_summary": 1}
DECAYS = {"constraint": 0.0, "decision": 0.015, "session_summary": 0.05}
INFRASTRUCTURE = {"file_summary", "code_chunk", "session_respawn", "coordination_snapshot", "session_summary"}


class Pipeline:
    def __init__(self, corpus: Corpus) -> None:
        self.corpus, self.shown, self.k = corpus, corpus.shown, corpus.asked.k
        self.navigational = corpus.asked.text.startswith('"')
        self.cosines = corpus.cosines()
        self.asked = list(dict.fromkeys(word for word in words(corpus.asked.text) if len(word) > 2))
        self.scores: dict[str, float] = {}

    def overlap(self, id_: str) -> float:
        held = set(words(self.shown[id_].text))
        return sum(word in held for word in self.asked) / (len(self.asked) or 1)

    def answer(self) -> list[tuple[str, float]]:
        self.hot = self.hottest()
        vector = {} if self.navigational else {id_: c for id_, c in self.cosines.items() if c >= 0.1}
        vector = dict(best(vector, max(20, 5 * self.k)))
        keywords = [word for word in self.asked if word not in STOP_WORDS] or self.asked
        bm25 = dict(best(self.corpus.bm25(keywords), 9 * self.k))
        if self.navigational and (close := self.resembling({*self.hot, *bm25})):  # phase 1
            self.scores = close
            self.filter()
            self.deduplicate()
            return best(self.scores, self.k)
        text = self.text_relevance(bm25)
        top = sorted(text.values(), reverse=True)
        if not self.navigational and len(top) > 1 and top[0] >= 0.85 and top[0] - top[1] >= 0.15:  # phase 5
            self.scores = text
            self.filter()
        else:
            self.fuse(vector, dict(best(text, 3 * self.k)))
            self.metadata()
            self.filter()
            self.follow_edges()
        self.deduplicate()
        self.abstain()
        largest = max(self.scores.values(), default=1.0)
        return best({id_: score / largest for id_, score in self.scores.items()}, self.k)

    def hottest(self) -> list[str]:
        accessed = [id_ for id_, record in self.shown.items() if record.accesses]
        return sorted(accessed, key=lambda id_: (-self.shown[id_].accesses, self.shown[id_].last_touch))[:50]

    def resembling(self, candidates: set[str]) -> dict[str, float]:
        def trigrams(text: str) -> set[str]:
            start = " ".join(words(text))[:200]
            return {start[n : n + 3] for n in range(len(start) - 2)}

        wanted = trigrams(self.corpus.asked.text)
        found = {id_: trigrams(self.shown[id_].text) for id_ in candidates}
        alike = {id_: len(wanted & own) / len(wanted | own) for id_, own in found.items() if wanted | own}
        return {id_: value for id_, value in alike.items() if value >= 0.6} if len(wanted) >= 5 else {}

    def text_relevance(self, bm25: dict[str, float]) -> dict[str, float]:
        low, high = min(bm25.values(), default=0.0), max(bm25.values(), default=0.0)
        scaled = {
            id_: 0.1 + 0.9 * ((value - low) / (high - low)) if high > low else 1.0
            for id_, value in bm25.items()
        }
        return {id_: 0.7 * value + 0.3 * self.overlap(id_) for id_, value in scaled.items()}

    def fuse(self, vector: dict[str, float], text: dict[str, float]) -> None:
        self.scores = dict.fromkeys([*self.hot, *vector, *text], 0.0)
        for channel, weight in (
            ((vector, 0.1), (text, 2.0)) if self.navigational else ((vector, 1.0), (text, 1.0))
        ):
            for rank, (id_, _) in enumerate(best(channel, len(channel)), 1):
                self.scores[id_] += weight * (1 / (60 + rank)) / (1 / 61)
        largest = max(self.scores.values(), default=0.0) or 1.0
        self.scores = {id_: score / largest for id_, score in self.scores.items()}

    def metadata(self) -> None:
        word = 2.0 if self.navigational else 1.0
        for id_ in self.scores:
            record, feedback = self.shown[id_], self.shown[id_].feedback
            score = self.scores[id_] * TYPE_WEIGHTS.get(record.kind, 1.0)
            score *= 1 + min(feedback, 10) * 0.15 if feedback >= 0 else max(0.2, 1 + feedback * 0.2)
            score *= 0.7 + PRIORITIES.get(record.kind, 3) * 0.08
            score *= self.decay(id_)
            verdicts = self.corpus.past.verdicts.get(record.kind, [])
            alpha, beta = 1 + sum(verdicts), 1 + len(verdicts) - sum(verdicts)
            score *= 1.0 if len(verdicts) < 5 else 0.8 + 0.4 * alpha / (alpha + beta)
            derived = sum(a == id_ and kind == "derived_from" for a, _, kind in self.corpus.past.edges)
            score *= 1 + min(derived, 3) * 0.1
            if id_ in self.hot and self.overlap(id_) >= 0.4:
                score = max(score, 0.8 * self.overlap(id_))
            self.scores[id_] = score * (1 + self.overlap(id_) * 0.5 * (0.5 if feedback < 0 else 1.0) * word)

    def decay(self, id_: str) -> float:
        record = self.shown[id_]
        touched = record.created if record.last_access is None else record.last_access
        days, pace = max(self.corpus.asked.now - touched, 0) / DAY_US, DECAYS.get(record.kind, 0.02)
        if record.kind == "decision" and record.accesses:
            pace = max(0.002, pace * 0.85 ** min(record.accesses, 10))
        return max(0.35 if record.accesses else 0.15, math.exp(-pace * days))

    def filter(self) -> None:
        """Phase 10: flagged for review, or written for machines."""
        for id_ in list(self.scores):
            if self.shown[id_].feedback <= -3 or self.shown[id_].kind in INFRASTRUCTURE:
                del self.scores[id_]

    def follow_edges(self) -> None:
        """Phase 12: two hops from the best five, any direction; what is new needs 0.10, and passes the filters."""
        known, shares = set(self.candidates), {}
        for seed, _ in best(self.scores, 5):
            hops, frontier = {seed: 0}, {seed}
            for hop in (1, 2):
                pairs = [pair for a, b, _ in self.corpus.past.edges for pair in ((a, b), (b, a))]
                frontier = {b for a, b in pairs if a in frontier and b not in hops and b in self.shown}
                hops.update(dict.fromkeys(frontier, hop))
            for id_, hop in hops.items():
                share = self.scores[seed] * 0.4**hop * (0.3 if self.navigational else 1.0)
                if hop and (id_ in known or share >= 0.10):
                    shares[id_] = max(share, shares.get(id_, 0.0))
        for id_, share in shares.items():
            if id_ in self.scores or id_ not in known:
                self.scores[id_] = max(share, self.scores.get(id_, 0.0))
        self.filter()

    @property
    def candidates(self) -> set[str]:
        """What the channels found, whether it is still in or not."""
        vector = {} if self.navigational else {id_: c for id_, c in self.cosines.items() if c >= 0.1}
        keywords = [word for word in self.asked if word not in STOP_WORDS] or self.asked
        found = dict(best(vector, max(20, 5 * self.k))), dict(best(self.corpus.bm25(keywords), 9 * self.k))
        return {*self.hot, *found[0], *found[1]}

    def deduplicate(self) -> None:
        """Phase 13, first: the same first 150 characters, then a cosine of 0.92; the better stays."""
        starts, stay = set(), []
        for id_, _ in best(self.scores, len(self.scores)):
            start = " ".join(words(self.shown[id_].text))[:150]
            if not start or start not in starts:
                starts.add(start)
                stay.append(id_)
        apart: list[str] = []
        for id_ in stay:
            if all(self.cosine(id_, other) < 0.92 for other in apart):
                apart.append(id_)
        self.scores = {id_: self.scores[id_] for id_ in apart}

    def cosine(self, one: str, other: str) -> float:
        a, b = self.shown[one].vector, self.shown[other].vector
        if a is None or b is None:
            return 0.0
        dot = sum(x * y for x, y in zip(a, b, strict=True))
        return twelve(dot / math.sqrt(sum(x * x for x in a) * sum(y * y for y in b)))

    def abstain(self) -> None:
        """Phase 13, second: the surface GENERAL asks for 0.50 or 0.35, and 0.10; less if little is left."""
        first = self.enough(1.0, 1.0)
        confidence = self.confidence(first)
        if first and confidence < 0.3:
            second = self.enough(0.6, 0.5)
            if self.confidence(second) > confidence and self.confidence(second) >= 0.15:
                first = second
        self.scores = first

    def enough(self, relax: float, relax_score: float) -> dict[str, float]:
        return {
            id_: score
            for id_, score in self.scores.items()
            if score >= 0.10 * relax_score
            and (self.cosines.get(id_, -1.0) >= 0.50 * relax or self.overlap(id_) >= 0.35 * relax)
        }

    @staticmethod
    def confidence(scores: dict[str, float]) -> float:
        top = sorted((min(score, 1.0) for score in scores.values()), reverse=True)[:3]
        return fmean(top) if top else 0.0


def omega(corpus: Corpus) -> list[tuple[str, float]]:
    return Pipeline(corpus).answer()
