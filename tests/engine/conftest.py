"""Stores for these tests, from store_fixtures and sync_place."""

from __future__ import annotations

from store_fixtures import clock, memory, open_memory
from sync_place import place

__all__ = ["clock", "memory", "open_memory", "place"]
