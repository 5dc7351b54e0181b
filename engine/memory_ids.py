"""Ids for memories that come without one: short, sortable by time, typed without confusion."""

from __future__ import annotations

import secrets

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's base 32
_TIME_CHARACTERS = 10
_RANDOM_CHARACTERS = 10


def new_memory_id(now: int) -> str:
    """20 characters: 50 bits of milliseconds, then 50 random bits."""
    return _base32(now // 1_000, _TIME_CHARACTERS) + _base32(secrets.randbits(50), _RANDOM_CHARACTERS)


def _base32(number: int, characters: int) -> str:
    return "".join(_ALPHABET[number >> shift & 31] for shift in range(5 * (characters - 1), -1, -5))
