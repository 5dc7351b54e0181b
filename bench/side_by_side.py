"""Ours and the peers on the same texts, vectors and questions: one client at a time, then four at once."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import clients
import peers
from corpus import Corpus, Floats, as_floats
from timing import interleaved, seconds_of

K = 10
QUESTIONS = 200
BUILD_CAP_S = 240.0
CONCURRENT_OURS = ("ourselves:Threads", "ourselves:Recording")

Found = dict[str, float | str]
Table = dict[str, Found]


class Collection(NamedTuple):
    """What every system is given. `right` has, per question, the numbers of the texts that answer it."""

    name: str
    texts: Sequence[str]
    vectors: Floats
    questions: clients.Questions
    right: Sequence[frozenset[int]] = ()


class Effort(NamedTuple):
    """How much time a measurement may take."""

    rounds: int
    seconds_per_system: float
    seconds_of_clients: float


THOROUGH = Effort(rounds=5, seconds_per_system=15.0, seconds_of_clients=4.0)
QUICK = Effort(rounds=2, seconds_per_system=3.0, seconds_of_clients=1.0)


def synthetic(size: int) -> Collection:
    corpus = Corpus(size)
    whole = corpus.whole()
    questions = [(asked.text, as_floats(asked.point)) for asked in corpus.questions(QUESTIONS)]
    return Collection(f"{size:,} synthetic notes", whole.texts, as_floats(whole.points), questions)


def measure(
    collection: Collection,
    scratch: Path,
    *,
    effort: Effort,
    ours: Path | None = None,
    before: Mapping[str, Mapping[str, float | str]] | None = None,
    growth: float = 1.0,
) -> tuple[Table, Table]:
    """The table of one client and the table of four.

    `ours` is a store that holds the collection already. `before` is the table of a collection `growth` times
    smaller: a peer whose build would take too long by that measure is named and not built.
    """
    ready: dict[str, tuple[str, peers.Peer, Path]] = {}
    table: Table = {}
    for place in (*peers.OURS, *peers.PEERS):
        found = peers.load(place)
        name = place if isinstance(found, peers.Missing) else found.name
        folder = ours if ours and place in peers.OURS else scratch / place.replace(":", "-")
        reason = _reason(found, (before or {}).get(name, {}), growth)
        if isinstance(found, peers.Missing) or reason:
            table[name] = {"missing": reason}
            continue
        table[name], system = _built(found, folder, collection)
        if system is not None:
            ready[name] = (place, system, folder)
    _time(collection, ready, table, effort)
    return table, _concurrent(collection, ready, effort)


def _reason(found: type[peers.Peer] | peers.Missing, before: Mapping[str, float | str], growth: float) -> str:
    """Why a system is not measured on this collection; empty if it is."""
    if isinstance(found, peers.Missing):
        return found.reason
    if growth <= 1.0 or found.name.startswith("Recollect"):
        return ""
    if "missing" in before:
        return str(before["missing"])
    if "build_s" not in before:
        return "not measured on a smaller collection first"
    expected = float(before["build_s"]) * growth
    if expected <= BUILD_CAP_S:
        return ""
    return f"not built: a {growth:g} times smaller build took {float(before['build_s']):,.0f} s, the cap is {BUILD_CAP_S:,.0f} s"


def _built(found: type[peers.Peer], folder: Path, collection: Collection) -> tuple[Found, peers.Peer | None]:
    """The system, built unless its folder is there, and open; a peer that fails says how."""
    print(f"  {found.name}: building", file=sys.stderr, flush=True)
    system = found(folder)
    row: Found = {"how": found.how}
    try:
        if not folder.exists():
            folder.mkdir(parents=True)
            row["build_s"] = seconds_of(lambda: system.build(collection.texts, collection.vectors))
        row["open_s"] = seconds_of(system.open)
    except Exception as error:
        if found.name.startswith("Recollect"):
            raise
        return {"missing": f"failed: {type(error).__name__}: {error}"}, None
    return row, system


def _time(
    collection: Collection, ready: Mapping[str, tuple[str, peers.Peer, Path]], table: Table, effort: Effort
) -> None:
    asks = {
        name: (lambda question, system=system: system.search(*question, K))
        for name, (_, system, _) in ready.items()
    }
    timings = interleaved(
        asks, collection.questions, rounds=effort.rounds, seconds_max=effort.seconds_per_system
    )
    for name, timing in timings.items():
        table[name].update(timing._asdict())
        if collection.right:
            table[name]["recall_at_10"] = _recall(ready[name][1], collection)


def _recall(system: peers.Peer, collection: Collection) -> float:
    """The mean share of the right texts among the ten that come back."""
    shares = [
        len(right.intersection(system.search(*question, K))) / len(right)
        for question, right in zip(collection.questions, collection.right, strict=True)
    ]
    return sum(shares) / len(shares)


def _concurrent(
    collection: Collection, ready: Mapping[str, tuple[str, peers.Peer, Path]], effort: Effort
) -> Table:
    """Four clients of each system in turn. One whose clients are processes is closed here before they open it."""
    for _, system, _ in ready.values():
        if system.clients == "processes":
            system.close()
    waits: Table = {}
    for name, (place, system, folder) in ready.items():
        print(f"  {name}: four clients", file=sys.stderr, flush=True)
        waits[name] = _clients(place, system, folder, collection, effort)
        if system.clients == "threads":
            system.close()
    ours = next(folder for place, _, folder in ready.values() if place == "ourselves")
    return waits | _ours_concurrent(collection, ours, effort)


def _ours_concurrent(collection: Collection, ours: Path, effort: Effort) -> Table:
    """Our other ways with four clients; one of them records, and is given a copy to write to."""
    waits: Table = {}
    copy = shutil.copytree(ours, ours.with_name(f"{ours.name}-copy"))
    for place in CONCURRENT_OURS:
        found = peers.load(place)
        assert not isinstance(found, peers.Missing)
        system = found(copy)
        if system.clients == "threads":
            system.open()
        waits[found.name] = _clients(place, system, copy, collection, effort)
        system.close()
    shutil.rmtree(copy)
    return waits


def _clients(place: str, system: peers.Peer, folder: Path, collection: Collection, effort: Effort) -> Found:
    """A peer that fails with four clients says how."""
    try:
        return clients.measure(place, system, folder, collection.questions, effort.seconds_of_clients)
    except Exception as error:
        if system.name.startswith("Recollect"):
            raise
        return {"missing": f"failed: {type(error).__name__}: {error}"}
