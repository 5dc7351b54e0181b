"""The commands under test: what each runs, on which store, and what must be true of its effect."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from recollect import Memory
from recollect.events.facts import Reembedded
from recollect.projections.vectors.sealing import SealPolicy
from recollect.projections.vectors.shard_names import Builder

QUESTIONS = ("green tea", "postgres port")
POLICY = SealPolicy(first=16, block=8, ratio=2.0, shard_max=64)
BUILDER = Builder(M=6, ef_construction=12, ef_min=4, ef_per_100=50)


class Place(NamedTuple):
    """The folders of one attempt; faults are injected below `root`."""

    root: Path

    @property
    def store(self) -> Path:
        return self.root / "store"

    @property
    def out(self) -> Path:
        return self.root / "out"

    @property
    def notes(self) -> Path:
        return self.root / "notes"


class Scene(NamedTuple):
    """`argv` is a command, `call` a program that uses the library; `told` is what exit status 0 acknowledges."""

    name: str
    argv: Callable[[Place], list[str]] | None = None
    call: Callable[[Place], None] | None = None
    told: dict[str, str] = {}
    gone: tuple[str, ...] = ()
    prepare: Callable[[Place], None] = lambda place: None
    embedder: str = "hash"


def toy(texts: list[str]) -> list[list[float]]:
    return [[len(text), text.count("e") + 1.0, text.count("t") + 1.0, 3.0] for text in texts]


toy.name = "toy/1"  # type: ignore[attr-defined]


def make_store(place: Place) -> None:
    """A small store with a bit of everything: recalls, a dream, a shard, an erasure, a checkpoint."""
    with Memory.open(place.store, embedder="hash") as memory:
        memory.store.sealer.start = lambda: None  # type: ignore[method-assign]
        subjects = ("green tea", "the postgres port", "a deploy on tuesday", "the old kettle")
        memory.remember_many(
            [{"id": f"f{n}", "content": f"fact {n} about {subjects[n % 4]} word{n:02d}x"} for n in range(24)]
        )
        for question in QUESTIONS:
            memory.recall(question, k=3)
        memory.dream(phases=["cluster"])
        memory.erase("f1")
        seal(memory)
        memory.store.checkpoint()
    place.out.mkdir()
    place.notes.mkdir()
    (place.notes / "one.md").write_text("# Kettle\n\nThe kettle stands beside the stove.\n", "utf-8")
    (place.notes / "two.md").write_text("# Tea\n\nGreen tea at seventy degrees.\n", "utf-8")


def seal(memory: Memory) -> None:
    memory.store.sealer._policy, memory.store.sealer._builder = POLICY, BUILDER
    memory.store.sealer.stop()  # `step` leaves alone what it is building in the background
    memory.store.sealer.step()


def _seal(place: Place) -> None:
    with Memory.open(place.store, embedder="hash") as memory:
        memory.store.sealer.start = lambda: None  # type: ignore[method-assign]
        memory.remember_many([{"id": f"s{n}", "content": f"sealed word {n}"} for n in range(16)])
        seal(memory)


def _checkpoint(place: Place) -> None:
    with Memory.open(place.store, embedder="hash") as memory:
        memory.remember("the new text", id="new")
        memory.store.checkpoint()


def _old_export(place: Place) -> None:
    (place.out / "log.jsonl").write_text("the export of yesterday\n", "utf-8")


def _broken_store(place: Place) -> None:
    """Caches that are cut off, and a vector that is another text's."""
    with Memory.open(place.store, embedder="hash") as memory:
        (other,) = memory._writer.embedding.vectors(["something else altogether"])
        memory.store.append([Reembedded(embedder="hash/1", vectors=(("f3", other),))])
    for path in (place.store / "cache").rglob("*"):
        if path.is_file():
            path.write_bytes(path.read_bytes()[:100])


def _foreign_file(place: Place) -> None:
    lines = [f'{{"id": "i{n}", "content": "imported fact {n}"}}\n' for n in range(5)]
    (place.notes / "facts.jsonl").write_text("".join(lines), "utf-8")


def _toy_store(place: Place) -> None:
    """A store that has another embedder than the one it is going to get."""
    shutil.rmtree(place.store)
    with Memory.open(place.store, embedder=toy) as memory:
        memory.remember_many([{"id": f"f{n}", "content": f"fact {n} of green tea"} for n in range(12)])
        memory.dream(phases=["cluster"])


SCENES = (
    Scene("remember", lambda p: ["remember", "the new text", "--id", "new"], told={"new": "the new text"}),
    Scene("recall", lambda p: ["recall", "green tea", "-k", "3"]),
    Scene("erase", lambda p: ["erase", "f2", "--yes"], gone=("word02x",)),
    Scene("dream", lambda p: ["dream", "--phases", "downscale,cluster"]),
    Scene("reembed", lambda p: ["reembed"], prepare=_toy_store),
    Scene("export", lambda p: ["export", str(p.out / "log.jsonl"), "--overwrite"], prepare=_old_export),
    Scene("export markdown", lambda p: ["export", str(p.out / "pages"), "--format", "markdown"]),
    Scene(
        "import", lambda p: ["import", str(p.notes / "facts.jsonl")],
        told={f"facts:i{n}": f"imported fact {n}" for n in range(5)}, prepare=_foreign_file,
    ),
    Scene("watch", lambda p: ["watch", str(p.notes), "--once"]),
    Scene("doctor", lambda p: ["doctor", "--fix"], prepare=_broken_store),
    Scene("seal", call=_seal, told={f"s{n}": f"sealed word {n}" for n in range(16)}),
    Scene("checkpoint", call=_checkpoint, told={"new": "the new text"}),
)  # fmt: skip
