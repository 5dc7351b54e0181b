"""The sentences of docs/quality.md between its tables. No measured number stands here."""

from __future__ import annotations

# nDCG@10, cross-validated, and the largest share of answerable questions that may get an empty answer.
TARGETS = {"locomo-dev": 0.69, "realtalk-dev": 0.52, "beam-dev": 0.50, "lme-dev": 0.89, "scifact": 0.73}
EMPTY_MAX = {"locomo-dev": 0.01, "realtalk-dev": 0.01, "beam-dev": 0.01, "lme-dev": 0.03, "scifact": 0.01}

INTRODUCTION = """\
Every built-in formula, on collections whose right answers are known, next to the plainest searches that one could use
instead. One formula file (`recollect formulas show recollect`) serves all collections; nothing in the engine knows one.
This page is written by `make eval` from the numbers it measured; nothing on it is typed by hand."""

VALIDATION = """\
Eleven weights were chosen: the share of words against vectors (`words`), the words of the turns around (`topic`), what a
turn loses for asking (`asking`), what the turn before is worth where another speaker asked there (`asked`) and elsewhere
(`before`), the turn after (`after`), the session (`gather`), the label that the question names (`label`), what the asker
said (`asker`), the time that the question names (`span`), and telling a time where one is asked for (`time`). Five
folds hold out a fifth of every collection, conversations and chats whole; the rest chooses, and the collection that is
furthest below its target (or least above it) decides, with a fifth of the mean beside it. The search
begins at half words, half meaning and 0 for all else, and once more in the middle of the grid, and changes one weight at
a time, on the columns of the engine's own score sheet; what is chosen is judged by the engine on what was held out."""

TRIED = """\
The default with one thing changed, nDCG@10, and the paired test against the default as it is. What is not in this
table because it did not help all kinds of text in first trials (full columns in numpy, all five collections): BM25 of the
best passage of 40 terms instead of the whole text (beam +.001, others 0), words weighed down where no memory covers
the question (scifact 0, lme -.003 to +.001), a lift for longer turns, nearness to a date instead of being inside it,
BM25 without the names of the speakers, steeper BM25, shares between turns of a user and an assistant (beam -.02 at 0.2).
What helped and was left out: the speaker's name kept out of what is embedded (locomo +.003 beside the rest), since every
vector of every store would have to be made again."""

FLOOR = """\
An unrelated question gets an empty answer: `silence` drops everything unless one memory's `evidence` reaches 0.25: its
cosine on the model's own scale (0 is what the store's probe text has with memories), plus its share of the question's
idf, less 0.025 for every doubling of the store beyond 64 memories, because the best of many is near by chance. A
question of one collection has no answer in another. BEAM's abstentions ask a chat about its own subject for what was
never said: no floor can tell them from questions that have an answer, and none is tried."""

UPDATES = """\
Twenty of BEAM's questions are about something that was said twice, the second time otherwise. How often the later message
stands before the earlier one among all candidates, and how often it is first of all. Chance gives ten: nothing here
knows that one message took another's place, and the earlier one, which says the thing at length, often matches better.
More recency does not help: with 0.05, 0.1, 0.2 and 0.3 instead of 0.02 the later message is before the earlier one in the
same 8, while nDCG@10 on beam-dev falls to .542, .527, .485 and .435. What changes such an answer is to say so:
`supersede`, or `remember --supersedes`, hides the old one."""

WORKED_EXAMPLE = """\
`bench/record_locomo.py` makes a store of one conversation, asks all its questions under reverie through
`Memory.recall`, and compares the recorded traffic with what recollect would have answered at the same moments. Ids
stand for texts, which are for evaluation only; with a folder as argument, the script leaves the store and the HTML
report there, with all texts, on your machine. The picture shows the question that gains most."""

RENAMED = """\
The default must not know how a collection names things: ids get numbers in another order, groups and sessions
meaningless ones, every speaker another name in labels, texts and questions. Roles and speakers are set by the ordinary
importer in both columns. Another name is another text, so its vectors differ a little; where speakers have no name, nothing
may change but the order of equal scores. Where fewer stores are listed than the collection has, these were measured."""

CAVEATS = """\
- The stages were thought of while looking at these collections. Cross-validation covers the weights, not the ideas. The
  collections cut otherwise are the best guard here; other halves of four of the five collections exist and were not
  looked at.
- What is best for one kind of text is bad for another: the optimum on people's conversations alone takes a third of what
  chats with an assistant have. The file is a compromise in which the worst counts.
- The surface is flat: many settings are within noise of the best, so the folds choose different weights with nearly
  the same result. The weights are a choice among equals, not a discovery.
- Roles, speakers and sessions do much of the work. They are what the importers write; texts that come without them are
  ranked by words and meaning alone, as `locomo-notes` and `scifact` are.
- Bootstrap intervals draw questions, not conversations: five conversations are few, and questions about one are not
  independent. The deviation over folds says more about another conversation.
- All collections are English, and so are stems, stop words, words of time and most words of the first person. Other
  languages are found by their words as they are and by what the embedder knows of them.
- All numbers are with MiniLM, which reads the first 256 word pieces of a text; another embedder moves the cosines. The
  floor reads them on the model's own scale; the weights do not.
- Recency, use, importance and feedback play next to no part here: nothing in these collections was used or rated. What
  they may do is bounded by the formula and tested as behaviour (`tests/query/test_recollect.py`)."""

REPRODUCE = """\
```
make eval
```

needs the five folders of `../shared/data` beside the repository (it says so and stops where they are not there). The first
run embeds some 22,000 texts with MiniLM, which takes a quarter of an hour, and keeps them in `bench/results/minilm.npz`
by the digest of the text. `bench/results/quality.json` has all numbers, more than are shown; `python bench/eval.py
--report` writes this page again from it. `python bench/scifact.py` compares the BM25 variants and analyzers alone."""
