"""A fork of an open store that holds nothing erased, is known to the store, and says whether it is finished."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypedDict

import msgspec

from recollect.engine.compare_inputs import DreamSettings, Recipe, dreaming
from recollect.engine.copies import note_copy, note_unfinished, refuse_inside, require_erased, without_erased
from recollect.engine.formula_lookup import formula_named
from recollect.engine.moments import When
from recollect.engine.store import Progress, Store
from recollect.events.named_files import named_path
from recollect.replay.fork.fork import ForkReport, discard_fork, fork
from recollect.replay.fork.fork_replay import DreamtOfErased
from recollect.replay.fork.note import finish_fork, read_note


class ForkOptions(TypedDict, total=False):
    """How a fork goes another way, as `Memory.fork` says."""

    formula: Recipe | None
    closed_loop: bool
    since: When
    dream: DreamSettings | None
    progress: Progress | None


def fork_from(
    store: Store, to: str | Path, *, formula: Recipe | None = None, closed_loop: bool = False, since: When = 0,
    dream: DreamSettings | None = None, progress: Progress | None = None,
) -> ForkReport:  # fmt: skip
    """Replay the log after `since` in a store of its own; this one only notes where that is."""
    store.require_whole("fork")
    refuse_inside(store.folder, to)
    target = named_path(to)
    made = make_fork(
        store,
        target.absolute(),
        since=store.view(store.resolve(since, edge="begins")[0]).seq,
        formula=None if formula is None else formula_named(store, formula, files=True),
        closed_loop=closed_loop,
        dreaming=None if dream is None else dreaming(dream),
        shard_dir=None if store.cache is None else store.cache / "shards",
        progress=progress,
    )
    return msgspec.structs.replace(made, path=str(target))


def make_fork(store: Store, target: Path, *, passing: Path | None = None, **rules: Any) -> ForkReport:
    """Replay the log in a directory of its own (`fork`, with its arguments).

    What is erased meanwhile is erased in the fork too. One that dreamt of it is made anew if it was begun here. One
    that is `passing`, in a temporary folder that the caller deletes, is only noted as long as that folder is there.
    """
    require_erased(store, "fork")
    begun_here = not target.is_dir() or read_note(target) is None
    notes: list[str] = []

    def begun() -> None:
        note_unfinished(store, passing or target, "fork")

    def live() -> ForkReport:
        return fork(store.log, target, folder=store.folder, begun=begun, finish=False, **rules)

    def make() -> ForkReport:
        try:
            return live()
        except DreamtOfErased:
            if not begun_here:
                raise
            discard_fork(target)
            return live()

    def finish(made: ForkReport) -> None:
        if passing is None:
            notes.extend(note_copy(store, target, "fork", upto=made.source_head))
        finish_fork(target, upto=made.source_head)

    made = without_erased(store, "fork", make, finish)
    return msgspec.structs.replace(made, degraded=tuple(notes))
