"""The errors a person meets: each says what was wrong, with which value, and what to do."""

from __future__ import annotations


class RecollectError(Exception):
    """Root of every error that Recollect raises on purpose.

    `kept` has the ids that `remember_many` had kept before it failed.
    """

    kept: tuple[str, ...] = ()


class InvalidInput(RecollectError):
    """A value at the edge was refused; nothing was written."""


class UnknownArgument(InvalidInput, TypeError):
    """A Python method was called with an argument that it does not have."""


class UnknownMemory(RecollectError):
    """No memory with this id exists at this position."""

    def __init__(
        self, memory_id: str, *, at: int | None = None, damage: LogDamaged | None = None, hint: str = ""
    ) -> None:
        self.memory_id = memory_id
        where = "" if at is None else f" as of @{at}"
        behind = "" if damage is None else f", or it lies behind the damage at @{damage.seq}: {damage}"
        super().__init__(f"no memory has the id {memory_id!r}{where}{behind}{f'; {hint}' if hint else ''}")


class UnknownRecall(InvalidInput):
    """No recall with this id was recorded."""

    def __init__(self, recall: object, *, damage: LogDamaged | None = None) -> None:
        behind = "" if damage is None else f", or it lies behind the damage at @{damage.seq}: {damage}"
        super().__init__(
            f"{recall!r} is not the id of a recorded recall; they look like 'r12', and `recollect recalls` lists them"
            f"{behind}"
        )


class HeadMoved(RecollectError):
    """The log moved on since you read it; read again and retry."""

    def __init__(self, *, expected: int, actual: int) -> None:
        self.expected = expected
        self.actual = actual
        super().__init__(
            f"expected the log's head at @{expected}, but it is at @{actual}; read on from @{expected} and retry"
        )


class StillBehind(RecollectError):
    """This replica has not yet read the event that the answer must include; no older answer was given."""

    def __init__(self, *, wanted: int, head: int, waited_s: float) -> None:
        self.wanted = wanted
        self.head = head
        super().__init__(
            f"@{wanted} is not here yet: this replica is at @{head} after {waited_s:g} s; ask again, or ask another one"
        )


class EventIdReused(RecollectError):
    """An event id that the log already holds came back with other content."""

    def __init__(self, event_id: str, *, seq: int) -> None:
        self.event_id = event_id
        self.seq = seq
        super().__init__(
            f"event id {event_id} already stands at @{seq} with other content; give the new event an id of its own"
        )


class LogDamaged(RecollectError):
    """Acknowledged data cannot be read back; the store can be opened only for reading."""

    def __init__(self, *, path: str, offset: int, seq: int, reason: str) -> None:
        self.path = path
        self.offset = offset
        self.seq = seq
        self.reason = reason
        super().__init__(
            f"{path} is damaged at byte {offset}: @{seq} was acknowledged but {reason}; "
            f"nothing was cut or changed. Restore the file from a copy, or see `recollect doctor`: it lists every "
            f"damaged place and copies what can be read into a new store (`--salvage`)"
        )


class LogFailed(RecollectError):
    """A write or sync failed; nothing of it was acknowledged, and the next write tries again."""


class LogReplaced(LogFailed):
    """The files of the log are not those that this process has open; open the store again."""


class LogBusy(RecollectError):
    """Another process held the writer lock for too long."""


class NewerFormat(RecollectError):
    """The store was written by a newer version of Recollect."""


class LogReadOnly(RecollectError):
    """The log was opened for reading; open it without `read_only` to write."""
