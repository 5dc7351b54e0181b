"""The documented place of `guarded`, for a server of one's own."""

from __future__ import annotations

from recollect.interfaces.common.http.guard import guarded

__all__ = ["guarded"]
