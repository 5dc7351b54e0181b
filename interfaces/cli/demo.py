"""The demonstration behind `make demo`: a past ranking, replayed exactly after the store has moved on."""

from __future__ import annotations

import tempfile
from pathlib import Path

import click

from recollect.engine.answers import Answer
from recollect.engine.embedding.embedder import Embedder
from recollect.interfaces.cli.render import common as render
from recollect.interfaces.python.memory import Memory

QUESTION = "where are auth sessions stored?"

FACTS = (
    ("Auth sessions live in Postgres, not Redis", "decision"),
    ("Redis is only used for rate limiting", "decision"),
    ("The login page was redesigned in October", "note"),
    ("Session cookies expire after 14 days", "config"),
    ("Postgres runs on db-1 and replicates to db-2", "reference"),
    ("Mara prefers tabs over spaces", "preference"),
    ("The billing service times out when Stripe is slow", "bug"),
    ("Deploys happen on Tuesdays after the stand-up", "decision"),
)
TOPICS = (
    "auth", "session storage", "postgres", "redis cache", "deploys", "billing", "login page", "cookies",
    "rate limits", "backups",
)  # fmt: skip


def main(embedder: str | Embedder = "minilm") -> bool:
    """Run the demonstration in a store of its own; says whether everything came out exact."""
    with (
        tempfile.TemporaryDirectory() as folder,
        Memory.open(Path(folder) / "store", embedder=embedder) as memory,
    ):
        _say(f"$ remember {len(FACTS)} facts, then recall {QUESTION!r}")
        ids = memory.remember_many([{"content": text, "kind": kind} for text, kind in FACTS])
        first = memory.recall(QUESTION, k=3, session="monday")
        render.answer(first)

        _say("\n$ 200 more writes: new memories, accesses, revisions, forgettings")
        _live_on(memory, ids)
        click.echo(f"head is now @{memory.status().head}")

        _say(f"\n$ the same question, now — and as of @{first.basis}")
        render.answer(memory.recall(QUESTION, k=3, session="friday"))
        then = memory.at(first.basis).recall(QUESTION, k=3, now=first.now)
        render.answer(then)

        same = _bits(then) == _bits(first)
        _say(f"\n$ {first.id} as recorded, and as replayed at @{first.basis}")
        for (id_, before), (_, after) in zip(_bits(first), _bits(then), strict=True):
            click.echo(f"{id_[:12]}…  {before}  {after}  {'identical' if before == after else 'DIFFERENT'}")

        _say("\n$ verify")
        report = memory.verify()
        render.verification(report)
        return same and report.exact


def _live_on(memory: Memory, ids: list[str]) -> None:
    """Exactly 200 writes that move corpus statistics and lifecycle alike."""
    new = memory.remember_many(
        [f"Note {n}: something about {TOPICS[n % len(TOPICS)]} came up in meeting {n}" for n in range(140)]
    )
    for n in range(30):
        memory.access(new[n], session=f"session-{n % 5}")
    for n in range(15):
        memory.revise(new[n], f"Revised note {n}: {TOPICS[n % len(TOPICS)]} and where sessions are stored")
    for n in range(14):
        memory.forget(new[60 + n], "no longer true")
    memory.forget(ids[0], "moved to DynamoDB")


def _bits(answer: Answer) -> list[tuple[str, str]]:
    return [(hit.id, hit.score.hex()) for hit in answer.hits]


def _say(line: str) -> None:
    click.secho(line, bold=True)


if __name__ == "__main__":
    raise SystemExit(0 if main() else 1)
