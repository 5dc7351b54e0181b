"""Writes the next golden store: a small log with recalls under every built-in formula, kept for ever.

    python tests/golden/make_store.py tests/golden/stores/v4

Run once per released format or formula change; an existing store is never written again. From v2 on it holds texts of
many scripts, characters that are newer than Unicode 14, memories that are alike, and a shard, which is kept beside the
log for machines that cannot build it. From v4 on there are derived memories, accesses of every kind, and a user who uses
what carries the same labels.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from recollect.events.facts import Linked, Rated, Superseded
from recollect.interfaces.python.memory import Memory
from recollect.projections.vectors.sealing import Sealer, SealPolicy
from recollect.projections.vectors.shard_names import Builder
from recollect.query.formula import names

WORDS = [
    "auth",
    "session",
    "postgres",
    "redis",
    "deploy",
    "tuesday",
    "billing",
    "stripe",
    "cookie",
    "login",
    "backup",
    "restore",
]
WORLD = [
    "мой пароль в сейфе", "東京タワーの写真", "서울 회의는 화요일", "ελληνικά κείμενα Σίσυφος", "İstanbul'da toplantı",
    "straße und STRASSE", "עברית עם ניקוד שָׁלוֹם", "हिन्दी में नोट", "e\u0301te\u0301 at the beach", "ｶﾞｷﾞｸﾞ half width",
    "thank you so much \U0001fa77", "a goose \U0001fabf and a moose \U0001face", "getUserName calls C++ and C#",
    "v2.3.1 of src/main.py", "Ünïcödé Ⅷ ﬁle", "\U00011f02 Kawi, new in Unicode 15",
]  # fmt: skip
SEALED = 160
START = 1_767_225_600.0
DAY = 86_400.0
SHARDS = Path(__file__).parent / "shards"


def main(target: Path) -> None:
    if target.exists():
        raise SystemExit(f"{target} exists; golden stores are never written again")
    with tempfile.TemporaryDirectory() as folder:
        ticks = iter(range(10**9))
        clock = lambda: int((START + 31 * DAY) * 1e6) + next(ticks) * 1_000_000  # noqa: E731
        with Memory.open(folder, embedder="hash", clock=clock) as memory:
            live(memory)
            later(memory)
            talk(memory)
            derive(memory)
        shutil.copytree(Path(folder) / "cache" / "shards", SHARDS, dirs_exist_ok=True)
        shutil.copytree(Path(folder) / "log", target, ignore=shutil.ignore_patterns("writer.lock"))


def later(memory: Memory) -> None:
    """Texts of the world, memories that are alike, a shard over all of them, and questions through it."""
    for n in range(100):
        text = WORLD[n % len(WORLD)] if n % 3 else f"{WORDS[n % 4]} {WORDS[n % 3]}"
        memory.remember(
            text, id=f"w{n:02d}", at=START + (40 + n / 50) * DAY, session=f"s{n % 5}", kind=("Note", "ÉCRIT")[n % 2],
            tags=["Straße" if n % 2 else "Σίσυφος"], project="Ünïcödé",
        )  # fmt: skip
    vectors, publish = memory.store.projections.vectors, memory.store._publish_shard
    tiny = Builder(M=6, ef_construction=30, ef_min=12, ef_per_100=60)
    sealed = Sealer(vectors, publish, policy=SealPolicy(block=SEALED), builder=tiny).step()
    assert sealed is not None
    for n, formula in enumerate((*names(), *names())):
        for text in (WORLD[n % len(WORLD)], f"{WORDS[n % 12]} {WORDS[n % 4]} yesterday", WORLD[-n - 1]):
            memory.recall(
                text, k=8, formula=formula, now=START + (46 + n) * DAY, session=f"s{n % 5}",
                context={"tags": ["STRASSE", "σίσυφοσ"], "project": "ünïcödé", "files": ["notes/Postgres.md"]},
            )  # fmt: skip


TALK = [
    ("Ann: did you deploy on Tuesday?", "t1", ()),
    ("Bob: no, the backup failed on October 13, 2025", "t1", ()),
    ("Ann: when is the next restore?", "t1", ()),
    ("Bob: on Friday, after the billing run", "t1", ()),
    ("I keep the session cookie in redis, is that fine?", "t2", ("user",)),
    ("Postgres is safer for a session.", "t2", ("assistant",)),
    ("Decision: login by cookie", None, ("auth",)),
    ("Decision: stripe for billing", None, ("billing",)),
]
ASKED = [
    "When did Bob fail the backup?",
    "What did Ann ask about the restore?",
    "Where do I keep my session cookie?",
    "What happened on October 13, 2025?",
    "which decision about login and billing?",
    "photosynthesis of deep sea algae",
]


def talk(memory: Memory) -> None:
    """What labels, roles, sessions and dates are for."""
    for n, (text, session, tags) in enumerate(TALK):
        at = START + (n - 80) * DAY
        memory.remember(text, id=f"t{n}", at=at, session=session, tags=list(tags))
    for formula in names():
        for question in ASKED:
            memory.recall(question, k=6, formula=formula, now=START + 45 * DAY)


def derive(memory: Memory) -> None:
    """Summaries with the words of their sources, reads of every kind, verdicts, and a question in quotes."""
    for n in range(4):
        sources = [f"m{n:02d}", f"m{n + 20:02d}"]
        memory.remember(
            f"summary of {WORDS[n]} and {WORDS[n + 4]}", id=f"s{n}", at=START + 44 * DAY, tags=[WORDS[n]]
        )
        for source in sources:
            memory.link(f"s{n}", source, "derived_from")
        memory.link(f"m{n:02d}", f"s{n}", "supports")
        memory.access([f"s{n}", sources[0]], f"u{n}", how="used")
        memory.access(sources, f"u{n}", how="injected")
        memory.rate(sources[1], "outdated")
    for formula in names():
        for n in range(3):
            question = f"{WORDS[n]} {WORDS[n + 4]} summary"
            memory.recall(question, k=6, formula=formula, now=START + 46 * DAY, session=f"u{n}")
        memory.recall('"auth postgres deploy"', k=4, formula=formula, now=START + 46 * DAY)


def live(memory: Memory) -> None:
    for n in range(60):
        text = " ".join(WORDS[(n * step + step) % len(WORDS)] for step in (1, 3, 5, 7)) + f" note {n}"
        memory.remember(
            text, id=f"m{n:02d}", at=START + (20 + n / 6) * DAY, session=f"s{n % 7}", importance=(n % 11) / 10,
            kind=("note", "decision", "user_preference", "bug")[n % 4], tags=[WORDS[n % 5]],
        )  # fmt: skip
    memory._writer.append(
        [Linked(a="m01", b="m02", kind="supports"), Linked(a="m02", b="m40", kind="extends", weight=0.7)]
    )
    memory._writer.append([Superseded(old="m05", new="m06"), Rated(id="m07", verdict="helpful", at=0)])
    for round_, formula in enumerate((*names(), *names())):
        for n in range(4):
            question = f"{WORDS[(n + round_) % 12]} and {WORDS[(n * 5 + round_) % 12]}"
            memory.recall(question, k=6, formula=formula, session=f"s{n}", now=START + 45 * DAY)
        memory.access(f"m{10 + round_}", session=f"s{round_ % 3}")
        memory.revise(f"m{20 + round_}", f"revised {WORDS[round_ % 12]} text {round_}")
        memory.forget(f"m{40 + round_}", "golden")
        if round_ in (3, 9):
            memory.dream()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
