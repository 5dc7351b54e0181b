"""The sentences of docs/quality.md between its tables. No measured number stands here."""

from __future__ import annotations

TARGETS = {
    "locomo-dev": {"nDCG@10": 0.60, "R@10": 0.76},
    "scifact": {"nDCG@10": 0.71},
}

INTRODUCTION = """\
Every built-in formula, on collections whose right answers are known, next to the plainest searches that one could use
instead. One formula file (`recollect formulas show recollect`) serves all collections; nothing in the engine knows one.
This page is written by `make eval` from the numbers it measured; nothing on it is typed by hand."""

VALIDATION = """\
Six weights were chosen: the share of words against vectors (`words`), what the turn before and the turn after are
worth (`before`, `after`), the session (`gather`), the label that a memory stands under (`labels`) and the time that a
question names (`time`, the column `in_span`). They are chosen without the questions that judge them, three ways: by
the other conversations (or folds of claims) of the same collection, by these together with the other collection, each
counting half, and by the other collection alone. The second is how the file's numbers were found. SciFact has no
sessions and no dates: in the third way, weights that it cannot see stay at the file's, so only `words` and `labels`
are put to that test. Choosing looks at every setting of a grid in numpy, on the columns of the engine's own score
sheet; what is chosen is judged by the engine."""

TRIED = """\
The default with one thing changed, nDCG@10, and the paired test against the default as it is. What is not in this
table because it did not help in first trials on LoCoMo: pseudo relevance feedback in vector space (Rocchio, 3 to 10
memories, several strengths), a second ring of neighbours, BM25 over the sum of the question's idf instead of over the
best candidate, square roots and saturations of BM25, and the share of the question's words as a third column."""

FLOOR = """\
An unrelated question gets an empty answer: `silence` drops everything unless one memory's cosine, or its share of the
question's words, reaches a minimum. The minimums were set where no question that has an answer is silenced; a
question of one collection has no answer in the other."""

WORKED_EXAMPLE = """\
`bench/record_locomo.py` makes a store of one conversation, asks all its questions under reverie through
`Memory.recall`, and compares the recorded traffic with what recollect would have answered at the same moments. Ids
stand for texts, which are for evaluation only; with a folder as argument, the script leaves the store and the HTML
report there, with all texts, on your machine. The picture shows the question that gains most."""

CAVEATS = """\
- The stages, `in_span` among them, were thought of while looking at all five conversations. Cross-validation covers
  the weights, not the ideas. The collections cut otherwise, and what one collection chose judged on the other, are
  the best guard we have without new data.
- Neither collection can choose for the other: SciFact alone would leave out the labels that conversations need, and
  LoCoMo alone would weigh words more than suits SciFact. The file is a compromise between the two.
- Chosen on LoCoMo alone, `labels` runs to the end of any grid: once it separates the speakers that a question names,
  more of it changes hardly anything. SciFact is what holds it back.
- The surface is flat: many settings are within noise of the best, so the folds choose different weights with nearly
  the same result. The weights are a choice among equals, not a discovery.
- Bootstrap intervals draw questions, not conversations: five conversations are few, and questions about one are not
  independent. The deviation over folds says more about another conversation.
- The claims of SciFact and the questions of LoCoMo are English, and so are stems and stop words. Other languages are
  found by their words as they are and by what the embedder knows of them.
- All numbers are with MiniLM, which reads the first 256 word pieces of a text; another embedder moves both the cosines
  and the floor that was set for them.
- Recency, use, importance and feedback play next to no part here: nothing in these collections was used or rated. What
  they may do is bounded by the formula and tested as behaviour (`tests/query/test_recollect.py`)."""

REPRODUCE = """\
```
make eval
```

needs `../shared/data/locomo-dev` and `../shared/data/scifact` beside the repository (it says so and stops where they are
not there; `locomo-dev` is five of LoCoMo's ten conversations as JSON lines, `scifact` is BEIR's test set). The first run
embeds some 14,000 texts with MiniLM, which takes minutes, and keeps them in `bench/results/minilm.npz` by the digest of
the text. `bench/results/quality.json` has all numbers, more than are shown; `python bench/eval.py --report` writes this
page again from it. `python bench/scifact.py` compares the BM25 variants and analyzers alone."""
