"""What must hold: nothing acknowledged is lost, every view is a fold of the log, every ranking is one of that view.

Each check adds a finding to the world; none of them stops the run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import numpy as np

from recollect import Memory
from recollect.engine.doctor import examine
from recollect.engine.doctor_caches import _differs
from recollect.engine.store import Store
from recollect.events.envelope import decode
from recollect.events.errors import RecollectError
from recollect.events.facts import Erased, Ingested, Question, Recalled, Redacted, Revised
from recollect.events.segment_log import SegmentLog
from recollect.events.upcasts import VERSIONS
from recollect.query.ranking import rank
from recollect.replay.verify import verify

from .machine import Machine
from .world import DIMENSIONS, FORMULA, WORDS, World, embedder_named, token_of

QUESTIONS = tuple(" ".join(WORDS[start : start + 2]) for start in (0, 5))


@contextmanager
def fresh(machine: Machine, analyzers: Iterable[str]) -> Iterator[Store]:
    """The log as it is, folded from its start, without caches."""
    log = SegmentLog.open(machine.folder / "log", disk=machine.disk, read_only=True)
    clock = lambda: int(machine.scheduler.now_s * 1e6)  # noqa: E731
    with closing(log):
        store = Store(log, folder=None, clock=clock, analyzers=list(analyzers))
        store.require_analyzers(FORMULA.analyzers)
        yield store


def compare_view(world: World, machine: Machine, memory: Memory, who: str) -> None:
    """The projections of an open store against a fold of the log from the start."""
    store = memory.store
    store.catch_up()
    with fresh(machine, store.projections.lexicals) as other:
        compare_stores(world, store, other, who)


def compare_stores(world: World, store: Store, other: Store, who: str) -> None:
    if store.projections.position != other.projections.position:
        if who.endswith("in between"):  # another process has written and not yet published
            return
        world.finding(
            f"{who}: the view ends at @{store.projections.position}, the log at @{other.projections.position}"
        )
        return
    world.counts["views"] += 1
    ours, theirs = store.projections.dump(), other.projections.dump()
    differing = sorted(
        key for key in ours.keys() | theirs.keys() if _matters(key) and _differs(key, ours, theirs)
    )
    if differing:
        world.finding(f"{who}: the view is not the fold of the log: {', '.join(differing)[:200]}")
    head = store.projections.position
    for text, at in (*((text, head) for text in QUESTIONS), (QUESTIONS[0], head // 2)):
        one, two = ranked(store, text, at), ranked(other, text, at)
        if one != two:
            world.finding(f"{who}: {text!r} at @{at} of @{head} is ranked {one}, without caches {two}")


def _matters(key: str) -> bool:
    return not key.startswith("lexical:") or FORMULA.analyzers[0] in key


def ranked(store: Store, text: str, at: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Ids and the bits of their scores, as of a seq."""
    view = store.view(at)
    store.require_analyzers(FORMULA.analyzers)
    adopted = view.adoptions.embedder(view.seq)
    vector = None if adopted is None else embedder_named(adopted.label).grid(text)  # type: ignore[attr-defined]
    name = None if adopted is None else adopted.label
    question = Question(text=text, now=view.time, k=5, vector=vector, embedder=name)
    ranking = rank(question, view, FORMULA)
    return ranking.ids, tuple(score.hex() for score in ranking.scores)


def could_be_erased(memory: Memory, id_: str, head: int) -> bool:
    """Whether a memory was there at a head, and still is."""
    try:
        view = memory.store.view(head)
        row = view.documents.newest_row(view.documents.ids.find(id_), head)
        return row >= 0 and memory.get(id_, at=head).erased_at is None and memory.get(id_).erased_at is None
    except RecollectError:
        return False


# --- the end of a run --------------------------------------------------------------------------------


def judge_log(world: World, store: Store) -> None:
    """What the log says after every process has ended; `store` is folded from its start."""
    findings = store.log.verify_chain()
    if findings:
        world.finding(f"the log is damaged: {findings[0]}")
        return
    _acknowledged(world, store)
    _vectors(world, store)
    _recalls(world, store)
    _scheduled(world, store)
    world.gone = _gone(world, store)


def _acknowledged(world: World, store: Store) -> None:
    """Every acknowledged event stands where it was, with its content or erased; and no id stands twice."""
    covered = {seq for erasure in store.log.erasures for seq in store.log.remains_of(erasure)}
    seen: dict[bytes, int] = {}
    events = list(store.log.base.read(0, store.log.head))
    for recorded in events:
        if recorded.id in seen:
            world.finding(f"one event stands at @{seen[recorded.id]} and at @{recorded.seq}")
        seen[recorded.id] = recorded.seq
    world.counts["acknowledged"] += len(world.acknowledged)
    for ack in world.acknowledged.values():
        if ack.seq > len(events) or events[ack.seq - 1].id != ack.id:
            world.counts["lost"] += 1
            world.finding(f"lost: @{ack.seq}, {ack.type}, was acknowledged and is not there")
            continue
        there = events[ack.seq - 1]
        if isinstance(there.fact, Redacted):
            if ack.seq not in covered:
                world.finding(f"@{ack.seq}, {ack.type}, is overwritten and no erasure speaks of it")
        elif there.payload != ack.payload:
            world.finding(f"@{ack.seq}, {ack.type}, has another content than was acknowledged")


