"""Recollect: an event-sourced memory engine for AI agents."""

from __future__ import annotations

import sys

if sys.platform == "win32":
    raise ImportError("Recollect does not run on Windows: its log needs POSIX file locks; use it in WSL")

from recollect.interfaces.common.version import __version__

TYPE_CHECKING = False  # checkers take it for that of `typing`, which takes 5 ms to import
if TYPE_CHECKING:
    from recollect.interfaces.python.async_memory import AsyncMemory
    from recollect.interfaces.python.memory import Memory

__all__ = ["AsyncMemory", "Memory", "__version__"]


def __getattr__(name: str) -> object:
    """`Memory` and `AsyncMemory` are imported on first use, so that the command line starts without them."""
    if name == "AsyncMemory":
        from recollect.interfaces.python.async_memory import AsyncMemory  # noqa: PLC0415

        return AsyncMemory
    if name == "Memory":
        from recollect.interfaces.python.memory import Memory  # noqa: PLC0415 (that is the point)

        return Memory
    raise AttributeError(f"module 'recollect' has no attribute {name!r}")
