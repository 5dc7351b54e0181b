"""The collections that formulas are judged on, read from ../shared/data into stores.

Five kinds of text, each a folder with `corpus.jsonl`, `queries.jsonl` and `qrels.tsv`; what has a `group` is a store of
its own. Memories are made as `recollect import` makes them of such rows: the role becomes a tag, the speaker an entity
and the label of the text, the session and the time are kept. The clock stands a day after the last memory. Questions of
LoCoMo's type 5 have no right turn and are left out; other questions without a right memory (BEAM's abstentions) judge
the relevance floor alone.

The same texts cut in other ways stand for collections that no formula was tuned on: LoCoMo in one store, LoCoMo without its
sessions, and SciFact turned round (titles ask, claims answer).
The folder is not part of the repository and its texts are for evaluation only.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import msgspec
from quality.embeddings import Vectors, embedded

from recollect.engine.embedding.embedder import PROBE_TEXT, Embedder
from recollect.events.envelope import Recorded
from recollect.events.facts import AnyFact, EmbedderAdopted, Ingested, Question
from recollect.events.grid import quantize, to_bytes
from recollect.interfaces.files.import_writer import event_of
from recollect.interfaces.files.records import Record
from recollect.interfaces.files.rows import complete, record_of
from recollect.projections.view import Projections, View

DATA = Path(__file__).parents[3] / "shared" / "data"
DAY_US = 86_400_000_000
ADVERSARIAL = "5"
TYPES = {"1": "multi-hop", "2": "temporal", "3": "open-domain", "4": "single-hop"}

COLLECTIONS = ("locomo-dev", "realtalk-dev", "beam-dev", "lme-dev", "scifact")
WHAT = {
    "locomo-dev": "conversations of two people over months, written by models, a memory per turn, one store per conversation",
    "realtalk-dev": "chats of two real people over weeks, a memory per turn, one store per chat",
    "beam-dev": "chats of a user with an assistant, a memory per message, one store per chat",
    "lme-dev": "the first 500 characters of some 48 chats with an assistant, a memory per chat, one store per question",
    "scifact": "scientific claims, a memory per abstract, one store",
    "locomo-together": "the same conversations in one store, in order of time",
    "locomo-notes": "the same turns as dated notes without a session",
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
    """`asked` has right memories; `unanswerable` has none here."""

    name: str
    view: View
    texts: dict[str, str]
    asked: tuple[Asked, ...]
    unanswerable: tuple[Asked, ...] = ()


class Probe(NamedTuple):
    """What one question is made of."""

    id: str
    text: str
    right: frozenset[str]
    type: str = ""


def collection(name: str, analyzers: Iterable[str], embedder: Embedder | None = None) -> list[Store]:
    """One of `COLLECTIONS`: a store per group, with MiniLM's vectors from the cache or those of another embedder."""
    return stores_of(name, *read(name), analyzers, embedder)


def stores_of(
    name: str,
    lines: list[Line],
    questions: list[Line],
    right: dict[str, frozenset[str]],
    analyzers: Iterable[str],
    embedder: Embedder | None = None,
) -> list[Store]:
    """These memories and questions, a store per group."""
    groups = list(dict.fromkeys(line.get("group", name) for line in lines))
    memos = {
        group: memories([line for line in lines if line.get("group", name) == group]) for group in groups
    }
    probes = {
        group: [_probe(line, right) for line in questions if line.get("group", name) == group]
        for group in groups
    }
    return _stored(memos, probes, analyzers, embedder)


def locomo(analyzers: Iterable[str], *, together: bool = False, sessions: bool = True) -> list[Store]:
    """LoCoMo cut otherwise: with `together` in one store, without `sessions` as plain dated notes."""
    turns, questions, right = read("locomo-dev")
    found: dict[str, list[Ingested]] = defaultdict(list)
    for turn in sorted(turns, key=lambda turn: turn["ts"] if together else ""):
        named = {**turn, "session": f"{turn['group']} {turn['session']}"}
        kept = named if sessions else {key: value for key, value in named.items() if key != "session"}
        found["all" if together else turn["group"]] += memories([kept])
    probes: dict[str, list[Probe]] = defaultdict(list)
    for line in questions:
        probes["all" if together else line["group"]].append(_probe(line, right))
    return _stored(found, probes, analyzers)


def scifact_reversed(analyzers: Iterable[str]) -> list[Store]:
    """The claims are the memories, and the titles of the abstracts that were judged for them ask."""
    abstracts, claims, right = read("scifact")
    about: dict[str, set[str]] = defaultdict(set)
    for claim, documents in right.items():
        for document in documents:
            about[document].add(claim)
    memos = [Ingested(id=line["_id"], content=line["text"], at=0) for line in claims]
    probes = [
        Probe(line["_id"], line["title"], frozenset(about[line["_id"]]))
        for line in abstracts
        if line["_id"] in about
    ]
    return _stored({"reversed": memos}, {"reversed": probes}, analyzers)