def _vectors(world: World, store: Store) -> None:
    """The newest version of every memory has the vector of its own text."""
    documents, vectors = store.projections.documents, store.projections.vectors
    newest = np.zeros(documents.memories, dtype=np.int64)
    np.maximum.at(newest, documents.memory_of, np.arange(documents.rows))
    for row in newest.tolist():
        fact = store.event(documents.source(row)).fact
        vector = vectors.vector(row)
        if not isinstance(fact, Ingested | Revised) or not isinstance(fact.content, str) or vector is None:
            continue
        name = next(name for name, dimensions in DIMENSIONS.items() if dimensions == len(vector))
        if vector.tobytes() != embedder_named(name).grid(fact.content):  # type: ignore[attr-defined]
            world.counts["silent"] += 1
            world.finding(f"the vector of {fact.id} is not that of its text {fact.content!r}")


def _recalls(world: World, store: Store) -> None:
    report = verify(store.log, store.projections)
    world.counts["replayed"] += report.checked
    if report.verdict == "partly":
        world.finding(f"{report.redacted} recalls were erased without being attested: {report.sentence}")
    if report.verdict == "differs":
        world.counts["silent"] += report.different
        first = report.differences[0].reason if report.differences else report.sentence
        world.finding(f"{report.different} of {report.checked} recalls do not replay: {first}")


def _scheduled(world: World, store: Store) -> None:
    """A dream by the clock comes an interval after the dream before it that counted then."""
    from .process import INTERVAL_S

    dreams = store.projections.adoptions.dreams
    for place, after in enumerate(dreams):
        counted = [one for one in dreams[:place] if not 0 < one.undone_at < after.began]
        if not counted:
            continue
        before = counted[-1]
        apart_s = (store.log.time_of(after.began) - store.log.time_of(before.ended)) / 1e6
        if after.id in world.scheduled and apart_s < INTERVAL_S:
            world.finding(f"{after.id} was dreamt by the clock {apart_s:.1f} s after {before.id}")


def _gone(world: World, store: Store) -> list[str]:
    """The texts of all that was erased, but for what was told anew afterwards, and questions that were not retained."""
    last: dict[str, int] = {}
    said: dict[str, int] = {}
    questions: list[str] = []
    for recorded in store.log.read(0, store.log.head):
        fact = recorded.fact
        if isinstance(fact, Erased):
            last[fact.id] = recorded.seq
            questions += [] if fact.id else _questions(world, fact.seqs)
        elif isinstance(fact, Ingested | Revised) and isinstance(fact.content, str):
            said[fact.content] = recorded.seq
    return questions + [
        text
        for id_ in sorted(world.erased | last.keys())
        for text in world.texts.get(id_, ())
        if said.get(text, 0) <= last.get(id_, store.log.head)
    ]


def _questions(world: World, seqs: Iterable[int]) -> list[str]:
    """What these recorded recalls asked, of those that were acknowledged."""
    acks = (world.acknowledged[seq] for seq in seqs if seq in world.acknowledged)
    facts = (decode(ack.type, VERSIONS[ack.type], ack.payload) for ack in acks)
    return [fact.question.text for fact in facts if isinstance(fact, Recalled)]


def judge_bytes(world: World, machine: Machine) -> None:
    """Words and vectors of what was erased stand in no file."""
    files = {path.name: data for path, data in machine.disk.files().items()}
    for path in (machine.folder / "cache").rglob("*"):
        if path.is_file():
            files[path.name] = path.read_bytes()
    traces = [(what, trace, text) for text in world.gone for what, trace in _traces(text)]
    for name, data in files.items():
        for what, trace, text in traces:
            if trace in data:
                world.counts["silent"] += 1
                world.finding(f"{what} of an erased memory ({token_of(text)}) stands in {name}")


def _traces(text: str) -> Iterator[tuple[str, bytes]]:
    yield "a word", token_of(text).encode()
    for name in DIMENSIONS:
        toy: Any = embedder_named(name)
        vector = toy.grid(text)
        yield "a vector", vector
        yield "a point", np.frombuffer(vector, np.int16).astype(np.float32).tobytes()


def judge_doctor(world: World, machine: Machine) -> None:
    """Nothing is wrong in a store that was closed properly, but for files that a crash left behind."""
    machine.write_out()
    with fresh(machine, ()) as store:
        named = store.projections.vectors.digests
    for problem in examine(machine.folder).problems:
        where = problem.where.rsplit("/", 1)[-1]
        left_behind = where.endswith(".hnsw") and where.removesuffix(".hnsw") not in named
        accidents = world.counts["crashes"] + world.counts["faults"] + world.counts["power cuts"]
        if not (left_behind and accidents):
            world.finding(f"doctor: {where}: {problem.what}")
