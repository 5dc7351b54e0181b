"""Standard input up to a bound: what another program writes there may never end."""

from __future__ import annotations

import sys

from recollect.events.errors import InvalidInput


def standard_input(*, bytes_max: int, advice: str) -> bytes:
    """All of standard input; InvalidInput with the advice as soon as it is longer than that."""
    data = sys.stdin.buffer.read(bytes_max + 1)
    if len(data) > bytes_max:
        raise InvalidInput(f"standard input has more than {bytes_max:,} bytes; {advice}")
    return data
