"""What joins the log, the projections and the ranking.

`from recollect import engine` and `engine.verify.verify(…)` import a module when it is first used: all of them together
take as long to import as everything that a recall needs.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from recollect.engine import (
        compare,
        compare_inputs,
        doctor,
        dream,
        erase,
        expectations,
        explain,
        fixture,
        fork,
        impact,
        log_stream,
        memories,
        past,
        proposals,
        recall,
        recalls,
        reembed,
        relations,
        remember,
        retain,
        show,
        similar,
        stale,
        status,
        time_travel,
        transfer,
        tune,
        verify,
        witnesses,
    )  # fmt: skip

__all__ = [
    "compare", "compare_inputs", "doctor", "dream", "erase", "expectations", "explain", "fixture", "fork", "impact",
    "log_stream", "memories", "past", "proposals", "recall", "recalls", "reembed", "relations", "remember",
    "retain", "show", "similar", "stale", "status", "time_travel", "transfer", "tune", "verify", "witnesses",
]  # fmt: skip


def __getattr__(name: str) -> ModuleType:
    if name not in __all__:
        raise AttributeError(f"module 'recollect.engine' has no attribute {name!r}")
    return import_module(f"recollect.engine.{name}")
