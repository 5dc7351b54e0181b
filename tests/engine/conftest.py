"""Stores for these tests, from store_fixtures."""

from __future__ import annotations

from store_fixtures import clock, memory, open_memory

__all__ = ["clock", "memory", "open_memory"]
