"""A bar on stderr with counts, a rate and the time that is left, for work that takes longer than a moment.

rich is imported when the bar appears: work that is done before then never pays for it.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

_BAR_AFTER_S = 0.5

Report = Callable[[int, int], None]


def bar_on(console: Console) -> Progress:
    """The bar as it looks everywhere."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn  # noqa: PLC0415

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
    )


class _Bar:
    """Appears on a terminal with the first report after a moment; the rate is counted from the beginning."""

    def __init__(self, label: str) -> None:
        self.so_far = f"{label}: not yet begun"
        self._label = label
        self._draws = sys.stderr.isatty()
        self._begun = time.monotonic()
        self._drawn: Progress | None = None

    def report(self, done: int, total: int) -> None:
        if total:
            self.so_far = f"{self._label}: {done:,} of {total:,}"
        elapsed = time.monotonic() - self._begun
        if not self._draws or elapsed <= _BAR_AFTER_S:
            return
        if self._drawn is None:
            self._drawn = self._appear()
        rate = f"{done / elapsed:,.0f}/s"
        self._drawn.update(self._drawn.task_ids[0], completed=done, total=total or None, rate=rate)

    def _appear(self) -> Progress:
        from rich.console import Console  # noqa: PLC0415 (only for work that takes a moment)

        bar = bar_on(Console(stderr=True))
        bar.add_task(self._label, total=None, rate="")
        bar.start()
        return bar

    def stop(self) -> None:
        if self._drawn is not None:
            self._drawn.stop()


@contextmanager
def progress_bar(label: str) -> Iterator[Report]:
    """A bar on stderr that appears only if the work takes longer than a moment, and only on a terminal.

    An interruption tells how far the work had come.
    """
    bar = _Bar(label)
    try:
        yield bar.report
    except KeyboardInterrupt as stop:
        raise KeyboardInterrupt(bar.so_far, *stop.args) from None
    finally:
        bar.stop()
