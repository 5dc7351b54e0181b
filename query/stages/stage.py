"""The base of every stage: a frozen record of parameters that knows how to apply itself."""

from __future__ import annotations

import msgspec


class Stage(msgspec.Struct, frozen=True, kw_only=True, tag_field="op", forbid_unknown_fields=True):
    """One operation of a formula. `enabled = false` leaves it out."""

    enabled: bool = True
