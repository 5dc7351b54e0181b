"""What every fact is made of: the base of all payloads, and the types of their fields."""

from __future__ import annotations

import msgspec

MemoryId = str
Micros = int
GridVector = bytes


class Fact(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="type"):
    """Base of every payload."""
