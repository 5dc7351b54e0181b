"""What people expect of the answer to a recorded question, and that they no longer do."""

from __future__ import annotations

from recollect.events.fact import Fact, MemoryId, Micros


class Expected(Fact, frozen=True, kw_only=True, tag="recall.expected"):
    """What the question of a recorded recall ought to be answered with; its name is `e` and this event's seq.

    Exactly one of `top` (the memory is among so many first places), `absent` (it is not in the answer) and `above`
    (it ranks before this other memory) is set. With `pinned` the question is asked with the clock of the recall, and its
    ranking must be the same bit for bit; otherwise it is asked with the clock at the time of checking.
    """

    recall: int
    id: MemoryId
    at: Micros
    top: int | None = None
    absent: bool = False
    above: MemoryId | None = None
    pinned: bool = False
    note: str = ""


class ExpectationWithdrawn(Fact, frozen=True, kw_only=True, tag="recall.expectation_withdrawn"):
    """The expectation of the event at seq `expected` no longer holds."""

    expected: int
    reason: str = ""
