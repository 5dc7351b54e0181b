"""Read your writes: a recall that names a basis waits until its view reaches the event at that seq."""

from __future__ import annotations

import time

from recollect.engine import validate
from recollect.engine.moments import parse_seq
from recollect.engine.store import Store
from recollect.events.errors import InvalidInput, StillBehind
from recollect.events.memory_log import MemoryLog
from recollect.events.segment_log import SegmentLog

BASIS_S = 10.0
_LOOK_AGAIN_S = 0.02


def require_basis(store: Store, basis: int | str, asked_at: int | None) -> None:
    """Wait until the head reaches the event at `basis`; a past view must have reached it."""
    seq = parse_seq(basis)
    if seq is None:
        raise InvalidInput(f"basis is a seq, as in @120, not {validate.shown(basis)}")
    if asked_at is not None and asked_at < seq:
        raise InvalidInput(f"the view as of @{asked_at} does not know of @{seq}; ask as of a later moment")
    local = isinstance(store.log.base, SegmentLog | MemoryLog)  # nothing is on its way from another machine
    if local and seq > (head := store.catch_up()):
        raise InvalidInput(f"the log ends at @{head}, so no answer can know of @{seq}")
    await_seq(store, seq)


def await_seq(store: Store, seq: int, timeout_s: float = BASIS_S) -> None:
    """Return when the event at this seq is folded; `StillBehind` if that takes too long."""
    deadline = time.monotonic() + timeout_s
    while (head := store.catch_up()) < seq:
        left_s = deadline - time.monotonic()
        if left_s <= 0:
            raise StillBehind(wanted=seq, head=head, waited_s=timeout_s)
        time.sleep(min(left_s, _LOOK_AGAIN_S))
