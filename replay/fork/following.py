"""How what was read follows an answer, when the answer becomes another one.

What machinery reads goes by place: if the first three hits were put into a prompt, it is the first three of the
new answer that are. What an agent used goes by content: a memory that was used is used again if the new answer
still has it, and is not if it has not. Memories from outside the answer stay. An answer that did not change
changes nothing.
"""

from __future__ import annotations

from recollect.events.facts import Accessed, MemoryId, Recalled

Ids = tuple[MemoryId, ...]


def is_tracked(accessed: Accessed, recalled: Recalled) -> bool:
    """Whether the access, recorded right after the recall, is the one that counts its hits as read."""
    question = recalled.question
    return (accessed.how, accessed.ids, accessed.at, accessed.session) == (
        "returned",
        recalled.ids,
        question.now,
        question.session,
    )


def follow(accessed: Accessed, before: Ids, after: Ids) -> Ids:
    """The memories that are read now that the answer is `after` instead of `before`."""
    if accessed.how == "used":
        return tuple(id_ for id_ in accessed.ids if id_ in after or id_ not in before)
    if accessed.ids == before:
        return after
    places = {id_: place for place, id_ in enumerate(before)}
    moved = (_at_place(id_, places, after) for id_ in accessed.ids)
    return tuple(dict.fromkeys(id_ for id_ in moved if id_ is not None))


def _at_place(id_: MemoryId, places: dict[MemoryId, int], after: Ids) -> MemoryId | None:
    place = places.get(id_)
    if place is None:
        return id_
    return after[place] if place < len(after) else None
