"""Everything about one thing that has a name."""

from __future__ import annotations

from recollect.engine.show_recall import ShownRecall, show_recall
from recollect.engine.store import Store

Shown = ShownRecall


def show(store: Store, name: str) -> Shown:
    """What the name means: a recall."""
    return show_recall(store, name)
