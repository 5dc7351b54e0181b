"""What `doctor` finds in two small caches: stamps and an index that are not read, because they are no such files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from recollect.engine.doctor_caches import Problem, bad_cache
from recollect.engine.erased_bytes import STAMPS, stamps_of, unreadable_stamps
from recollect.events.segments import INDEX_CACHE


def unreadable_files(folder: Path) -> Iterator[Problem]:
    """Stamps that cannot be read, and an index that is longer than what it is the index of."""
    stamps = stamps_of(folder / "log")
    reason = unreadable_stamps(folder / "cache", len(stamps))
    if reason is not None:
        yield bad_cache(
            folder / "cache" / STAMPS, f"the note of files that were looked at is ignored: {reason}"
        )
    index = folder / "log" / INDEX_CACHE
    sizes = [size for _, size, _, _ in stamps.values()]
    if index.is_file() and sizes and index.stat().st_size > max(sizes):
        yield bad_cache(
            index, f"it is ignored: it has {index.stat().st_size:,} bytes, more than any index of this log"
        )
