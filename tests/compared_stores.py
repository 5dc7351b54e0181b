"""A small store with traffic: memories, questions, what was used of their answers, and a formula that differs."""

from __future__ import annotations

import hashlib
import random
from importlib import resources
from pathlib import Path

import numpy as np
import numpy.typing as npt

from recollect.interfaces.python.memory import Memory

WORDS = ["auth", "session", "postgres", "redis", "deploy", "tuesday", "billing", "stripe", "cookie", "login"]
START = 1_763_000_000_000_000
HOUR = 3_600_000_000
LATER = START + 120 * HOUR  # when a store that was lived in is opened again


class Hourly:
    """A clock that moves one hour per reading."""

    def __init__(self, start: int = START) -> None:
        self.now = start

    def __call__(self) -> int:
        self.now += HOUR
        return self.now


def live(memory: Memory, *, memories: int = 40, seed: int = 1) -> None:
    """Memories, questions in three sessions, and what was read of the answers."""
    rng = random.Random(seed)
    for number in range(memories):
        memory.remember(" ".join(rng.choice(WORDS) for _ in range(5)), id=f"m{number}")
        if number < 6:
            continue
        session = f"s{number % 3}"
        answer = memory.recall(" ".join(rng.sample(WORDS, 2)), k=5, session=session, track=number % 4 > 0)
        ids = [hit.id for hit in answer.hits]
        if number % 3 == 0:
            memory.access(ids[:3], session, "injected", recall=answer.id)
        memory.access(rng.choice(ids), session, "used", recall=answer.id)


def written_formula(folder: Path, *, name: str = "sharp", k: float = 2.0, boost: float = 5.0) -> Path:
    """Reverie with another k and another recency boost, as a file."""
    text = resources.files("recollect.query.formulas").joinpath("reverie.toml").read_text("utf-8")
    changed = text.replace('name = "reverie"', f'name = "{name}"').replace("k = 30.0", f"k = {k}")
    path = folder / f"{name}.toml"
    path.write_text(changed.replace("boost = 0.3", f"boost = {boost}"), "utf-8")
    return path


def contents(folder: Path) -> dict[str, str]:
    """The digest of every file below a folder, but for the note of where copies went."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "copies"
    }


def scattered(texts: list[str]) -> npt.NDArray[np.float64]:
    """An embedder without sense: a direction of its own for every text."""
    seeds = [int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") for text in texts]
    return np.stack([np.random.default_rng(seed).normal(size=32) for seed in seeds])


def erased_from(folder: Path) -> None:
    """a, b, c; a question; d; a question; b is erased; a question."""
    with Memory.open(folder, embedder="hash", formula="reverie", clock=Hourly()) as memory:
        for id_, text in (("a", "auth session redis"), ("b", "auth login page"), ("c", "redis cache backup")):
            memory.remember(text, id=id_)
        memory.recall("auth")
        memory.remember("auth cookie", id="d")
        memory.recall("auth redis")
        memory.erase("b")
        memory.recall("auth")
