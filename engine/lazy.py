"""A module that is imported when it is first used, so that opening a store does not wait for all that it can do."""

from __future__ import annotations

from importlib import import_module


class LazyModule:
    """A module that is imported on first use. Import it in `if TYPE_CHECKING` too, so that types are known."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> object:
        return getattr(import_module(self._name), attribute)