def conversation(group: str) -> tuple[list[Line], list[Line], dict[str, frozenset[str]]]:
    """The turns and the answerable questions of one conversation as they are in the files, and what is right."""
    turns, questions, right = read("locomo-dev")
    return (
        [turn for turn in turns if turn["group"] == group],
        [line for line in questions if line["group"] == group and right[line["_id"]]],
        right,
    )


def superseded() -> list[tuple[str, frozenset[str], frozenset[str]]]:
    """BEAM's questions about what changed: the question's id, the messages of before, and those of after."""
    pairs = json.loads((DATA / "beam-dev" / "supersedes.json").read_text("utf-8"))
    return [(pair["qid"], frozenset(pair["original"]), frozenset(pair["updated"])) for pair in pairs]


def missing() -> str | None:
    """Why nothing can be measured, or None."""
    absent = [name for name in COLLECTIONS if not (DATA / name).is_dir()]
    return f"there is no {' and no '.join(str(DATA / name) for name in absent)}" if absent else None


def micros(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * 1_000_000


def memories(lines: Sequence[Line]) -> list[Ingested]:
    """What `recollect import` makes of these rows, with the ids of the file."""
    mapping, _ = complete({}, lines[0])
    found = []
    for number, line in enumerate(lines, 1):
        record = record_of(line, mapping, where=f"line {number}")
        assert isinstance(record, Record), record
        found.append(event_of(record, line["_id"], 0))
    return found


def _probe(line: Line, right: dict[str, frozenset[str]]) -> Probe:
    kind = str(line.get("type", ""))
    return Probe(line["_id"], line["text"], right[line["_id"]], TYPES.get(kind, kind.replace("_", " ")))


def read(name: str) -> tuple[list[Line], list[Line], dict[str, frozenset[str]]]:
    """The corpus, the questions that count, and the right memories of each."""
    right: dict[str, set[str]] = defaultdict(set)
    for line in _split(DATA / name / "qrels.tsv"):
        query, document, grade = line.split("\t")
        if int(grade) > 0:
            right[query].add(document)
    found: dict[str, frozenset[str]] = defaultdict(frozenset)
    found.update({query: frozenset(documents) for query, documents in right.items()})
    asked = [line for line in _lines(DATA / name / "queries.jsonl") if str(line.get("type")) != ADVERSARIAL]
    return _lines(DATA / name / "corpus.jsonl"), asked, found


def _lines(path: Path) -> list[Line]:
    return [json.loads(line) for line in _split(path)]


def _split(path: Path) -> list[str]:
    """The lines of a file; `splitlines` would also cut at separators inside texts."""
    return [line for line in path.read_text("utf-8").split("\n") if line]


def _stored(
    memos: dict[str, list[Ingested]],
    probes: dict[str, list[Probe]],
    analyzers: Iterable[str],
    embedder: Embedder | None = None,
) -> list[Store]:
    names = sorted(set(analyzers))
    texts = [PROBE_TEXT, *(memo.content for group in memos.values() for memo in group)]
    asked = [probe.text for group in probes.values() for probe in group]
    kept = _by_text(texts, embedded(texts) if embedder is None else embedder.embed(texts))
    questions = _by_text(asked, embedded(asked) if embedder is None else embedder.embed_queries(asked))
    return [_store(group, memos[group], probes[group], kept, questions, names) for group in memos]


def _by_text(texts: Sequence[str], vectors: Iterable[Vectors]) -> dict[str, bytes]:
    return {
        text: to_bytes(quantize(vector, dimensions=len(vector)))
        for text, vector in zip(texts, vectors, strict=True)
    }


def _store(
    name: str,
    memos: Sequence[Ingested],
    probes: Sequence[Probe],
    vectors: dict[str, bytes],
    questions: dict[str, bytes],
    analyzers: Sequence[str],
) -> Store:
    projections = Projections(analyzers)
    probe = vectors[PROBE_TEXT]
    facts: list[AnyFact] = [EmbedderAdopted(name="minilm", dimensions=len(probe) // 2, probe=probe)]
    facts += [msgspec.structs.replace(memo, vector=vectors[memo.content]) for memo in memos]
    events = (Recorded(n, 0, b"", "", "", 1, b"", fact) for n, fact in enumerate(facts, 1))
    for _ in projections.apply_all(events):
        pass
    now = max(memo.at for memo in memos) + DAY_US
    asked = [
        Asked(
            probe.id,
            Question(text=probe.text, vector=questions[probe.text], now=now, k=10),
            probe.right,
            probe.type,
        )
        for probe in probes
    ]
    return Store(
        name=name,
        view=projections.at(len(facts), now),
        texts={memo.id: memo.content for memo in memos},
        asked=tuple(one for one in asked if one.right),
        unanswerable=tuple(one for one in asked if not one.right),
    )
