"""A support agent's memory over three weeks, with one mistake in it: the store that docs/incident.md investigates.

    python docs/examples/incident.py ./incident
    python docs/examples/incident.py ./small --memories 200 --recalls 40 --days 7

Every run writes the same memories, questions, dreams, erasures and times (the hash embedder, a clock of its own). It ends
at noon on Sunday, 1 March 2026. On the Monday before, someone imported an old handbook and let its page on refunds take
the place of the policy; on Tuesday at 14:05 a customer was told the wrong thing. `CULPRIT` is what did it.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from random import Random
from typing import NamedTuple

from recollect import Memory

END_US = 1_772_366_400_000_000  # 2026-03-01T12:00:00Z
HOUR_US = 3_600_000_000
DAY_US = 24 * HOUR_US
MINUTE_US = 60_000_000

POLICY, HANDBOOK = "refund-window", "handbook-refunds"
CULPRIT = f"{HANDBOOK} superseded {POLICY}"
QUESTION = "how many days does a customer have to ask for a refund?"

PROJECTS = {
    "support": ("customer", "ticket", "refund form", "parcel", "warranty card", "delivery", "complaint", "invoice copy"),
    "billing": ("invoice", "Stripe webhook", "tax rate", "ledger", "chargeback", "currency table", "dunning letter"),
    "platform": ("Postgres replica", "deploy", "Redis cache", "load balancer", "certificate", "backup", "queue worker"),
    "website": ("checkout page", "search box", "cookie banner", "product photo", "landing page", "sitemap", "newsletter"),
}  # fmt: skip
STATES = (
    "was moved to",
    "is owned by",
    "broke after",
    "waits for",
    "was reviewed by",
    "depends on",
    "is described in",
)
WHO = (
    "Ines",
    "Marek",
    "the night shift",
    "the Lisbon office",
    "release 41",
    "release 42",
    "the vendor",
    "Priya",
    "Tomasz",
)
DETAILS = (
    "since Monday",
    "until the audit",
    "at the warehouse",
    "for new accounts",
    "in the second region",
    "on phones",
)
ASKED = (
    "who owns the {thing}?", "what broke the {thing}?", "what does the {thing} depend on?", "what waits for the {thing}?",
    "where is the {thing} described?",
)  # fmt: skip


class Size(NamedTuple):
    """How much of everything."""

    memories: int = 2_000
    recalls: int = 300
    days: int = 21
    dreams: int = 20
    erasures: int = 2
    seed: int = 1


class Clock:
    """Time that passes only when told; every reading is a millisecond later."""

    def __init__(self, now_us: int) -> None:
        self.now_us = now_us

    def __call__(self) -> int:
        self.now_us += 1_000
        return self.now_us

    def go_to(self, moment_us: int) -> None:
        self.now_us = max(self.now_us, moment_us)


def make(folder: str | Path, size: Size = Size()) -> None:  # noqa: B008 (immutable)
    """Live the three weeks in a new store."""
    draw, clock = Random(size.seed), Clock(END_US - size.days * DAY_US)
    with Memory.open(folder, embedder="hash", clock=clock, actor="support-bot") as memory:
        for day in range(size.days):
            begin = END_US - (size.days - day) * DAY_US - 4 * HOUR_US  # 08:00
            clock.go_to(begin)
            learn(memory, draw, day, size)
            recalls = share(size.recalls, day, size.days)
            ask(memory, draw, clock, begin, recalls, days_left=size.days - day)
            clock.go_to(begin + 14 * HOUR_US)  # 22:00
            if day in erasure_days(size):
                memory.erase(f"caller-{day}", reason="asked to be forgotten")
            if day < size.dreams:
                memory.dream()


def share(total: int, day: int, days: int) -> int:
    """How many of `total` fall on this day."""
    return total * (day + 1) // days - total * day // days


def erasure_days(size: Size) -> range:
    step = max(1, size.days // (size.erasures + 1))
    return range(step, step * size.erasures + 1, step)


def learn(memory: Memory, draw: Random, day: int, size: Size) -> None:
    """What the agent was told on this day."""
    count = share(size.memories, day, size.days)
    told: list[dict[str, object]] = []
    if day == 0:
        told.append({
            "id": POLICY, "project": "support", "kind": "policy", "importance": 0.9, "tags": ["refunds"],
            "content": "A customer has 30 days to ask for a refund, no reason needed",
        })  # fmt: skip
    if day in erasure_days(size):
        told.append({
            "id": f"caller-{day}", "project": "support", "kind": "note",
            "content": f"Caller {day} left a phone number and asked about a parcel",
        })  # fmt: skip
    if size.days - day == 6:
        count -= 1  # the handbook's page comes later on this day
    while len(told) < count:
        project = draw.choice(list(PROJECTS))
        thing = draw.choice(PROJECTS[project])
        text = f"The {thing} {draw.choice(STATES)} {draw.choice(WHO)} {draw.choice(DETAILS)}"
        told.append({
            "id": f"{project}-{day:02d}-{len(told):03d}", "content": text, "project": project,
            "importance": draw.choice((0.3, 0.5, 0.7)), "tags": [thing.split()[0].lower()],
        })  # fmt: skip
    memory.remember_many(told)


def import_handbook(memory: Memory) -> None:
    """The mistake: an old page takes the place of the policy."""
    memory.remember(
        "Customers may ask for a refund within 14 days of the order, with the receipt and the original box", id=HANDBOOK, project="support",
        kind="policy", importance=0.5, tags=["refunds"], source="file:///imports/handbook-2019.pdf",
    )  # fmt: skip
    memory.supersede(POLICY, HANDBOOK, reason="imported handbook")


def ask(memory: Memory, draw: Random, clock: Clock, begin: int, count: int, *, days_left: int) -> None:
    """The day's questions between eight and ten, by the sessions that customers open; some answers are used."""
    mistake = begin + 9 * HOUR_US + 40 * MINUTE_US if days_left == 6 else None  # Monday, 17:40
    complaint = begin + 6 * HOUR_US + 5 * MINUTE_US if days_left == 5 else None  # Tuesday, 14:05
    moments = sorted(begin + draw.randrange(14 * HOUR_US) for _ in range(count))
    if complaint is not None:
        moments = sorted([*moments[1:], complaint])
    for number, moment in enumerate(moments):
        if mistake is not None and moment > mistake:
            clock.go_to(mistake)
            import_handbook(memory)
            mistake = None
        clock.go_to(moment)
        project = draw.choice(list(PROJECTS))
        question = draw.choice(ASKED).format(thing=draw.choice(PROJECTS[project]))
        if moment == complaint or number % 7 == 3:
            project, question = "support", QUESTION
        session = f"chat-{(moment - begin) // HOUR_US + 8:02d}{number:02d}"
        answer = memory.recall(question, k=5, session=session, filters={"project": project})
        if answer.hits and draw.random() < 0.4:
            memory.access([answer.hits[0].id], session=session, how="used", recall=answer.id)
    if mistake is not None:
        clock.go_to(mistake)
        import_handbook(memory)


def main() -> None:
    parser = argparse.ArgumentParser(description="Make the store that docs/incident.md investigates.")
    parser.add_argument("folder", help="a directory that is not there yet")
    for name, value in Size()._asdict().items():
        parser.add_argument(f"--{name}", type=int, default=value)
    given = vars(parser.parse_args())
    folder = Path(given.pop("folder"))
    if folder.exists():
        parser.error(f"{folder} is there already")
    make(folder, Size(**given))


if __name__ == "__main__":
    main()
