"""The collections that formulas are judged on, read from ../shared/data into stores.

LoCoMo    one store per conversation, a memory per turn at the turn's time, in its session; the clock stands a day
          after the last turn; question types 1-4 (type 5 has no right turn)
SciFact   one store, a memory per abstract (title first), claims as questions

The same texts cut in other ways stand for collections that nobody tuned on: LoCoMo in one store, LoCoMo without its
sessions, SciFact's titles without abstracts, and SciFact turned round (titles ask, claims answer).
The folder is not part of the repository and its texts are for evaluation only.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from quality.embeddings import Vectors, embedded

from recollect.events.envelope import Recorded
from recollect.events.facts import AnyFact, EmbedderAdopted, Ingested, Question
from recollect.events.grid import quantize, to_bytes
from recollect.projections.view import Projections, View

DATA = Path(__file__).parents[3] / "shared" / "data"
DAY_US = 86_400_000_000
ADVERSARIAL = 5
TYPES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}

WHAT = {
    "locomo-dev": "conversations of two people over months, a memory per turn, one store per conversation",
    "scifact": "scientific claims, a memory per abstract, one store",
    "locomo-together": "the same conversations in one store, in order of time",
    "locomo-notes": "the same turns as dated notes without a session",
    "scifact-titles": "the titles of the abstracts alone",
    "scifact-reversed": "the claims as memories, the titles of their abstracts as questions",
}

Line = dict[str, str]


class Asked(NamedTuple):
    """A question, the memories that answer it, and what sort of question it is."""

    id: str
    question: Question
    right: frozenset[str]
    type: str


class Store(NamedTuple):
    name: str
    view: View
    texts: dict[str, str]
    asked: tuple[Asked, ...]


class Memo(NamedTuple):
    """What one memory is made of."""

    id: str
    text: str
    at: int
    session: str | None = None


class Probe(NamedTuple):
    """What one question is made of."""

    id: str
    text: str
    right: frozenset[str]
    type: str = ""


def locomo(analyzers: Iterable[str], *, together: bool = False, sessions: bool = True) -> list[Store]:
    """One store per conversation; with `together` one for all of them, without `sessions` plain dated notes."""
    turns, questions, right = _read("locomo-dev")
    groups = sorted({turn["group"] for turn in turns})
    stores = []
    for name, members in [("all", groups)] if together else [(group, [group]) for group in groups]:
        memos = [
            Memo(turn["_id"], turn["text"], micros(turn["ts"]), _session(turn) if sessions else None)
            for turn in sorted(turns, key=lambda turn: turn["ts"] if together else "")
            if turn["group"] in members
        ]
        probes = [
            Probe(line["_id"], line["text"], right[line["_id"]], TYPES[int(line["type"])])
            for line in questions
            if line["group"] in members and _answerable(line, right)
        ]
        stores.append(_stored(name, memos, probes, analyzers))
    return stores


def scifact(
    analyzers: Iterable[str], *, text: Callable[[Line], str] = lambda line: line["text"]
) -> list[Store]:
    """One store of abstracts; `text` says what of an abstract is kept."""
    abstracts, claims, right = _read("scifact")
    memos = [Memo(line["_id"], text(line), 0) for line in abstracts]
    probes = [Probe(line["_id"], line["text"], right[line["_id"]]) for line in claims if right[line["_id"]]]
    return [_stored("scifact", memos, probes, analyzers)]


def scifact_reversed(analyzers: Iterable[str]) -> list[Store]:
    """The claims are the memories, and the titles of the abstracts that were judged for them ask."""
    abstracts, claims, right = _read("scifact")
    about: dict[str, set[str]] = defaultdict(set)
    for claim, documents in right.items():
        for document in documents:
            about[document].add(claim)
    memos = [Memo(line["_id"], line["text"], 0) for line in claims]
    probes = [
        Probe(line["_id"], line["title"], frozenset(about[line["_id"]]))
        for line in abstracts
        if line["_id"] in about
    ]
    return [_stored("scifact reversed", memos, probes, analyzers)]


def conversation(group: str) -> tuple[list[Line], list[Line], dict[str, frozenset[str]]]:
    """The turns and the answerable questions of one conversation as they are in the files, and what is right."""
    turns, questions, right = _read("locomo-dev")
    return (
        [turn for turn in turns if turn["group"] == group],
        [line for line in questions if line["group"] == group and _answerable(line, right)],
        right,
    )


def missing() -> str | None:
    """Why nothing can be measured, or None."""
    absent = [name for name in ("locomo-dev", "scifact") if not (DATA / name).is_dir()]
    return f"there is no {' and no '.join(str(DATA / name) for name in absent)}" if absent else None


def micros(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * 1_000_000


def _answerable(line: Line, right: dict[str, frozenset[str]]) -> bool:
    return int(line["type"]) != ADVERSARIAL and bool(right[line["_id"]])


def _session(turn: Line) -> str:
    return f"{turn['group']} {turn['session']}"


def _read(name: str) -> tuple[list[Line], list[Line], dict[str, frozenset[str]]]:
    right: dict[str, set[str]] = defaultdict(set)
    for line in (DATA / name / "qrels.tsv").read_text("utf-8").splitlines():
        query, document, grade = line.split("\t")
        if int(grade) > 0:
            right[query].add(document)
    found: dict[str, frozenset[str]] = defaultdict(frozenset)
    found.update({query: frozenset(documents) for query, documents in right.items()})
    return _lines(DATA / name / "corpus.jsonl"), _lines(DATA / name / "queries.jsonl"), found


def _lines(path: Path) -> list[Line]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def _stored(name: str, memos: Sequence[Memo], probes: Sequence[Probe], analyzers: Iterable[str]) -> Store:
    vectors = embedded([memo.text for memo in memos])
    facts = _facts(memos, vectors)
    projections = Projections(sorted(set(analyzers)))
    for _ in projections.apply_all(
        Recorded(n, 0, b"", "", "", 1, b"", fact) for n, fact in enumerate(facts, 1)
    ):
        pass
    now = max(memo.at for memo in memos) + DAY_US
    asked = tuple(
        Asked(
            id=probe.id,
            question=Question(text=probe.text, vector=to_bytes(quantize(vector)), now=now, k=10),
            right=probe.right,
            type=probe.type,
        )
        for probe, vector in zip(probes, embedded([probe.text for probe in probes]), strict=True)
    )
    return Store(name, projections.at(len(facts), now), {memo.id: memo.text for memo in memos}, asked)


def _facts(memos: Sequence[Memo], vectors: Vectors) -> list[AnyFact]:
    grid = [to_bytes(quantize(vector)) for vector in vectors]
    ingested = [
        Ingested(id=memo.id, content=memo.text, session=memo.session, at=memo.at, vector=vector)
        for memo, vector in zip(memos, grid, strict=True)
    ]
    return [EmbedderAdopted(name="minilm", dimensions=384, probe=grid[0]), *ingested]
