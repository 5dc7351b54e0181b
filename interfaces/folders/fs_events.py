"""Events of the file system: paths that may have changed. They say where to look, never what happened."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence

from recollect.interfaces.folders.folder import Folder

TICK_S = 0.5
DEBOUNCE_MS = 400
POLL_S = 2.0

ChangedPaths = set[str] | None
Complain = Callable[[str], None]


def changed_paths(
    folders: Sequence[Folder], *, without: str | None, stop: threading.Event, poll: bool, complain: Complain
) -> Iterator[ChangedPaths]:
    """Absolute paths that changed, an empty set when nothing did for a moment, None for "look at everything".

    Paths in the folder `without` (the store) are left out. A folder that came, went or was replaced is watched anew.
    """
    while not stop.is_set():
        present = [folder for folder in folders if folder.marker() is not None]
        if poll or not present:
            stop.wait(POLL_S)
            yield None
            continue
        markers = [folder.marker() for folder in folders]
        first = True
        for changed in _watched(present, without, stop, complain):
            yield None if first else changed  # changes before the watch was set up sent no event
            first = False
            if changed is None or [folder.marker() for folder in folders] != markers:
                break


def _watched(
    present: Sequence[Folder], without: str | None, stop: threading.Event, complain: Complain
) -> Iterator[ChangedPaths]:
    from watchfiles import watch  # noqa: PLC0415 (only a watch that stays needs it)

    own = None if without is None else without.rstrip("/") + "/"
    try:
        for changes in watch(
            *(folder.path for folder in present),
            watch_filter=lambda _, path: own is None or not f"{path}/".startswith(own),
            debounce=DEBOUNCE_MS,
            stop_event=stop,
            rust_timeout=int(TICK_S * 1_000),
            yield_on_timeout=True,
            raise_interrupt=False,
            ignore_permission_denied=True,
        ):
            yield {path for _, path in changes}
    except FileNotFoundError:  # the folder is just gone; looking at it says so
        stop.wait(POLL_S)
        yield None
    except (OSError, RuntimeError) as error:  # a name that is not UTF-8, too many folders to watch
        complain(
            f"no events from the file system ({error}); looking at everything every {POLL_S:g} s until there are"
        )
        stop.wait(POLL_S)
        yield None
