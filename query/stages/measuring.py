"""Stages that write columns about candidates; the score stays as it is."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Literal

import numpy as np

from recollect.events.grid import from_bytes
from recollect.projections.columns import FloatArray, distinct_places
from recollect.projections.lexical.analyzers import ANALYZERS, terms_of
from recollect.projections.lexical.frozen_unicode import lower_14
from recollect.projections.portable_math import compared, log
from recollect.query.bounds import Count, Finite, Share
from recollect.query.inputs import names_of, read
from recollect.query.sheet import RankContext, Sheet
from recollect.query.stages.stage import FactorStage, LexicalStage, Stage
from recollect.query.text.dates import asks_when, time_terms
from recollect.query.text.words import family, words_of


class Measure(LexicalStage, frozen=True, kw_only=True, tag="measure"):
    """A channel's value for every candidate, also those that it did not retrieve.

    lexical: BM25 score (NaN where no word matches); vector: cosine with the question (NaN without vectors);
    context: how many names of the question's context stand in the text, as whole words.
    """

    channel: Literal["lexical", "vector", "context"]
    name: str = ""

    @property
    def title(self) -> str:
        return f"measure {self.name or self.channel}"

    def apply(self, sheet: Sheet, ctx: RankContext) -> None:
        question, seq = ctx.question, ctx.view.seq
        values = np.full(len(sheet), np.nan)
        if self.channel == "lexical":
            scores = ctx.view.lexical(self.analyzer).score_rows(
                question.text, sheet.rows, at=seq, bm25=self.bm25
            )
            values = np.where(scores > 0.0, scores, np.nan)
        elif self.channel == "context":
            values = self._names_held(sheet, ctx)
        elif question.vector is not None:
            vectors = ctx.view.vectors
            kept = np.flatnonzero(sheet.kept)
            rows = sheet.rows[kept]
            able = vectors.comparable(rows, at=seq)
            cosines = vectors.cosines(from_bytes(question.vector), rows, at=seq)
            values[kept] = np.where(able, cosines, np.nan)
        sheet.columns[self.name or self.channel] = values

    def _names_held(self, sheet: Sheet, ctx: RankContext) -> FloatArray:
        phrases = [" ".join(ANALYZERS[self.analyzer](name)) for name in names_of(ctx.question.context)]
        wanted = [f" {phrase} " for phrase in dict.fromkeys(phrases) if phrase]
        held = np.zeros(len(sheet))
        for place, row in enumerate(sheet.rows.tolist() if wanted else ()):
            text = f" {ctx.normal_form(row, self.analyzer)} "
            held[place] = sum(phrase in text for phrase in wanted)
        return held


class LookUp(Stage, frozen=True, kw_only=True, tag="look-up"):
    """A number for every candidate from a table by its kind.

    column(d) ← table[kind of d], `default` for a kind that is not listed; letter case does not matter.

    In a formula file `table` may be the name of one of its `[tables.…]`.
    """

    table: dict[str, Finite]
    name: str
    default: Finite = 1.0

    @property
    def title(self) -> str:
        return f"look up {self.name} by kind"

    def apply(self, sheet: Sheet, ctx: RankContext) -> None:
        columns = ctx.lifecycle(sheet)
        listed = {lower_14(kind): value for kind, value in self.table.items()}
        kinds, places = distinct_places(columns.kind)
        found = [listed.get(lower_14(kind or ""), self.default) for kind in columns.texts(kinds)]
        sheet.columns[self.name] = np.array(found, dtype=np.float64)[places]


class RankBy(Stage, frozen=True, kw_only=True, tag="rank"):
    """Candidates ranked by a column, as `<name>.rank`.

    Ranks start at 1; only candidates with a value are ranked, the largest first unless `ascending`.

    Equal values (to 12 digits; whole numbers exactly) share a rank: `dense` gives 1 2 2 3, `competition`
    1 2 2 4, `ordinal` breaks the tie by memory id. With `per_hit` only the best `per_hit` × k are ranked.
    """

    by: str
    name: str = ""
    ties: Literal["dense", "competition", "ordinal"] = "dense"
    ascending: bool = False
    per_hit: Count | None = None

    @property
    def title(self) -> str:
        return f"rank by {self.by} ({self.ties})"

    def apply(self, sheet: Sheet, ctx: RankContext) -> None:
        values = np.where(sheet.kept, read(self.by, sheet, ctx), np.nan)
        ids = ctx.view.documents.ids.values
        sign = 1.0 if self.ascending else -1.0
        order = sorted(
            (sign * compared(value), ids[memory], place)
            for place, (value, memory) in enumerate(
                zip(values.tolist(), sheet.memories.tolist(), strict=True)
            )
            if value == value  # noqa: PLR0124 (NaN: no value, no rank)
        )
        order = order if self.per_hit is None else order[: self.per_hit * ctx.question.k]
        sheet.columns[f"{self.name or self.by}.rank"] = self._ranks(order, len(sheet))

    def _ranks(self, order: list[tuple[float, str, int]], size: int) -> FloatArray:
        ranks = np.full(size, np.nan)
        rank, previous = 0, None
        for position, (value, _, place) in enumerate(order, 1):
            if value != previous or self.ties == "ordinal":
                rank = rank + 1 if self.ties == "dense" else position
            ranks[place], previous = rank, value
        return ranks


class Compute(FactorStage, frozen=True, kw_only=True, tag="compute"):
    """A factor's values as a column; the score stays as it is.

    column(d) ← factor(d), under the factor's name or another `name`; later stages weigh, rank or scale it.
    """

    name: str = ""

    @property
    def column(self) -> str:
        return self.name or super().column

    @property
    def title(self) -> str:
        return f"compute {self.name} ({self.factor})" if self.name else f"compute {self.factor}"

    def apply(self, sheet: Sheet, ctx: RankContext) -> None:
        self.reads(sheet, ctx)


class Overlap(Stage, frozen=True, kw_only=True, tag="overlap"):
    """How many of the question's words each candidate holds.

    word_ratio(d) = share of the question's words in the text; word_overlap(d) = in the text or the tags.

    A word is held if the memory has a word with the same stem: whole words are compared, after at most one of
    `suffixes` was taken off. Words of one or two letters do not count. Candidates that have the columns
    already keep them, so the stage may stand again after others have come.
    """

    suffixes: tuple[str, ...] = ()
    analyzer: str = "unicode61-cjk/1"  # in a text of the log; a file gets the newest

    @property
    def title(self) -> str:
        return "overlap with the question's words"

    def apply(self, sheet: Sheet, ctx: RankContext) -> None:
        words = words_of(ctx.question.text, self.analyzer)
        families = list(dict.fromkeys(family(word, self.suffixes) for word in words))
        fresh = np.flatnonzero(np.isnan(sheet.column("word_overlap"))).astype(np.int32)
        held = ctx.view.lexical(self.analyzer).holding(sheet.rows[fresh], families)
        count = float(len(families) or 1)
        sheet.write("word_ratio", fresh, held.sum(axis=1) / count)
        columns = ctx.lifecycle(sheet)
        for place, tags in enumerate(columns.members(columns.tags[fresh])):
            if tags:
                tagged = _words_of_tags(tags, self.analyzer)
                held[place] |= np.array([not tagged.isdisjoint(words) for words in families], dtype=np.bool_)
        sheet.write("word_overlap", fresh, held.sum(axis=1) / count)


@lru_cache(maxsize=4096)
def _words_of_tags(tags: tuple[str, ...], analyzer: str) -> frozenset[str]:
    return frozenset(words_of(" ".join(tags), analyzer))


class Resemble(Stage, frozen=True, kw_only=True, tag="resemble"):
    """How alike the beginnings of question and memory are, letter by letter.

    trigram(d) = |A ∩ B| / |A ∪ B| of the character trigrams of both, none below `min`.

    Only the first `characters` of each text count, in normal form: the analyzer's terms, joined by spaces. A
    question with fewer than `trigrams_min` resembles nothing.
    """

    min: Share = 0.60
    characters: Count = 200
    trigrams_min: Count = 5
    analyzer: str = "unicode61-cjk/1"  # in a text of the log; a file gets the newest

    @property
    def title(self) -> str:
        return f"resemble by trigrams (from {self.min:g})"

    def apply(self, sheet: Sheet, ctx: RankContext) -> None:
        wanted = self._trigrams(" ".join(ANALYZERS[self.analyzer](ctx.question.text)))
        values = np.full(len(sheet), np.nan)
        if len(wanted) >= self.trigrams_min:
            for place in np.flatnonzero(sheet.kept).tolist():
                values[place] = self._likeness(ctx, int(sheet.rows[place]), wanted)
        sheet.columns["trigram"] = values

    def _likeness(self, ctx: RankContext, row: int, wanted: frozenset[str]) -> float:
        text = ctx.normal_form(row, self.analyzer)[: self.characters]
        shared = sum(trigram in text for trigram in wanted)
        if shared < self.min * len(wanted):  # the union is no smaller than the question's own trigrams
            return np.nan
        likeness = shared / len(wanted | self._trigrams(text))
        return likeness if likeness >= self.min else np.nan

    def _trigrams(self, text: str) -> frozenset[str]:
        start = text[: self.characters]
        return frozenset(start[i : i + 3] for i in range(len(start) - 2))


class Leads(Stage, frozen=True, kw_only=True, tag="leads"):
    """Whether a memory begins with a word of the question.

    Writes `name` = 1 where the first term of the memory's text is a term of the question, else 0.

    A text often begins with its subject: the speaker of a turn, the title of a note.
    """

    name: str = "leads"
    analyzer: str = "english/1"  # in a text of the log; a file gets the newest

    @property
    def title(self) -> str:
        return "see which memories begin with a word of the question"

    def apply(self, sheet: Sheet, ctx: RankContext) -> None:
        asked = terms_of(ctx.question.text, self.analyzer)
        first = ctx.view.lexical(self.analyzer).first_terms(sheet.rows)
        sheet.columns[self.name] = np.array([float(term in asked) for term in first])


class Labels(Stage, frozen=True, kw_only=True, tag="labels"):
    """How much the word that a memory begins with is a label, where the question asks for it.

    Writes `name` = (begins(t) / (1 + holds(t)))² where the first term t of the memory's text is a term of the
    question, else 0.

    begins(t) and holds(t) count the kept candidates whose text begins with t, and those that hold it anywhere.
    A word that mostly comes first is a label (who speaks, what a note is about), and a question that names it asks
    for the texts under it. A word that comes first by chance also occurs in many texts that do not begin with it,
    and the square makes its value small. The 1 keeps a word that only one candidate has from counting as a sure label.
    """

    name: str = "labels"
    analyzer: str = "english/1"  # in a text of the log; a file gets the newest

    @property
    def title(self) -> str:
        return "see which memories stand under a label that the question names"

    def apply(self, sheet: Sheet, ctx: RankContext) -> None:
        lexical = ctx.view.lexical(self.analyzer)
        asked = terms_of(ctx.question.text, self.analyzer)
        first = lexical.first_terms(sheet.rows)
        named = sorted({term for term in first if term in asked})
        held = lexical.holding(sheet.rows, [(term,) for term in named]) & sheet.kept[:, None]
        values = np.zeros(len(sheet))
        for column, term in enumerate(named):
            begins = np.array([found == term for found in first], dtype=np.bool_)
            share = float((begins & sheet.kept).sum()) / (1.0 + float(held[:, column].sum()))
            values[begins] = share * share
        sheet.columns[self.name] = values


class Coverage(Stage, frozen=True, kw_only=True, tag="coverage"):
    """Which share of the question each candidate's words are, rare words counting more.

    Writes `name` = Σ idf(t) of the question's different terms t that the memory holds / Σ idf(t) of all of them

    idf(t) = ln(1 + (N − df + 0.5) / (df + 0.5)), with N and df of the view; a term that no memory holds has df 0 and
    counts most. 0 where the question has no term.
    """

    name: str = "covered"
    analyzer: str = "english/1"  # in a text of the log; a file gets the newest

    @property
    def title(self) -> str:
        return "see how much of the question each memory covers"

    def apply(self, sheet: Sheet, ctx: RankContext) -> None:
        terms = terms_of(ctx.question.text, self.analyzer)
        lexical = ctx.view.lexical(self.analyzer)
        count, frequencies = lexical.document_frequencies(terms, at=ctx.view.seq)
        idfs = [log(1.0 + (count - df + 0.5) / (df + 0.5)) for df in frequencies]
        covered: FloatArray = np.zeros(len(sheet))
        for held, idf in zip(lexical.term_counts(terms, sheet.rows)[0] if terms else (), idfs, strict=True):
            covered += np.where(held > 0, idf, 0.0)
        total = math.fsum(idfs)
        sheet.columns[self.name] = covered / total if total > 0.0 else covered


class TellsTime(Stage, frozen=True, kw_only=True, tag="tells_time"):
    """Which candidates tell a time, where the question asks for one.

    Writes `name` = 1 where the question asks when and the memory's text holds a word of time, else 0.

    Both are English words (`query/text/dates.py`): "when", "what year", and "yesterday", "Friday", "June", "2022",
    "3rd". What is asked for stands in the answer: a text without a time does not say when.
    """

    name: str = "tells_time"
    analyzer: str = "english/1"  # in a text of the log; a file gets the newest

    @property
    def title(self) -> str:
        return "see which memories tell a time, if one is asked for"

    def apply(self, sheet: Sheet, ctx: RankContext) -> None:
        values = np.zeros(len(sheet))
        if asks_when(ctx.question.text):
            held = ctx.view.lexical(self.analyzer).holding(sheet.rows, [time_terms(self.analyzer)])
            values = held[:, 0].astype(np.float64)
        sheet.columns[self.name] = values
