"""What a formula is held against: the plainest searches that a person might use instead.

substring   how many of the question's words stand somewhere in the text, letters only; the later memory wins ties
bm25        Okapi BM25 as the library rank-bm25 has it, words as they are
stems       BM25 as Lucene has it, with English stems and without stop words
vectors     the cosine of MiniLM embeddings alone
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from quality.data import Asked, Store
from quality.measures import TOP

from recollect.query.formula import Formula, parse
from recollect.query.ranking import rank

Answer = Callable[[Store, Asked], Sequence[str]]

WORD = re.compile(r"\w{3,}")
STAGES = {
    "bm25": '{ op = "retrieve", channel = "lexical", variant = "okapi" }, '
    '{ op = "weigh", weights = { lexical = 1.0 } }',
    "stems": '{ op = "retrieve", channel = "lexical", variant = "lucene", analyzer = "english/2" }, '
    '{ op = "weigh", weights = { lexical = 1.0 } }',
    "vectors": '{ op = "retrieve", channel = "vector" }, { op = "weigh", weights = { vector = 1.0 } }',
}


def control_formulas() -> list[Formula]:
    return [parse(f'name = "{name}"\nstages = [{stages}]', origin=name) for name, stages in STAGES.items()]


def by_formula(formula: Formula) -> Answer:
    return lambda store, asked: rank(asked.question, store.view, formula).ids


def by_substring() -> Answer:
    """A search without an index, as `grep` or SQL's LIKE would do it."""
    lowered: dict[str, list[tuple[str, str]]] = {}

    def answer(store: Store, asked: Asked) -> Sequence[str]:
        texts = lowered.setdefault(store.name, [(id_, text.lower()) for id_, text in store.texts.items()])
        words = set(WORD.findall(asked.question.text.lower()))
        counted = [(sum(word in text for word in words), n, id_) for n, (id_, text) in enumerate(texts)]
        return [id_ for count, _, id_ in sorted(counted, reverse=True)[:TOP] if count]

    return answer
