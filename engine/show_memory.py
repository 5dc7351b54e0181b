"""One memory: its content and state, its versions as differences of words, its links, every recall that it was in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Literal

import msgspec
from msgspec import UNSET

from recollect.engine.answers import Memo
from recollect.engine.event_summaries import changed_fields
from recollect.engine.memories import memo
from recollect.engine.moments import iso
from recollect.engine.recalls import those_that_held
from recollect.engine.store import REDACTED, Store
from recollect.engine.torn_state import locked
from recollect.events.envelope import Recorded
from recollect.events.facts import Ingested, Redacted, Revised
from recollect.projections.view import View

_WORDS_MAX = 5_000
_WORDS = re.compile(r"\s*\S+")


class Words(msgspec.Struct, frozen=True, kw_only=True):
    """A stretch of a text that a version kept, added or removed."""

    how: Literal["same", "added", "removed"]
    text: str


class Version(msgspec.Struct, frozen=True, kw_only=True):
    """One version. `changed` are the fields that it gave, `words` how its text differs from the one before."""

    revision: int
    seq: int
    at: str
    actor: str
    content: str
    changed: tuple[str, ...]
    words: tuple[Words, ...]


class MemoryLink(msgspec.Struct, frozen=True, kw_only=True):
    """An edge from `a` to `b` since the event at `seq`."""

    a: str
    b: str
    kind: str
    weight: float
    seq: int


class HeldBy(msgspec.Struct, frozen=True, kw_only=True):
    """A recall that the memory was in."""

    recall: str
    at: str
    query: str
    rank: int
    score: float


class ShownMemory(Memo, frozen=True, kw_only=True, tag_field="thing", tag="memory"):
    """All that is known of a memory; recalls newest first, versions oldest first."""

    versions: tuple[Version, ...]
    links: tuple[MemoryLink, ...]
    recalls: tuple[HeldBy, ...]


@locked
def show_memory(store: Store, memory_id: str) -> ShownMemory:
    """A memory by its whole id, as it is now."""
    view = store.view()
    return ShownMemory(
        **msgspec.structs.asdict(memo(store, view, memory_id)),
        versions=tuple(_versions(store, view, memory_id)),
        links=_links(view, memory_id),
        recalls=tuple(_held(store, memory_id)),
    )


def _versions(store: Store, view: View, memory_id: str) -> Iterator[Version]:
    """Every event that gave the memory a version; a text that was erased is said to be."""
    memory = view.documents.ids.find(memory_id)
    before, revision = "", 0
    for seq in view.lifecycle.history(memory):
        recorded = store.event(seq)
        text = _text(recorded, before)
        if text is None:
            continue
        revision += 1
        yield Version(
            revision=revision,
            seq=seq,
            at=iso(recorded.at),
            actor=recorded.actor,
            content=text,
            changed=_changed(recorded),
            words=word_diff(before, text) if revision > 1 else (),
        )
        before = text


def _text(recorded: Recorded, before: str) -> str | None:
    """The text from this event on; None if the event is no version."""
    match recorded.fact:
        case Ingested(content=content):
            return content
        case Revised(content=content):
            return before if content is UNSET else str(content)
        case Redacted(remains=Ingested() | Revised()):
            return REDACTED
        case _:
            return None


def _changed(recorded: Recorded) -> tuple[str, ...]:
    if isinstance(recorded.fact, Revised):
        return tuple(changed_fields(recorded.fact))
    return ("content",) if isinstance(recorded.fact, Ingested) else ()


def word_diff(before: str, after: str) -> tuple[Words, ...]:
    """What was kept, removed and added, word by word; a long text is compared as a whole."""
    old, new = _WORDS.findall(before), _WORDS.findall(after)
    if max(len(old), len(new)) > _WORDS_MAX:
        old, new = [before], [after]
    found: list[Words] = []
    for how, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if how == "equal":
            found.append(Words(how="same", text="".join(old[a:b])))
            continue
        if b > a:
            found.append(Words(how="removed", text="".join(old[a:b])))
        if d > c:
            found.append(Words(how="added", text="".join(new[c:d])))
    return tuple(found)


def _links(view: View, memory_id: str) -> tuple[MemoryLink, ...]:
    ids = view.documents.ids.values
    edges = view.graph.edges_of(view.documents.ids.find(memory_id), view.seq)
    return tuple(
        MemoryLink(a=ids[edge.a], b=ids[edge.b], kind=edge.kind, weight=edge.weight, seq=edge.added)
        for edge in edges
    )


def _held(store: Store, memory_id: str) -> Iterator[HeldBy]:
    """The recalls with this memory among the hits, newest first."""
    for recorded, fact in those_that_held(store, memory_id):
        place = fact.ids.index(memory_id)
        yield HeldBy(
            recall=f"r{recorded.seq}",
            at=iso(recorded.at),
            query=fact.question.text,
            rank=place + 1,
            score=fact.scores[place],
        )
